// The chosen theme is set before the first paint; without a choice the system's holds.
(function () {
  "use strict";
  var KEY = "memlift-theme";
  var root = document.documentElement;

  function chosen() {
    try { return localStorage.getItem(KEY); } catch (_) { return null; }
  }

  function current() {
    return root.dataset.theme ||
      (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  }

  // Room is kept for what scripts reveal, so that nothing moves when they do.
  root.classList.add("scripted");
  var theme = chosen();
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;

  document.addEventListener("DOMContentLoaded", function () {
    document.querySelectorAll("[data-theme-toggle]").forEach(function (button) {
      function label() {
        button.textContent = current() === "dark" ? "Light" : "Dark";
      }
      button.hidden = false;
      label();
      button.addEventListener("click", function () {
        var next = current() === "dark" ? "light" : "dark";
        root.dataset.theme = next;
        try { localStorage.setItem(KEY, next); } catch (_) { /* it holds for this page */ }
        label();
        document.dispatchEvent(new CustomEvent("memlift:theme"));
      });
    });
  });
})();
