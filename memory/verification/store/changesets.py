"""ChangesetStore: failures that are alike, and what is changed after them, in one namespace."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import RowMapping, func, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.kernel.errors import NotFound
from memory.kernel.paging import Page
from memory.verification.changeset_entities import Change, Changeset, ChangesetState
from memory.verification.clusters import Failure
from memory.verification.store.candidates import MAX_CLAIMS
from memory.verification.tables import candidate, changeset


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A change by ids. `version`: that of the replaced memory which the model read; `was`: the
    status that it had when it retired.
    """

    change: Literal["create", "edit", "retire"]
    memory_id: UUID | None
    replaces: UUID | None
    version: int | None = None
    was: str | None = None

    def stored(self) -> dict[str, object]:
        return {
            name: str(value) if isinstance(value, UUID) else value
            for name, value in asdict(self).items()
        }

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> "PlannedChange":
        ids = {name: stored[name] and UUID(stored[name]) for name in ("memory_id", "replaces")}
        return cls(stored["change"], **ids, version=stored["version"], was=stored["was"])


@dataclass(frozen=True, slots=True)
class HeldChangeset:
    """A changeset locked for a change, or claimed to be worked on: `claim` says which claim."""

    id: UUID
    state: ChangesetState
    claim: int
    claimed_until: datetime | None
    outcome_ids: tuple[UUID, ...]
    changes: tuple[PlannedChange, ...]


@dataclass(frozen=True, slots=True)
class NewChangeset:
    """Failures that were found to be alike."""

    id: UUID
    outcome_ids: tuple[UUID, ...]
    family: str
    similarity: float


@dataclass(frozen=True, slots=True)
class ServedNote:
    """A memory that some of the failed attempts had: one that a changeset may touch."""

    id: UUID
    version: int
    situation: str
    lesson: str


class ChangesetStore:
    """Changesets of one namespace."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def failures(self, since: datetime, limit: int) -> list[Failure]:
        """Failures known since then, with a run, in no changeset yet, whose agents were told of no
        private memory; the newest, oldest first.
        """
        values = {"ns": self._namespace_id, "since": since, "limit": limit}
        rows = await self._connection.execute(_FAILURES, values)
        found = [Failure(row.outcome_id, row.group, tuple(row.bucket), row.task) for row in rows]
        return found[::-1]

    async def has_fresh(self) -> bool:
        """Whether failures came that were not compared yet."""
        return bool(await self._connection.scalar(_HAS_FRESH, {"ns": self._namespace_id}))

    async def note_compared(self, now: datetime) -> None:
        await self._connection.execute(
            update(candidate)
            .where(candidate.c.namespace_id == self._namespace_id)
            .where(candidate.c.compared_at.is_(None))
            .values(compared_at=now)
        )

    async def add(self, new: NewChangeset, now: datetime) -> bool:
        """Queue it; False where one of its failures is in another one by now. Whoever adds holds
        the namespace's other additions up until the transaction ends.
        """
        await self._connection.execute(_ONE_AT_A_TIME, {"name": f"changeset {self._namespace_id}"})
        values = {"ns": self._namespace_id, "ids": list(new.outcome_ids)}
        if await self._connection.scalar(_IS_TAKEN, values):
            return False
        category_id = await self._connection.scalar(
            _CATEGORY, {"ns": self._namespace_id, "id": new.outcome_ids[0]}
        )
        await self._connection.execute(
            insert(changeset).values(
                id=new.id,
                namespace_id=self._namespace_id,
                state="waiting",
                category_id=category_id,
                family=new.family,
                outcome_ids=list(new.outcome_ids),
                similarity=new.similarity,
                recorded_at=now,
            )
        )
        return True

    async def claim(self, now: datetime, until: datetime) -> HeldChangeset | None:
        """Take one that waits or was left behind; what was left too often is quarantined."""
        values = {"ns": self._namespace_id, "now": now, "most": MAX_CLAIMS}
        await self._connection.execute(_QUARANTINE, values)
        row = (await self._connection.execute(_CLAIM, {**values, "until": until})).mappings()
        found = row.first()
        return None if found is None else _to_held(found)

    async def hold(self, changeset_id: UUID) -> HeldChangeset:
        """Lock it. Raises NotFound."""
        return await self._held(changeset.c.id == changeset_id, changeset_id)

    async def hold_by_ticket(self, ticket_id: UUID) -> HeldChangeset:
        """Lock the one that is tried under a ticket. Raises NotFound."""
        return await self._held(changeset.c.ticket_id == ticket_id, ticket_id)

    async def _held(self, condition: Any, asked: UUID) -> HeldChangeset:
        rows = await self._connection.execute(
            select(changeset)
            .where(changeset.c.namespace_id == self._namespace_id, condition)
            .with_for_update()
        )
        found = rows.mappings().first()
        if found is None:
            raise _missing(asked)
        return _to_held(found)

    async def change(self, changeset_id: UUID, **values: object) -> None:
        """Write over one that the caller holds."""
        await self._connection.execute(
            update(changeset)
            .where(changeset.c.namespace_id == self._namespace_id, changeset.c.id == changeset_id)
            .values(**values)
        )

    async def let_go(self, changeset_id: UUID, until: datetime) -> None:
        """The work failed for a reason that passes: it rests, and the claim does not count."""
        await self.change(
            changeset_id,
            claims=changeset.c.claims - 1,
            claimed_until=until,
            reason="model_away",
        )

    async def notes(self, outcome_ids: Sequence[UUID], limit: int) -> list[ServedNote]:
        """Memories that these attempts had and that a model may change: experiences in use that
        every agent sees, neither pinned nor in quarantine; those that most of them had first.
        """
        values = {"ns": self._namespace_id, "ids": list(outcome_ids), "limit": limit}
        rows = await self._connection.execute(_NOTES, values)
        return [ServedNote(**row) for row in rows.mappings()]

    async def get(self, changeset_id: UUID) -> Changeset:
        rows = await self._connection.execute(
            text(f"{_SELECT} AND c.id = :id"), {"ns": self._namespace_id, "id": changeset_id}
        )
        found = rows.mappings().first()
        if found is None:
            raise _missing(changeset_id)
        return (await self._whole([found]))[0]

    async def browse(self, state: str | None, page: Page) -> tuple[list[Changeset], int]:
        """Oldest first, one row more than the page; and how many match."""
        after = None if page.after is None else UUID(str(page.after[0]))
        values = {"ns": self._namespace_id, "state": state, "after": after}
        rows = await self._connection.execute(_BROWSE, values | {"limit": page.limit + 1})
        here = changeset.c.namespace_id == self._namespace_id
        if state is not None:
            here &= changeset.c.state == state
        total = await self._connection.scalar(
            select(func.count()).select_from(changeset).where(here)
        )
        return await self._whole(list(rows.mappings())), total or 0

    async def _whole(self, rows: Sequence[RowMapping]) -> list[Changeset]:
        """With the words of the memories that they are about, as far as these have any."""
        planned = {row["id"]: [PlannedChange.read(one) for one in row["changes"]] for row in rows}
        ids = {
            memory_id
            for some in planned.values()
            for one in some
            for memory_id in (one.memory_id, one.replaces)
            if memory_id is not None
        }
        found = await self._connection.execute(_WORDS, {"ids": sorted(ids)})
        words = {row.id: row for row in found}
        return [_to_changeset(row, planned[row["id"]], words) for row in rows]

    async def tried_under(self, ticket_ids: Sequence[UUID]) -> list[UUID]:
        """The changesets that are tried under any of these tickets, or of whose memories one is
        erased, and that wait for their end.
        """
        values = {"ns": self._namespace_id, "tickets": list(ticket_ids)}
        rows = await self._connection.execute(_TRIED_UNDER, values)
        return [row.id for row in rows]

    async def resting_on(self, whose: Mapping[str, object]) -> dict[UUID, str]:
        """The memories that were made of failures by this agent, through this key or at this task,
        for a model put their words together; the status of each.
        """
        rows = await self._connection.execute(_RESTING, {"ns": self._namespace_id, **whose})
        return {row.id: row.status for row in rows}


def _missing(changeset_id: UUID) -> NotFound:
    return NotFound(
        f"no such changeset: {changeset_id}", code="changeset_not_found", field="changeset_id"
    )


def _to_held(row: RowMapping) -> HeldChangeset:
    return HeldChangeset(
        id=row["id"],
        state=ChangesetState(row["state"]),
        claim=row["claims"],
        claimed_until=row["claimed_until"],
        outcome_ids=tuple(row["outcome_ids"]),
        changes=tuple(PlannedChange.read(one) for one in row["changes"]),
    )


def _to_changeset(
    row: RowMapping, planned: Sequence[PlannedChange], words: Mapping[UUID, Any]
) -> Changeset:
    return Changeset(
        id=row["id"],
        state=ChangesetState(row["state"]),
        reason=row["reason"],
        category=row["category"],
        family=row["family"],
        outcome_ids=tuple(row["outcome_ids"]),
        similarity=row["similarity"],
        changes=tuple(_to_change(one, words) for one in planned),
        ticket_id=row["ticket_id"],
        claims=row["claims"],
        recorded_at=row["recorded_at"],
        finished_at=row["finished_at"],
    )


def _to_change(one: PlannedChange, words: Mapping[UUID, Any]) -> Change:
    new = words.get(one.memory_id) if one.memory_id is not None else None
    old = words.get(one.replaces) if one.replaces is not None else None
    return Change(
        change=one.change,
        memory_id=one.memory_id,
        replaces=one.replaces,
        situation=None if new is None else new.situation,
        lesson=None if new is None else new.lesson,
        old_situation=None if old is None else old.situation,
        old_lesson=None if old is None else old.lesson,
    )


_FAILURES = text("""
    SELECT o.id AS outcome_id, t.text AS task,
        CASE WHEN t.group_key IS NULL THEN 'task:' || t.id ELSE 'group:' || t.group_key END
            AS "group",
        ARRAY[CAST(r.category_id AS text), coalesce(a.family, 'agent ' || a.name), o.metric,
            o.reward_kind] AS bucket
    FROM candidate x JOIN outcome o ON o.id = x.outcome_id
    JOIN retrieval r ON r.id = o.retrieval_id JOIN task t ON t.id = r.task_id
    JOIN agent a ON a.id = r.agent_id
    WHERE x.namespace_id = :ns AND t.erased_at IS NULL AND o.known_at >= :since
      AND (o.status = 'applied' OR o.status = 'ignored' AND o.reason = 'observational')
      AND EXISTS (SELECT FROM trajectory y WHERE y.retrieval_id = r.id AND y.erased_at IS NULL
        AND y.withdrawn_at IS NULL)
      AND NOT EXISTS (SELECT FROM retrieval_item i JOIN memory m ON m.id = i.memory_id
        WHERE i.retrieval_id = r.id AND i.served AND m.visibility = 'agent')
      AND NOT EXISTS (SELECT FROM changeset c
        WHERE c.namespace_id = :ns AND c.outcome_ids @> ARRAY[o.id])
    ORDER BY o.known_at DESC, o.id DESC LIMIT :limit
""")


_HAS_FRESH = text("""
    SELECT EXISTS (SELECT FROM candidate WHERE namespace_id = :ns AND compared_at IS NULL)
""")


_ONE_AT_A_TIME = text("SELECT pg_advisory_xact_lock(hashtextextended(:name, 0))")


_IS_TAKEN = text("""
    SELECT EXISTS (SELECT FROM changeset
        WHERE namespace_id = :ns AND outcome_ids && CAST(:ids AS uuid[]))
""")


_CATEGORY = text("""
    SELECT r.category_id FROM outcome o JOIN retrieval r ON r.id = o.retrieval_id
    WHERE o.namespace_id = :ns AND o.id = :id
""")


_QUARANTINE = text("""
    UPDATE changeset SET state = 'quarantined', finished_at = :now
    WHERE namespace_id = :ns AND state = 'waiting' AND claims >= :most
      AND (claimed_until IS NULL OR claimed_until <= :now)
""")


_CLAIM = text("""
    WITH free AS (
        SELECT id FROM changeset
        WHERE namespace_id = :ns AND state = 'waiting' AND claims < :most
          AND (claimed_until IS NULL OR claimed_until <= :now)
        ORDER BY claims, id LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    UPDATE changeset SET claims = claims + 1, claimed_until = :until
    FROM free WHERE changeset.id = free.id RETURNING changeset.*
""")


_NOTES = text("""
    SELECT m.id, m.version, v.situation, v.lesson
    FROM outcome o JOIN retrieval_item i ON i.retrieval_id = o.retrieval_id AND i.served
    JOIN memory m ON m.id = i.memory_id
    JOIN memory_version v ON v.memory_id = m.id AND v.version = m.version
    WHERE o.namespace_id = :ns AND o.id = ANY(CAST(:ids AS uuid[])) AND m.kind = 'experience'
      AND m.visibility = 'namespace' AND m.status IN ('active', 'probation') AND NOT m.pinned
      AND m.trust <> 'quarantined' AND m.erased_at IS NULL
    GROUP BY m.id, m.version, v.situation, v.lesson ORDER BY count(*) DESC, m.id LIMIT :limit
""")


_SELECT = """
    SELECT c.id, c.state, c.reason, g.name AS category, c.family, c.outcome_ids, c.similarity,
        c.changes, c.ticket_id, c.claims, c.recorded_at, c.finished_at
    FROM changeset c JOIN category g ON g.id = c.category_id WHERE c.namespace_id = :ns
"""


_BROWSE = text(f"""{_SELECT}
    AND (CAST(:state AS text) IS NULL OR c.state = :state)
    AND (CAST(:after AS uuid) IS NULL OR c.id > :after) ORDER BY c.id LIMIT :limit
""")


_WORDS = text("""
    SELECT m.id, v.situation, v.lesson FROM memory m
    JOIN memory_version v ON v.memory_id = m.id AND v.version = m.version
    WHERE m.id = ANY(CAST(:ids AS uuid[])) AND m.erased_at IS NULL
""")


_TRIED_UNDER = text("""
    SELECT c.id FROM changeset c WHERE c.namespace_id = :ns AND c.state = 'proposed'
      AND (c.ticket_id = ANY(CAST(:tickets AS uuid[])) OR EXISTS (
        SELECT FROM jsonb_array_elements(c.changes) AS one
        JOIN memory m ON m.id = CAST(one->>'memory_id' AS uuid)
        WHERE m.erased_at IS NOT NULL))
    ORDER BY c.id
""")


_RESTING = text("""
    SELECT DISTINCT m.id, m.status
    FROM changeset c CROSS JOIN LATERAL jsonb_array_elements(c.changes) AS one
    JOIN memory m ON m.id = CAST(one->>'memory_id' AS uuid) AND m.erased_at IS NULL
    JOIN outcome o ON o.id = ANY(c.outcome_ids) JOIN retrieval r ON r.id = o.retrieval_id
    JOIN agent a ON a.id = r.agent_id
    WHERE c.namespace_id = :ns AND (r.task_id = CAST(:task AS uuid)
      OR a.name = CAST(:agent AS text) OR r.key_id = CAST(:key AS uuid)
      OR o.key_id = CAST(:key AS uuid))
    ORDER BY m.id
""")
