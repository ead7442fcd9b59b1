"""TicketStore: requests to try a candidate, their leases and trials, seen through one namespace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from sqlalchemy import RowMapping, case, func, insert, select, text, update
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import NotFound
from memory.kernel.paging import Page
from memory.kernel.postgres.rows import RowMapper
from memory.memories.tables import memory
from memory.tasks.tables import agent, category, task
from memory.verification.entities import Ticket, TicketFilter, TrialSlot
from memory.verification.tables import ticket, trial

MAX_CLAIMS = 5
"""A ticket that so many took and nobody brought back is handed out no more."""


_sub, _author, _holder = category.alias("sub"), agent.alias("author"), agent.alias("holder")


_JOINED = (
    ticket.join(memory, memory.c.id == ticket.c.memory_id)
    .join(_author, _author.c.id == memory.c.agent_id)
    .join(category, category.c.id == memory.c.category_id)
    .outerjoin(_sub, _sub.c.id == memory.c.subcategory_id)
    .outerjoin(_holder, _holder.c.id == ticket.c.leased_agent_id)
)


_NAMES = (
    _author.c.name.label("author"),
    category.c.name.label("category"),
    _sub.c.name.label("subcategory"),
    _holder.c.name.label("leased_to"),
)


_TICKETS = select(
    ticket,
    memory.c.version.label("memory_version"),
    memory.c.status.label("memory_status"),
    memory.c.key_id.label("author_key_id"),
    memory.c.agent_id.label("author_id"),
    *_NAMES,
).select_from(_JOINED)


_SLOT_NAMES = (task.c.text.label("task"), agent.c.name.label("agent"))


_to_slot = RowMapper(TrialSlot, [trial, *_SLOT_NAMES])


_to_ticket = RowMapper(Ticket, [ticket, *_NAMES], computed={"trials": lambda _: ()})
"""Without its trials, which are read apart."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lease: an agent, and the key it came with."""

    agent_id: UUID
    key_id: UUID | None


@dataclass(frozen=True, slots=True)
class Held:
    """A ticket locked for a change, with the ids that its nouns leave out."""

    ticket: Ticket
    holder: Holder | None
    author: Holder
    current: bool
    digests: Mapping[int, tuple[bytes, UUID | None]]


@dataclass(frozen=True, slots=True)
class TrialRow:
    """A trial's result, ready to be written."""

    slot: int
    reward: float
    reward_without: float | None
    raw: Mapping[str, object]
    sha256: bytes


@dataclass(frozen=True, slots=True)
class TrialStamp:
    """Who ran trials, whether on a candidate of its own, and when."""

    holder: Holder
    self_verified: bool
    known_at: datetime
    now: datetime


@dataclass(frozen=True, slots=True)
class Claimable:
    """Which tickets may be leased now: whose candidates, of which category (None: any), how
    many.
    """

    owners: Sequence[str]
    category: str | None
    limit: int
    now: datetime


class TicketStore:
    """Tickets of one namespace. `owners`: whose private candidates the caller may see."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def open(self, row: Mapping[str, object], trials: Sequence[Mapping[str, object]]) -> None:
        """Write a ticket and the trials it asks for."""
        await self._connection.execute(
            insert(ticket).values(namespace_id=self._namespace_id, **row)
        )
        rows = [
            {"namespace_id": self._namespace_id, "ticket_id": row["id"], "slot": slot, **wanted}
            for slot, wanted in enumerate(trials)
        ]
        await self._connection.execute(insert(trial), rows)

    async def get(self, ticket_id: UUID, owners: Sequence[str]) -> Ticket:
        return (await self._held(ticket_id, owners)).ticket

    async def lock(self, ticket_id: UUID, owners: Sequence[str]) -> Held:
        """As `get`; nobody else changes the ticket until the transaction ends."""
        await self._connection.execute(
            select(ticket.c.id)
            .where(ticket.c.namespace_id == self._namespace_id, ticket.c.id == ticket_id)
            .with_for_update()
        )
        return await self._held(ticket_id, owners)

    async def _held(self, ticket_id: UUID, owners: Sequence[str]) -> Held:
        rows = await self._connection.execute(
            _TICKETS.where(
                ticket.c.namespace_id == self._namespace_id,
                ticket.c.id == ticket_id,
                memory.c.owner.in_(owners),
            )
        )
        found = rows.mappings().first()
        if found is None:
            raise NotFound(
                f"no such ticket: {ticket_id}", code="ticket_not_found", field="ticket_id"
            )
        slots = await self._slots([ticket_id])
        return _held(found, slots.get(ticket_id, []))

    async def browse(
        self, wanted: TicketFilter, page: Page, owners: Sequence[str]
    ) -> tuple[list[Ticket], int]:
        """Oldest first, one row more than the page; and how many match."""
        condition = (ticket.c.namespace_id == self._namespace_id) & memory.c.owner.in_(owners)
        if wanted.state is not None:
            condition &= ticket.c.state == wanted.state
        if wanted.memory_id is not None:
            condition &= ticket.c.memory_id == wanted.memory_id
        rows = _TICKETS.where(condition).order_by(ticket.c.id).limit(page.limit + 1)
        if page.after is not None:
            rows = rows.where(ticket.c.id > UUID(str(page.after[0])))
        found = list((await self._connection.execute(rows)).mappings())
        slots = await self._slots([row["id"] for row in found])
        total = await self._connection.scalar(
            select(func.count()).select_from(_JOINED).where(condition)
        )
        return [_held(row, slots.get(row["id"], [])).ticket for row in found], total or 0

    async def lease(self, holder: Holder, scope: Claimable, until: datetime) -> dict[UUID, UUID]:
        """Lease tickets that are open or whose lease has lapsed; their memories by ticket. Callers
        at once get different ones: a row that another one holds is skipped.
        """
        rows = await self._connection.execute(
            _LEASE,
            {
                "ns": self._namespace_id,
                "owners": list(scope.owners),
                "category": scope.category,
                "limit": scope.limit,
                "now": scope.now,
                "most": MAX_CLAIMS,
                "agent": holder.agent_id,
                "key": holder.key_id,
                "until": until,
            },
        )
        return {row.id: row.memory_id for row in rows}

    async def record(self, ticket_id: UUID, rows: Sequence[TrialRow], stamp: TrialStamp) -> None:
        """Write results into their slots."""
        for row in rows:
            await self._connection.execute(
                update(trial)
                .where(
                    trial.c.namespace_id == self._namespace_id,
                    trial.c.ticket_id == ticket_id,
                    trial.c.slot == row.slot,
                )
                .values(
                    reward=row.reward,
                    reward_without=row.reward_without,
                    raw=dict(row.raw),
                    sha256=row.sha256,
                    agent_id=stamp.holder.agent_id,
                    key_id=stamp.holder.key_id,
                    self_verified=stamp.self_verified,
                    known_at=stamp.known_at,
                    reported_at=stamp.now,
                )
            )

    async def change(self, ticket_ids: Sequence[UUID], values: Mapping[str, object]) -> None:
        """Write over tickets that the caller has locked."""
        await self._connection.execute(
            update(ticket)
            .where(ticket.c.namespace_id == self._namespace_id, ticket.c.id.in_(ticket_ids))
            .values(**values)
        )

    async def claim_repair(self, now: datetime) -> UUID | None:
        """Take the one try that a lesson has which its trials turned down."""
        return await self._connection.scalar(_CLAIM_REPAIR, {"ns": self._namespace_id, "now": now})

    async def give_back_repair(self, ticket_id: UUID) -> None:
        """The try was not spent."""
        await self.change([ticket_id], {"repair_tried_at": None})

    async def waiting(self) -> list[Held]:
        """Every ticket without an end, locked, oldest first; those in other hands are skipped."""
        rows = await self._connection.execute(
            select(ticket.c.id)
            .where(ticket.c.namespace_id == self._namespace_id)
            .where(ticket.c.state.in_(("open", "leased")))
            .order_by(ticket.c.id)
            .with_for_update(skip_locked=True)
        )
        return await self._all([row.id for row in rows])

    async def of_memory(self, memory_id: UUID) -> list[Ticket]:
        """A memory's tickets, oldest first, locked."""
        rows = await self._connection.execute(
            select(ticket.c.id)
            .where(ticket.c.namespace_id == self._namespace_id, ticket.c.memory_id == memory_id)
            .with_for_update()
        )
        return [held.ticket for held in await self._all([row.id for row in rows])]

    async def _all(self, ticket_ids: Sequence[UUID]) -> list[Held]:
        """Oldest first."""
        found = await self._connection.execute(
            _TICKETS.where(ticket.c.id.in_(ticket_ids)).order_by(ticket.c.id)
        )
        slots = await self._slots(ticket_ids)
        return [_held(row, slots.get(row["id"], [])) for row in found.mappings()]

    async def blank(self, memory_ids: Sequence[UUID], now: datetime) -> list[UUID]:
        """Tickets of erased memories lose their text, and why they were decided, and end; which."""
        here = (ticket.c.namespace_id == self._namespace_id) & ticket.c.memory_id.in_(memory_ids)
        said = case((ticket.c.reason.is_not(None), "erased"))
        rows = await self._connection.execute(
            update(ticket).where(here).values(guideline="", reason=said).returning(ticket.c.id)
        )
        blanked = [row.id for row in rows]
        ended = {"state": "expired", "reason": "erased", "decided_at": now}
        living = ticket.c.state.in_(("open", "leased", "quarantined"))
        await self._connection.execute(update(ticket).where(here, living).values(**ended))
        return blanked

    async def _slots(self, ticket_ids: Sequence[UUID]) -> dict[UUID, list[RowMapping]]:
        rows = await self._connection.execute(
            select(trial, *_SLOT_NAMES)
            .select_from(
                trial.join(task, task.c.id == trial.c.task_id).outerjoin(
                    agent, agent.c.id == trial.c.agent_id
                )
            )
            .where(trial.c.ticket_id.in_(ticket_ids))
            .order_by(trial.c.ticket_id, trial.c.slot)
        )
        found: dict[UUID, list[RowMapping]] = {}
        for row in rows.mappings():
            found.setdefault(row["ticket_id"], []).append(row)
        return found


_LEASE = text("""
    WITH free AS (
        SELECT t.id FROM ticket t JOIN memory m ON m.id = t.memory_id
        JOIN category c ON c.id = m.category_id
        WHERE t.namespace_id = :ns AND t.claims < :most
          AND (t.state = 'open' OR (t.state = 'leased' AND t.lease_until <= :now))
          AND m.status IN ('proposed', 'verifying') AND m.erased_at IS NULL
          AND m.owner = ANY(:owners) AND (CAST(:category AS text) IS NULL OR c.name = :category)
        ORDER BY t.id LIMIT :limit FOR UPDATE OF t SKIP LOCKED
    )
    UPDATE ticket SET state = 'leased', claims = claims + 1, leased_agent_id = :agent,
        leased_key_id = :key, lease_until = :until
    FROM free WHERE ticket.id = free.id RETURNING ticket.id, ticket.memory_id
""")


# What a manager decided stands, and a changeset has several memories: neither is repaired.
_CLAIM_REPAIR = text("""
    WITH free AS (
        SELECT t.id FROM ticket t
        JOIN memory m ON m.id = t.memory_id AND m.version = t.version
        WHERE t.namespace_id = :ns AND t.decision = 'rejected' AND t.rule = 'gain'
          AND t.reason IN ('gain_too_small', 'gain_uncertain', 'posterior_too_low', 'anchors_lost')
          AND m.status = 'rejected' AND m.erased_at IS NULL
          AND EXISTS (SELECT FROM candidate x WHERE x.memory_id = m.id AND x.state = 'proposed')
          AND NOT EXISTS (SELECT FROM ticket u
            WHERE u.memory_id = m.id AND u.repair_tried_at IS NOT NULL)
        ORDER BY t.id LIMIT 1 FOR UPDATE OF t SKIP LOCKED
    )
    UPDATE ticket SET repair_tried_at = :now FROM free WHERE ticket.id = free.id
    RETURNING ticket.id
""")


def _held(row: RowMapping, slots: Sequence[RowMapping]) -> Held:
    holder = None
    if row["leased_agent_id"] is not None:
        holder = Holder(row["leased_agent_id"], row["leased_key_id"])
    return Held(
        ticket=replace(_to_ticket(row), trials=tuple(_to_slot(slot) for slot in slots)),
        holder=holder,
        author=Holder(row["author_id"], row["author_key_id"]),
        current=row["memory_version"] == row["version"]
        and row["memory_status"] in ("proposed", "verifying"),
        digests={
            slot["slot"]: (bytes(slot["sha256"]), slot["key_id"])
            for slot in slots
            if slot["sha256"] is not None
        },
    )
