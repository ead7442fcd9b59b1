"""What the memory leans on, as it wishes it were: three ports, each one method wide.

A port is ours; a vendor is fitted to it inside `memory/inference`. Stand-ins for unit tests ship
beside the real thing.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

RoleName = Literal[
    "compile", "reflect", "summarise", "distil", "search", "revise", "repair", "judge"
]
"""What a language model is asked to be."""


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """Which model made a vector; vectors of two identities never meet in one comparison.

    `sha256` is of the weights, `revision` names what else changes the vectors (the dtype where it
    is not float32; empty otherwise), `width` is the number of components.
    """

    name: str
    revision: str
    sha256: str
    width: int

    @property
    def label(self) -> str:
        """Its name and revision, for people."""
        return f"{self.name} ({self.revision or 'float32'})"


def tell_apart(models: Sequence[ModelIdentity]) -> list[str]:
    """The label of each; with the first digits of the weights' sha256, where two have one label."""
    alike = Counter(one.label for one in set(models))
    return [
        f"{one.label[:-1]}, weights {one.sha256[:8] or 'elsewhere'})"
        if alike[one.label] > 1
        else one.label
        for one in models
    ]


UNKNOWN_LIMIT = 0.2
"""From this share of unknown characters on, a vector says nothing of what a text means."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """A unit vector (float32, `width` components, read-only) and the token ids of its text.

    The ids are those of the whole text without special tokens or padding, at most 512.
    `unknown_share`, in [0, 1], is the share of its characters for which the model has no piece.
    """

    vector: npt.NDArray[np.float32]
    token_ids: tuple[int, ...]
    unknown_share: float = 0.0

    @property
    def is_read(self) -> bool:
        """Whether the model knows the script well enough for its vector to mean something."""
        return self.unknown_share < UNKNOWN_LIMIT


class Embedder(Protocol):
    """Maps texts to unit vectors, order preserved."""

    @property
    def identity(self) -> ModelIdentity | None:
        """The loaded model, or None while it is loading."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        """One embedding a text; all or none.

        Raises Unavailable while loading or when the model fails, Overloaded when the queue is full.
        """
        ...


class Reranker(Protocol):
    """A closer second opinion on relevance."""

    async def relevance(self, task: str, texts: Sequence[str]) -> list[float]:
        """Relevance in [0, 1] of each text to the task, order preserved."""
        ...


class TokenCounter(Protocol):
    """Counts tokens as the named tokenizer would."""

    @property
    def name(self) -> str: ...

    def count(self, text: str) -> int: ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a language model is asked: what it is to do, the material, and the shape of the answer.

    `schema` is a JSON schema of an object, `max_tokens` the most the answer may take.
    """

    role: RoleName
    system: str
    material: str
    schema: Mapping[str, object]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Reply:
    """What a language model answered; `tokens` as the provider counts, 0 if it does not, and how
    many of them were `written`, 0 where it does not say.
    """

    text: str
    tokens: int
    finish: Literal["stop", "length", "refused"] = "stop"
    written: int = 0


class LlmClient(Protocol):
    """A language model that turns a prompt into prose."""

    @property
    def name(self) -> str:
        """The model, as receipts name it."""
        ...

    async def complete(self, prompt: Prompt, seconds: float) -> Reply:
        """One attempt, within `seconds`.

        Raises Overloaded (`llm_busy`, with `retry_after` where the provider says so) or
        Unavailable: `llm_loading`, `llm_failed`, `llm_slow`, `llm_refused`,
        `llm_denied`, `llm_missing`.
        """
        ...
