"""Which key moved what: keys → their parties' influences → what they moved alone."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from memory.belief.belief import SCALE
from memory.belief.influence import PLAIN
from memory.belief.policy import policy_named
from memory.belief.states import State
from memory.insight.influence_entities import KeyInfluence, MovedMemory
from memory.insight.service import present
from memory.insight.store.influence import InfluenceRow, InfluenceStore, ReportingKey
from memory.kernel.engine import Engine
from memory.kernel.errors import NotFound
from memory.kernel.postgres.database import Connection
from memory.memories.service import hide_private
from memory.tenancy.entities import Act, Call, Namespace

MANY = 3
"""So many memories of others, moved alone and beyond what counts, are worth a look."""


@dataclass(slots=True)
class Moves:
    """What one party did to memories that it did not write, in weight."""

    memories: list[MovedMemory] = field(default_factory=list[MovedMemory])

    @property
    def alone(self) -> int:
        return sum(one.alone for one in self.memories)

    @property
    def is_worth_a_look(self) -> bool:
        """Whether many memories of others were moved by this party's word alone, and plainly."""
        return sum(one.alone and one.clipped != 0.0 for one in self.memories) >= MANY


async def list_influences(engine: Engine, call: Call) -> list[KeyInfluence]:
    """Every key that reported here, those first that moved most memories of others alone."""
    call.key.require(Act.INSPECT)
    async with engine.database.transaction(call.namespace.id) as connection:
        keys = await InfluenceStore(connection, call.namespace.id).reporting_keys()
        moves = await load_moves(connection, call.namespace, present(call))
    found = [_describe(key, moves) for key in keys]
    return sorted(found, key=lambda one: (-one.alone, -one.effect, one.key_id))


async def list_moved_memories(engine: Engine, call: Call, key_id: UUID) -> list[MovedMemory]:
    """The memories of others that this key's party moved, the furthest first."""
    call.key.require(Act.INSPECT)
    async with engine.database.transaction(call.namespace.id) as connection:
        keys = await InfluenceStore(connection, call.namespace.id).reporting_keys()
        key = next((one for one in keys if one.key_id == key_id), None)
        if key is None:
            raise NotFound("no key of this id reported here", code="key_not_found", field="key_id")
        moves = await load_moves(connection, call.namespace, present(call))
        found = await hide_private(connection, call, _moves_of(moves, key.party_id).memories)
    return sorted(found, key=lambda one: (-abs(one.effect), one.memory_id))


async def load_moves(
    connection: Connection, namespace: Namespace, now: datetime
) -> Mapping[UUID, Moves]:
    """By party; what was never moved plainly is left out."""
    rows = await InfluenceStore(connection, namespace.id).all()
    policy = policy_named(namespace.policy)
    aged = {
        (row.memory_id, row.party_id): policy.age_influence(State(row.state, row.touched_at), now)
        for row in rows
    }
    return find_moves(rows, aged)


def find_moves(
    rows: Iterable[InfluenceRow], aged: Mapping[tuple[UUID, UUID], State]
) -> dict[UUID, Moves]:
    """What each party did to memories of others; it is alone where no other took its side."""
    sides: dict[UUID, list[float]] = defaultdict(list)
    for (memory_id, _), state in aged.items():
        sides[memory_id].append(state.values[0])
    found: dict[UUID, Moves] = defaultdict(Moves)
    for row in rows:
        effect, counted = aged[row.memory_id, row.party_id].values
        if abs(effect) < PLAIN or row.author_party == row.party_id:
            continue
        same = sum(other * effect > 0 and abs(other) >= PLAIN for other in sides[row.memory_id])
        found[row.party_id].memories.append(
            MovedMemory(
                memory_id=row.memory_id,
                effect=effect / SCALE,
                counted=counted / SCALE,
                clipped=(effect - counted) / SCALE,
                alone=same == 1,
            )
        )
    return found


def _moves_of(moves: Mapping[UUID, Moves], party_id: UUID | None) -> Moves:
    return moves.get(party_id, Moves()) if party_id is not None else Moves()


def _describe(key: ReportingKey, moves: Mapping[UUID, Moves]) -> KeyInfluence:
    party = _moves_of(moves, key.party_id)
    effects: Sequence[float] = [one.effect for one in party.memories]
    return KeyInfluence(
        key_id=key.key_id,
        name=key.name,
        role=key.role,
        agents=key.agents,
        party=key.party_id,
        outcomes=key.outcomes,
        memories=len(effects),
        raised=sum(effect > 0 for effect in effects),
        lowered=sum(effect < 0 for effect in effects),
        alone=party.alone,
        effect=sum(map(abs, effects)),
        alert=party.is_worth_a_look,
    )
