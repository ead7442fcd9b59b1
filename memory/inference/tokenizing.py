"""What a text is to any model, here or elsewhere: its pieces, and the mean of its windows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from memory.inference.loading import Pieces, Tokenizer
from memory.inference.vectors import unit

# Ids kept with a vector: two MiniLM windows, enough for a reranker that packs pairs from them.
MAX_TOKEN_IDS = 512


@dataclass(frozen=True, slots=True)
class PlainTokenizer:
    """A model's tokenizer without cutting and padding: it never changes, so threads share it."""

    tokenizer: Any

    @property
    def kind(self) -> str:
        return type(self.tokenizer.model).__name__.lower()

    @property
    def unknown_id(self) -> int | None:
        name = getattr(self.tokenizer.model, "unk_token", None)
        return None if name is None else self.tokenizer.token_to_id(name)

    def pieces(self, text: str) -> Pieces:
        return self.tokenizer.encode(text, add_special_tokens=False)

    def written(self) -> str:
        return self.tokenizer.to_str()


def plain_tokenizer(tokenizer: Any) -> PlainTokenizer:
    """A tokenizer of the library `tokenizers`, its cutting and padding turned off."""
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return PlainTokenizer(tokenizer)


def unknown_share(tokenizer: Tokenizer, text: str, pieces: Pieces) -> float:
    """The share of the characters, spaces left out, that lie in unknown pieces."""
    unknown = tokenizer.unknown_id
    known = zip(pieces.ids, pieces.offsets, strict=True)
    spans = [text[start:end] for piece, (start, end) in known if piece == unknown]
    return _visible("".join(spans)) / max(1, _visible(text))


def _visible(text: str) -> int:
    """How many characters are there to be seen."""
    return len("".join(text.split()))


def mean(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """The vector of a text: that of its only window, or the mean of its windows' unit vectors."""
    if len(rows) == 1:
        return rows[0]
    return np.stack([unit(row, len(row)) for row in rows]).mean(axis=0)
