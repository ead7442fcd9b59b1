// Keys for hands that stay on the keyboard; none while somebody types, and none where they are
// switched off. The sheet that `?` opens is part of the page.
(function () {
  "use strict";
  var KEY = "memlift-shortcuts";
  var WAIT = 1500;
  var pending = 0;

  function areOff() {
    try { return localStorage.getItem(KEY) === "off"; } catch (_) { return false; }
  }

  function isTyping(target) {
    return target.closest("input, textarea, select, [contenteditable], dialog") !== null;
  }

  function sheet() { return document.getElementById("shortcuts"); }

  function go(letter) {
    var link = document.querySelector('nav a[data-letter="' + CSS.escape(letter) + '"]');
    if (link) location.assign(link.href);
    return link !== null;
  }

  function act(key) {
    var waited = Date.now() - pending < WAIT;
    pending = 0;
    if (waited) return go(key);
    if (key === "g") { pending = Date.now(); return true; }
    if (key === "/") {
      var field = document.getElementById("search");
      if (!field) return false;
      field.focus();
      field.select();
      return true;
    }
    if (key === "?" && sheet()) { sheet().showModal(); return true; }
    return false;
  }

  // Arrow keys from one result to the next; the first one from anywhere on the page.
  function walk(event) {
    var list = document.querySelector("[data-walked]");
    var step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!list || !step) return false;
    var links = Array.from(list.querySelectorAll("a"));
    var here = links.indexOf(document.activeElement);
    var next = links[here + step];
    if (next) next.focus();
    return Boolean(next);
  }

  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (isTyping(event.target)) {
      // From the search field down into what was found.
      if (event.target.id === "search" && event.key === "ArrowDown" && walk(event)) event.preventDefault();
      return;
    }
    if (walk(event)) { event.preventDefault(); return; }
    if (!areOff() && act(event.key)) event.preventDefault();
  });

  document.addEventListener("click", function (event) {
    if (event.target.closest("[data-shortcuts]")) sheet().showModal();
    if (event.target.closest("[data-close-sheet]")) sheet().close();
  });
  document.addEventListener("change", function (event) {
    if (!event.target.matches("[data-shortcuts-on]")) return;
    try { localStorage.setItem(KEY, event.target.checked ? "on" : "off"); } catch (_) { /* this page only */ }
  });
  document.addEventListener("DOMContentLoaded", function () {
    var box = document.querySelector("[data-shortcuts-on]");
    if (box) box.checked = !areOff();
  });
})();
