// Times of the last week by how long ago they are, others by date and minute, in UTC or in the
// browser's own zone. The page itself says UTC; the full time of each stands in its title.
(function () {
  "use strict";
  var KEY = "memlift-zone";
  var MINUTE = 60, HOUR = 3600, DAY = 86400;
  var UNITS = [[MINUTE, 1, "second"], [HOUR, MINUTE, "minute"], [DAY, HOUR, "hour"], [7 * DAY, DAY, "day"]];
  var ago = new Intl.RelativeTimeFormat("en", { numeric: "always" });

  function isLocal() {
    try { return localStorage.getItem(KEY) === "local"; } catch (_) { return false; }
  }

  function two(number) { return String(number).padStart(2, "0"); }

  function absolute(at, local, seconds) {
    var shift = local ? -at.getTimezoneOffset() : 0;
    var here = new Date(at.getTime() + shift * 60000).toISOString();
    var sign = shift < 0 ? "-" : "+", away = Math.abs(shift);
    var zone = local ? sign + two(Math.floor(away / 60)) + ":" + two(away % 60) : "UTC";
    return here.slice(0, 10) + " " + here.slice(11, seconds ? 19 : 16) + " " + zone;
  }

  function relative(at, now) {
    var seconds = (at.getTime() - now) / 1000, away = Math.abs(seconds);
    var unit = UNITS.find(function (one) { return away < one[0]; });
    return unit ? ago.format(Math.trunc(seconds / unit[1]), unit[2]) : null;
  }

  // In a sentence a date reads better; in a table how long ago.
  function show(root) {
    var local = isLocal(), now = Date.now();
    root.querySelectorAll("time[datetime]").forEach(function (one) {
      var at = new Date(one.getAttribute("datetime"));
      if (isNaN(at.getTime())) return;
      var since = relative(at, now), full = absolute(at, local, true);
      one.title = since === null ? full : full + " (" + since + ")";
      var short = one.closest("td, li, dd") !== null ? since : null;
      one.textContent = short === null ? absolute(at, local, false) : short;
    });
    document.querySelectorAll("[data-zone-toggle]").forEach(function (button) {
      button.hidden = false;
      button.textContent = local ? "Show UTC" : "Show local times";
    });
    document.querySelectorAll("[data-zone]").forEach(function (one) {
      var name = Intl.DateTimeFormat().resolvedOptions().timeZone;
      one.textContent = local ? "the zone of this browser, " + name : "UTC";
    });
  }

  document.addEventListener("click", function (event) {
    if (!event.target.closest("[data-zone-toggle]")) return;
    try { localStorage.setItem(KEY, isLocal() ? "utc" : "local"); } catch (_) { return; }
    show(document);
  });
  document.addEventListener("DOMContentLoaded", function () { show(document); });
  document.addEventListener("htmx:load", function (event) { show(event.target); });
  document.addEventListener("memlift:changed", function (event) { show(event.target); });
  setInterval(function () { if (!document.hidden) show(document); }, 60000);
})();
