"""Steps of the loop that must succeed, with any engine and key."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random

from memory.belief.fold import Learned
from memory.belief.store.states import StateStore
from memory.experiences.service import remember
from memory.forecasts.entities import (
    Predicted,
    PredictionDraft,
    RevisedPrediction,
    Settled,
    Settlement,
)
from memory.forecasts.service import predict
from memory.forecasts.settlements import settle
from memory.inference.stand_ins import HashEmbedder
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault
from memory.kernel.ports import Embedding, ModelIdentity
from memory.memories.entities import ExperienceDraft, Remembered
from memory.outcomes.entities import ReceiptReport, Reported
from memory.outcomes.service import report
from memory.receipts.rebuild import rebuilt
from memory.retrieval.entities import Advice
from memory.retrieval.service import retrieve
from memory.tenancy.entities import Call, Key
from memory.tenancy.service import open_namespace
from tests.fixtures.builders import a_report, a_settlement, an_ask
from tests.fixtures.engine import NOON


async def a_call(engine: Engine, key: Key, slug: str, now: datetime = NOON) -> Call:
    return Call(key, await open_namespace(engine, key, slug), now)


async def remembered(engine: Engine, call: Call, *drafts: ExperienceDraft) -> list[Remembered]:
    return [_kept(answer) for answer in await remember(engine, call, drafts)]


async def served(engine: Engine, call: Call, **changes: object) -> Advice:
    [answer] = await retrieve(engine, call, [an_ask(**changes)])
    assert isinstance(answer, Advice), answer
    return answer


async def reported(engine: Engine, call: Call, answer: Advice, **changes: object) -> Reported:
    [reply] = await report(
        engine, call, [ReceiptReport(answer.receipt.retrieval_id, a_report(**changes))]
    )
    assert isinstance(reply, Reported), reply
    return reply


async def live_and_rebuilt(engine: Engine, call: Call) -> tuple[Learned, Learned]:
    """Every state as it is stored, and as the ledger gives it."""
    async with engine.database.transaction(call.namespace.id) as connection:
        store = StateStore(connection, call.namespace.id)
        # Nobody learns between the two readings.
        await store.lock()
        live = await store.load_all()
        return live, await rebuilt(connection, call.namespace)


async def predicted(
    engine: Engine, call: Call, *drafts: PredictionDraft
) -> list[RevisedPrediction]:
    answers = await predict(engine, call, drafts)
    faults = [answer for answer in answers if isinstance(answer, MemoryFault)]
    assert not faults, faults
    return [answer.prediction for answer in answers if isinstance(answer, Predicted)]


async def settled(engine: Engine, call: Call, **changes: object) -> Settlement:
    [answer] = await settle(engine, call, [a_settlement(**changes)])
    assert isinstance(answer, Settled), answer
    return answer.settlement


@dataclass(slots=True)
class SlowEmbedder:
    """Hashed words that take a while, each call another, so that callers overtake one another."""

    inner: HashEmbedder = field(default_factory=HashEmbedder)
    chance: Random = field(default_factory=lambda: Random(3))

    @property
    def identity(self) -> ModelIdentity:
        return self.inner.identity

    async def embed(self, texts: Sequence[str]) -> list[Embedding]:
        await asyncio.sleep(self.chance.uniform(0, 0.02))
        made = await self.inner.embed(texts)
        await asyncio.sleep(self.chance.uniform(0, 0.02))
        return made


def _kept(answer: Remembered | MemoryFault) -> Remembered:
    assert isinstance(answer, Remembered), answer
    return answer
