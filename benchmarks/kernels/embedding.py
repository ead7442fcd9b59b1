"""Embedding, nothing else: one text at a time for its time, or many for their vectors."""

import time
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from benchmarks.bench import Timing
from memory.inference.embedder import EmbedderPolicy, LocalEmbedder

WARM_UP = 5
AT_ONCE = 256


async def embedding_alone(texts: Sequence[str]) -> list[Timing]:
    """One timing a text. Texts must differ, or the cache answers."""
    embedder = LocalEmbedder(EmbedderPolicy())
    embedder.start()
    await embedder.wait_until_ready()
    try:
        for number in range(WARM_UP):
            await embedder.embed([f"warm-up {number}"])
        return [await _one(embedder, text) for text in texts]
    finally:
        await embedder.close()


async def _one(embedder: LocalEmbedder, text: str) -> Timing:
    began = time.perf_counter()
    await embedder.embed([text])
    return Timing(began, (time.perf_counter() - began) * 1000, ok=True)


async def vectors_of(texts: Sequence[str]) -> dict[str, npt.NDArray[np.float32]]:
    """The unit vector of each text, by the server's embedder with its defaults."""
    embedder = LocalEmbedder(EmbedderPolicy())
    embedder.start()
    await embedder.wait_until_ready()
    found: dict[str, npt.NDArray[np.float32]] = {}
    try:
        for start in range(0, len(texts), AT_ONCE):
            some = texts[start : start + AT_ONCE]
            made = await embedder.embed(some)
            found |= {text: one.vector for text, one in zip(some, made, strict=True)}
        return found
    finally:
        await embedder.close()
