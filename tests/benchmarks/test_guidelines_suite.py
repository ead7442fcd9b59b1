"""The suite `guidelines`: its corpus, how it reads guidelines and records, what it concludes."""

import gzip
import json
from datetime import UTC, datetime
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.guidelines.corpus import CITE, ENGLISH, Lesson, read_corpus
from benchmarks.guidelines.first_release import OldGuideline, OldNote, compile_as_first
from benchmarks.guidelines.reading import read_notes, unescape
from benchmarks.guidelines.reflections import Record, read_retried
from benchmarks.guidelines.targets import targets
from memory.guidelines.compiler import Budget, compile_guideline
from memory.guidelines.entities import Entry
from memory.guidelines.wording import Framing
from memory.kernel.normal_form import normal_form
from memory.kernel.quoting import quote
from memory.memories.entities import Trust

CORPUS = read_corpus()
LEARNED = datetime(2026, 1, 5, tzinfo=UTC)


class Letters:
    """Counts letters, so that no budget is met by chance."""

    name = "letters"

    def count(self, text: str) -> int:
        return len(text)


def an_entry(place: int, lesson: Lesson) -> Entry:
    return Entry(
        id=UUID(int=place + 1),
        kind="experience",
        situation=lesson.situation,
        lesson=lesson.lesson,
        author="agent",
        score=1 - place / 100,
        effective_weight=1.0,
        trust=Trust.UNVERIFIED,
        learned_at=LEARNED,
    )


def test_the_corpus_has_what_the_figures_are_of():
    lessons = CORPUS.lessons.values()

    assert len(lessons) >= 60
    assert len({one.trade for one in lessons}) == 6
    assert len({one.language for one in lessons}) == 5
    assert len(CORPUS.tasks) >= 60
    assert all(CORPUS.lessons[one.right].trade == one.trade for one in CORPUS.tasks)
    assert all(CORPUS.lessons[one.right].aside == one.aside for one in CORPUS.tasks)
    assert 20 <= sum(one.aside for one in CORPUS.tasks) <= 30
    assert sum(one.language == ENGLISH for one in CORPUS.tasks) >= 40
    counts = [
        sum((one.source, one.same) == kind for one in CORPUS.pairs)
        for kind in (("cases", False), ("cases", True), ("own", False), ("own", True))
    ]
    assert counts == [28, 6, 30, 10]
    assert sum(one.kind == "correction" for one in CORPUS.sayings) == 20


def test_no_task_repeats_its_lesson_word_by_word():
    for task in CORPUS.tasks:
        lesson = CORPUS.lessons[task.right]
        assert normal_form(task.text) not in normal_form(f"{lesson.situation} {lesson.lesson}")
        assert normal_form(lesson.situation) != normal_form(task.text)


def test_every_text_of_the_corpus_is_read_back_from_a_guideline_as_it_is():
    lessons = [*CORPUS.lessons.values(), *CORPUS.code]
    for start in range(0, len(lessons), 3):
        some = lessons[start : start + 3]
        entries = [an_entry(place, one) for place, one in enumerate(some)]
        guideline = compile_guideline(entries, Budget(32_000, Letters()), Framing())
        notes = read_notes(guideline.text or "")

        assert [note.citations for note in notes] == [("m1",), ("m2",), ("m3",)][: len(some)]
        for note, one in zip(notes, some, strict=True):
            assert one.lesson in note.texts
            assert set(note.texts) <= {one.lesson, one.situation}


def test_a_note_that_lost_a_line_is_seen():
    text = "Header.\n- When «x» [m1]:\n  | # one\n  | two"

    [note] = read_notes(text)

    assert note.texts == ("x", "# one\ntwo")
    assert "# one\n\ntwo" not in note.texts


@given(st.text())
def test_the_escape_is_undone_without_the_servers_own_code(text: str):
    assert unescape(quote(text)[1:-1]) == text


def test_the_first_release_says_the_same_notes_at_greater_length():
    lesson = CORPUS.lessons["support-en-1"]
    note = OldNote(
        str(UUID(int=7)), lesson.situation, lesson.lesson, "support-agent", LEARNED.isoformat()
    )

    texts = compile_as_first([OldGuideline("support", [note])])

    if texts is None:
        pytest.skip("a clone without history: the first release is not at hand")
    [text] = texts
    assert text.startswith("What agents reported about earlier tasks")
    assert lesson.lesson in text
    assert "(2026-01-05, weight 1.00, unverified)" in text


def a_run(agent, task, trial, success, memories=()):
    return {
        "source": "a log",
        "model": "m",
        "agent": agent,
        "task_id": task,
        "trial": trial,
        "success": bool(success),
        "memory_ids": list(memories),
    }


RECORD = Record("house", "a log", "m", ("with",), "without", 0.5)


@pytest.fixture
def folder(tmp_path):
    """Two tasks that failed first, one solved at once, one of another model."""
    runs = [
        a_run("with", "t1", 0, 0),
        a_run("with", "t1", 1, 1, ["r1"]),
        a_run("without", "t1", 0, 0),
        a_run("without", "t1", 1, 0),
        a_run("with", "t2", 0, 0),
        a_run("with", "t2", 1, 0, ["r2"]),
        a_run("with", "t2", 2, 1, ["r2", "r3"]),
        a_run("without", "t2", 0, 0),
        a_run("without", "t2", 1, 0),
        a_run("with", "t3", 0, 1),
        a_run("without", "t3", 0, 1),
        a_run("with", "t4", 0, 0) | {"model": "other"},
    ]
    tasks = [{"id": f"t{n}", "text": f"task {n}"} for n in range(1, 5)]
    memories = [{"id": f"r{n}", "text": f"reflection {n}"} for n in range(1, 4)]
    for name, rows in (("runs", runs), ("tasks", tasks), ("memories", memories)):
        with gzip.open(tmp_path / f"{name}.jsonl.gz", "wt") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
    return tmp_path


def test_a_task_is_solved_within_as_many_retries_as_both_records_have(folder):
    found = read_retried(folder, RECORD)

    assert [(one.task, one.solved, one.solved_without) for one in found] == [
        ("t1", True, False),
        ("t2", False, False),
    ]
    assert [one.reflections for one in found] == [("reflection 1",), ("reflection 2",)]


def statuses(**values: float) -> dict[str, str]:
    rows = [{"operation": name, "value": value, "unit": ""} for name, value in values.items()]
    return {one.name: one.status for one in targets(rows)}


def test_what_needs_a_language_model_is_not_run_without_one():
    found = statuses(served_en=0.95, first_en=0.8, payload_share=0.7)

    assert found["right lesson served, English"] == "met"
    assert found["right lesson served, English (language model)"] == "not_run"
    assert found["length against the first release (language model)"] == "not_run"
    assert found["reflections, household: reported effect"] == "not_run"


def test_a_kept_correction_short_is_a_missed_target():
    assert statuses(corrections=20, corrections_kept=19)["corrections kept"] == "missed"
    assert statuses(corrections=20, corrections_kept=20)["corrections kept"] == "met"


@pytest.mark.parametrize(
    ("interval", "status"),
    [({}, "met"), ({"low": -0.1, "high": 0.1}, "met"), ({"low": 0.01, "high": 0.1}, "missed")],
)
def test_an_interval_that_leaves_out_zero_claims_an_effect(interval, status):
    ends = {f"web_shopping_effect_{name}": value for name, value in interval.items()}

    found = statuses(web_shopping_effect=0.0, **ends)

    assert found["reflections, web shopping: intervals without 0"] == status
    assert found["reflections, web shopping: reported effect"] == "met"


def test_corrections_cite_by_a_mark_that_the_run_fills_in():
    citing = [one.said for one in CORPUS.sayings if CITE in one.said]

    assert citing
    assert all("[m:" not in one for one in citing)
