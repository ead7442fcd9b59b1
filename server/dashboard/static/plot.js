// Draws <div data-plot='{...}'> with uPlot:
//   x: seconds since 1970, ascending; series: [{label, values, stepped?, bars?}], with bars a day
//   wide that stand left (-1) or right (1) of the day's middle, or on it (0); notes: one text per x,
//   shown under the plot for the point nearest to the pointer or reached with the arrow keys;
//   range: [low, high] of the y axis, or nothing; unit: of the y axis;
//   from: the least value of the y axis, its highest follows; height: in pixels, 300 if not given;
//   level: a line across at this value; marks: [{x, label}], lines from top to bottom.
// Two series with `edge` are the upper and the lower edge of a band, which is filled.
// The plot hangs on the element as `plot`.
(function () {
  "use strict";

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function series(one, index) {
    if (one.edge) {
      var edge = { label: one.label, stroke: colour("--plot-band"), width: 1, points: { show: false } };
      if (one.stepped !== false) edge.paths = uPlot.paths.stepped({ align: 1 });
      return edge;
    }
    var stroke = colour("--plot-" + (index + 1)) || colour("--pico-primary");
    var drawn = { label: one.label, stroke: stroke, width: 2, points: { show: true, size: 5 } };
    if (one.bars != null) {
      drawn.paths = uPlot.paths.bars({ size: [one.bars ? 0.4 : 0.8, 40], align: one.bars });
      drawn.fill = stroke;
      drawn.width = 0;
      drawn.points.show = false;
    } else if (one.stepped !== false) drawn.paths = uPlot.paths.stepped({ align: 1 });
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

  function bands(plotted) {
    var edges = [];
    plotted.series.forEach(function (one, index) { if (one.edge) edges.push(index + 1); });
    return edges.length === 2 ? [{ series: edges, fill: colour("--plot-band") }] : [];
  }

  function line(u, fromX, fromY, toX, toY, dash) {
    u.ctx.setLineDash(dash);
    u.ctx.beginPath();
    u.ctx.moveTo(fromX, fromY);
    u.ctx.lineTo(toX, toY);
    u.ctx.stroke();
  }

  function across(u, plotted) {
    var box = u.bbox, ratio = window.devicePixelRatio || 1;
    u.ctx.save();
    u.ctx.lineWidth = ratio;
    u.ctx.strokeStyle = u.ctx.fillStyle = colour("--pico-muted-color");
    u.ctx.font = 12 * ratio + "px system-ui, sans-serif";
    if (plotted.level != null) {
      var y = u.valToPos(plotted.level, "y", true);
      line(u, box.left, y, box.left + box.width, y, [2 * ratio, 4 * ratio]);
    }
    (plotted.marks || []).forEach(function (mark) {
      var x = u.valToPos(mark.x, "x", true);
      if (x < box.left - 1 || x > box.left + box.width + 1) return;
      line(u, x, box.top, x, box.top + box.height, [6 * ratio, 4 * ratio]);
      u.ctx.textAlign = x > box.left + box.width / 2 ? "right" : "left";
      u.ctx.fillText(mark.label, x + (u.ctx.textAlign === "right" ? -4 : 4) * ratio, box.top + 12 * ratio);
    });
    u.ctx.restore();
  }

  // Half a day more at both ends, where bars stand around each day.
  function days(plotted) {
    var barred = plotted.series.some(function (one) { return one.bars != null; });
    return barred ? { time: true, range: function (u, low, high) { return [low - 43200, high + 43200]; } } : { time: true };
  }

  function options(element, plotted, note) {
    var scale = plotted.range ? { range: plotted.range } : {};
    if (plotted.from != null) scale.range = function (u, low, high) { return [plotted.from, Math.max(plotted.from + 1, high * 1.1)]; };
    return {
      width: Math.max(280, element.clientWidth),
      height: plotted.height || 300,
      tzDate: function (seconds) { return uPlot.tzDate(new Date(seconds * 1e3), "UTC"); },
      scales: { x: days(plotted), y: scale },
      axes: [timeAxis(), axis(plotted.unit || "")],
      series: [{ label: "time (UTC)", value: function (u, v) { return v == null ? "–" : timeText(v, true); } }].concat(plotted.series.map(series)),
      bands: bands(plotted),
      hooks: {
        draw: [function (u) { across(u, plotted); }],
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
        element.plot.setSize({ width: Math.max(280, element.clientWidth), height: element.plot.height });
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
