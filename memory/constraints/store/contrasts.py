"""ContrastStore: pairs of runs on their way to becoming constraints, seen through one namespace."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import column, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.constraints.contrast_entities import Contrast, ContrastFilter, ContrastState, RunPair
from memory.constraints.tables import contrast
from memory.kernel.errors import NotFound
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.rows import RowMapper

MAX_CLAIMS = 5
"""Work that died so often is left to a person."""


AGAIN = (ContrastState.FAILED, ContrastState.EMPTY, ContrastState.QUEUED)
"""What may be asked again: it has no result."""


@dataclass(frozen=True, slots=True)
class PairingStamp:
    """Who formed a pair and when; `known_at` None: when its two runs were known."""

    recorded_at: datetime
    known_at: datetime | None = None
    key_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class ClaimedContrast:
    """A contrast to be distilled. `claim` is which claim this is: who was overtaken finds another
    number.
    """

    contrast: Contrast
    claim: int


@dataclass(frozen=True, slots=True)
class ContrastResult:
    """What became of a contrast."""

    state: ContrastState
    reason: str | None
    distiller: str | None = None
    rejected: Sequence[Mapping[str, object]] = ()
    duration_ms: float | None = None
    tokens: int = 0


class ContrastStore:
    """Contrasts of one namespace: formed, claimed, distilled."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._here = {"ns": namespace_id}
        self._mine = contrast.c.namespace_id == namespace_id
        self._namespace_id = namespace_id

    async def add(self, pairs: Sequence[RunPair], stamp: PairingStamp) -> None:
        """Queue what can be distilled, and put the rest on record; a pair that is there stays."""
        rows = [self._row(pair, stamp) for pair in pairs]
        if rows:
            await self._connection.execute(insert(contrast).on_conflict_do_nothing(), rows)

    def _row(self, pair: RunPair, stamp: PairingStamp) -> dict[str, object]:
        waits = pair.state is ContrastState.QUEUED
        return {
            "id": new_id(),
            "namespace_id": self._namespace_id,
            "task_id": pair.preferred.task_id,
            "preferred_id": pair.preferred.id,
            "unpreferred_id": pair.unpreferred.id,
            "pair_class": pair.pair_class,
            "self_contrast": pair.self_contrast,
            "supports": pair.supports,
            "reason": pair.reason,
            "state": pair.state,
            "known_at": stamp.known_at or pair.known_at,
            "recorded_at": stamp.recorded_at,
            "done_at": None if waits else stamp.recorded_at,
            "key_id": stamp.key_id,
        }

    async def is_paused(self, now: datetime) -> bool:
        """Whether the budget or the model stopped the work a moment ago."""
        return bool(await self._connection.scalar(_IS_PAUSED, self._here | {"now": now}))

    async def claim(
        self, now: datetime, until: datetime, only: Collection[UUID] | None = None
    ) -> ClaimedContrast | None:
        """Take one that waits, or else was left behind, so that one over which every worker dies
        holds up no other; what was left too often has failed.
        """
        values: dict[str, object] = {**self._here, "now": now, "until": until, "most": MAX_CLAIMS}
        values["only"] = None if only is None else list(only)
        await self._connection.execute(_GIVE_UP, values)
        for statement in (_CLAIM_QUEUED, _CLAIM_LAPSED):
            row = (await self._connection.execute(statement, values)).first()
            if row is not None:
                return ClaimedContrast(await self.get(row.id), row.claims)
        return None

    async def lock(self, claimed: ClaimedContrast) -> bool | None:
        """Lock the contrast to write its end, and its runs against erasure: whether they have their
        words. None where another worker took it over.
        """
        values = self._here | {"id": claimed.contrast.id}
        row = (await self._connection.execute(_LOCK, values)).first()
        if row is None or (row.claims, row.state) != (claimed.claim, ContrastState.DISTILLING):
            return None
        return row.worded

    async def finish(self, contrast_id: UUID, result: ContrastResult, now: datetime) -> None:
        """What became of it; the caller holds it."""
        values = {
            "state": result.state,
            "reason": result.reason,
            "distiller": result.distiller,
            "rejected": [dict(one) for one in result.rejected],
            "duration_ms": result.duration_ms,
            "tokens": contrast.c.tokens + result.tokens,
            "claimed_until": None,
            "done_at": now,
        }
        await self._set(contrast_id, values)

    async def release(self, contrast_id: UUID, reason: str, until: datetime, tokens: int) -> None:
        """The work stopped for a reason that passes by itself: it rests until then, and the claim
        does not count. The caller holds it.
        """
        values = {
            "state": ContrastState.QUEUED,
            "reason": reason,
            "claims": contrast.c.claims - 1,
            "claimed_until": until,
            "tokens": contrast.c.tokens + tokens,
        }
        await self._set(contrast_id, values)

    async def mark_waiting(self, reason: str, only: Collection[UUID] | None = None) -> None:
        """Say of what is queued why nothing came of it yet; it stays in the queue."""
        values: dict[str, object] = {**self._here, "reason": reason}
        values["only"] = None if only is None else list(only)
        await self._connection.execute(_MARK_WAITING, values)

    async def queue_again(self, contrast_id: UUID) -> bool:
        """Queue it anew; False where something came of it, or nothing can."""
        asked = update(contrast).where(self._mine, contrast.c.id == contrast_id)
        done = await self._connection.execute(
            asked.where(contrast.c.state.in_(AGAIN)).values(
                state=ContrastState.QUEUED,
                claims=0,
                claimed_until=None,
                reason=None,
                rejected=[],
                done_at=None,
            )
        )
        return done.rowcount > 0

    async def _set(self, contrast_id: UUID, values: Mapping[str, object]) -> None:
        await self._connection.execute(
            update(contrast).where(self._mine, contrast.c.id == contrast_id).values(**values)
        )

    async def get(self, contrast_id: UUID) -> Contrast:
        found = await self._read("AND c.id = :id", {"id": contrast_id})
        if not found:
            raise NotFound(
                f"no such contrast: {contrast_id}", code="contrast_not_found", field="id"
            )
        return found[0]

    async def of_pairs(self, pairs: Sequence[RunPair]) -> list[Contrast]:
        """The contrasts of these pairs, by id."""
        wanted = {pair.ids for pair in pairs}
        tasks = list({pair.preferred.task_id for pair in pairs})
        found = await self._read("AND c.task_id = ANY(CAST(:tasks AS uuid[]))", {"tasks": tasks})
        return [one for one in found if frozenset((one.preferred_id, one.unpreferred_id)) in wanted]

    async def browse(self, wanted: ContrastFilter, page: Page) -> Listed[Contrast]:
        """Oldest first."""
        values: dict[str, object] = {
            "state": wanted.state,
            "pair_class": wanted.pair_class,
            "task_id": wanted.task_id,
        }
        given = {name: value for name, value in values.items() if value is not None}
        condition = " ".join(f"AND c.{name} = :{name}" for name in given)
        total = await self._connection.scalar(text(_COUNT + condition), self._here | given)
        after = "" if page.after is None else "AND c.id > :after "
        more: dict[str, object] = {"limit": page.limit + 1}
        if page.after is not None:
            more["after"] = UUID(str(page.after[0]))
        found = await self._read(f"{condition} {after}", given | more, " LIMIT :limit")
        return listed(found, page, total, lambda one: (str(one.id),))

    async def _read(
        self, condition: str, values: Mapping[str, object], tail: str = ""
    ) -> list[Contrast]:
        statement = text(f"{_CONTRASTS} {condition} ORDER BY c.id{tail}")
        rows = (await self._connection.execute(statement, {**self._here, **values})).mappings()
        return [_to_contrast(row) for row in rows]


_to_contrast = RowMapper(
    Contrast, [contrast, *map(column, ("preferred_agent", "unpreferred_agent", "memory_ids"))]
)


_COUNT = "SELECT count(*) FROM contrast c WHERE c.namespace_id = :ns "


_CONTRASTS = """
    SELECT c.*, pa.name AS preferred_agent, ua.name AS unpreferred_agent,
        ARRAY(SELECT s.memory_id FROM constraint_support s
            WHERE s.namespace_id = c.namespace_id AND s.contrast_id = c.id ORDER BY s.id
        ) AS memory_ids
    FROM contrast c
    JOIN trajectory p ON p.id = c.preferred_id JOIN agent pa ON pa.id = p.agent_id
    JOIN trajectory u ON u.id = c.unpreferred_id JOIN agent ua ON ua.id = u.agent_id
    WHERE c.namespace_id = :ns
"""


_IS_PAUSED = text("""
    SELECT EXISTS (SELECT 1 FROM contrast
        WHERE namespace_id = :ns AND state = 'queued' AND claimed_until > :now)
""")


_GIVE_UP = text("""
    UPDATE contrast SET state = 'failed', reason = 'claims', done_at = :now
    WHERE namespace_id = :ns AND state = 'distilling' AND claims >= :most AND claimed_until <= :now
""")


_CLAIM = """
    WITH free AS (
        SELECT id FROM contrast
        WHERE namespace_id = :ns AND state = '{state}'
          AND (claimed_until IS NULL OR claimed_until <= :now)
          AND (CAST(:only AS uuid[]) IS NULL OR id = ANY(CAST(:only AS uuid[])))
        ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    UPDATE contrast SET state = 'distilling', claims = claims + 1, claimed_until = :until
    FROM free WHERE contrast.id = free.id RETURNING contrast.id, contrast.claims
"""


_CLAIM_QUEUED = text(_CLAIM.format(state="queued"))


_CLAIM_LAPSED = text(_CLAIM.format(state="distilling"))


_MARK_WAITING = text("""
    WITH waiting AS (
        SELECT id FROM contrast
        WHERE namespace_id = :ns AND state = 'queued' AND reason IS DISTINCT FROM :reason
          AND (CAST(:only AS uuid[]) IS NULL OR id = ANY(CAST(:only AS uuid[])))
        ORDER BY id FOR UPDATE SKIP LOCKED
    )
    UPDATE contrast SET reason = :reason FROM waiting WHERE contrast.id = waiting.id
""")


_LOCK = text("""
    SELECT c.claims, c.state, p.erased_at IS NULL AND u.erased_at IS NULL AS worded
    FROM contrast c JOIN trajectory p ON p.id = c.preferred_id
    JOIN trajectory u ON u.id = c.unpreferred_id
    WHERE c.namespace_id = :ns AND c.id = :id FOR UPDATE OF c FOR SHARE OF p, u
""")
