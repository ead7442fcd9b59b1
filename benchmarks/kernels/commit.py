"""Committing one receipt durably, nothing else: a copy of a real one under a new id."""

import time
from dataclasses import dataclass, replace
from uuid import UUID

from benchmarks.bench import Timing
from memory.kernel.ids import new_id
from memory.kernel.postgres.database import Database
from memory.receipts.entities import Receipt
from memory.receipts.store.receipt_rows import write_receipts
from memory.receipts.store.receipts import ReceiptStore

WARM_UP = 5


@dataclass(frozen=True, slots=True)
class Example:
    """The namespace and the receipt that stand for all others."""

    namespace_id: UUID
    retrieval_id: UUID


async def commit_alone(database_url: str, example: Example, count: int) -> list[Timing]:
    """One timing a transaction, over the pool and the role that the server uses."""
    database = Database(database_url)
    try:
        pattern = await _pattern(database, example)
        rows = [await _one(database, example, pattern) for _ in range(WARM_UP + count)]
        return rows[WARM_UP:]
    finally:
        await database.close()


async def commit_pipelined(database_url: str, example: Example, count: int) -> list[Timing]:
    """One timing a transaction of one round trip, which writes a receipt and nothing else."""
    database = Database(database_url)
    try:
        pattern = await _pattern(database, example)
        rows: list[Timing] = []
        for _ in range(WARM_UP + count):
            copy = replace(pattern, retrieval_id=new_id())
            statements = write_receipts(example.namespace_id, [copy])
            began = time.perf_counter()
            await database.exchange(statements, example.namespace_id)
            rows.append(Timing(began, (time.perf_counter() - began) * 1000, ok=True))
        return rows[WARM_UP:]
    finally:
        await database.close()


async def _pattern(database: Database, example: Example) -> Receipt:
    async with database.transaction(example.namespace_id) as connection:
        return await ReceiptStore(connection, example.namespace_id).get(example.retrieval_id)


async def _one(database: Database, example: Example, pattern: Receipt) -> Timing:
    copy = replace(pattern, retrieval_id=new_id())
    began = time.perf_counter()
    async with database.transaction(example.namespace_id) as connection:
        await ReceiptStore(connection, example.namespace_id).add([copy])
    return Timing(began, (time.perf_counter() - began) * 1000, ok=True)
