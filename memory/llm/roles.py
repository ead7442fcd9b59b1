"""The three roles of a language model: what each is given, what it is asked, what is taken.

A role gets only what it may use, as quoted material without secrets; its answer is checked here
before anything else sees it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar
from uuid import UUID

from memory.kernel.ports import Prompt, RoleName
from memory.kernel.quoting import shown
from memory.llm import prompts
from memory.llm.redaction import redacted

Result = TypeVar("Result")


# Material is cut here, so that no prompt outgrows a small model's window.
MAX_NOTES = 64


MAX_NOTE_CHARACTERS = 32_000


MAX_PART = 12_000


SMALL_ANSWER, LARGE_ANSWER = 700, 4_000


@dataclass(frozen=True, slots=True)
class LlmRole(Generic[Result]):
    """One question; `read` makes the result of its answer, or raises Malformed."""

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


def prompt_of(
    role: RoleName,
    asked: str,
    parts: Sequence[tuple[str, str]],
    schema: Mapping[str, object],
    *,
    room: int,
) -> Prompt:
    """The whole question: our rules, what is asked and the schema with the room for the answer, and
    the parts of the material, each with its title.
    """
    form = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    system = f"{prompts.RULES}\n\n{asked}\n\nSchema: {form}"
    material = "\n\n".join(
        f"{title}:\n{text.removeprefix(chr(10))}" for title, text in parts if text
    )
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
    return shown(whole)


def fitting_notes(notes: Sequence[Note]) -> list[Note]:
    """The strongest notes that a prompt has room for."""
    kept: list[Note] = []
    left = MAX_NOTE_CHARACTERS
    for note in notes[:MAX_NOTES]:
        left -= len(note.situation) + len(note.lesson)
        if left < 0:
            break
        kept.append(note)
    return kept


def rendered_notes(notes: Sequence[Note]) -> str:
    return "\n".join(
        f"m{place} ({note.kind}, weight {note.weight:.2f}"
        f"{'' if note.trusted else ', unverified'}): {_rendered(note)}"
        for place, note in enumerate(notes, start=1)
    )


def _rendered(note: Note) -> str:
    """A block ends with its last line; what follows it begins one of its own."""
    situation = said(note.situation)
    between = "\n  do: " if "\n" in situation else ": "
    return f"on {situation}{between}{said(note.lesson)}"
