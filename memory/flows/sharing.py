"""What an agent may see of the others: whose experiences need a proof first, and which do not reach
it at all.

Experience that one agent made is often worth less than nothing to another model (MemCollab, arXiv
2603.23234), so between declared families it travels once it is verified or contrasted, and from
who is stronger on a category to who is weaker only (EvoChamber, arXiv 2605.11136).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from memory.domain.access import Call
from memory.domain.task import Agent
from memory.storage.database import Connection
from memory.storage.sharing import Presence, SharingStore

Standing = tuple[UUID, UUID]
"""An agent in a category, by id."""


@dataclass(frozen=True, slots=True)
class Reserve:
    """Of whom an agent sees only what is proven, and where not even that."""

    strangers: tuple[UUID, ...] = ()
    weaker: tuple[Standing, ...] = ()


class Surroundings:
    """Looks each thing up once, and only where the namespace has it."""

    def __init__(self, connection: Connection, call: Call) -> None:
        self._store = SharingStore(connection, call.namespace.id)
        self._presence: Presence | None = None
        self._related: dict[UUID, tuple[UUID, ...]] = {}
        self._reserves: dict[UUID, Reserve] = {}

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

    async def reserve(self, reader: Agent) -> Reserve:
        """Nothing is held back from an agent that declares no family, nor of one."""
        if reader.family is None or not (await self.presence()).families:
            return Reserve()
        if reader.id not in self._reserves:
            strangers = await self._store.strangers(reader.id)
            self._reserves[reader.id] = Reserve(strangers)
        return self._reserves[reader.id]


def weaker_than(
    reader: UUID, strangers: Sequence[UUID], competence: Mapping[Standing, float]
) -> tuple[Standing, ...]:
    """Where a stranger is less competent than the reader; who has no record there stands at the
    mean of the category.
    """
    raise NotImplementedError
