"""The three roles of a language model: what each is given, what it is asked, what is taken.

A role gets only what it may use, as quoted material without secrets; its answer is checked here
before anything else sees it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar, cast
from uuid import UUID

from memory.domain.redaction import redacted
from memory.domain.replies import Malformed, list_of, object_of, read_object, text_of
from memory.domain.text import LESSON, SITUATION
from memory.guideline import prompts
from memory.guideline.compiler import Budget, Guideline
from memory.guideline.drafted import MAX_LINE, MAX_LINES, DraftLine, composed
from memory.guideline.quoting import neutral, quoted
from memory.ports import Prompt

Result = TypeVar("Result")

# Material is cut here, so that no prompt outgrows a small model's window.
MAX_NOTES = 64
MAX_NOTE_CHARACTERS = 32_000
MAX_PART = 12_000
MAX_CITES = 8
MAX_REASON = 1_000
MAX_INSTRUCTION = 1_000
SMALL_ANSWER, LARGE_ANSWER = 700, 4_000
FEWEST_WORDS, MOST_WORDS = 20, 600


@dataclass(frozen=True, slots=True)
class Role(Generic[Result]):
    """One question to a writer; `read` makes the result of its answer, or raises Malformed."""

    name: str
    prompt: Prompt
    read: Callable[[str], Result]


@dataclass(frozen=True, slots=True)
class Note:
    """A memory as a role sees it."""

    id: UUID
    kind: str
    situation: str
    lesson: str
    weight: float
    trusted: bool


@dataclass(frozen=True, slots=True)
class CompileMaterial:
    """What a guideline is written from; notes strongest first, none of them in quarantine.

    `instruction` is that of the meta-guideline in force, if there is one.
    """

    task: str
    category: str
    notes: tuple[Note, ...]
    instruction: str | None = None


@dataclass(frozen=True, slots=True)
class ReflectMaterial:
    """A paired run in which memory did harm; rewards in [0, 1]."""

    task: str
    category: str
    guideline: str
    notes: tuple[Note, ...]
    reward_with: float
    reward_without: float
    run_with: str | None = None
    run_without: str | None = None


@dataclass(frozen=True, slots=True)
class Reflection:
    """A candidate meta-guideline; `directives` holds those of `prompts.DIRECTIVES` that were
    given.
    """

    failure_reason: str
    instruction: str
    directives: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True, slots=True)
class SummariseMaterial:
    """An attempt that went badly; `run` is its trajectory as text, `reported` the agent's words."""

    task: str
    category: str
    reward: float
    guideline: str | None = None
    run: str | None = None
    result: str | None = None
    reported: str | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """A candidate experience."""

    situation: str
    lesson: str


def compile_role(material: CompileMaterial, plain: Guideline, budget: Budget) -> Role[Guideline]:
    """Notes → guideline. `plain` is the deterministic one: its header stays, and its cuts do."""
    notes = _fitting(material.notes)
    labels = {f"m{place}": note.id for place, note in enumerate(notes, start=1)}
    words = max(FEWEST_WORDS, min(MOST_WORDS, budget.max_tokens // 2))
    system = prompts.COMPILE.format(lines=MAX_LINES, words=words)
    parts = [
        ("Task", said(material.task)),
        ("Category", said(material.category)),
        ("Notes", _noted(notes)),
    ]
    if material.instruction is not None:
        parts.insert(2, ("How earlier advice went wrong", said(material.instruction)))
    room = max(SMALL_ANSWER, min(LARGE_ANSWER, 2 * budget.max_tokens))
    return Role(
        "compile",
        prompt_of("compile", system, parts, (prompts.COMPILE_SCHEMA, room)),
        lambda answer: composed(_lines(answer, labels), plain, budget),
    )


def reflect_role(material: ReflectMaterial) -> Role[Reflection]:
    """A harmful paired run → a candidate meta-guideline."""
    gap = f"{material.reward_with:.3f} with the advice, {material.reward_without:.3f} without"
    parts = [
        ("Task", said(material.task)),
        ("Category", said(material.category)),
        ("Rewards (0 to 1, larger is better)", gap),
        ("Notes the advice was made of", _noted(_fitting(material.notes))),
        ("The advice", said(material.guideline)),
        ("The run with the advice", said(material.run_with)),
        ("The run without it", said(material.run_without)),
    ]
    shape = (prompts.REFLECT_SCHEMA, SMALL_ANSWER)
    return Role("reflect", prompt_of("reflect", prompts.REFLECT, parts, shape), _reflection)


def summarise_role(material: SummariseMaterial) -> Role[Summary]:
    """A failed attempt → a candidate experience."""
    parts = [
        ("Task", said(material.task)),
        ("Category", said(material.category)),
        ("Reward (0 to 1, larger is better)", f"{material.reward:.3f}"),
        ("The advice it had", said(material.guideline)),
        ("The run", said(material.run)),
        ("Its result", said(material.result)),
        ("What the agent said about it", said(material.reported)),
    ]
    shape = (prompts.SUMMARISE_SCHEMA, SMALL_ANSWER)
    return Role("summarise", prompt_of("summarise", prompts.SUMMARISE, parts, shape), _summary)


def prompt_of(
    role: str,
    asked: str,
    parts: Sequence[tuple[str, str]],
    shape: tuple[Mapping[str, object], int],
) -> Prompt:
    """The whole question: our rules, what is asked and the schema with the room for the answer, and
    the parts of the material, each with its title.
    """
    schema, room = shape
    form = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    system = f"{prompts.RULES}\n\n{asked}\n\nSchema: {form}"
    material = "\n\n".join(f"{title}:\n{text}" for title, text in parts if text)
    return Prompt(role, system, material, schema, room)


def said(text: str | None) -> str:
    """Anyone's text, as material; nothing where there is none. A long one keeps both ends."""
    if not text:
        return ""
    # What surely falls away is not searched; the margin keeps a secret at the edge whole.
    if len(text) > 4 * MAX_PART:
        text = f"{text[: 2 * MAX_PART]}\n{text[-2 * MAX_PART :]}"
    whole = redacted(text)
    if len(whole) > MAX_PART:
        half = MAX_PART // 2
        whole = f"{whole[:half]}\n(left out here)\n{whole[-half:]}"
    return quoted(neutral(whole))


def _fitting(notes: Sequence[Note]) -> list[Note]:
    """The strongest notes that a prompt has room for."""
    kept: list[Note] = []
    left = MAX_NOTE_CHARACTERS
    for note in notes[:MAX_NOTES]:
        left -= len(note.situation) + len(note.lesson)
        if left < 0:
            break
        kept.append(note)
    return kept


def _noted(notes: Sequence[Note]) -> str:
    return "\n".join(
        f"m{place} ({note.kind}, weight {note.weight:.2f}"
        f"{'' if note.trusted else ', unverified'}): on {said(note.situation)}: "
        f"{said(note.lesson)}"
        for place, note in enumerate(notes, start=1)
    )


def _lines(answer: str, labels: Mapping[str, UUID]) -> list[DraftLine]:
    parts = list_of(read_object(answer, ("lines",)), "lines", MAX_LINES)
    return [_line(object_of(part, "a line"), labels) for part in parts]


def _line(part: Mapping[str, object], labels: Mapping[str, UUID]) -> DraftLine:
    """A line that cites what it was not given is no line: it was made up, or steered."""
    cites = list_of(part, "cites", MAX_CITES)
    known = [labels.get(str(label).strip(" []")) for label in cites]
    if None in known:
        raise Malformed("a line cites what it was not given", code="uncited")
    memory_ids = tuple(dict.fromkeys(cast("list[UUID]", known)))
    return DraftLine(text_of(part, "text", MAX_LINE), memory_ids)


def _reflection(answer: str) -> Reflection:
    read = read_object(answer, ("failure_reason", "instruction"))
    return Reflection(
        failure_reason=text_of(read, "failure_reason", MAX_REASON),
        instruction=text_of(read, "instruction", MAX_INSTRUCTION),
        directives=_directives(read.get("directives") or {}),
    )


def _directives(given: object) -> dict[str, object]:
    """The directives there are, with values they can have; the others are left out."""
    return {
        name: value
        for name, value in object_of(given, "directives").items()
        if name in prompts.DIRECTIVES
        and _allowed(value, cast("Mapping[str, object]", prompts.DIRECTIVES[name]))
    }


def _allowed(value: object, shape: Mapping[str, object]) -> bool:
    if shape["type"] == "boolean":
        return isinstance(value, bool)
    if shape["type"] == "integer":
        low, high = cast("int", shape["minimum"]), cast("int", shape["maximum"])
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
    return value in cast("list[object]", shape["enum"])


def _summary(answer: str) -> Summary:
    read = read_object(answer, ("situation", "lesson"))
    return Summary(text_of(read, "situation", SITUATION), text_of(read, "lesson", LESSON))
