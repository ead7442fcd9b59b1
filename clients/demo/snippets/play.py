"""Plays the tasks over HTTP: ten a day, in two namespaces of one server, and without memory.

Every day all arms answer the same tasks; then each memory is told what its answer was worth, and
what the agent's own idea was worth, which is the run without memory of that task.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import repeat
from math import ceil
from typing import Literal, cast

from memlift_client import (
    BatchedReportFields,
    ExperienceFields,
    MemLift,
    NamespaceSettingsFields,
    Retrieval,
    RetrievalFields,
    TaskFields,
)

from clients.demo.snippets.coder import Answer, answer
from clients.demo.snippets.judge import Submission, Verdict, judge
from clients.demo.snippets.topic import Note, Task

AGENT = "coder"
NONE, SIMILARITY, MEMLIFT = "no memory", "similarity only", "MemLift"
ARMS = (NONE, SIMILARITY, MEMLIFT)
TASKS_A_DAY = 10
FIRST_DAY = datetime(2026, 1, 5, tzinfo=UTC)
DAY = timedelta(days=1)
Citing = Literal["used", "verdict", "nothing"]
"""How a report names the note that the agent followed: as used, as helpful or harmful by how the
tests went, or not at all.
"""

CITING: Citing = "used" if "used" in BatchedReportFields.__annotations__ else "verdict"

# No language model is asked, so there is nothing to synthesise.
LEARNING = NamespaceSettingsFields(meta_guidelines=False)
# Exploring is a part of learning: what only compares has no place to give away.
FROZEN = LEARNING | NamespaceSettingsFields(slot_rate=0.0)


@dataclass(frozen=True, slots=True)
class Attempt:
    """One task in one arm. `served` names the notes in order; `followed` is one of them, or None
    where the agent went by its own idea.
    """

    arm: str
    place: int
    topic: str
    hard: bool
    text: str
    passed: bool
    detail: str
    served: tuple[str, ...] = ()
    followed: str | None = None
    receipt: str | None = None
    ranker: str | None = None


@dataclass(slots=True)
class Memory:
    """A namespace with the notes in it."""

    arm: str
    slug: str
    client: MemLift
    notes: Mapping[str, Note] = field(default_factory=dict[str, Note])

    def fill(self, notes: Sequence[Note]) -> None:
        items = self.client.remember_all([_experience(note) for note in notes])
        stored = [item.unwrap() for item in items]
        self.notes = {row.id: note for row, note in zip(stored, notes, strict=True)}

    def ask(self, tasks: Sequence[Task], now: datetime) -> list[Retrieval]:
        asked = self.client.retrieve_all([_question(task, now) for task in tasks])
        return [item.unwrap() for item in asked]

    def learn(self, reports: Sequence[BatchedReportFields]) -> None:
        for item in self.client.report_all(reports):
            item.unwrap()
        self.client.apply_outcomes()


@dataclass(frozen=True, slots=True)
class _Turn:
    """What one memory served for the tasks of a day, and what the agent made of it."""

    memory: Memory
    tasks: Sequence[Task]
    retrievals: Sequence[Retrieval]
    answers: Sequence[Answer]


Tell = Callable[[Sequence[Attempt]], None]


def open_memories(client: MemLift, notes: Sequence[Note]) -> tuple[Memory, Memory]:
    """Two new namespaces of one server with the same notes: one is frozen, one learns."""
    taken = {namespace.slug for namespace in client.each_namespace()}
    number = next(n for n in range(1, len(taken) + 2) if f"demo-{n}-memlift" not in taken)
    frozen, learning = f"demo-{number}-similarity-only", f"demo-{number}-memlift"
    client.create_namespace(frozen, clock="replay", learning="frozen", settings=FROZEN)
    client.create_namespace(learning, clock="replay", learning="on", settings=LEARNING)
    memories = (
        Memory(SIMILARITY, frozen, client.within(frozen)),
        Memory(MEMLIFT, learning, client.within(learning)),
    )
    for memory in memories:
        memory.fill(notes)
    return memories


def end_of(tasks: int) -> datetime:
    """When the results of the last of so many tasks are known."""
    return FIRST_DAY + ceil(tasks / TASKS_A_DAY) * DAY


def play(
    memories: Sequence[Memory], tasks: Sequence[Task], tell: Tell, citing: Citing = CITING
) -> list[Attempt]:
    """Every task once in each arm; `tell` hears of each day."""
    attempts: list[Attempt] = []
    with ThreadPoolExecutor(len(memories)) as pool:
        for day, start in enumerate(range(0, len(tasks), TASKS_A_DAY)):
            some = tasks[start : start + TASKS_A_DAY]
            now = FIRST_DAY + day * DAY
            turns = list(pool.map(_take, memories, repeat(some), repeat(now)))
            own = [answer(task) for task in some]
            verdicts = _judge(some, [own, *(turn.answers for turn in turns)])
            done = list(_attempts(some, start, turns, verdicts))
            reports = [_reports(turn, verdicts, now + DAY, citing) for turn in turns]
            list(pool.map(Memory.learn, memories, reports))
            attempts += done
            tell(done)
    return attempts


def _take(memory: Memory, tasks: Sequence[Task], now: datetime) -> _Turn:
    retrievals = memory.ask(tasks, now)
    answers = [
        answer(task, [one for one in retrieval.memories if one.cited])
        for task, retrieval in zip(tasks, retrievals, strict=True)
    ]
    return _Turn(memory, tasks, retrievals, answers)


Verdicts = Mapping[tuple[str, str], Verdict]


def _judge(tasks: Sequence[Task], answers: Sequence[Sequence[Answer]]) -> Verdicts:
    """Equal answers to a task are run once."""
    wanted = {
        (task.key, given.snippet): Submission(task, given.snippet)
        for of_arm in answers
        for task, given in zip(tasks, of_arm, strict=True)
    }
    return dict(zip(wanted, judge(list(wanted.values())), strict=True))


def _attempts(
    tasks: Sequence[Task], start: int, turns: Sequence[_Turn], verdicts: Verdicts
) -> Iterator[Attempt]:
    for place, task in enumerate(tasks):
        own = verdicts[task.key, task.first_idea]
        told = (start + place, task.topic, task.hard, task.text)
        yield Attempt(NONE, *told, own.passed, own.detail)
        for turn in turns:
            given, retrieval = turn.answers[place], turn.retrievals[place]
            verdict, notes = verdicts[task.key, given.snippet], turn.memory.notes
            yield Attempt(
                turn.memory.arm,
                *told,
                verdict.passed,
                verdict.detail,
                tuple(notes[one.memory_id].name for one in retrieval.memories if one.cited),
                None if given.memory_id is None else notes[given.memory_id].name,
                retrieval.retrieval_id,
                retrieval.ranker,
            )


def _reports(
    turn: _Turn, verdicts: Verdicts, now: datetime, citing: Citing
) -> list[BatchedReportFields]:
    """A pair for each task: the answer by the notes, and the agent's own idea."""
    reports: list[BatchedReportFields] = []
    for task, given, retrieval in zip(turn.tasks, turn.answers, turn.retrievals, strict=True):
        passed = verdicts[task.key, given.snippet].passed
        report = BatchedReportFields(
            retrieval_id=retrieval.receipt,
            reward=float(passed),
            without={"reward": float(verdicts[task.key, task.first_idea].passed)},
            reward_kind="binary",
            evaluator="tests",
            verifier="test",
            known_at=now,
        )
        reports.append(cast("BatchedReportFields", report | cite(given, citing, passed=passed)))
    return reports


def cite(given: Answer, citing: Citing, *, passed: bool) -> dict[str, list[str]]:
    """The members of a report that name the note which was followed."""
    followed = [] if given.memory_id is None else [given.memory_id]
    if citing == "used":
        return {"used": followed}
    if citing == "verdict":
        return {"helpful" if passed else "harmful": followed}
    return {}


def _question(task: Task, now: datetime) -> RetrievalFields:
    """Both runs are promised, so chance withholds nothing. The number of notes is the default."""
    asked = TaskFields(text=task.text, key=task.key, category=task.language)
    return RetrievalFields(agent=AGENT, task=asked, purpose="paired", as_of=now)


def _experience(note: Note) -> ExperienceFields:
    return ExperienceFields(
        agent=note.author,
        situation=note.situation,
        lesson=note.lesson,
        category=note.language,
        learned_at=FIRST_DAY,
    )
