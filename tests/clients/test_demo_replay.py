"""A replay over HTTP: what is sent when, and what the forecasts come to."""

import httpx
import pytest
from demo_builders import a_question, a_resolution, a_stream
from memlift_client import MemLift
from small_bank import SmallBank

from clients.demo.replay import WITHOUT, Arm, lesson, replay

STREAM = a_stream(
    [a_question("a", 0), a_question("b", 0), a_question("c", 7)],
    [a_resolution("a", 3, 1), a_resolution("b", 8, 0), a_resolution("c", 9, 1)],
)


def replayed(bank: SmallBank):
    with MemLift("http://memlift.test", "k", transport=httpx.MockTransport(bank)) as memory:
        return replay(STREAM, [Arm("memory", memory)], lambda _: None)


def test_what_is_known_is_reported_applied_and_remembered_before_the_day_is_asked():
    bank = SmallBank()

    replayed(bank)

    first, second, end = (f"2026-01-{day}T00:00:00Z" for day in ("05", "12", "15"))
    assert bank.log == [
        ("retrieve", first),
        ("retrieve", first),
        ("report", second),
        ("apply", ""),
        ("remember", second),
        ("retrieve", second),
        ("report", end),
        ("report", end),
        ("apply", ""),
        ("remember", end),
        ("remember", end),
    ]


def test_the_forecast_follows_what_was_retrieved():
    scored = replayed(SmallBank())

    # One outcome is known when c is asked: YES. Prior (1 + 2·1)/(1 + 2) = 1, memory agrees.
    by_event = {row.event_id: row.probability for row in scored}
    assert by_event["e-a"] == {WITHOUT: 0.5, "memory": 0.5}
    assert by_event["e-c"] == {WITHOUT: 1.0, "memory": pytest.approx(1.0)}


def test_both_runs_are_reported_with_the_truth():
    bank = SmallBank()

    replayed(bank)

    outcome = bank.outcomes["r-b"]
    assert (outcome["value"], outcome["truth"]) == ({"p": [0.5]}, {"y": [0]})
    assert outcome["without"] == {"value": {"p": [0.5]}}
    assert (outcome["metric"], outcome["verifier"]) == ("brier", "test")


def test_every_question_names_its_event_and_its_source():
    bank = SmallBank()

    replayed(bank)

    task = bank.asked["r-a"]["task"]
    assert (task["key"], task["group_key"]) == ("a", "e-a")
    assert (task["category"], task["subcategory"]) == ("fred", "economics")


def test_a_memory_carries_the_outcome_and_the_event():
    bank = SmallBank()

    replayed(bank)

    memory = bank.memories[0]
    assert memory["metadata"] == {"outcome": 1, "event": "e-a"}
    assert (memory["situation"], memory["task_id"]) == ("Will a rise?", "t")


def test_a_lesson_tells_the_resolution_and_the_reference():
    told = lesson(a_question("a"), a_resolution("a", 3, 0))

    assert told == "This resolved NO on 2026-01-08; the reference value was 4.75."
