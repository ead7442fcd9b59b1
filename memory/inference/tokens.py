"""Counts tokens with the embedder's tokenizer, so that a budget needs no other model."""

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


class EmbedderTokenCounter:
    """A piece counts one, an unknown piece its UTF-8 bytes.

    An English vocabulary folds a whole run of Chinese, or an emoji, into one unknown piece where a
    language model spends up to a token a byte; counted as one, the budget would be overrun.
    Raises Unavailable until the embedder's model is loaded.
    """

    def __init__(self, embedder: HasTokenizer) -> None:
        self._embedder = embedder

    @property
    def name(self) -> str:
        """The algorithm and the model, such as `wordpiece/all-MiniLM-L6-v2`."""
        kind = self._embedder.tokenizer.kind
        identity = self._embedder.identity
        return f"{kind}/{identity.name if identity else 'unknown'}"

    def count(self, text: str) -> int:
        """How many tokens the text takes, special tokens not counted."""
        tokenizer = self._embedder.tokenizer
        pieces = tokenizer.pieces(text)
        unknown = tokenizer.unknown_id
        return sum(
            len(text[start:end].encode()) if piece == unknown else 1
            for piece, (start, end) in zip(pieces.ids, pieces.offsets, strict=True)
        )
