"""Reads a run of plain prose: each sentence is a step, told without the task's literals."""

import re
from collections.abc import Iterator

from memory.contrast.abstracting import abstract
from memory.contrast.literals import TOKEN, Literals
from memory.contrast.steps import Step

# What is read of a sentence, and what is told of it.
MAX_READ, MAX_TOLD = 400, 160
MIN_WORDS = 3
_SENTENCES = re.compile(r"(?<=[.!?])\s+|\n+")


def words_of(text: str) -> Iterator[str]:
    """The words of a text, in small letters."""
    return (token.casefold() for token in TOKEN.findall(text))


def steps_of(text: str, literals: Literals) -> list[Step]:
    """The sentences of a run that say enough to be repeated; a calculation is no sentence."""
    found: list[Step] = []
    for sentence in _SENTENCES.split(text):
        if "=" in sentence:
            continue
        told = abstract(sentence[:MAX_READ], literals).strip(" .!?;:,-*#>()\u201c\u201d\"'")
        if len(TOKEN.findall(told)) < MIN_WORDS:
            continue
        short = told if len(told) <= MAX_TOLD else told[:MAX_TOLD].rsplit(" ", 1)[0]
        found.append(Step(told.casefold(), f"a step like \u201c{short}\u201d"))
    return found
