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

  function reveal(root) {
    root.querySelectorAll("[data-scripted]").forEach(function (one) { one.hidden = false; });
  }
  document.addEventListener("DOMContentLoaded", function () { reveal(document); });
  document.addEventListener("htmx:load", function (event) { reveal(event.target); });
})();
