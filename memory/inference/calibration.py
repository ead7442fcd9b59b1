"""How similar unrelated sentences look to a model: the scale on which its cosines are read.

Cosines of different models do not compare: .3 is close for one and noise for another. The gate of
a retrieval is therefore a quantile, measured when a model is registered.
"""

from dataclasses import dataclass
from importlib import resources

import numpy as np

from memory.kernel.ports import Embedder


@dataclass(frozen=True, slots=True)
class Calibration:
    """The 99th percentile, median and largest cosine over all pairs of unrelated sentences."""

    q99: float
    median: float
    largest: float
    pairs: int


def unrelated_sentences() -> list[str]:
    """Two hundred English sentences on as many subjects."""
    text = (
        resources.files("memory.inference").joinpath("calibration_sentences.txt").read_text("utf-8")
    )
    return text.splitlines()


async def calibrate(embedder: Embedder) -> Calibration:
    """Measure the model. The same model gives the same numbers up to float32 rounding."""
    embeddings = await embedder.embed(unrelated_sentences())
    vectors = np.stack([embedding.vector for embedding in embeddings]).astype(np.float64)
    cosines = (vectors @ vectors.T)[np.triu_indices(len(vectors), k=1)]
    return Calibration(
        q99=float(np.quantile(cosines, 0.99)),
        median=float(np.median(cosines)),
        largest=float(cosines.max()),
        pairs=len(cosines),
    )
