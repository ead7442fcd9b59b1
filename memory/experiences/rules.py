"""Which texts only repeat what the memory said: an echo is no new evidence."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

SHINGLE = 8
"""Words in a row that two texts rarely share by chance."""


SHARE = 0.5
"""From this share of its shingles on, a text is an echo."""


Shingles = frozenset[tuple[str, ...]]


_WORD = re.compile(r"\w+")


_CITATION = re.compile(r"\[m:([0-9a-f]{8,32})\]")


MAX_CITATIONS = 64


@dataclass(frozen=True, slots=True)
class Words:
    """What of a text an echo is recognised by."""

    shingles: Shingles
    citations: tuple[str, ...]
    headed: bool


def read_words(text: str, header: str) -> Words:
    """The text as shingles, the citations in it, and whether it carries a guideline's `header`.

    A text of fewer words than a shingle has none: short lessons are alike by chance.
    """
    words = _split(text)
    opening = _split(header)[:SHINGLE]
    return Words(
        shingles=_cut_shingles(words, SHINGLE),
        citations=tuple(dict.fromkeys(_CITATION.findall(text)))[:MAX_CITATIONS],
        headed=tuple(opening) in _cut_shingles(words, len(opening)),
    )


def find_echoed(text: Words, served: Mapping[UUID, Sequence[str]]) -> tuple[UUID, ...]:
    """The served memories that `text` echoes, the most repeated first; none where it is no echo.

    `served` holds the texts in which each memory was served. A citation counts where it names one
    of them, and so does the header over at least one of their shingles.
    """
    shared = {memory: _find_shared(text, texts) for memory, texts in served.items()}
    common = frozenset[tuple[str, ...]]().union(*shared.values())
    cited = {memory for memory in served if _cites(text, memory)}
    repeated = bool(text.shingles) and len(common) >= SHARE * len(text.shingles)
    if not (cited or repeated or (text.headed and common)):
        return ()
    found = [memory for memory in served if shared[memory] or memory in cited]
    return tuple(sorted(found, key=lambda memory: (-len(shared[memory]), memory)))


def _cites(text: Words, memory: UUID) -> bool:
    return any(memory.hex.endswith(citation) for citation in text.citations)


def _find_shared(text: Words, texts: Sequence[str]) -> Shingles:
    found: Shingles = frozenset()
    for one in texts:
        found |= text.shingles & _cut_shingles(_split(one), SHINGLE)
    return found


def _split(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _cut_shingles(words: Sequence[str], width: int) -> Shingles:
    return frozenset(tuple(words[i : i + width]) for i in range(len(words) - width + 1))
