"""The tasks of the demonstration: notes are worth what they are said to be, and nothing escapes."""

import os
import time
from random import Random

import pytest
from snippet_builders import a_note_served, a_task, topic_of

from clients.demo.snippets.coder import Answer, answer
from clients.demo.snippets.judge import Submission, Verdict, judge
from clients.demo.snippets.play import Citing, cite
from clients.demo.snippets.snippet import find_snippets, fits
from clients.demo.snippets.tasks import HARD, TOPICS, deal_notes, deal_task, deal_tasks
from clients.demo.snippets.topic import Task, Topic

DRAWS = 12


def tried(topic: Topic, lesson: str, *, hard: bool) -> list[Verdict]:
    """What the snippet of a lesson comes to on several tasks."""
    tasks = [deal_task(topic, Random(f"{topic.key} {n}"), n, hard=hard) for n in range(DRAWS)]
    found = [[one for one in find_snippets(lesson) if fits(one, task)] for task in tasks]
    assert [len(snippets) for snippets in found] == [1] * DRAWS
    return judge(
        [Submission(task, snippets[0]) for task, snippets in zip(tasks, found, strict=True)]
    )


def test_a_right_note_passes_every_task_of_its_topic(subtests) -> None:
    for topic in TOPICS:
        with subtests.test(topic.key):
            for hard in (True, False):
                assert [v.detail for v in tried(topic, topic.right, hard=hard)] == [""] * DRAWS


def test_a_wrong_note_fails_every_hard_task_and_passes_every_easy_one(subtests) -> None:
    for topic in TOPICS:
        with subtests.test(topic.key):
            assert not any(v.passed for v in tried(topic, topic.wrong, hard=True))
            assert all(v.passed for v in tried(topic, topic.wrong, hard=False))


def test_a_note_beside_the_point_fits_no_task_of_its_topic(subtests) -> None:
    for topic in TOPICS:
        with subtests.test(topic.key):
            assert find_snippets(topic.beside[1])
            for n in range(DRAWS):
                task = deal_task(topic, Random(n), n, hard=True)
                assert not any(fits(one, task) for one in find_snippets(topic.beside[1]))


def test_the_first_idea_is_an_answer_that_easy_tasks_accept(subtests) -> None:
    for topic in TOPICS:
        with subtests.test(topic.key):
            task = deal_task(topic, Random(1), 0, hard=False)
            assert judge([Submission(task, topic.first_idea)]) == [Verdict(passed=True, detail="")]


def test_without_notes_the_agent_is_sometimes_right() -> None:
    tasks = deal_tasks(100, 96)
    passed = sum(verdict.passed for verdict in judge([Submission(t, t.first_idea) for t in tasks]))

    assert 0.25 < passed / len(tasks) < 0.6


def test_there_are_enough_topics_and_every_lesson_is_said_once() -> None:
    notes = deal_notes(100)

    assert len(TOPICS) >= 20
    assert len({topic.key for topic in TOPICS}) == len(TOPICS)
    assert len({note.lesson for note in notes}) == len({note.situation for note in notes}) == 72


def test_the_same_seed_deals_the_same_and_another_one_something_else() -> None:
    assert deal_tasks(100, 60) == deal_tasks(100, 60)
    assert deal_notes(100) == deal_notes(100)
    assert deal_tasks(100, 60) == deal_tasks(100, 300)[:60]
    assert deal_tasks(100, 60) != deal_tasks(101, 60)
    assert deal_notes(100) != deal_notes(101)


def test_tasks_of_a_topic_differ_in_words_and_data() -> None:
    tasks = [task for task in deal_tasks(100, 300) if task.topic == "prefix"]

    assert len({task.text for task in tasks}) > len(tasks) / 2
    assert len({task.checks for task in tasks}) == len(tasks)


def test_every_round_meets_every_topic_and_most_tasks_are_hard() -> None:
    tasks = deal_tasks(100, 10 * len(TOPICS))

    assert {task.topic for task in tasks[: len(TOPICS)]} == {topic.key for topic in TOPICS}
    assert sum(task.hard for task in tasks) / len(tasks) == pytest.approx(HARD, abs=0.1)


def test_neither_the_wording_nor_the_author_of_a_note_gives_it_away() -> None:
    dealt = [note for seed in range(100, 140) for note in deal_notes(seed)]
    for topic in TOPICS:
        over_right = [n.situation for n in dealt if (n.topic, n.worth) == (topic.key, "right")]
        assert set(over_right) == set(topic.situations)
    shares = {
        worth: sum(n.author == "wiki" for n in dealt if n.worth == worth) / (40 * len(TOPICS))
        for worth in ("right", "wrong")
    }
    assert shares["right"] == pytest.approx(shares["wrong"], abs=0.06)


def test_the_agent_follows_the_first_note_that_fits_and_says_which() -> None:
    topic, task = topic_of("prefix"), a_task()
    served = [
        a_note_served(topic.right, rank=3),
        a_note_served(topic.beside[1], rank=1),
        a_note_served(topic.wrong, rank=2),
    ]

    assert answer(task, served).snippet == "text.lstrip(prefix)"
    assert answer(task, served).memory_id == "m-2"
    assert answer(task, served[1:2]).snippet == topic.first_idea
    assert answer(task).memory_id is None


@pytest.mark.parametrize(
    ("citing", "passed", "members"),
    [
        ("used", True, {"used": ["m-2"]}),
        ("used", False, {"used": ["m-2"]}),
        ("verdict", True, {"helpful": ["m-2"]}),
        ("verdict", False, {"harmful": ["m-2"]}),
        ("nothing", True, {}),
    ],
)
def test_a_report_names_the_note_that_was_followed(
    citing: Citing, *, passed: bool, members: dict[str, list[str]]
) -> None:
    assert cite(Answer("text", "m-2"), citing, passed=passed) == members
    own = cite(Answer("text", None), citing, passed=passed)
    assert own == {name: [] for name in members}


@pytest.mark.parametrize(
    "snippet",
    [
        "text.removeprefix(prefix) + __import__('os').name",
        "[text, prefix] and open('/etc/passwd').read()",
        "(text, prefix).__class__",
        "(one for one in (text, prefix)).gi_frame.f_back",
        "'{0.__class__}'.format(text, prefix)",
        "eval(text, prefix)",
        "text.upper()",
        "text.removeprefix(prefix) if text else (yes := 1)",
        "text.removeprefix(prefix); prefix",
        "def cut(text, prefix): import os; return text",
        "def cut(text): return text",
        "@print\ndef cut(text, prefix): return text",
        "SELECT 1",
        "text.(",
        "\x00",
    ],
)
def test_what_takes_something_else_or_reaches_further_is_no_answer(snippet: str) -> None:
    assert fits(snippet, a_task()) is None
    assert judge([Submission(a_task(), snippet)])[0].passed is False


@pytest.mark.parametrize(
    "query",
    [
        "SELECT name FROM customer",
        "SELECT name FROM customer WHERE name = :start OR id = :other",
        "SELECT name FROM nowhere WHERE name = :start",
        "DELETE FROM customer WHERE name = :start",
        "SELECT name FROM customer WHERE name = :start; DROP TABLE customer",
    ],
)
def test_a_query_must_be_one_that_reads_and_compiles(query: str) -> None:
    assert fits(query, a_task("like")) is None


ENDLESS = "text.removeprefix(prefix) + str(sum(1 for one in iter(int, 1)))"
GREEDY = "text.removeprefix(prefix) + str(len('x' * (1 << 33)))"


def test_one_that_hangs_or_takes_all_memory_harms_no_other() -> None:
    task, right = a_task(), "text.removeprefix(prefix)"
    began = time.monotonic()

    verdicts = judge([Submission(task, one) for one in (ENDLESS, right, GREEDY, right)])

    assert [verdict.passed for verdict in verdicts] == [False, True, False, True]
    assert "after 2 s of work" in verdicts[0].detail
    assert "MemoryError" in verdicts[2].detail
    assert time.monotonic() - began < 60


def test_the_clock_ends_what_the_limit_on_work_does_not() -> None:
    [verdict] = judge([Submission(a_task(), ENDLESS)], seconds=0.3)

    assert verdict == Verdict(passed=False, detail="took longer than 0.3 s")


@pytest.mark.parametrize(
    "snippet",
    [
        "text.removeprefix(prefix) + io.open('/etc/hostname').read()",
        "text.removeprefix(prefix) + re.enum.sys.modules['os'].name",
        "text.removeprefix(prefix) + json.codecs.open('/etc/hostname').read()",
    ],
)
def test_modules_are_not_there_as_a_whole(snippet: str) -> None:
    [verdict] = judge([Submission(a_task(), snippet)])

    assert verdict.passed is False
    assert "AttributeError" in verdict.detail


def test_a_query_cannot_reach_a_file(tmp_path) -> None:
    task = a_task("like")
    file = tmp_path / "written"
    query = f"SELECT name FROM customer WHERE name GLOB :start || '*' AND writefile('{file}', 1)"

    assert judge([Submission(task, query)])[0].passed is False
    assert not os.path.exists(file)  # noqa: PTH110 - what is promised is that there is no file


def test_a_task_shows_the_agent_no_test() -> None:
    task: Task = a_task()

    assert not any(check.expected in task.text for check in task.checks)
