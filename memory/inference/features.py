"""The input of a model from the pieces that a text was cut into, so that it is tokenised once.

Reached only through `sentence_models`, as it needs torch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.util import batch_to_device
from torch import Tensor

from memory.inference.loading import Tokenizer

SAMPLES = (
    "Restart the worker after the queue's limits change.",
    "",
    "Überprüfe /var/log/app.log (error E1234): 東京 \U0001f600 antidisestablishment, again!",
)
"""Texts whose input must be what the library makes of them."""

Features = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FeatureBuilder:
    """Puts the special tokens around a text's ids and pads: `before` and `after` are the ids of
    special tokens and prompt, `padding` the id that fills up, `constant` what else the modules
    want and no text changes.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    padding: int
    has_types: bool
    constant: Mapping[str, object]

    def build(self, windows: Sequence[Sequence[int]], length: int = 0) -> Features:
        """Input tensors of shape (windows, longest window or `length`, the larger), int64."""
        rows = [[*self.before, *ids, *self.after] for ids in windows]
        longest = max([length, *(len(row) for row in rows)])
        features: Features = {
            "input_ids": torch.tensor([r + [self.padding] * (longest - len(r)) for r in rows])
        }
        if self.has_types:
            features["token_type_ids"] = torch.zeros_like(features["input_ids"])
        lengths = torch.tensor([len(row) for row in rows])
        features["attention_mask"] = (torch.arange(longest) < lengths[:, None]).long()
        return features | dict(self.constant)


def find_builder(
    model: SentenceTransformer, tokenizer: Tokenizer, prompt: str
) -> FeatureBuilder | None:
    """The builder of a model's input; None where the library makes another one of `SAMPLES`."""
    made: Features = model.preprocess(list(SAMPLES), prompt=prompt or None)
    alone: Features = model.preprocess(["a"], prompt=prompt or None)
    whole, piece = alone["input_ids"][0].tolist(), tokenizer.pieces("a").ids
    if len(piece) != 1 or piece[0] not in whole:
        return None
    place = len(whole) - 1 - whole[::-1].index(piece[0])
    builder = FeatureBuilder(
        before=tuple(whole[:place]),
        after=tuple(whole[place + 1 :]),
        padding=cast("int", model.tokenizer.pad_token_id or 0),
        has_types="token_type_ids" in made,
        constant={name: value for name, value in made.items() if not torch.is_tensor(value)},
    )
    built = builder.build([tokenizer.pieces(text).ids for text in SAMPLES])
    return builder if _equal(built, made) else None


def forward(
    model: SentenceTransformer, features: Features, name: str = "sentence_embedding"
) -> Tensor:
    """The sentence vectors of an input, or what else `name` names, past the library's `encode`,
    which adds about two milliseconds a call (it re-sorts and walks every parameter).
    """
    with torch.inference_mode():
        return model(batch_to_device(features, model.device))[name]


def _equal(built: Features, made: Features) -> bool:
    return built.keys() == made.keys() and all(
        torch.equal(value, made[name]) if torch.is_tensor(value) else value == made[name]
        for name, value in built.items()
    )
