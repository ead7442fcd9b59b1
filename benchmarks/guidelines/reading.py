"""Reads a guideline in `brief` as an agent would: which texts each note quotes.

Nothing of the server is used: the compiler's prefix and its one escape are undone here anew.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

PREFIX = "  | "
BULLET = "- "
OPEN, CLOSE = "«", "»"
ESCAPE, END = "\\u{", "}"
LONGEST = 6


@dataclass(frozen=True, slots=True)
class ReadNote:
    """A note: its citations in order, and the texts that it quotes."""

    citations: tuple[str, ...]
    texts: tuple[str, ...]


def read_notes(text: str) -> list[ReadNote]:
    """The notes of a guideline, in order."""
    notes: list[list[str]] = []
    for line in text.split("\n"):
        if line.startswith(BULLET):
            notes.append([line])
        elif notes:
            notes[-1].append(line)
    return [_read_note(lines) for lines in notes]


def _read_note(lines: Sequence[str]) -> ReadNote:
    texts: list[str] = []
    outside: list[str] = []
    quoted: list[str] = []
    for line in [*lines, ""]:
        if line.startswith(PREFIX):
            quoted.append(unescape(line.removeprefix(PREFIX)))
            continue
        if quoted:
            texts.append("\n".join(quoted))
            quoted.clear()
        for place, part in enumerate(_parts(line)):
            (texts if place % 2 else outside).append(part)
    return ReadNote(tuple(_citations(" ".join(outside))), tuple(texts))


def _parts(line: str) -> Iterator[str]:
    """What stands outside quotation marks and inside them, in turn."""
    for outside in line.split(CLOSE):
        before, mark, inside = outside.partition(OPEN)
        yield before
        if mark:
            yield unescape(inside)


def _citations(outside: str) -> Iterator[str]:
    for part in outside.split("[")[1:]:
        name, closed, _ = part.partition("]")
        if closed:
            yield name


def unescape(text: str) -> str:
    r"""The text with each `\u{hex}` as the character that it stands for."""
    first, *rest = text.split(ESCAPE)
    found = [first]
    for part in rest:
        code, closed, after = part.partition(END)
        found.append(chr(int(code, 16)) + after if closed and _is_code(code) else ESCAPE + part)
    return "".join(found)


def _is_code(code: str) -> bool:
    return 0 < len(code) <= LONGEST and all(one in "0123456789abcdef" for one in code)
