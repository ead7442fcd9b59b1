"""The outcome poller: whatever is resolved is remembered and settled, once, come what may."""

import json
import threading
from collections.abc import Generator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Never

import pytest
from memlift_client import AgentFields, MemLift
from prophet_doubles import Oracle, Parrot
from prophet_events import record, task, written

from clients.prophet.agent import MemoryAgent
from clients.prophet.event import Event
from clients.prophet.poller import Ledger, poll
from clients.prophet.recall import Recall
from clients.prophet.resolutions import BadRecords, LocalResolutions, Resolution, read_records
from tests.acceptance.servers import Server
from tests.prophet.processes import Prophet

YES = Resolution({"Yes": "yes", "No": "no"})
JANUARY = datetime(2026, 1, 9, tzinfo=UTC)


def forecast(memory: MemLift, *slugs: str, **parts: object) -> None:
    """Each forecast by the agent: .4 without memory, .7 with it."""
    recall = Recall(memory, "prophet", AgentFields(own_information=False), seconds=60)
    agent = MemoryAgent(Parrot(), recall)
    for slug in slugs:
        fields = {"slug": slug, "title": f"Will {slug} come?", "outcomes": ("Yes", "No")}
        agent.forecast(Event(**fields | parts))  # pyright: ignore[reportArgumentType] - parts of an event


def a_ledger(memory: MemLift, *, replay: bool = False) -> Ledger:
    return Ledger(memory, memory, "prophet", replay=replay)


def test_what_is_resolved_is_settled_and_remembered_and_the_rest_waits(wall: MemLift) -> None:
    forecast(wall, "rain", "snow")

    done = poll(a_ledger(wall), Oracle({"rain": YES}))

    assert (done.settled, done.open, done.failed) == (["rain"], ["snow"], {})
    assert done.told() == "1 events settled, 1 not resolved yet, 0 failed"
    assert [p.event for p in wall.list_predictions(state="pending").items] == ["snow"]
    [memory] = wall.list_experiences().items
    assert memory.metadata == {"event": "rain", "outcomes": {"Yes": 1, "No": 0}}
    assert memory.situation == "Will rain come?"
    [rain] = wall.list_predictions(event="rain").items
    assert rain.score is not None
    assert rain.score.brier == pytest.approx(0.09)


def test_another_round_does_nothing_again(wall: MemLift) -> None:
    forecast(wall, "rain")
    oracle = Oracle({"rain": YES})

    poll(a_ledger(wall), oracle)
    again = poll(a_ledger(wall), oracle)

    assert again.settled == []
    assert again.corrected == []
    assert wall.list_settlements().total == wall.list_experiences().total == 1


class Torn(MemLift):
    """The process ends before the settlement."""

    def settle(self, **fields: object) -> Never:  # pyright: ignore[reportIncompatibleVariableOverride] - as torn as meant
        raise KeyboardInterrupt


def test_a_poller_killed_between_memory_and_settlement_begins_again_without_a_trace(
    wall: MemLift, shared_server: Server
) -> None:
    forecast(wall, "rain")
    oracle = Oracle({"rain": YES})
    key = shared_server.home.operator_key.read_text().strip()
    with (
        Torn(shared_server.url, key, wall.get_namespace().slug) as torn,
        pytest.raises(KeyboardInterrupt),
    ):
        poll(a_ledger(torn), oracle)

    done = poll(a_ledger(wall), oracle)

    assert done.settled == ["rain"]
    [memory] = wall.list_experiences().items
    assert memory.evidence == 1
    assert wall.list_settlements().total == 1


def test_one_bad_event_does_not_stop_the_others(wall: MemLift) -> None:
    forecast(wall, "hail", "rain", "snow")
    torn = Resolution({"Yes": "perhaps"})  # pyright: ignore[reportArgumentType] - a bad one, on purpose

    done = poll(a_ledger(wall), Oracle({"hail": torn, "rain": OSError("no arena"), "snow": YES}))

    assert done.settled == ["snow"]
    assert set(done.failed) == {"hail", "rain"}
    assert done.failed["rain"] == "OSError: no arena"
    assert "422" in done.failed["hail"]


def test_a_void_event_is_settled_and_teaches_nothing(wall: MemLift) -> None:
    forecast(wall, "rain")

    poll(a_ledger(wall), Oracle({"rain": Resolution({"Yes": "void", "No": "void"})}))

    [rain] = wall.list_predictions(event="rain").items
    assert rain.score is not None
    assert (rain.score.status, rain.score.reason) == ("ignored", "void")
    assert wall.list_experiences().total == 0


def test_names_that_the_arena_spells_otherwise_are_the_same_outcomes(wall: MemLift) -> None:
    forecast(wall, "rain")

    poll(a_ledger(wall), Oracle({"rain": Resolution({"YES": "yes", "no ": "no"})}))

    [rain] = wall.list_predictions(event="rain").items
    assert rain.score is not None
    assert rain.score.status == "scored"


def test_each_window_is_held_against_its_own_crowd(replay: MemLift) -> None:
    asked = datetime(2026, 1, 2, tzinfo=UTC)
    for window in (0, 1):
        forecast(replay, "rain", window=window, asked_at=asked)
    crowds = {"rain#0": {"Yes": 0.5, "No": 0.5}, "rain#1": {"Yes": 1.0, "No": 0.0}}

    poll(a_ledger(replay, replay=True), Oracle({"rain": Resolution(YES.rulings, JANUARY, crowds)}))

    scores = {p.task_key: p.score for p in replay.list_predictions().items}
    skills = {key: score.skill for key, score in scores.items() if score is not None}
    assert skills == pytest.approx({"rain#0": 0.25 - 0.09, "rain#1": -0.09})
    [memory] = replay.list_experiences().items
    assert memory.learned_at == JANUARY


def test_a_resolution_that_the_arena_corrects_is_settled_anew_and_remembered_so(
    wall: MemLift,
) -> None:
    forecast(wall, "rain")
    ledger = a_ledger(wall)
    poll(ledger, Oracle({"rain": YES}))

    done = poll(ledger, Oracle({"rain": Resolution({"Yes": "no", "No": "yes"})}))
    again = poll(ledger, Oracle({"rain": Resolution({"Yes": "no", "No": "yes"})}))

    assert done.corrected == ["rain"]
    assert done.told().endswith("1 corrected")
    assert (again.settled, again.corrected, again.failed) == ([], [], {})
    [rain] = wall.list_predictions(event="rain").items
    assert rain.score is not None
    assert rain.score.brier == pytest.approx(0.49)
    [memory] = wall.list_experiences().items
    assert memory.metadata == {"event": "rain", "outcomes": {"Yes": 0, "No": 1}}
    assert "resolved: Yes: no, No: yes. Forecast: Yes 0.70, No 0.30." in memory.lesson


def test_a_correction_in_a_replay_is_known_when_it_was_made(replay: MemLift) -> None:
    forecast(replay, "rain", asked_at=datetime(2026, 1, 2, tzinfo=UTC))
    ledger = a_ledger(replay, replay=True)
    poll(ledger, Oracle({"rain": Resolution(YES.rulings, JANUARY)}))
    later = JANUARY + timedelta(days=1)

    done = poll(ledger, Oracle({"rain": Resolution({"Yes": "no", "No": "yes"}, later)}))

    assert (done.corrected, done.failed) == (["rain"], {})
    in_force = [one for one in replay.list_settlements().items if one.superseded_by is None]
    assert [one.known_at for one in in_force] == [later]


def test_what_the_forecaster_thought_and_missed_is_remembered_and_what_others_thought_is_not(
    replay: MemLift,
) -> None:
    asked = datetime(2026, 1, 2, tzinfo=UTC)
    forecast(replay, "rain", asked_at=asked, sources=("Gauge: the river is high",))
    other = Recall(replay, "stranger", AgentFields(own_information=False), seconds=60)
    whispering = MemoryAgent(Parrot(says="Keep it to yourself."), other)
    for slug in ("rain", "snow"):
        event = Event(slug=slug, title=f"Will {slug} come?", outcomes=("Yes", "No"), asked_at=asked)
        whispering.forecast(event)
    crowd = {"rain#0": {"Yes": 0.2, "No": 0.8}}
    came = Resolution({"Yes": "no", "No": "yes"}, JANUARY, crowd)

    poll(a_ledger(replay, replay=True), Oracle({"rain": came, "snow": came}))

    lessons = {m.metadata["event"]: m.lesson for m in replay.list_experiences().items}
    assert lessons["rain"] == (
        "“Will rain come?” resolved on 2026-01-09: Yes: no, No: yes."
        " Forecast: Yes 0.70, No 0.30. The crowd said: No 0.80, Yes 0.20."
        " Missed most: Yes, by 0.70, which the crowd knew better."
        " The forecaster's reasons: As I say. It had read: Gauge: the river is high."
    )
    assert lessons["snow"] == "“Will snow come?” resolved on 2026-01-09: Yes: no, No: yes."


def test_a_replay_needs_to_know_when(replay: MemLift) -> None:
    forecast(replay, "rain", asked_at=datetime(2026, 1, 2, tzinfo=UTC))

    done = poll(a_ledger(replay, replay=True), Oracle({"rain": YES}))

    assert "when the event was resolved" in done.failed["rain"]
    assert replay.list_experiences().total == 0


def test_an_evaluators_key_settles_and_an_agents_key_remembers(
    wall: MemLift, poll: Prophet, tmp_path: Path
) -> None:
    forecast(wall, "rain")
    here = wall.get_namespace().slug
    keys = {
        r: wall.create_key(role=r, name=r, namespace=here).token for r in ("evaluator", "agent")
    }
    rows = written(tmp_path / "tasks.jsonl", [task("rain", "Yes")])

    alone = poll(here, "--records", rows, "--key", keys["evaluator"])
    both = poll(
        *(here, "--records", rows, "--key", keys["evaluator"], "--remember-key", keys["agent"])
    )

    assert alone.returncode == 1
    assert "403" in alone.stderr
    assert both.returncode == 0, both.stderr
    assert "1 events settled" in both.stdout
    assert wall.list_experiences().total == 1


EVENT = {
    "slug": "rain",
    "close_at": "2026-03-01T00:00:00Z",
    "resolved_at": "2026-03-02T00:00:00Z",
    "state": "resolved",
    "outcomes": [{"name": "Yes", "resolution": "yes"}, {"name": "No", "resolution": "no"}],
}
PENDING = EVENT | {"outcomes": [{"name": "Yes", "resolution": "pending"}]}


class Arena(BaseHTTPRequestHandler):
    """The arena's API, as far as the poller asks it."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Quiet."""

    def do_GET(self) -> None:
        slug = self.path.rsplit("/", 1)[-1]
        answers = {"rain": (200, EVENT), "snow": (200, PENDING), "hail": (403, {})}
        status, body = answers.get(slug, (404, {"error": {"code": "not_found", "message": "no"}}))
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@pytest.fixture
def arena_url() -> Generator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Arena)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/api/v1"
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_arena_is_asked_through_its_own_client(
    wall: MemLift, poll: Prophet, arena_url: str
) -> None:
    forecast(wall, "rain", "snow", "hail", "fog")

    done = poll(wall.get_namespace().slug, "--arena-url", arena_url)

    assert done.returncode == 1
    assert "1 events settled, 2 not resolved yet, 1 failed" in done.stdout
    assert "hail" in done.stderr
    [memory] = wall.list_experiences().items
    assert "resolved on 2026-03-02: Yes: yes, No: no." in memory.lesson


@pytest.mark.parametrize(
    ("row", "rulings"),
    [
        (task("t", "Denver", outcomes=("Denver", "Salem")), {"Denver": "yes", "Salem": "no"}),
        (task("t", "yes"), {"Yes": "yes", "No": "no"}),
        (task("t", outcomes=("Denver", "Salem")), None),
        (task("t", "Boston", outcomes=("Denver", "Salem")), None),
        (record("t", "Will it?", 5, Yes="void", No="void"), {"Yes": "void", "No": "void"}),
        (record("t", "Will it?", 5, Yes="yes", No="pending"), None),
    ],
)
def test_records_of_both_contracts_tell_how_an_event_came_out(
    row: dict[str, object], rulings: dict[str, str] | None
) -> None:
    found = LocalResolutions.of([row]).resolution_of("t")

    assert (None if found is None else found.rulings) == rulings
    assert LocalResolutions.of([row]).resolution_of("other") is None


@pytest.mark.parametrize("line", ["[1]", "{", "3"])
def test_a_line_that_is_no_record_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{{}}\n\n{line}\n")

    with pytest.raises(BadRecords, match=r"rows\.jsonl:3"):
        read_records(path)
