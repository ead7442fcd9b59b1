"""What a browser makes of a page: when it paints first, what it fetched, whether anything moved.

Each page is opened in a browser that keeps nothing from before, so styles and scripts are counted.
"""

import gzip
import shutil
from collections.abc import Mapping, Sequence
from statistics import median

from playwright.sync_api import Browser, Response, sync_playwright

from benchmarks import metrics
from benchmarks.bench import Bench

PAINT_MS, WEIGHT_KB, SHIFT = 1_000.0, 300.0, 0.0
SETTLE_MS = 500
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
SEEN = """() => new Promise(done => {
  let shift = 0;
  new PerformanceObserver(list => list.getEntries().forEach(one => {
    if (!one.hadRecentInput) shift += one.value;
  })).observe({type: 'layout-shift', buffered: true});
  setTimeout(() => done({
    paint: performance.getEntriesByName('first-contentful-paint')[0].startTime, shift,
  }), WAIT);
})""".replace("WAIT", str(SETTLE_MS))


def look(bench: Bench, pages: Mapping[str, str], cookie: str) -> None:
    """Open each page `looks` times; nothing is recorded where there is no Chromium."""
    chromium = shutil.which("chromium")
    if chromium is None:
        bench.say("there is no Chromium: paint, weight and shift are not measured")
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for name, path in pages.items():
            bench.say(f"{name}: looked at {bench.settings['looks']} times")
            _look_at(bench, browser, name, (path, cookie))
        browser.close()


def _look_at(bench: Bench, browser: Browser, name: str, place: tuple[str, str]) -> None:
    path, cookie = place
    paints, shifts, weight = list[float](), list[float](), 0
    for _ in range(bench.settings["looks"]):
        context = browser.new_context(base_url=bench.server.url)
        key, _, value = cookie.partition("=")
        context.add_cookies([{"name": key, "value": value, "url": bench.server.url}])
        page = context.new_page()
        fetched: list[Response] = []
        # Playwright marks what listens, which a built-in method does not bear.
        page.on("response", lambda one, found=fetched: found.append(one))
        page.goto(path, wait_until="load")
        seen = page.evaluate(SEEN)
        paints.append(seen["paint"])
        shifts.append(seen["shift"])
        weight = sum(len(gzip.compress(one.body())) for one in fetched if _is_whole(one))
        context.close()
    bench.number(f"paint_{name}", median(paints), "ms")
    bench.number(f"shift_{name}", max(shifts), "share of the window")
    bench.number(f"weight_{name}", weight / 1000, "kB, compressed by gzip")


def _is_whole(answer: Response) -> bool:
    """Events go on for as long as the page is open."""
    return "event-stream" not in answer.headers.get("content-type", "") and answer.ok


def targets(rows: Sequence[metrics.Row], pages: Sequence[str]) -> list[metrics.Target]:
    """Paint, weight and shift of each page."""
    found = metrics.numbers(rows)
    limits = (("paint", PAINT_MS), ("weight", WEIGHT_KB), ("shift", SHIFT))
    return [
        metrics.at_most(f"{page}: {what}", limit, found.get(f"{what}_{page}"), {})
        for page in pages
        for what, limit in limits
    ]
