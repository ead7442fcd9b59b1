"""Steps of the loop that must succeed, with any engine and key."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from random import Random

from memory.domain.access import Call, Key
from memory.domain.bank import Draft, Remembered
from memory.domain.loop import Reported, Served
from memory.domain.prediction import (
    Predicted,
    Prediction,
    PredictionDraft,
    Settled,
    Settlement,
)
from memory.engine import Engine
from memory.errors import MemoryFault
from memory.flows.events import settle
from memory.flows.feedback import report
from memory.flows.namespaces import open_namespace
from memory.flows.predicting import predict
from memory.flows.rebuild import rebuilt
from memory.flows.remember import remember
from memory.flows.retrieve import retrieve
from memory.flows.sheets import read
from memory.inference.stand_ins import HashEmbedder
from memory.learning.fold import Learned
from memory.ports import Embedding, ModelIdentity
from memory.storage.states import StateStore
from tests.fixtures.builders import a_report, a_settlement, an_ask
from tests.fixtures.engine import NOON


async def a_call(engine: Engine, key: Key, slug: str, now: datetime = NOON) -> Call:
    return Call(key, await open_namespace(engine, key, slug), now)


async def remembered(engine: Engine, call: Call, *drafts: Draft) -> list[Remembered]:
    return [_kept(answer) for answer in await remember(engine, call, drafts)]


async def served(engine: Engine, call: Call, **changes: object) -> Served:
    [answer] = await retrieve(engine, call, [an_ask(**changes)])
    assert isinstance(answer, Served), answer
    return answer


async def reported(engine: Engine, call: Call, answer: Served, **changes: object) -> Reported:
    [reply] = await report(engine, call, [(answer.receipt.id, a_report(**changes))])
    assert isinstance(reply, Reported), reply
    return reply


async def live_and_rebuilt(engine: Engine, call: Call) -> tuple[Learned, Learned]:
    """Every state as it is stored, and as the ledger gives it."""
    async with engine.database.transaction(call.namespace.id) as connection:
        store = StateStore(connection, call.namespace.id)
        live = read(await store.everything())
        return live, await rebuilt(connection, call.namespace)


async def predicted(engine: Engine, call: Call, *drafts: PredictionDraft) -> list[Prediction]:
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
