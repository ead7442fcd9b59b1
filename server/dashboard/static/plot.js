// Draws <div data-plot='{...}'> with uPlot:
//   x: seconds since 1970, ascending; series: [{label, values, stepped?}]; notes: one text per x,
//   shown under the plot for the point nearest to the pointer or reached with the arrow keys;
//   range: [low, high] of the y axis, or nothing; unit: of the y axis.
// The plot hangs on the element as `plot`.
(function () {
  "use strict";

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function series(one, index) {
    var stroke = colour("--plot-" + (index + 1)) || colour("--pico-primary");
    var drawn = { label: one.label, stroke: stroke, width: 2, points: { show: true, size: 5 } };
    if (one.stepped !== false) drawn.paths = uPlot.paths.stepped({ align: 1 });
    return drawn;
  }

  function timeText(seconds, fine) {
    var text = new Date(seconds * 1e3).toISOString();
    return fine ? text.slice(0, 10) + " " + text.slice(11, 19) : text.slice(0, 10);
  }

  // Days as 2026-03-01; within a day its time, and the day where it begins to be seen.
  function ticks(u, splits, index, space, step) {
    var day = "";
    return splits.map(function (seconds) {
      var text = timeText(seconds, true);
      var lines = step >= 86400 ? text.slice(0, 10)
        : text.slice(11, step < 60 ? 19 : 16) + (text.slice(0, 10) === day ? "" : "\n" + text.slice(0, 10));
      day = text.slice(0, 10);
      return lines;
    });
  }

  function timeAxis() {
    var made = axis("time (UTC)");
    made.values = ticks;
    made.space = 90;
    return made;
  }

  function axis(label) {
    return {
      label: label,
      stroke: colour("--pico-muted-color"),
      grid: { stroke: colour("--pico-muted-border-color"), width: 1 },
      ticks: { stroke: colour("--pico-muted-border-color"), width: 1 },
    };
  }

  function noteOf(element) {
    var note = element.nextElementSibling;
    if (!note || !note.matches(".plot-note")) {
      note = document.createElement("p");
      note.className = "plot-note";
      note.setAttribute("aria-live", "polite");
      element.after(note);
    }
    return note;
  }

  function options(element, plotted, note) {
    var scale = plotted.range ? { range: plotted.range } : {};
    return {
      width: Math.max(280, element.clientWidth),
      height: 300,
      tzDate: function (seconds) { return uPlot.tzDate(new Date(seconds * 1e3), "UTC"); },
      scales: { x: { time: true }, y: scale },
      axes: [timeAxis(), axis(plotted.unit || "")],
      series: [{ label: "time (UTC)", value: function (u, v) { return v == null ? "–" : timeText(v, true); } }].concat(plotted.series.map(series)),
      hooks: {
        setCursor: [function (u) {
          if (u.cursor.idx != null && plotted.notes) note.textContent = plotted.notes[u.cursor.idx] || "";
        }],
      },
    };
  }

  function step(element, by) {
    var u = element.plot;
    var last = u.data[0].length - 1;
    var at = u.cursor.idx == null ? (by > 0 ? 0 : last) : u.cursor.idx + by;
    at = Math.min(last, Math.max(0, at));
    u.setCursor({ left: u.valToPos(u.data[0][at], "x"), top: u.bbox.height / 4 });
  }

  function draw(element) {
    var plotted = JSON.parse(element.dataset.plot);
    var note = noteOf(element);
    if (element.plot) element.plot.destroy();
    var columns = [plotted.x].concat(plotted.series.map(function (one) { return one.values; }));
    element.plot = new uPlot(options(element, plotted, note), columns, element);
    element.tabIndex = 0;
  }

  function drawAll(root) { root.querySelectorAll("[data-plot]").forEach(draw); }

  document.addEventListener("DOMContentLoaded", function () { drawAll(document); });
  document.addEventListener("memlift:theme", function () { drawAll(document); });
  document.addEventListener("htmx:afterSettle", function (event) { drawAll(event.target); });
  addEventListener("resize", function () {
    document.querySelectorAll("[data-plot]").forEach(function (element) {
      if (element.plot) {
        element.plot.setSize({ width: Math.max(280, element.clientWidth), height: 300 });
      }
    });
  });
  document.addEventListener("keydown", function (event) {
    var element = document.activeElement;
    if (!element || !element.plot) return;
    if (event.key === "ArrowRight") step(element, 1);
    else if (event.key === "ArrowLeft") step(element, -1);
    else return;
    event.preventDefault();
  });
})();
