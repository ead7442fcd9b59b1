"""A replay over HTTP: what is sent when, and what the forecasts come to."""

import httpx
import pytest
from demo_builders import a_question, a_resolution, a_stream
from memlift_client import MemLift
from small_bank import FLAT, WEIGHTED, SmallBank

from clients.demo.answering import by_record, by_similarity
from clients.demo.replay import WITHOUT, Arm, lesson, replay

STREAM = a_stream(
    [a_question("a", 0), a_question("b", 0), a_question("c", 7)],
    [a_resolution("a", 3, 1), a_resolution("b", 8, 0), a_resolution("c", 9, 1)],
)


def replayed(bank: SmallBank, answer=by_record, stream=STREAM):
    with MemLift("http://memlift.test", "k", transport=httpx.MockTransport(bank)) as memory:
        return replay(stream, [Arm("memory", memory, answer)], lambda _: None)


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


CONTRARY = a_stream(
    [a_question("a", 0), a_question("b", 0), a_question("c", 7)],
    [a_resolution("a", 3, 1), a_resolution("b", 4, 0), a_resolution("c", 9, 1)],
)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        # The flat list has a YES and a NO of ½ each, the weighted one the YES of 1 alone.
        (by_similarity, (3 * 0.5 + 0.5) / 4),
        (by_record, 0.5 + 0.5 * 0.25 * ((3 * 0.5 + 1) / 4 - 0.5)),
    ],
)
def test_each_arm_answers_its_own_way(answer, expected):
    scored = replayed(SmallBank(), answer, CONTRARY)

    # One YES and one NO are known when c is asked.
    by_event = {row.event_id: row.probability for row in scored}
    assert by_event["e-a"] == {WITHOUT: 0.5, "memory": 0.5}
    assert by_event["e-c"] == {WITHOUT: 0.5, "memory": pytest.approx(expected)}


def test_the_answers_of_all_rankers_are_reported_with_their_mixture():
    bank = SmallBank()

    replayed(bank, by_record, CONTRARY)

    outcome = bank.outcomes["r-c"]
    assert set(outcome["answers"]) == {FLAT, WEIGHTED}
    assert outcome["answers"][FLAT] == {"p": [0.5]}
    assert outcome["answers"][WEIGHTED] == {"p": [0.625]}
    assert outcome["full"]["value"]["p"] == pytest.approx([0.75 * 0.5 + 0.25 * 0.625])
    assert outcome["value"]["p"] == pytest.approx([0.5 + 0.5 * 0.25 * 0.125])


def test_an_agent_that_reads_one_list_reports_no_answer_a_ranker():
    bank = SmallBank()

    replayed(bank, by_similarity)

    assert not {"answers", "full"} & set(bank.outcomes["r-c"])


def test_all_rankers_are_asked_for_and_nothing_is_withheld():
    bank = SmallBank()

    replayed(bank)

    asked = bank.asked["r-a"]
    assert (asked["all_rankers"], asked["purpose"], asked["format"]) == (True, "paired", "memories")


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
