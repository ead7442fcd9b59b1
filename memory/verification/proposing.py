"""A candidate asks to be tried: a ticket with guideline, reference and the runs it wants."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from memory.belief.policy import policy_named
from memory.guidelines.compiler import Budget, compile_guideline
from memory.guidelines.entities import Entry
from memory.guidelines.wording import Framing
from memory.kernel.engine import Engine
from memory.kernel.ids import new_id
from memory.kernel.postgres.database import Connection
from memory.memories.entities import ANY_AGENT, Kind
from memory.memories.service import Entrance
from memory.memories.store.memories import NewMemory
from memory.tasks.entities import Category
from memory.tasks.store.actors import ActorStore
from memory.verification.rules import TrialPurpose, WantedTrial, plan, plan_changeset
from memory.verification.store.candidates import CandidateStore
from memory.verification.store.tickets import TicketStore
from memory.webhooks.store import Outbox

RUNS = 50
"""So many earlier runs of the category are looked through for another task and for anchors."""


MAX_TOKENS = 2_000


NEUTRAL = 1.0


@dataclass(frozen=True, slots=True)
class TargetReward:
    """The reward a candidate has to beat, and how it was measured."""

    reward: float
    metric: str
    reward_kind: str


@dataclass(frozen=True, slots=True)
class FailedTask:
    """A task on which a run failed, and the reward it brought."""

    task_id: UUID
    target: TargetReward


@dataclass(frozen=True, slots=True)
class Proposal:
    """A new memory to be tried; without a reference the bank is asked for one."""

    memory: NewMemory
    reference: TargetReward | None
    known_at: datetime
    version: int = 1


async def propose(
    engine: Engine, connection: Connection, entrance: Entrance, proposals: Sequence[Proposal]
) -> None:
    """Open a ticket for each; their memories are rows of the same transaction."""
    for proposal in proposals:
        await _open(engine, connection, entrance, proposal)


async def _open(
    engine: Engine, connection: Connection, entrance: Entrance, proposal: Proposal
) -> None:
    namespace, new = entrance.namespace, proposal.memory
    category = await ActorStore(connection, namespace.id).get_category(new.category_ids.category)
    reference = proposal.reference
    metric, kind = category.metric or "reward", category.reward_kind or "continuous"
    if reference is not None:
        metric, kind = reference.metric, reference.reward_kind
    row = {
        "id": new_id(),
        "memory_id": new.id,
        "version": proposal.version,
        "guideline": _guideline(engine, [new], category),
        "metric": metric,
        "reward_kind": kind,
        "state": "open",
        "known_at": proposal.known_at,
        "recorded_at": entrance.now,
        "key_id": entrance.key_id,
    }
    wanted = await _wanted(connection, entrance, proposal)
    await TicketStore(connection, namespace.id).open(row, _rows(wanted))
    await _tell(connection, namespace.id, row["id"], [new])


async def _tell(
    connection: Connection, namespace_id: UUID, ticket_id: object, candidates: Sequence[NewMemory]
) -> None:
    """Tell webhooks of a ticket that every agent may claim; of a private one nobody hears."""
    if all(new.owner == ANY_AGENT for new in candidates):
        await Outbox(connection, namespace_id).put("ticket.open", {"ticket_id": ticket_id})


async def _wanted(
    connection: Connection, entrance: Entrance, proposal: Proposal
) -> list[WantedTrial]:
    new, store = proposal.memory, CandidateStore(connection, entrance.namespace.id)
    assert new.task_id is not None
    reference = await _reward(store, new.task_id, proposal.reference)
    source = WantedTrial(TrialPurpose.SOURCE, new.task_id, reference)
    runs = await store.runs(new.category_ids.category, RUNS)
    trials = entrance.namespace.settings.verification_trials
    literal = policy_named(entrance.namespace.policy).literal
    return plan(source, new.source_group, runs, trials, literal=literal)


async def _reward(
    store: CandidateStore, task_id: UUID, reference: TargetReward | None
) -> float | None:
    """What the task brought with memory and without the candidate, if that is known."""
    if reference is not None:
        return reference.reward
    known = await store.runs_of(task_id)
    return known[0].reward if known else None


async def propose_together(
    engine: Engine,
    connection: Connection,
    entrance: Entrance,
    together: Sequence[NewMemory],
    failed: Sequence[FailedTask],
) -> UUID:
    """Open one ticket for a changeset, whose trials decide by wins and losses: what it brings
    stands in one guideline, and every task that failed is tried with it. The ticket's id.
    """
    namespace, first = entrance.namespace, together[0]
    category = await ActorStore(connection, namespace.id).get_category(first.category_ids.category)
    ticket_id, runs = new_id(), CandidateStore(connection, namespace.id)
    wanted = plan_changeset(
        [WantedTrial(TrialPurpose.SOURCE, one.task_id, one.target.reward) for one in failed],
        await runs.runs(first.category_ids.category, RUNS),
    )
    row = {
        "id": ticket_id,
        "memory_id": first.id,
        "version": 1,
        "guideline": _guideline(engine, together, category),
        "metric": failed[0].target.metric,
        "reward_kind": failed[0].target.reward_kind,
        "rule": "wins",
        "state": "open",
        "known_at": first.learned_at,
        "recorded_at": entrance.now,
        "key_id": entrance.key_id,
    }
    await TicketStore(connection, namespace.id).open(row, _rows(wanted))
    await _tell(connection, namespace.id, ticket_id, together)
    return ticket_id


def _rows(wanted: Sequence[WantedTrial]) -> list[dict[str, object]]:
    return [
        {"task_id": one.task, "purpose": one.purpose.value, "reference": one.reference}
        for one in wanted
    ]


def _guideline(engine: Engine, together: Sequence[NewMemory], category: Category) -> str:
    """As the candidates would be served: the same compiler, and they alone."""
    budget = Budget(MAX_TOKENS, engine.counter)
    entries = [_entry(new) for new in together]
    return compile_guideline(entries, budget, Framing(category.name)).text or ""


def _entry(new: NewMemory) -> Entry:
    return Entry(
        id=new.id,
        kind=Kind.EXPERIENCE.value,
        situation=new.draft.situation,
        lesson=new.draft.lesson,
        author=new.draft.agent,
        score=NEUTRAL,
        effective_weight=NEUTRAL,
        trust=new.trust,
        learned_at=new.learned_at,
    )
