"""Every task of the corpus asked over HTTP, and what the guidelines come to."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from memlift_client import (
    ExperienceFields,
    Guideline,
    MemLift,
    QueryFields,
    RetrievalFields,
    TaskFields,
)

from benchmarks.bench import Bench
from benchmarks.guidelines.corpus import ENGLISH, AskedTask, Lesson
from benchmarks.guidelines.first_release import OldGuideline, OldNote, compile_as_first
from benchmarks.guidelines.reading import read_notes
from memory.kernel.ports import TokenCounter

AGENT = "reader"
SHORT = 50
"""A lesson is short when it has one line, and with its situation so many tokens at most."""
LEARNED = datetime(2026, 1, 5, tzinfo=UTC).isoformat()


@dataclass(frozen=True, slots=True)
class Answer:
    """What a task was served: its guideline, and the lessons by their citations, in order."""

    task: AskedTask
    guideline: Guideline
    compiler: str
    cited: Sequence[tuple[str, Lesson]]

    @property
    def text(self) -> str:
        return self.guideline.text or ""

    @property
    def lessons(self) -> list[Lesson]:
        return [lesson for _, lesson in self.cited]

    @property
    def place(self) -> int | None:
        """Where the right lesson stands, from 0; None where it is not served."""
        ids = [lesson.id for lesson in self.lessons]
        return ids.index(self.task.right) if self.task.right in ids else None


def fill(client: MemLift, slug: str, lessons: Sequence[Lesson]) -> dict[str, Lesson]:
    """A namespace with these lessons, by the ids that the server gives them."""
    client.create_namespace(slug)
    drafts = [
        ExperienceFields(
            agent=f"{one.trade}-agent",
            situation=one.situation,
            lesson=one.lesson,
            category=one.trade,
        )
        for one in lessons
    ]
    stored = client.within(slug).remember_all(drafts)
    ids = [item.unwrap().id for item in stored]
    return dict(zip(ids, lessons, strict=True))


class Way(StrEnum):
    """How the tasks are asked: as an agent does that says nothing but its task, or not."""

    DEFAULT = "default"
    BOTH = "both_texts"
    UNGATED = "gates_off"


@dataclass(frozen=True, slots=True)
class Asking:
    """A filled namespace, and how it is asked."""

    memory: MemLift
    known: Mapping[str, Lesson]
    k: int

    def ask_all(self, tasks: Sequence[AskedTask], way: Way = Way.DEFAULT) -> list[Answer]:
        """Each task by itself, to act, with memory on and nothing drawn at random."""
        return [self._ask(task, way) for task in tasks]

    def _ask(self, task: AskedTask, way: Way) -> Answer:
        ask = RetrievalFields(
            agent=AGENT,
            task=TaskFields(text=task.text),
            k=self.k,
            arm="on",
            explore=False,
            format="brief",
        )
        if way is Way.BOTH:
            ask["queries"] = [
                QueryFields(text=task.text, target="situation"),
                QueryFields(text=task.text, target="lesson"),
            ]
        if way is Way.UNGATED:
            ask["gates"] = "off"
        got = self.memory.retrieve(**ask)
        cited = [(name, self.known[one]) for name, one in got.guideline.citations.items()]
        return Answer(task, got.guideline, got.compiler, cited)


def say_places(bench: Bench, answers: Sequence[Answer], prefix: str = "") -> None:
    """How often the right lesson is served, and stands first: by language, and apart for what was
    kept aside.
    """
    languages = dict.fromkeys(one.task.language for one in answers)
    bench.say(f"{'language':<10}{'tasks':>7}{'served':>8}{'first':>7}{'aside':>7}{'served':>8}")
    for language in languages:
        some = [one for one in answers if one.task.language == language]
        aside = [one for one in some if one.task.aside]
        bench.say(
            f"{language:<10}{len(some):>7}{_served(some):>8.2f}{_first(some):>7.2f}"
            f"{len(aside):>7}{_served(aside):>8.2f}"
        )
        bench.number(f"{prefix}tasks_{language}", len(some), "tasks")
        bench.number(f"{prefix}served_{language}", _served(some), "share")
        bench.number(f"{prefix}first_{language}", _first(some), "share")
    aside = [one for one in answers if one.task.aside and one.task.language == ENGLISH]
    bench.number(f"{prefix}served_en_aside", _served(aside), "share")
    bench.number(f"{prefix}first_en_aside", _first(aside), "share")


def say_ways(bench: Bench, asking: Asking, tasks: Sequence[AskedTask]) -> None:
    """The English tasks in each way of asking: the right lesson, and what else is handed out."""
    english = [one for one in tasks if one.language == ENGLISH]
    for way in Way:
        answers = asking.ask_all(english, way)
        others = sum(len(one.lessons) - (one.place is not None) for one in answers)
        served, first = _served(answers), _first(answers)
        each = others / len(answers)
        bench.say(f"{way}: served {served:.2f}, first {first:.2f}, {each:.2f} others each")
        bench.number(f"{way}_served", served, "share")
        bench.number(f"{way}_first", first, "share")
        bench.number(f"{way}_others_each", each, "notes")


def _served(answers: Sequence[Answer]) -> float:
    return _share([one.place is not None for one in answers])


def _first(answers: Sequence[Answer]) -> float:
    return _share([one.place == 0 for one in answers])


def _share(signs: Sequence[bool]) -> float:
    return sum(signs) / len(signs) if signs else 0.0


def compile_before(answers: Sequence[Answer]) -> dict[str, str]:
    """By task: what the first release's compiler makes of the same notes; nothing where the history
    is not at hand.
    """
    texts = compile_as_first([_as_old(one) for one in answers])
    return {} if texts is None else {a.task.id: t for a, t in zip(answers, texts, strict=True)}


def say_tokens(
    bench: Bench, answers: Sequence[Answer], before: Mapping[str, str], counter: TokenCounter
) -> None:
    """Of guidelines on short English lessons: the share that is situation and lesson, and their
    length against the first release's form.
    """
    short = [
        one for one in answers if one.lessons and all(_is_short(n, counter) for n in one.lessons)
    ]
    bench.number("short_guidelines", len(short), "guidelines")
    if not short:
        return
    tokens = sum(one.guideline.tokens for one in short)
    payload = sum(counter.count(text) for one in short for text in _quoted(one))
    bench.number("notes_each", sum(len(one.cited) for one in short) / len(short), "notes")
    bench.number("tokens_each", tokens / len(short), "tokens")
    bench.number("payload_share", payload / tokens, "share")
    if not before:
        bench.say("the first release is not in this repository's history: not compared")
        return
    old = sum(counter.count(before[one.task.id]) for one in short)
    whole = [
        text for one in short for note in one.lessons for text in (note.situation, note.lesson)
    ]
    bench.number("first_release_tokens_each", old / len(short), "tokens")
    bench.number("first_release_payload", sum(map(counter.count, whole)) / old, "share")
    bench.number("length_ratio", tokens / old, "ratio")


def say_model_tokens(bench: Bench, answers: Sequence[Answer], counter: TokenCounter) -> None:
    """The same lengths where a language model wrote, of those guidelines that it did write."""
    before = compile_before(answers)
    held = [one for one in answers if one.lessons]
    written = [one for one in held if one.compiler.startswith("model/")]
    bench.number("model_written", len(written) / max(1, len(held)), "share")
    if written and before:
        tokens = sum(one.guideline.tokens for one in written)
        old = sum(counter.count(before[one.task.id]) for one in written)
        bench.number("model_length_ratio", tokens / old, "ratio")


def _is_short(lesson: Lesson, counter: TokenCounter) -> bool:
    size = counter.count(lesson.situation) + counter.count(lesson.lesson)
    return lesson.language == ENGLISH and not lesson.is_code and size <= SHORT


def _quoted(answer: Answer) -> Iterator[str]:
    for note in read_notes(answer.text):
        yield from note.texts


def _as_old(answer: Answer) -> OldGuideline:
    ids = answer.guideline.citations
    notes = [
        OldNote(ids[name], one.situation, one.lesson, f"{one.trade}-agent", LEARNED)
        for name, one in answer.cited
    ]
    return OldGuideline(answer.task.trade, notes)


@dataclass(frozen=True, slots=True)
class Equality:
    """Notes that were read, and those of them whose texts are not as they were stored."""

    notes: int
    changed: int


def count_equal(answers: Sequence[Answer]) -> Equality:
    """A note quotes its lesson, and its situation or nothing else."""
    equal: list[bool] = []
    for answer in answers:
        read = {name: note.texts for note in read_notes(answer.text) for name in note.citations}
        for name, lesson in answer.cited:
            texts = set(read.get(name, ()))
            equal.append(lesson.lesson in texts and texts <= {lesson.lesson, lesson.situation})
    return Equality(len(equal), equal.count(False))
