"""Which texts only repeat what the memory said, and which refute it; which say nothing at all.

An echo is no new evidence. Whatever adds a word of content, a number or a negation, leaves one out
that turned the sentence round, or exchanges words is no echo: a correction is often its original
with one word changed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import Match, SequenceMatcher
from hashlib import blake2b
from uuid import UUID

from memory.kernel.likeness import content_words, negates
from memory.kernel.normal_form import normal_form

SHINGLE = 8
"""Words in a row that two texts rarely share by chance."""


SHARE = 0.5
"""From this share of its shingles on, a text repeats another, unless it adds something."""


MOST, ENOUGH = 0.6, 3
"""A text is about another when it has this share of its words, and at least so many."""


BEFORE = 3
"""How many words before those that a text took over may still turn them round."""


MOST_REFUTED = 2
"""So many memories at most are what one text speaks against."""


Marks = tuple[int, ...]
"""Words by marks that this process alone can make: equal ones are equal, none can be read back."""


Shingles = frozenset[int]
"""Words in a row, each row by one such mark."""


_WORD = re.compile(r"\w+")


_CITATION = re.compile(r"\[m:([0-9a-f]{8,32})\]")


_MARK = re.compile(r"\[m:?[0-9a-f]{1,32}\]")


MAX_CITATIONS = 64


MOST_COMPARED = 16
"""Served memories, the most repeated first, with which a text is compared word by word."""


_REFUTING = frozenset(
    {
        *(
            "wrong",
            "incorrect",
            "false",
            "mistaken",
            "outdated",
            "obsolete",
            "misleading",
            "untrue",
        ),
        *("falsch", "veraltet", "faux", "fausse", "obsolète", "incorrecto", "falso", "obsoleto"),
        *("неверно", "устарело"),
    }
)


@dataclass(frozen=True, slots=True)
class Words:
    """What of a text an echo is recognised by. `content` are its words in normal form without
    articles and citations, `marks` the same by their marks, `vocabulary` these without order.
    """

    shingles: Shingles
    citations: tuple[str, ...]
    headed: bool
    content: tuple[str, ...]
    marks: Marks
    vocabulary: frozenset[int]

    @property
    def refutes(self) -> bool:
        """Whether it says no to something."""
        return any(map(_says_no, self.content))


@dataclass(frozen=True, slots=True)
class ServedWords:
    """What of a served text others are compared with: its content by its marks, in order and
    without, the places of its negations. Without shingles it may be spoken against and not be
    repeated.
    """

    marks: Marks
    vocabulary: frozenset[int]
    negations: frozenset[int]
    shingles: Shingles = frozenset()


def read_served(text: str, *, whole: bool) -> ServedWords:
    """`whole`: as it was served, with its shingles. It is remembered under a digest of the text,
    so that no words are kept: a key is served the same texts again and again.
    """
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    known = _read.get((digest, whole))
    if known is None:
        content = _content(text)
        negations = frozenset(place for place, word in enumerate(content) if negates(word))
        shingles: Shingles = _cut_shingles(_split(text), SHINGLE) if whole else frozenset()
        marks = _marks(content)
        known = ServedWords(marks, frozenset(marks), negations, shingles)
        if len(_read) >= _KEPT:
            _read.clear()
        _read[digest, whole] = known
    return known


_KEPT = 4_096
"""So many served texts are remembered, then all are forgotten: some 15 MB."""


_read: dict[tuple[bytes, bool], ServedWords] = {}


Served = Mapping[UUID, Sequence[ServedWords]]
"""The texts in which each memory was served."""


def read_words(text: str, *headers: str) -> Words:
    """The text as shingles, the citations in it, and whether it carries a guideline's header.

    A text of fewer words than a shingle has none: short lessons are alike by chance.
    """
    words, content = _split(text), _content(text)
    marks = _marks(content)
    openings = [_split(header)[:SHINGLE] for header in headers]
    return Words(
        shingles=_cut_shingles(words, SHINGLE),
        citations=tuple(dict.fromkeys(_CITATION.findall(text)))[:MAX_CITATIONS],
        headed=any(hash(tuple(one)) in _cut_shingles(words, len(one)) for one in openings),
        content=content,
        marks=marks,
        vocabulary=frozenset(marks),
    )


def find_echoed(text: Words, served: Served) -> tuple[UUID, ...]:
    """The served memories that `text` echoes, the most repeated first; none where it is no echo.

    A citation counts where it names one of them; none of them matters to a text that adds something
    of its own.
    """
    found = _find_repeated(text, served)
    # A text with a guideline's header over served words is a transcript, whatever surrounds them.
    transcript = text.headed and any(_find_shared(text, served[one]) for one in found)
    adds = not transcript and _adds(text, [served[one] for one in found])
    return () if adds else found


def find_refuted(text: Words, served: Served) -> tuple[UUID, ...]:
    """The served memories that `text` speaks against: it cites them and says no, or it has most of
    their words with a no more or less. Those that it cites come first, then those of whose words it
    has most; two at most.
    """
    found = [
        (not cites, -_overlap(text, texts), memory)
        for memory, texts in served.items()
        if ((cites := _cites(text, memory)) and text.refutes)
        or any(_turns(text, one) for one in texts)
    ]
    return tuple(memory for *_, memory in sorted(found)[:MOST_REFUTED])


def _overlap(text: Words, texts: Sequence[ServedWords]) -> int:
    """How many words of these the text has."""
    return len(text.vocabulary & frozenset[int]().union(*(one.vocabulary for one in texts)))


def _turns(text: Words, served: ServedWords) -> bool:
    """Whether a text has most words of the served one and turns it round: it leaves out a no, calls
    it wrong, or says no shortly before words that it took over. A no about something else is none.
    """
    needed = max(ENOUGH, MOST * len(served.vocabulary))
    if len(served.vocabulary & text.vocabulary) < needed:
        return False
    if _drops_negation(text, served):
        return True
    taken = {
        place
        for run in _shared_runs(text.marks, served.marks)
        for place in range(run.a, run.a + run.size)
    }
    return any(
        word in _REFUTING
        or (negates(word) and not taken.isdisjoint(range(place + 1, place + 1 + BEFORE)))
        for place, word in enumerate(text.content)
        if place not in taken
    )


def _says_no(word: str) -> bool:
    return negates(word) or word in _REFUTING


def _find_repeated(text: Words, served: Served) -> tuple[UUID, ...]:
    """What the text is made of, the most repeated first; none where it is a text of its own."""
    shared = {memory: _find_shared(text, texts) for memory, texts in served.items()}
    common = frozenset[int]().union(*shared.values())
    cited = {memory for memory in served if _cites(text, memory)}
    repeated = bool(text.shingles) and len(common) >= SHARE * len(text.shingles)
    if not (cited or repeated or (text.headed and common)):
        return ()
    found = [memory for memory in served if shared[memory] or memory in cited]
    return tuple(sorted(found, key=lambda memory: (-len(shared[memory]), memory)))


def _adds(text: Words, repeated: Sequence[Sequence[ServedWords]]) -> bool:
    """Whether the text says what these do not say in the same order, or leaves out a no."""
    left = list(text.marks)
    for texts in repeated[:MOST_COMPARED]:
        for one in texts:
            if _drops_negation(text, one):
                return True
            runs = _shared_runs(left, one.marks)
            taken = {place for run in runs for place in range(run.a, run.a + run.size)}
            left = [mark for place, mark in enumerate(left) if place not in taken]
    return bool(left)


def _drops_negation(text: Words, served: ServedWords) -> bool:
    """Whether a no of the served text is missing in or just before the words taken from it."""
    if not served.negations:
        return False
    runs = _shared_runs(text.marks, served.marks)
    taken = {place for run in runs for place in range(run.b, run.b + run.size)}
    if not taken:
        return False
    span = range(max(0, min(taken) - BEFORE), max(taken) + 1)
    return any(place in served.negations and place not in taken for place in span)


def _shared_runs(mine: Sequence[int], theirs: Sequence[int]) -> list[Match]:
    """Runs of words that both have in one order, of `mine` from place `a`, of `theirs` from `b`."""
    return SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks()


def _content(text: str) -> tuple[str, ...]:
    words = content_words(normal_form(_MARK.sub(" ", text)))
    return tuple(word for word in words if any(map(str.isalnum, word)))


def _cites(text: Words, memory: UUID) -> bool:
    return any(memory.hex.endswith(citation) for citation in text.citations)


def _find_shared(text: Words, texts: Sequence[ServedWords]) -> Shingles:
    found: Shingles = frozenset()
    for one in texts:
        found |= text.shingles & one.shingles
    return found


def _split(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _cut_shingles(words: Sequence[str], width: int) -> Shingles:
    return frozenset(hash(tuple(words[i : i + width])) for i in range(len(words) - width + 1))


def _marks(words: Sequence[str]) -> Marks:
    return tuple(map(hash, words))
