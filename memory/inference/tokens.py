"""Counts tokens with the embedder's tokenizer, so that a budget needs no other model."""

from hashlib import blake2b
from typing import Protocol

from memory.inference.loading import Tokenizer
from memory.kernel.ports import ModelIdentity


class HasTokenizer(Protocol):
    """An embedder that runs here, and so has a tokenizer at hand."""

    @property
    def identity(self) -> ModelIdentity | None: ...

    @property
    def tokenizer(self) -> Tokenizer:
        """Raises Unavailable until the model is loaded."""
        ...


UNKNOWN_IN_FOURTHS = 5
"""The most an unknown piece counts, in fourths of a token a character: 1.25."""


BY_LINE = frozenset({"wordpiece"})
"""Algorithms whose pieces never span two lines: they split at white space first."""


KEPT = 16_384
"""So many counts are remembered, then all are forgotten: about 2 MB."""


class EmbedderTokenCounter:
    """A piece counts one; an unknown piece its UTF-8 bytes, and at most 1.25 a character.

    An English vocabulary folds a whole run of Thai, or an emoji, into one unknown piece. Counted as
    one, the budget would be overrun; counted by bytes, three a character, a lesson of ordinary
    length would never fit. What a language model spends lies between, about one token a character,
    and differs with the model: for such texts the count is an estimate.

    A guideline is counted note by note and as a whole, and its notes come again: counts are
    remembered, by line where they add up, under a digest, so that no words are kept. Threads may
    share it. Raises Unavailable until the embedder's model is loaded.
    """

    def __init__(self, embedder: HasTokenizer) -> None:
        self._embedder = embedder
        self._known: dict[bytes, int] = {}

    @property
    def name(self) -> str:
        """The algorithm, the model and what an unknown character counts at most, such as
        `wordpiece/all-MiniLM-L6-v2, unknown 1.25`.
        """
        kind = self._embedder.tokenizer.kind
        identity = self._embedder.identity
        most = UNKNOWN_IN_FOURTHS / 4
        return f"{kind}/{identity.name if identity else 'unknown'}, unknown {most:g}"

    def count(self, text: str) -> int:
        """How many tokens the text takes, special tokens not counted."""
        tokenizer = self._embedder.tokenizer
        parts = text.split("\n") if tokenizer.kind in BY_LINE else [text]
        return sum(self._recall(tokenizer, part) for part in parts)

    def _recall(self, tokenizer: Tokenizer, text: str) -> int:
        digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        known = self._known.get(digest)
        if known is None:
            known = _count(tokenizer, text)
            if len(self._known) >= KEPT:
                self._known.clear()
            self._known[digest] = known
        return known


def _count(tokenizer: Tokenizer, text: str) -> int:
    pieces = tokenizer.pieces(text)
    ids, unknown = pieces.ids, tokenizer.unknown_id
    if unknown not in ids:
        return len(ids)
    return sum(
        _unknown_tokens(text[start:end]) if piece == unknown else 1
        for piece, (start, end) in zip(ids, pieces.offsets, strict=True)
    )


def _unknown_tokens(text: str) -> int:
    return min(len(text.encode()), -(-UNKNOWN_IN_FOURTHS * len(text) // 4))
