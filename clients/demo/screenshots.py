"""Pictures of every page of the dashboard, light and dark: `make screenshots`.

A server of its own replays the weather demonstration (real data), and agents bring worked sums in
which one went wrong, so that there are constraints. Chromium draws; the pictures go to docs/images.
"""

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from io import BytesIO
from pathlib import Path

from memlift_client import MemLift, NamespaceSettingsFields, WeightEvent
from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from clients.demo.answering import by_record
from clients.demo.replay import AGENT, Arm, midnight, replay
from clients.demo.server import fresh_folder, start
from clients.demo.session import PLAIN, RETRY_POLICY
from clients.demo.streams import Stream
from clients.demo.sums import Brought, bring_packs, bring_sums
from clients.demo.weather import SOURCE, weather_stream

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SIZE = ViewportSize(width=1280, height=860)
PHONE = ViewportSize(width=390, height=844)
COLOURS = 128
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
WEATHER, SUMS, PACKS = "weather", "sums", "packs"
# Only what is about the task is served, also once it is believed to do harm.
NEAR = PLAIN | NamespaceSettingsFields(raw_gate=0.3, score_floor=0.01)
LIGHT = ("light",)


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture: where (in a namespace, or from `/` on), what is done there first, which heading
    stands at its top, and on how large a screen.
    """

    name: str
    path: str
    prepare: Callable[[Page], None] = lambda _: None
    top: str | None = None
    themes: Sequence[str] = ("light", "dark")
    phone: bool = False


def main() -> int:
    chromium = shutil.which("chromium")
    if chromium is None:
        say("The pictures are drawn by Chromium: apt-get install chromium")
        return 1
    folder = fresh_folder("memlift-screenshots")
    server = start(folder, {}, say)
    try:
        with MemLift(server.url, server.key(), retry_policy=RETRY_POLICY) as memory:
            shots = _filled(memory)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
            for theme in ("light", "dark"):
                _drawn(browser, server.url, server.key(), (theme, shots))
            browser.close()
    finally:
        server.stop()
        server.remove()
    return 0


def _filled(memory: MemLift) -> Sequence[Shot]:
    """Bring what the pages show, and say which pages those are."""
    stream = weather_stream()
    memory.create_namespace(WEATHER, clock="replay", settings=PLAIN)
    arm = Arm(WEATHER, memory.within(WEATHER), by_record)
    say(f"Replaying {len(stream.questions)} questions")
    replay(stream, [arm], lambda _: None)
    _looked_after(arm.memory, stream)
    memory.create_namespace(SUMS, settings=PLAIN)
    brought = bring_sums(memory.within(SUMS))
    memory.create_namespace(PACKS, clock="replay", settings=NEAR)
    told = bring_packs(memory.within(PACKS))
    return (*_shots(_ids(arm.memory), brought, stream), *_story(*told))


def _looked_after(memory: MemLift, stream: Stream) -> None:
    """Runs of jobs, and a candidate on trial."""
    question = max(stream.questions, key=lambda row: (row.asked_on, row.id))
    now = midnight(question.asked_on) + timedelta(days=7)
    memory.remember(
        agent=AGENT,
        situation="A dry day in Seattle with a strong wind from the sea, and rain the day before",
        lesson="Start from how often it rained in this month of the years before",
        category=SOURCE,
        learned_at=now,
        task={"text": question.text, "key": question.id, "category": SOURCE},
        verify=True,
    )
    for job in memory.list_jobs():
        memory.run_job(job.name, now=now)


def _ids(memory: MemLift) -> Mapping[str, str]:
    """The weakest memory that outcomes have moved, the receipt that cost it most, the candidate."""
    weakest, events = next(
        (row.memory_id, moved)
        for row in memory.list_weights(order="weakest", limit=200).items
        if (moved := _moved(memory, row.memory_id))
    )
    worst = min(events, key=lambda one: (one.weight_after or 1) - (one.weight_before or 1))
    outcome = memory.get_outcome(str(worst.outcome_id))
    [ticket] = memory.list_tickets(limit=1).items
    return {"memory": weakest, "receipt": outcome.retrieval_id, "ticket": ticket.id}


def _moved(memory: MemLift, memory_id: str) -> Sequence[WeightEvent]:
    events = memory.each_weight_event(memory_id)
    return [one for one in events if one.outcome_id is not None and one.agent is None]


def _shots(ids: Mapping[str, str], sums: Brought, stream: Stream) -> Sequence[Shot]:
    days = sorted({question.asked_on for question in stream.questions})
    between = f"from_as_of={days[-12]}T00:00&to_as_of={days[-2]}T00:00"
    memory, receipt = f"{WEATHER}/memories/{ids['memory']}", f"{WEATHER}/receipts/{ids['receipt']}"
    return (
        Shot("overview", f"{WEATHER}/"),
        Shot("memories", f"{WEATHER}/memories?kind=experience&sort=weight&order=asc"),
        Shot("memory", memory),
        Shot("playground", f"{WEATHER}/playground", lambda page: _tried(page, stream)),
        Shot("receipts", f"{WEATHER}/receipts"),
        Shot("receipt", receipt),
        Shot("candidates", f"{WEATHER}/candidates"),
        Shot("candidate", f"{WEATHER}/candidates/{ids['ticket']}"),
        Shot("constraints", f"{SUMS}/constraints"),
        Shot("constraint", f"{SUMS}/constraints/{sums.constraint_id}"),
        Shot("contradiction", f"{SUMS}/contradictions/{sums.contradiction_id}"),
        Shot("jobs", f"{WEATHER}/jobs"),
        Shot("time-travel", f"{WEATHER}/time-travel/difference?{between}"),
        Shot("keys", f"{WEATHER}/keys"),
        Shot("what-if", f"{PACKS}/settings/what-if?policy=steps"),
        Shot("alike", f"{SUMS}/constraints/alike", themes=LIGHT),
        *(
            Shot(f"{name}-phone", path, themes=LIGHT, phone=True)
            for name, path in (
                ("overview", f"{WEATHER}/"),
                ("memories", f"{WEATHER}/memories?kind=experience&sort=weight&order=asc"),
                ("receipt", receipt),
                ("constraints", f"{SUMS}/constraints"),
                ("jobs", f"{WEATHER}/jobs"),
            )
        ),
    )


def _story(memory_id: str, receipt_id: str) -> Sequence[Shot]:
    """The pictures of the how-to on why a memory fell."""
    memory, receipt = f"{PACKS}/memories/{memory_id}", f"{PACKS}/receipts/{receipt_id}"
    return (
        Shot("fell-sorted", f"{PACKS}/memories?sort=weight&order=asc", themes=LIGHT),
        Shot("fell-plot", memory, top="#trajectory", themes=LIGHT),
        Shot("fell-served", memory, top="#served", themes=LIGHT),
        Shot("fell-outcome", receipt, _correcting, "#outcomes", themes=LIGHT),
        Shot("fell-rollback", f"{PACKS}/time-travel", _taking_back, themes=LIGHT),
    )


def _tried(page: Page, stream: Stream) -> None:
    question = stream.questions[-1]
    page.get_by_label("Task, in the agent's own words").fill(question.text)
    page.get_by_label("Agent", exact=True).fill(AGENT)
    page.get_by_label("As of").fill(f"{question.asked_on}T00:00")
    page.get_by_role("button", name="Try it").click()
    page.wait_for_selector("#result")


def _correcting(page: Page) -> None:
    page.locator("details.confirm > summary", has_text="Correct the outcome").click()


def _taking_back(page: Page) -> None:
    section = page.locator("section[aria-labelledby=rollback]")
    section.get_by_label("Agent").fill("hasty")
    section.get_by_role("button", name="Preview").click()
    page.wait_for_load_state()


def _drawn(browser: Browser, url: str, key: str, wanted: tuple[str, Sequence[Shot]]) -> None:
    theme, shots = wanted
    context = browser.new_context(
        base_url=url,
        viewport=SIZE,
        color_scheme="dark" if theme == "dark" else "light",
        reduced_motion="reduce",
        locale="en-GB",
    )
    page = context.new_page()
    page.goto("/dashboard/login")
    keep(page, IMAGES / f"login-{theme}.png")
    page.get_by_label("Key").fill(key)
    page.get_by_role("button", name="Log in").click()
    page.wait_for_load_state()
    for shot in (one for one in shots if theme in one.themes):
        page.set_viewport_size(PHONE if shot.phone else SIZE)
        whole = shot.path if shot.path.startswith("/") else f"/dashboard/ns/{shot.path}"
        answer = page.goto(whole)
        if answer is None or not answer.ok:
            raise SystemExit(f"{shot.path} could not be drawn")
        shot.prepare(page)
        if shot.top is not None:
            page.locator(shot.top).evaluate("one => one.scrollIntoView()")
        keep(page, IMAGES / f"{shot.name}-{theme}.png")
    context.close()


def keep(page: Page, file: Path) -> None:
    """What the window shows, in few colours: texts and lines need no more."""
    drawn = Image.open(BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
    few = drawn.quantize(COLOURS, dither=Image.Dither.NONE)
    file.parent.mkdir(parents=True, exist_ok=True)
    few.save(file, optimize=True)
    say(str(file))


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
