"""The reader owns the clock: no forecast is made with an outcome of its own day or later."""

from dataclasses import fields
from datetime import date, timedelta
from hashlib import sha256

import pytest
from demo_builders import MONDAY, a_question, a_resolution, a_row, a_stream, written
from hypothesis import given
from hypothesis import strategies as st

from clients.demo.streams import BadStream, Question, read_stream
from clients.demo.weather import weather_stream

DAYS = st.integers(0, 60)


@st.composite
def streams(draw: st.DrawFn):
    asked = draw(st.lists(DAYS, min_size=1, max_size=30))
    questions = [a_question(f"q{n}", day) for n, day in enumerate(asked)]
    resolutions = [
        a_resolution(f"q{n}", day + draw(st.integers(0, 20)), draw(st.integers(0, 1)))
        for n, day in enumerate(asked)
    ]
    return a_stream(questions, resolutions)


@given(streams())
def test_an_outcome_is_handed_out_only_on_a_later_day(stream):
    for batch in stream.batches():
        assert all(row.resolved_on < batch.day for row in batch.known)


@given(streams())
def test_an_outcome_comes_once_and_after_its_question(stream):
    asked: set[str] = set()
    known: list[str] = []
    for batch in stream.batches():
        assert {row.question_id for row in batch.known} <= asked
        known += [row.question_id for row in batch.known]
        asked |= {question.id for question in batch.questions}

    assert sorted(known) == sorted(asked) == sorted(q.id for q in stream.questions)


@given(streams())
def test_days_come_in_order_and_each_once(stream):
    days = [batch.day for batch in stream.batches()]

    assert days == sorted(set(days))


def test_an_outcome_of_the_day_itself_waits_for_the_next_batch():
    questions = [a_question("a", 0), a_question("b", 7), a_question("c", 14)]
    stream = a_stream(questions, [a_resolution("a", 7)])

    known = {batch.day: [row.question_id for row in batch.known] for batch in stream.batches()}

    assert list(known.values()) == [[], [], ["a"]]


def test_what_is_open_at_the_end_comes_in_a_last_batch_without_questions():
    stream = a_stream([a_question("a", 0)], [a_resolution("a", 30)])

    *_, last = stream.batches()

    assert last.day == MONDAY + timedelta(days=31)
    assert [row.question_id for row in last.known] == ["a"]
    assert last.questions == ()


def test_a_question_that_never_resolved_is_asked_and_stays_open():
    stream = a_stream([a_question("a", 0)])

    [batch] = stream.batches()

    assert [question.id for question in batch.questions] == ["a"]


def test_the_sample_takes_whole_events_in_order_of_the_hash_of_their_id():
    names = [f"event-{n}" for n in range(9)]
    questions = [a_question(f"{name}-{n}", n, name) for name in names for n in range(2)]
    first = sorted(names, key=lambda name: sha256(name.encode()).hexdigest())[:3]

    sample = a_stream(questions).sample(7)

    assert {question.event_id for question in sample.questions} == set(first)
    assert len(sample.questions) == 6


def test_the_sample_stops_at_the_first_event_that_does_not_fit():
    names = sorted(("x", "y", "z"), key=lambda name: sha256(name.encode()).hexdigest())
    sizes = dict(zip(names, (1, 5, 1), strict=True))
    questions = [a_question(f"{e}{n}", 0, e) for e, size in sizes.items() for n in range(size)]

    assert [q.event_id for q in a_stream(questions).sample(3).questions] == [names[0]]


def test_the_sample_keeps_the_resolutions_of_its_questions_alone():
    questions = [a_question("a"), a_question("b")]
    stream = a_stream(questions, [a_resolution("a"), a_resolution("b")])

    sample = stream.sample(1)

    assert [r.question_id for r in sample.resolutions] == [q.id for q in sample.questions]


def test_a_stream_is_read_from_its_two_files(tmp_path):
    stream = read_stream(written(tmp_path, [a_row(), a_row(id="d-2", split="warmup")]), "test")

    [question] = stream.questions
    assert (question.source, question.topic, question.reference) == ("fred", "economics", "4.75")
    assert question.asked_on == date(2026, 1, 5)
    assert stream.resolutions[0].outcome == 1


def test_nothing_that_tells_of_the_time_after_the_forecast_reaches_the_agent(tmp_path):
    stream = read_stream(written(tmp_path, [a_row()]), "test")

    shown = {field.name: getattr(stream.questions[0], field.name) for field in fields(Question)}
    assert "secret" not in shown.values()
    assert "2026-01-12" not in map(str, shown.values())


@pytest.mark.parametrize(
    ("rows", "outcome", "named"),
    [
        ([{"id": "d-1"}], 1, "line 1"),
        ([a_row(forecast_at="soon")], 1, "soon"),
        ([a_row()], 0.5, "neither 0 nor 1"),
    ],
    ids=["a missing field", "a bad date", "half an outcome"],
)
def test_a_row_that_cannot_be_read_is_named(tmp_path, rows, outcome, named):
    with pytest.raises(BadStream, match=named):
        read_stream(written(tmp_path, rows, outcome), "test")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(BadStream, match=r"nowhere_questions\.jsonl\.gz"):
        read_stream(tmp_path, "nowhere")


def test_the_weather_of_the_installed_package_is_a_stream():
    stream = weather_stream()

    assert len(stream.questions) == len(stream.resolutions) == 180
    assert len({question.asked_on for question in stream.questions}) == 60
    rained = sum(row.outcome for row in stream.resolutions)
    assert 0 < rained < len(stream.resolutions)


def test_the_weather_asks_of_the_future_only():
    stream = weather_stream()
    asked_on = {question.id: question.asked_on for question in stream.questions}

    assert all(row.resolved_on > asked_on[row.question_id] for row in stream.resolutions)
