"""Small real implementations of the ports, for unit tests only: no model, no thread, no network."""

import hashlib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from memory.inference.vectors import unit
from memory.kernel.errors import MemoryFault, Unavailable
from memory.kernel.ports import Embedding, ModelIdentity, Prompt, Reply


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return re.findall(r"\w+", text.lower())


@dataclass(slots=True)
class HashEmbedder:
    """Equal texts get equal vectors, texts that share words a positive cosine. Unit tests only.

    `fails_on` holds the places (counted from 0 over the life of the embedder) of the texts that
    raise Unavailable; `zeros_on` those whose vector would be zeros, which is refused the same way
    as the real embedder refuses it.
    """

    width: int = 384
    name: str = "hash"
    fails_on: Collection[int] = ()
    zeros_on: Collection[int] = ()
    embedded: int = field(default=0, init=False)

    @property
    def identity(self) -> ModelIdentity:
        sha256 = hashlib.sha256(f"{self.name}/{self.width}".encode()).hexdigest()
        return ModelIdentity(self.name, "", sha256, self.width)

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """One embedding a text, order preserved."""
        return [self._embedding(text) for text in texts]

    def _embedding(self, text: str) -> Embedding:
        place = self.embedded
        self.embedded += 1
        if place in self.fails_on:
            raise Unavailable(f"The stand-in fails on text {place}.", code="model_failed")
        vector = np.zeros(self.width) if place in self.zeros_on else self._bag(text)
        ids = tuple(_number(word) % 30_000 for word in words_of(text)[:512])
        return Embedding(unit(vector, self.width), ids)

    def _bag(self, text: str) -> npt.NDArray[np.float64]:
        """The sum of one random non-negative direction a word, so that sharing words shows."""
        bag = np.zeros(self.width)
        for word in words_of(text) or [text]:
            seed = _number(f"{self.name}/{word}")
            generator = np.random.default_rng(seed)
            # Few non-zero places: two different words are then nearly orthogonal.
            bag[generator.choice(self.width, size=min(8, self.width), replace=False)] += 1.0
        return bag


class OverlapReranker:
    """Relevance is the share of the task's words that the text has. Unit tests only."""

    async def relevance(self, task: str, texts: Sequence[str]) -> list[float]:
        """Relevance in [0, 1] of each text to the task, order preserved."""
        wanted = set(words_of(task))
        return [len(wanted & set(words_of(text))) / max(1, len(wanted)) for text in texts]


@dataclass(frozen=True, slots=True)
class WordCounter:
    """A token is what stands between blanks. Unit tests only."""

    name: str = "words/whitespace"

    def count(self, text: str) -> int:
        """How many words."""
        return len(text.split())


@dataclass(slots=True)
class ScriptedLlm:
    """Says what it was given, in order, then the last again; a fault is raised. Unit tests only."""

    script: Sequence[str | Reply | MemoryFault]
    name: str = "scripted"
    asked: list[Prompt] = field(default_factory=list[Prompt], init=False)

    async def complete(self, prompt: Prompt, seconds: float) -> Reply:  # noqa: ARG002 - the port names it
        """One attempt; a plain text costs ten tokens."""
        said = self.script[min(len(self.asked), len(self.script) - 1)]
        self.asked.append(prompt)
        if isinstance(said, MemoryFault):
            raise said
        return Reply(said, 10) if isinstance(said, str) else said


def _number(word: str) -> int:
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:8])
