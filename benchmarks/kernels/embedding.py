"""Embedding, nothing else: one text at a time, for its time."""

import asyncio
import time
from collections.abc import Sequence

from benchmarks.bench import Timing
from memory.inference.embedder import EmbedderPolicy, LocalEmbedder
from memory.kernel.ports import Embedding

WARM_UP = 5
BATCH = 1_024


def embedded(texts: Sequence[str]) -> list[Embedding]:
    """The embeddings of many texts, by the server's own model."""
    return asyncio.run(_embedded(texts))


async def _embedded(texts: Sequence[str]) -> list[Embedding]:
    embedder = LocalEmbedder(EmbedderPolicy())
    embedder.start()
    await embedder.wait_until_ready()
    try:
        parts = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        return [one for part in parts for one in await embedder.embed(part)]
    finally:
        await embedder.close()


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
