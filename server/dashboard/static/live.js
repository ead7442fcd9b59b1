// What stirs in the namespace, kept up to date while the page is seen; hidden, it asks for nothing.
(function () {
  "use strict";
  var part = null, source = null;

  function say(word) {
    var state = part.querySelector("[data-live-state]");
    state.hidden = false;
    state.textContent = word;
    state.classList.toggle("good", word === "live");
  }

  // As the page tells it; times.js makes it what it is to be.
  function time(text) {
    var one = document.createElement("time");
    one.setAttribute("datetime", text);
    one.textContent = text.slice(0, 16).replace("T", " ") + " UTC";
    return one;
  }

  function freshen(one) {
    one.classList.remove("fresh");
    void one.offsetWidth;
    one.classList.add("fresh");
  }

  function count(name, value) {
    var one = part.querySelector('[data-live-count="' + name + '"]');
    var text = value.toLocaleString("en");
    if (!one || one.textContent === text) return;
    one.textContent = text;
    freshen(one);
  }

  function receipts(rows) {
    var list = part.querySelector("[data-live-receipts]");
    var known = Array.from(list.querySelectorAll("a")).map(function (link) { return link.pathname; });
    list.replaceChildren.apply(list, rows.map(function (row) {
      var item = document.createElement("li"), link = document.createElement("a");
      link.href = list.dataset.liveReceipts + row.retrieval_id;
      link.append(time(row.known_at));
      var told = document.createElement("bdi");
      told.textContent = row.agent + ", " + row.category + ", " + row.arm;
      item.append(link, " ", told);
      if (!known.includes(link.pathname)) item.classList.add("fresh");
      return item;
    }));
  }

  // A run is seen once it has ended: it is one transaction.
  function jobs(rows) {
    var place = part.querySelector("[data-live-job]");
    var last = rows.reduce(function (one, other) { return one && one.started_at > other.started_at ? one : other; }, null);
    if (!last) return;
    place.replaceChildren(last.job + " " + last.state + ", ", time(last.started_at));
  }

  function changed(event) {
    var told = JSON.parse(event.data);
    ["memories", "waiting", "bank_version"].forEach(function (name) {
      if (name in told) count(name, told[name]);
    });
    if (told.receipts && told.receipts.length) receipts(told.receipts);
    if (told.jobs) jobs(told.jobs);
    part.dispatchEvent(new CustomEvent("memlift:changed", { bubbles: true }));
    say("live");
  }

  function stop(word) {
    if (source) source.close();
    source = null;
    say(word);
  }

  function start() {
    if (source || document.hidden) return;
    source = new EventSource(part.dataset.live);
    source.addEventListener("changed", changed);
    source.addEventListener("over", function (event) {
      stop(event.data === "namespace_moved" ? "moved away" : "logged out"); part = null;
    });
    source.onerror = function () {
      if (source && source.readyState === EventSource.CLOSED) stop("not live");
      else say("connecting");
    };
  }

  document.addEventListener("visibilitychange", function () {
    if (!part) return;
    if (document.hidden) stop("paused"); else start();
  });
  window.addEventListener("pagehide", function () { if (source) source.close(); source = null; });
  window.addEventListener("pageshow", function (event) { if (event.persisted && part) start(); });
  document.addEventListener("DOMContentLoaded", function () {
    part = document.querySelector("[data-live]");
    if (part && window.EventSource) start();
  });
})();
