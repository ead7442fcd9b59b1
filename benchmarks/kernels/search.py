"""Finding the exact head of one task in the database, nothing else: its vector is made before."""

import time
from collections.abc import Sequence
from datetime import UTC, datetime

from benchmarks.bench import Timing
from benchmarks.kernels.commit import Example
from memory.inference.embedder import EmbedderPolicy, LocalEmbedder
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Database
from memory.receipts.store.receipts import ReceiptStore
from memory.retrieval.head import margin, to_stored_precision
from memory.retrieval.store.search import Probe, Scope, SearchStore

HEAD_PER_K = 4


async def search_alone(
    database_url: str, example: Example, texts: Sequence[str], k: int
) -> list[Timing]:
    """One timing a text: the search as a retrieval of `k` memories makes it."""
    vectors = await _embedded(texts)
    database = Database(database_url)
    try:
        scope = await _scope(database, example)
        timings: list[Timing] = []
        for embedding in vectors:
            probe = Probe(to_stored_precision(embedding.vector), "situation")
            bound = margin(len(embedding.vector))
            began = time.perf_counter()
            async with database.transaction(example.namespace_id) as connection:
                store = SearchStore(connection, example.namespace_id)
                head = await store.head([probe], scope, HEAD_PER_K * k, bound)
            ms = (time.perf_counter() - began) * 1000
            timings.append(Timing(began, ms, ok=len(head.rows) >= min(k, head.matching)))
        return timings
    finally:
        await database.close()


async def _embedded(texts: Sequence[str]) -> list[Embedding]:
    embedder = LocalEmbedder(EmbedderPolicy())
    embedder.start()
    await embedder.wait_until_ready()
    try:
        return await embedder.embed(texts)
    finally:
        await embedder.close()


async def _scope(database: Database, example: Example) -> Scope:
    async with database.transaction(example.namespace_id) as connection:
        receipt = await ReceiptStore(connection, example.namespace_id).get(example.retrieval_id)
    now = datetime.now(UTC)
    return Scope(receipt.agent_id, private=False, as_of=now, model_id=receipt.model_id)
