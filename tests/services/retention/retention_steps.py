"""A namespace with a long past, and what retention makes of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from sqlalchemy import text

from memory.belief.fold import Learned
from memory.kernel.engine import Engine
from memory.outcomes.applying import apply_now
from memory.outcomes.entities import Reported
from memory.outcomes.withdrawal import refold
from memory.receipts.store.outcomes import OutcomeStore
from memory.tasks.entities import TaskDraft
from memory.tenancy.entities import Call, Key
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import DAY, NOON
from tests.fixtures.verification_steps import job
from tests.storage.steps import a_call, remembered, reported, served

HOUR = timedelta(hours=1)
LESSONS = (
    "start from the base rate of the month",
    "look at the wind in the west",
    "a forecast of rain after a dry month is seldom right",
    "ask for the pressure of the last days",
    "of rain in a dry month move only a little",
)


@dataclass(slots=True)
class LongPast:
    """Outcomes over many days, some in pairs, some corrected days later, with edits and ageing."""

    engine: Engine
    key: Key
    slug: str
    chance: Random
    told: list[Reported] = field(default_factory=list[Reported])
    day: float = 0.0

    async def call(self) -> Call:
        return await a_call(self.engine, self.key, self.slug)

    @property
    def now(self) -> datetime:
        return NOON + self.day * DAY

    async def begin(self) -> None:
        for lesson in LESSONS:
            draft = a_draft(lesson=lesson, agent=f"writer-{len(lesson) % 2}", learned_at=NOON)
            await remembered(self.engine, await self.call(), draft)

    async def go_on(self, steps: int, days: float) -> None:
        """So many runs, spread over so many days."""
        for number in range(steps):
            self.day += days / steps
            await self.run_once(number)
            if self.chance.random() < 0.3 and len(self.told) > 2:
                await self._correct(self.chance.choice(self.told[-3:]))
            if self.chance.random() < 0.15:
                await job(self.engine, self.key, self.slug, "decay", self.now)

    async def run_once(self, number: int) -> None:
        kind = self.chance.choice(("plain", "pair", "off", "used", "feedback"))
        asked: dict[str, object] = {"as_of": self.now, "agent": f"agent-{number % 3}"}
        asked["task"] = TaskDraft(f"a forecast of rain {number % 4}", category="weather")
        asked |= {"pair": {"purpose": "paired"}, "off": {"arm": "off"}}.get(kind, {})
        run = await served(self.engine, await self.call(), **asked)
        acted = tuple(one.memory_id for one in run.memories)
        said: dict[str, object] = {"reward": self.chance.random(), "known_at": self.now}
        if kind == "pair":
            said["without"] = {"reward": self.chance.random()}
        if kind == "used":
            said["used"] = acted[:2]
        if kind == "feedback":
            said |= {"helpful": acted[:1], "harmful": acted[1:2]}
        self.told.append(await reported(self.engine, await self.call(), run, **said))
        await apply_now(self.engine, await self.call())

    async def _correct(self, wrong: Reported) -> None:
        """By a better verifier, as far as its receipt is open."""
        run = wrong.outcome.retrieval_id
        said = {"reward": self.chance.random(), "known_at": self.now, "verifier": "human"}
        await reported(self.engine, await self.call(), _Of(run), **said)  # pyright: ignore[reportArgumentType] - as an answer
        await apply_now(self.engine, await self.call())


@dataclass(frozen=True, slots=True)
class _Of:
    retrieval_id: UUID

    @property
    def receipt(self) -> "_Of":
        return self


async def run_retention(
    engine: Engine, key: Key, slug: str, now: datetime, *, dry: bool = False
) -> Mapping[str, Any]:
    """What a run of the job says that it did; by hand as often as it takes."""
    run = await job(engine, key, slug, "retention", now, dry=dry)
    assert run.result is not None
    while not dry and not run.result["complete"]:
        run = await job(engine, key, slug, "retention", now)
        assert run.result is not None
    return run.result


async def without(engine: Engine, call: Call, outcome_id: UUID) -> Learned:
    """The states as they would be if this outcome were withdrawn."""
    async with engine.database.transaction(call.namespace.id) as connection:
        one = await OutcomeStore(connection, call.namespace.id).get(outcome_id)
        return (await refold(connection, call.namespace, [one])).after


async def count(engine: Engine, call: Call, table: str, condition: str = "true") -> int:
    """Rows of this namespace."""
    async with engine.database.transaction(call.namespace.id) as connection:
        counted = f"SELECT count(*) FROM {table} WHERE namespace_id = :ns AND {condition}"
        return await connection.scalar(text(counted), {"ns": call.namespace.id}) or 0


async def in_ledger(engine: Engine, call: Call) -> Sequence[UUID]:
    """Outcomes that are learned, in the ledger's order."""
    async with engine.database.transaction(call.namespace.id) as connection:
        found = await OutcomeStore(connection, call.namespace.id).in_ledger()
        return [one.id for one in found if one.status == "applied"]
