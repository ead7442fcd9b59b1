"""Drafts are held against what their key was served: what only repeats it is no new evidence."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from memory.bank.echo import echoed, words_of
from memory.domain.access import Call
from memory.domain.bank import Draft, Remembered, Status
from memory.engine import Engine
from memory.guideline.compiler import HEADER
from memory.storage.serving import ServedStore, ServedText


async def echoes(
    engine: Engine, call: Call, drafts: Sequence[tuple[Draft, datetime]]
) -> list[Remembered | None]:
    """For each draft, learned at its time: the answer where it is an echo, else None.

    Only what was served to this key lately is read, in a transaction that ends before the words
    are compared.
    """
    if not drafts:
        return []
    since = min(learned_at for _, learned_at in drafts)
    async with engine.database.transaction(call.namespace.id) as connection:
        store = ServedStore(connection, call.namespace.id)
        served = await store.lately(call.key.id, since)
    if not served:
        return [None] * len(drafts)
    return await asyncio.to_thread(_found, call, drafts, served)


def _found(
    call: Call, drafts: Sequence[tuple[Draft, datetime]], served: Sequence[ServedText]
) -> list[Remembered | None]:
    texts: dict[UUID, list[str]] = {}
    current: dict[UUID, ServedText] = {}
    for one in served:
        # As a guideline has them: the situation, then the lesson.
        texts.setdefault(one.memory_id, []).append(f"{one.situation} {one.lesson}")
        current[one.memory_id] = one
    return [_answer(call, draft, texts, current) for draft, _ in drafts]


def _answer(
    call: Call,
    draft: Draft,
    texts: Mapping[UUID, Sequence[str]],
    current: Mapping[UUID, ServedText],
) -> Remembered | None:
    # Only the lesson claims to be new: like tasks have like situations.
    repeated = echoed(words_of(draft.lesson, HEADER), texts)
    if not repeated:
        return None
    first = current[repeated[0]]
    return Remembered(
        id=first.memory_id,
        version=first.current,
        deduplicated=True,
        bank_version=call.namespace.bank_version,
        memory_status=Status(first.status),
        echoes=repeated,
    )
