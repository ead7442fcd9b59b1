"""Passes through a model captured once on a card, and replayed.

A pass over a short text starts a few hundred small kernels, and starting them one by one takes a
processor some ten times as long as the card computes. A captured pass is started as one. It has a
fixed shape, so there is one for each of a few lengths and numbers of texts; an input is filled up
to the next of them. Reached only through `sentence_models`, as it needs torch.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor
from torch.nn import functional

from memory.inference.features import FeatureBuilder, Features, forward
from memory.inference.packed import SAME, seconds

LENGTHS = (16, 24, 32, 48, 64, 96, 128, 192, 256)
"""Pieces of a text, special ones counted; a longer input goes through the library's own pass."""

TEXTS = (1, 4, 16, 64)
"""Texts in a pass."""

WARMING = 3
"""Passes before one is captured: libraries choose their kernels in the first."""


@dataclass(frozen=True, slots=True)
class CapturedPass:
    """One shape: the input that is overwritten, and the output that a replay leaves."""

    graph: torch.cuda.CUDAGraph
    inputs: Mapping[str, Tensor]
    output: Tensor


class CapturedModel:
    """The passes of a model. Used by one thread, which owns the card."""

    def __init__(self, model: SentenceTransformer, builder: FeatureBuilder) -> None:
        self._builder = builder
        longest = min(LENGTHS[-1], model.max_seq_length or LENGTHS[-1])
        self._lengths = tuple(length for length in LENGTHS if length <= longest)
        pool = torch.cuda.graph_pool_handle()
        # The largest first: the others share its memory.
        self._passes = {
            (texts, length): _capture(model, self._filled([], texts, length), pool)
            for texts in reversed(TEXTS)
            for length in reversed(self._lengths)
        }

    def rows(self, ids: Sequence[Sequence[int]]) -> Tensor | None:
        """Sentence vectors of shape (texts, width) in the processor's memory, in the model's
        precision; None where no pass is as large.
        """
        special = len(self._builder.before) + len(self._builder.after)
        length = special + max(map(len, ids))
        if length > self._lengths[-1] or len(ids) > TEXTS[-1]:
            return None
        texts = TEXTS[bisect_left(TEXTS, len(ids))]
        length = self._lengths[bisect_left(self._lengths, length)]
        captured = self._passes[texts, length]
        for name, values in self._filled(ids, texts, length).items():
            if torch.is_tensor(values):
                captured.inputs[name].copy_(values, non_blocking=True)
        captured.graph.replay()
        return captured.output[: len(ids)].float().cpu()

    def _filled(self, ids: Sequence[Sequence[int]], texts: int, length: int) -> Features:
        """The input of a shape: texts that are not there are empty ones."""
        return self._builder.build([*ids, *([[]] * (texts - len(ids)))], length)


def capture(
    model: SentenceTransformer,
    builder: FeatureBuilder | None,
    samples: Sequence[Sequence[int]],
) -> tuple[CapturedModel | None, str]:
    """Capture the passes of a model on a card where that gives the same vectors sooner; with it, in
    words for an operator, whether it did. `samples`: ids of several texts, the first a short one.
    """
    if builder is None:
        return None, "library"

    def library(ids: Sequence[Sequence[int]]) -> Tensor:
        return forward(model, builder.build(ids)).float().cpu()

    first = [samples[0]]
    try:
        captured = CapturedModel(model, builder)
        expected = library(samples)
        rows = [captured.rows(samples), *(captured.rows([one]) for one in samples)]
        together, *alone = [cast("Tensor", one) for one in rows]
        same = min(
            float(functional.cosine_similarity(made, expected).min())
            for made in (together, torch.cat(alone))
        )
        faster = seconds(lambda: library(first)) / seconds(lambda: captured.rows(first))
    except (RuntimeError, TypeError, KeyError) as fault:
        return None, f"library (passes cannot be captured here: {type(fault).__name__})"
    if same >= SAME and faster > 1:
        return captured, f"captured, {faster:.1f} times as fast as the library"
    return None, f"library (captured passes: {faster:.1f} times as fast, cosine {same:.6f})"


def _capture(model: SentenceTransformer, features: Features, pool: Any) -> CapturedPass:
    """Run the model on a stream of its own until it is warm, then once to be written down."""
    inputs = {
        name: value.to(model.device) if torch.is_tensor(value) else value
        for name, value in features.items()
    }
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.inference_mode():
        with torch.cuda.stream(beside):
            for _ in range(WARMING):
                model(dict(inputs))
        torch.cuda.current_stream().wait_stream(beside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            output = model(dict(inputs))["sentence_embedding"]
    tensors = {name: value for name, value in inputs.items() if torch.is_tensor(value)}
    return CapturedPass(graph, tensors, output)
