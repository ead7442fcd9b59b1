"""A lesson enters the bank: lesson → embedding → experience."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.domain.access import Act, Call
from memory.domain.bank import Draft, Remembered
from memory.domain.ids import new_id
from memory.domain.task import CategoryName
from memory.engine import Engine
from memory.errors import MemoryFault
from memory.flows.actors import GENERAL, name_category, name_task
from memory.flows.models import adopt_model, require_model
from memory.learning.policy import policy_named
from memory.ports import Embedding
from memory.retrieval.routing import route
from memory.storage.actors import ActorStore
from memory.storage.database import Connection
from memory.storage.ledger import LedgerStore, Step, Subject
from memory.storage.memories import MemoryStore, NewMemory, Stamp
from memory.storage.namespaces import NamespaceStore
from memory.storage.states import StateStore, Stored
from memory.storage.tasks import TaskStore

Answer = Remembered | MemoryFault


@dataclass(frozen=True, slots=True)
class _Embedded:
    """A draft that was found good, with its vectors."""

    position: int
    draft: Draft
    learned_at: datetime
    vectors: dict[str, Embedding]


async def remember(engine: Engine, call: Call, drafts: Sequence[Draft]) -> list[Answer]:
    """Store each draft once; the answers are in the drafts' order, each true by itself."""
    call.key.require(Act.REMEMBER)
    require_model(engine, call.namespace)
    answers: dict[int, Answer] = {}
    embedded: list[_Embedded] = []
    for position, draft in enumerate(drafts):
        try:
            call.key.require_agent(draft.agent)
            learned_at = call.namespace.known_at(draft.learned_at, call.now, "learned_at")
            vectors = await _embed(engine, draft)
            embedded.append(_Embedded(position, draft, learned_at, vectors))
        except MemoryFault as fault:
            answers[position] = fault

    async with engine.database.transaction(call.namespace.id) as connection:
        model_id = await adopt_model(connection, engine, call.namespace)
        resolved: dict[int, NewMemory] = {}
        for one in embedded:
            try:
                resolved[one.position] = await _resolve(connection, call, one, model_id)
            except MemoryFault as fault:
                answers[one.position] = fault
        answers |= await _store(connection, call, resolved, model_id)
    return [answers[position] for position in range(len(drafts))]
