// Small comforts; every page works without them.
(function () {
  "use strict";

  function copy(button) {
    var text = document.getElementById(button.dataset.copy).textContent;
    navigator.clipboard.writeText(text).then(function () {
      var before = button.textContent;
      button.textContent = "Copied";
      setTimeout(function () { button.textContent = before; }, 1500);
    });
  }

  // One box ticks all rows of its table.
  function tickAll(box) {
    box.closest("table").querySelectorAll("tbody input[type=checkbox]").forEach(function (one) {
      one.checked = box.checked;
    });
  }

  document.addEventListener("click", function (event) {
    var button = event.target.closest("[data-copy]");
    if (button) copy(button);
  });
  document.addEventListener("change", function (event) {
    if (event.target.matches("[data-tick-all]")) tickAll(event.target);
    if (event.target.matches("[data-submit-on-change]")) event.target.form.requestSubmit();
  });

  // Escape closes a menu of the header; its heading has the focus then.
  document.addEventListener("keydown", function (event) {
    var menu = event.key === "Escape" && document.querySelector("header details.dropdown[open]");
    if (!menu) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });

  // What scrolls sideways is reached and moved by keys, and says what it is.
  function reach(root) {
    root.querySelectorAll(".scroll").forEach(function (one, place) {
      if (one.scrollWidth <= one.clientWidth) return;
      var around = one.closest("section") || document;
      var title = one.parentElement.querySelector(":scope > h3") || around.querySelector("h1, h2, h3");
      one.tabIndex = 0;
      one.setAttribute("role", "region");
      one.setAttribute("aria-label", "Table " + (place + 1) + ": " + (title ? title.textContent.trim() : "rows"));
    });
  }

  function reveal(root) {
    reach(root);
    root.querySelectorAll("[data-scripted]").forEach(function (one) { one.hidden = false; });
  }
  document.addEventListener("DOMContentLoaded", function () { reveal(document); });
  document.addEventListener("htmx:load", function (event) { reveal(event.target); });
})();
