"""CPU against GPU: the same memories found, and the texts each embeds a second.

    python -m benchmarks.kernels.device [--model NAME_OR_PATH]

Prints one JSON object; on a machine without a GPU it measures the CPU alone and says so.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from itertools import islice
from uuid import UUID

import numpy as np
import torch

from benchmarks.hardware import stamp
from benchmarks.texts import experiences, tasks
from memory.inference.embedder import EmbedderPolicy, LocalEmbedder
from memory.inference.loading import ModelChoice
from memory.kernel.ports import Embedding
from memory.retrieval.head import HeadRow, QueryVector, exact_head, to_stored_precision

MEMORIES, QUERIES, HEAD = 2_000, 100, 12
SINGLES = 100


async def measured(
    choice: ModelChoice,
) -> tuple[list[Embedding], list[Embedding], dict[str, float]]:
    """Embeddings of memories and queries on one device, and its speed."""
    embedder = LocalEmbedder(EmbedderPolicy(model=choice))
    embedder.start()
    await embedder.wait_until_ready()
    try:
        await embedder.embed(list(tasks(64, 1)))
        stored = [str(row["situation"]) for row in islice(experiences(MEMORIES, 2), MEMORIES)]
        began = time.perf_counter()
        memories = await embedder.embed(stored)
        seconds = time.perf_counter() - began
        queries = await embedder.embed(list(tasks(QUERIES, 3)))
        singles = await _singles(embedder)
    finally:
        await embedder.close()
    speed = {
        "texts_per_second": len(stored) / seconds,
        "single_p50_ms": float(np.percentile(singles, 50)),
        "single_p95_ms": float(np.percentile(singles, 95)),
    }
    return memories, queries, speed


async def _singles(embedder: LocalEmbedder) -> list[float]:
    times: list[float] = []
    for text in tasks(SINGLES, 4):
        began = time.perf_counter()
        await embedder.embed([text])
        times.append((time.perf_counter() - began) * 1000)
    return times


def heads(memories: Sequence[Embedding], queries: Sequence[Embedding]) -> list[list[UUID]]:
    """The exact head of each query."""
    rows = [
        HeadRow(UUID(int=place), "situation", to_stored_precision(made.vector))
        for place, made in enumerate(memories)
    ]
    return [
        [near.id for near in exact_head(rows, [QueryVector("situation", made.vector)], HEAD)]
        for made in queries
    ]


def compared(model: str) -> dict[str, object]:
    """Both devices, where there are two."""
    memories, queries, speed = asyncio.run(measured(ModelChoice(model, device="cpu")))
    told: dict[str, object] = {**stamp(), "cpu": speed, "gpu": None}
    if not torch.cuda.is_available():
        return told
    others, asked, gpu = asyncio.run(measured(ModelChoice(model, device="cuda")))
    pairs = list(zip(heads(memories, queries), heads(others, asked), strict=True))
    apart = [
        float(np.abs(a.vector - b.vector).max()) for a, b in zip(memories, others, strict=True)
    ]
    told["gpu"] = gpu
    told["card"] = torch.cuda.get_device_name()
    told["same_head_in_order"] = sum(a == b for a, b in pairs) / len(pairs)
    told["same_head_as_set"] = sum(set(a) == set(b) for a, b in pairs) / len(pairs)
    told["largest_component_difference"] = max(apart)
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default=ModelChoice().name)
    print(json.dumps(compared(parser.parse_args().model), indent=2))


if __name__ == "__main__":
    main()
