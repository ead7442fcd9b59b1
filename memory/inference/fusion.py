"""Orders a head by three opinions of relevance: cosine, BM25 and late interaction.

The head is the union of the nearest by cosine and the best by BM25. Each opinion is put on one
scale by its mean and deviation over the head; the fused score is their weighted sum. It orders
only: relevance stays the cosine, and a gate asks for a cosine or an exact identifier.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.float64]
Tokens = npt.NDArray[np.float32]
Bits = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class FusionWeights:
    """What BM25 and late interaction weigh beside a cosine of 1, what BM25 over raw terms weighs
    beside that over word pieces, and how many places each side brings to the head. Chosen on the
    train part of SciFact.
    """

    lexical: float = 0.5
    late: float = 1.0
    raw: float = 1.0
    head: int = 24


WEIGHTS = FusionWeights()


LEAST_SPREAD = 1e-6
"""Where all relevances are equal, words alone order, by differences that no weight is lost in."""


@dataclass(frozen=True, slots=True)
class Opinions:
    """What is thought of each text of a bank, in one order: `cosine` in [0, 1], `lexical` the sum
    of BM25 over word pieces and, weighted, over raw terms.
    """

    cosine: Scores
    lexical: Scores


def unite_heads(opinions: Opinions, size: int) -> npt.NDArray[np.intp]:
    """The places of the `size` nearest and of the `size` best by BM25 that share a term, in order
    of place. Ties go to the earlier place.
    """
    nearest = np.argsort(-opinions.cosine, kind="stable")[:size]
    best = np.argsort(-opinions.lexical, kind="stable")[:size]
    return np.union1d(nearest, best[opinions.lexical[best] > 0])


def order_head(
    head: npt.NDArray[np.intp],
    opinions: Opinions,
    late: Scores | None = None,
    weights: FusionWeights = WEIGHTS,
) -> list[tuple[int, float]]:
    """The places of a head and their fused scores, by score falling, then by place. `late` has one
    score a place of the head; None leaves it out.
    """
    fused = standardise(opinions.cosine[head])
    fused = fused + weights.lexical * standardise(opinions.lexical[head])
    if late is not None:
        fused = fused + weights.late * standardise(late)
    order = np.lexsort((head, -fused))
    return [(int(head[place]), float(fused[place])) for place in order]


def standardise(scores: Scores) -> Scores:
    """Deviations from the mean in standard deviations; zeros where all are equal."""
    # Of equal numbers the deviation need not come out as zero, and of tiny ones it may.
    if len(scores) == 0 or scores.min() == scores.max() or not scores.std():
        return np.zeros(len(scores))
    return (scores - scores.mean()) / scores.std()


def sign_bits(tokens: npt.NDArray[np.floating]) -> Bits:
    """The signs of token vectors (tokens, width), a bit each: 48 bytes a token of 384."""
    return np.packbits(tokens > 0, axis=1)


def late_interaction(query: Tokens, weights: Scores, texts: Sequence[Bits]) -> Scores:
    """For each text the mean, by `weights`, of each query token's best product with a token of the
    text, of which only the signs are kept (MaxSim of ColBERT, weighted by idf); in [-1, 1].

    `query` has unit rows (tokens, width). A text or a query without tokens scores 0.
    """
    scores = np.zeros(len(texts))
    total = float(weights.sum())
    if total == 0:
        return scores
    width = query.shape[1]
    for place, bits in enumerate(texts):
        if len(bits):
            signs = np.unpackbits(bits, axis=1, count=width).astype(np.float32) * 2 - 1
            best = (query @ signs.T).max(axis=1) / np.sqrt(width)
            scores[place] = float(best @ weights) / total
    return scores


def passes_gate(cosine: float, q99: float, *, is_exact: bool) -> bool:
    """Whether a text may be served at all: near enough, or it holds an identifier of the query."""
    return is_exact or cosine >= q99


def scale_fused(relevance: Scores, lexical: Scores, weights: FusionWeights = WEIGHTS) -> Scores:
    """The fused scores of a head, with the mean and the deviation of its relevances, in [0, 1].

    So whatever multiplies a relevance moves a memory as far among fused scores as among relevances;
    where no text shares a word with the task, or all share the same, they are the relevances.
    """
    if len(lexical) == 0 or lexical.min() == lexical.max():
        return relevance
    fused = standardise(relevance) + weights.lexical * standardise(lexical)
    spread = max(float(relevance.std()), LEAST_SPREAD)
    return np.clip(relevance.mean() + spread * standardise(fused), 0.0, 1.0)
