"""What an agent may see of the others: whose experiences need a proof first, and which do not reach
it at all.

Experience that one agent made is often worth less than nothing to another model (MemCollab, arXiv
2603.23234), so between declared families it travels once it is verified or contrasted, and from
who is stronger on a category to who is weaker only (EvoChamber, arXiv 2605.11136).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.constraints.competence import category_means, shrink_means
from memory.constraints.store.competence import CompetenceStore
from memory.constraints.store.sharing import Presence, SharingStore
from memory.constraints.trajectory_entities import AgentCategory, VerifiedRuns
from memory.kernel.postgres.database import Connection
from memory.tasks.entities import Agent
from memory.tenancy.entities import Call


@dataclass(frozen=True, slots=True)
class Reserve:
    """Of whom an agent sees only what is proven, and where not even that."""

    strangers: tuple[UUID, ...] = ()
    weaker: tuple[AgentCategory, ...] = ()


class Surroundings:
    """Looks each thing up once, and only where the namespace has it."""

    def __init__(self, connection: Connection, call: Call) -> None:
        self._store = SharingStore(connection, call.namespace.id)
        self._presence: Presence | None = None
        self._related: dict[UUID, tuple[UUID, ...]] = {}
        self._competence = CompetenceStore(connection, call.namespace.id)
        self._reserves: dict[tuple[UUID, datetime | None], Reserve] = {}

    async def presence(self) -> Presence:
        if self._presence is None:
            self._presence = await self._store.presence()
        return self._presence

    async def related(self, category_id: UUID) -> tuple[UUID, ...]:
        """Categories that the taxonomy names beside this one."""
        if not (await self.presence()).taxonomy:
            return ()
        if category_id not in self._related:
            self._related[category_id] = await self._store.related(category_id)
        return self._related[category_id]

    async def reserve(self, reader: Agent, as_of: datetime | None) -> Reserve:
        """Nothing is held back from an agent that declares no family, nor of one that declares
        none. `as_of`: by the runs known then; None: by all.
        """
        if reader.family is None or not (await self.presence()).families:
            return Reserve()
        if (reader.id, as_of) not in self._reserves:
            strangers = await self._store.strangers(reader.id)
            counts = await self._competence.all(as_of)
            weaker = weaker_than(reader.id, strangers, counts)
            self._reserves[reader.id, as_of] = Reserve(strangers, weaker)
        return self._reserves[reader.id, as_of]


def weaker_than(
    reader: UUID, strangers: Sequence[UUID], counts: Mapping[AgentCategory, VerifiedRuns]
) -> tuple[AgentCategory, ...]:
    """Where a stranger is less competent than the reader; who never ran in a category stands at
    its mean.
    """
    means, known = category_means(counts), shrink_means(counts)

    def competence(agent_id: UUID, category_id: UUID) -> float:
        return known.get(AgentCategory(agent_id, category_id), means[category_id])

    return tuple(
        AgentCategory(stranger, category)
        for stranger in strangers
        for category in sorted(means)
        if competence(stranger, category) < competence(reader, category)
    )
