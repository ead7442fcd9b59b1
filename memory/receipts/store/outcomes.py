"""OutcomeStore: results of attempts, seen through one namespace."""

from collections.abc import Sequence
from datetime import datetime
from json import dumps
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    RowMapping,
    exists,
    func,
    insert,
    select,
    text,
    update,
)
from sqlalchemy.dialects import postgresql
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.belief.store.ledger import LAST, closed_version
from memory.kernel.errors import NotFound
from memory.kernel.paging import Page
from memory.kernel.postgres.database import look_inside, prepared
from memory.kernel.postgres.paging import page_by_id
from memory.kernel.postgres.rows import RowMapper
from memory.receipts.entities import SETTLEMENT, Exposure, Outcome
from memory.receipts.list_entities import OutcomeFilter
from memory.receipts.tables import outcome
from memory.tasks.entities import Measure
from memory.tenancy.claims import VERIFIERS
from memory.tenancy.tables import api_key

_IS_PENDING = outcome.c.applied_at.is_(None) & outcome.c.set_aside_at.is_(None)
_IS_SET_ASIDE = outcome.c.applied_at.is_(None) & outcome.c.set_aside_at.is_not(None)


MAY_PAIR = ("half_missing", "observational", "half_of_pair")
"""Why an outcome moves nothing that may still be half of a pair."""


def _by_ranker(row: RowMapping) -> dict[str, float] | None:
    """Numbers as JSON kept them: one without a fraction comes back whole."""
    rewards = row["ranker_rewards"]
    return None if rewards is None else {name: float(reward) for name, reward in rewards.items()}


def _exposure(row: RowMapping) -> tuple[Exposure, ...] | None:
    stored = row["exposure"]
    if stored is None:
        return None
    return tuple(Exposure(UUID(i), float(h)) for i, h in sorted(stored.items()))


_to_outcome = RowMapper(
    Outcome, [outcome], computed={"ranker_rewards": _by_ranker, "exposure": _exposure}
)


def _to_json(exposure: Sequence[Exposure] | None) -> str | None:
    if exposure is None:
        return None
    return dumps({str(one.memory_id): one.exposure for one in exposure})


class OutcomeStore:
    """Outcomes of one namespace. A unique index keeps one effective outcome a retrieval."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def others_took_part(self, party_id: UUID) -> bool:
        """Whether another party than this has written or reported here."""
        values = {"ns": self._namespace_id, "party": party_id}
        return bool(await self._connection.scalar(_OTHERS_TOOK_PART, values))

    async def add(self, outcomes: Sequence[Outcome]) -> None:
        await self._connection.execute(insert(outcome), [self._values(one) for one in outcomes])

    def _values(self, one: Outcome) -> dict[str, object]:
        return {
            "id": one.id,
            "namespace_id": self._namespace_id,
            "retrieval_id": one.retrieval_id,
            "evaluator": one.evaluator,
            "verifier": one.verifier,
            "metric": one.metric,
            "reward_kind": one.reward_kind,
            "raw": one.raw,
            "sha256": one.sha256,
            "reward": one.reward,
            "reward_full": one.reward_full,
            "reward_without": one.reward_without,
            "helpful": list(one.helpful),
            "harmful": list(one.harmful),
            "used": None if one.used is None else list(one.used),
            "authored": list(one.authored),
            "muted": list(one.muted),
            "numeric": None if one.numeric is None else list(one.numeric),
            "ranker_rewards": one.ranker_rewards,
            "partner_id": one.partner_id,
            "answers": one.answers,
            "stances": one.stances,
            "evidence": one.evidence,
            "status": one.status,
            "reason": one.reason,
            "supersedes": one.supersedes,
            "known_at": one.known_at,
            "recorded_at": one.recorded_at,
            "position": one.position,
            "applied_at": one.applied_at,
            "bank_version": one.bank_version,
            "residual": one.residual,
            "above_baseline": one.above_baseline,
            "withdrawn_version": one.withdrawn_version,
            "key_id": one.key_id,
            "party_id": one.party_id,
            "arithmetic": one.arithmetic,
            "lesson": one.lesson,
            "acquired_at": one.acquired_at,
        }

    async def of_retrievals(self, retrieval_ids: Sequence[UUID]) -> dict[UUID, list[Outcome]]:
        """All outcomes of these retrievals, each list in order of arrival."""
        asked = _OF_RETRIEVALS.of(ns=self._namespace_id, ids=list(retrieval_ids))
        [rows] = await look_inside(self._connection, [asked])
        found: dict[UUID, list[Outcome]] = {}
        for row in rows:
            found.setdefault(row["retrieval_id"], []).append(_to_outcome(row))
        return found

    async def lock_retrievals(self, retrieval_ids: Sequence[UUID]) -> None:
        """Reports for one retrieval follow one another, and so do those for runs that may make a
        pair: of one agent on one task. Locked in order, against deadlock.
        """
        ids = {"ns": self._namespace_id, "ids": sorted(retrieval_ids)}
        locks = [lock.of(**ids) for lock in (_LOCK_PAIRS, _LOCK, _LOCK_PENDING)]
        await look_inside(self._connection, locks)

    async def get(self, outcome_id: UUID) -> Outcome:
        rows = await self._connection.execute(
            select(outcome).where(
                outcome.c.namespace_id == self._namespace_id, outcome.c.id == outcome_id
            )
        )
        found = rows.mappings().first()
        if found is None:
            raise NotFound(
                f"no such outcome: {outcome_id}", code="outcome_not_found", field="outcome_id"
            )
        return _to_outcome(found)

    async def browse(self, wanted: OutcomeFilter, page: Page) -> tuple[list[Outcome], int]:
        """Oldest first, one row more than the page; and how many match."""
        condition: ColumnElement[bool] = outcome.c.namespace_id == self._namespace_id
        if wanted.state is not None:
            condition &= outcome.c.status == wanted.state
        if wanted.retrieval_id is not None:
            condition &= outcome.c.retrieval_id == wanted.retrieval_id
        if wanted.claims is not None:
            condition &= _CLAIMS_TOO_MUCH
        rows = page_by_id(
            select(outcome).where(condition), outcome.c.id, page, newest_first=wanted.newest_first
        )
        found = [_to_outcome(row) for row in (await self._connection.execute(rows)).mappings()]
        total = await self._connection.scalar(
            select(func.count()).select_from(outcome).where(condition)
        )
        return found, total or 0

    async def hold_pending(self, limit: int) -> list[UUID]:
        """In their order the next outcomes awaiting application, and those that took the place of
        one that still stands in the ledger, or never came to it.

        Held until commit, so that none is superseded while it is being applied; locked at once and
        in the order of reports (`lock_retrievals`), against deadlock.
        """
        values = {"ns": self._namespace_id, "limit": limit}
        return list(await self._connection.scalars(_HOLD_PENDING, values))

    async def pending(self, limit: int, held: set[UUID]) -> list[Outcome]:
        """Of the next outcomes awaiting application those that are held, in the order in which
        they are to be applied. What arrived since is left for the next time.
        """
        rows = await self._connection.execute(
            select(outcome)
            .where(outcome.c.namespace_id == self._namespace_id, _IS_PENDING)
            .order_by(outcome.c.known_at, outcome.c.recorded_at, outcome.c.position, outcome.c.id)
            .limit(limit)
        )
        return [_to_outcome(row) for row in rows.mappings() if row["id"] in held]

    async def count_pending(self) -> int:
        return await self._count(_IS_PENDING)

    async def count_set_aside(self) -> int:
        return await self._count(_IS_SET_ASIDE)

    async def _count(self, condition: ColumnElement[bool]) -> int:
        here = (outcome.c.namespace_id == self._namespace_id) & condition
        counted = select(func.count()).select_from(outcome).where(here)
        return await self._connection.scalar(counted) or 0

    async def set_aside(self, outcome_id: UUID, reason: str, now: datetime) -> None:
        """It cannot be applied, and waits no longer."""
        await self._connection.execute(
            update(outcome)
            .where(
                outcome.c.namespace_id == self._namespace_id,
                outcome.c.id == outcome_id,
                _IS_PENDING,
            )
            .values(set_aside_at=now, reason=reason)
        )

    async def take_up_again(self) -> list[UUID]:
        """What was set aside waits again."""
        taken = await self._connection.execute(
            update(outcome)
            .where(outcome.c.namespace_id == self._namespace_id, _IS_SET_ASIDE)
            .values(set_aside_at=None, reason=None)
            .returning(outcome.c.id)
        )
        return [row.id for row in taken]

    async def claimed_too_high(self) -> list[UUID]:
        """Outcomes that count and claim more than the key that reported them, or a half of them,
        verifies today; by id.
        """
        rows = await self._connection.execute(
            select(outcome.c.id)
            .where(outcome.c.namespace_id == self._namespace_id, _CLAIMS_TOO_MUCH)
            .where(func.coalesce(outcome.c.bank_version, LAST) > closed_version(self._namespace_id))
            .order_by(outcome.c.id)
        )
        return [row.id for row in rows]

    async def decide(self, outcomes: Sequence[Outcome]) -> None:
        """Record what applying these came to."""
        rows = [
            {
                "ns": self._namespace_id,
                "id": one.id,
                "status": one.status,
                "evidence": one.evidence,
                "reason": one.reason,
                "bank_version": one.bank_version,
                "residual": one.residual,
                "above_baseline": one.above_baseline,
                "muted": list(one.muted),
                "exposure": _to_json(one.exposure),
                "applied_at": one.applied_at,
            }
            for one in outcomes
        ]
        if rows:
            await self._connection.execute(_DECIDE, rows)

    async def some(self, outcome_ids: Sequence[UUID]) -> list[Outcome]:
        """These outcomes, by id."""
        rows = await self._connection.execute(
            select(outcome)
            .where(outcome.c.namespace_id == self._namespace_id, outcome.c.id.in_(outcome_ids))
            .order_by(outcome.c.id)
        )
        return [_to_outcome(row) for row in rows.mappings()]

    async def supersede(self, outcome_ids: Sequence[UUID], reason: str, now: datetime) -> None:
        """Take outcomes out of effect; those already applied are withdrawn by the applier."""
        await self._connection.execute(
            update(outcome)
            .where(outcome.c.namespace_id == self._namespace_id, outcome.c.id.in_(outcome_ids))
            .values(
                status="superseded",
                reason=reason,
                applied_at=func.coalesce(outcome.c.applied_at, now),
            )
        )

    async def to_withdraw(self) -> list[Outcome]:
        """Outcomes out of effect that still stand in the ledger, in its order. What is closed
        stays learned.
        """
        rows = await self._connection.execute(
            select(outcome)
            .where(
                outcome.c.namespace_id == self._namespace_id,
                outcome.c.status == "superseded",
                outcome.c.bank_version > closed_version(self._namespace_id),
                outcome.c.withdrawn_version.is_(None),
            )
            .order_by(outcome.c.bank_version)
        )
        return [_to_outcome(row) for row in rows.mappings()]

    async def withdraw(self, outcome_ids: Sequence[UUID], bank_version: int) -> None:
        """The correction of that version took these out of the ledger."""
        await self._connection.execute(
            update(outcome)
            .where(outcome.c.namespace_id == self._namespace_id, outcome.c.id.in_(outcome_ids))
            .values(withdrawn_version=bank_version)
        )

    async def lost_replacements(self, held: set[UUID]) -> list[Outcome]:
        """Of the outcomes that are held those awaiting application that took the place of one
        that was evidence and still stands in the ledger, or never came to it.
        """
        values = {"ns": self._namespace_id, "ids": sorted(held)}
        return await self.some(list(await self._connection.scalars(_LOST_REPLACEMENTS, values)))

    async def reinstate(self, outcome_ids: Sequence[UUID]) -> None:
        """Put back into effect what was superseded and not yet withdrawn."""
        await self._connection.execute(
            _REINSTATE, {"ns": self._namespace_id, "ids": list(outcome_ids)}
        )

    async def free_categories(self, retrieval_ids: Sequence[UUID]) -> None:
        """Free the categories of these receipts from a metric that outcomes fixed, where no
        outcome in effect that counts has it any more.
        """
        await self._connection.execute(
            _FREE_CATEGORIES, {"ns": self._namespace_id, "ids": sorted(retrieval_ids)}
        )

    async def waiting_measures(self, category_ids: Sequence[UUID]) -> dict[UUID, set[Measure]]:
        """Of outcomes that wait in these categories and count as things stand: how they are
        measured.
        """
        rows = await self._connection.execute(
            _WAITING_MEASURES, {"ns": self._namespace_id, "ids": sorted(category_ids)}
        )
        found: dict[UUID, set[Measure]] = {}
        for row in rows:
            found.setdefault(row.category_id, set()).add(Measure(row.metric, row.reward_kind))
        return found

    async def in_ledger(self, since: int = 0, until: int = LAST) -> list[Outcome]:
        """Every outcome that moves a state, between two versions, in the ledger's order.

        One that is out of effect stands in the ledger until it is withdrawn.
        """
        rows = await self._connection.execute(
            select(outcome)
            .where(
                outcome.c.namespace_id == self._namespace_id,
                outcome.c.bank_version.between(since, until),
                outcome.c.withdrawn_version.is_(None),
            )
            .order_by(outcome.c.bank_version)
        )
        return [_to_outcome(row) for row in rows.mappings()]


def _ranked(verifier: ColumnElement[str]) -> ColumnElement[int]:
    return func.array_position(postgresql.array(VERIFIERS), verifier)


_half, _half_key = outcome.alias("half"), api_key.alias("half_key")
_OWN = (outcome.c.evaluator != SETTLEMENT) & (
    _ranked(outcome.c.verifier) > _ranked(api_key.c.verifies)
)
_HALFS = (_half.c.evaluator != SETTLEMENT) & (
    _ranked(_half.c.verifier) > _ranked(_half_key.c.verifies)
)
# Those in effect, and those that may still be half of a pair; a settlement is nobody's claim.
_CLAIMS_TOO_MUCH = (
    outcome.c.status.in_(("accepted", "applied"))
    | ((outcome.c.status == "ignored") & outcome.c.reason.in_(MAY_PAIR))
) & (
    exists().where(api_key.c.id == outcome.c.key_id, _OWN)
    | exists().where(_half.c.id == outcome.c.partner_id, _half_key.c.id == _half.c.key_id, _HALFS)
)


# A report may complete the pair of a retrieval that its caller did not name. In the space of two
# numbers, where nobody else locks.
_OF_RETRIEVALS = prepared(f"""
    SELECT {", ".join(outcome.c.keys())} FROM outcome
    WHERE namespace_id = :ns AND retrieval_id = ANY(CAST(:ids AS uuid[])) ORDER BY id
""")  # noqa: S608 - names of the schema


_LOCK_PAIRS = prepared("""
    WITH runs AS MATERIALIZED (
        SELECT DISTINCT hashtext(agent_id::text || task_id::text) AS run FROM retrieval
        WHERE namespace_id = :ns AND id = ANY(:ids) ORDER BY run
    ) SELECT pg_advisory_xact_lock(1886413170, run) FROM runs
""")


_OTHERS_TOOK_PART = text("""
    SELECT EXISTS (SELECT FROM api_key k
        WHERE k.namespace_id = :ns AND k.party_id <> :party AND (
            EXISTS (SELECT FROM outcome o WHERE o.namespace_id = :ns AND o.key_id = k.id)
            OR EXISTS (SELECT FROM memory m WHERE m.namespace_id = :ns AND m.key_id = k.id)))
""")


_LOCK = prepared("""
    SELECT id FROM retrieval WHERE namespace_id = :ns AND id = ANY(:ids) ORDER BY id FOR UPDATE
""")


# In the order in which they are applied: both sides of a pair are written by either.
_LOCK_PENDING = prepared("""
    SELECT o.id FROM outcome o
    JOIN retrieval r ON r.namespace_id = o.namespace_id AND r.id = o.retrieval_id
    WHERE o.namespace_id = :ns AND o.applied_at IS NULL AND (r.agent_id, r.task_id) IN (
        SELECT agent_id, task_id FROM retrieval WHERE namespace_id = :ns AND id = ANY(:ids)
    )
    ORDER BY o.known_at, o.recorded_at, o.position, o.id FOR NO KEY UPDATE OF o
""")


_DECIDE = text("""
    UPDATE outcome SET status = :status, evidence = :evidence, reason = :reason,
        bank_version = :bank_version, residual = :residual, above_baseline = :above_baseline,
        muted = :muted, exposure = CAST(:exposure AS jsonb), applied_at = :applied_at
    WHERE namespace_id = :ns AND id = :id
""")


_LOST = """
    SELECT o.id FROM outcome o
    JOIN outcome old ON old.namespace_id = o.namespace_id AND old.id = o.supersedes
    WHERE o.namespace_id = :ns AND o.applied_at IS NULL AND o.set_aside_at IS NULL
      AND old.evidence <> 'none'
      AND old.status = 'superseded' AND old.reason IN ('superseded', 'completed')
      AND old.withdrawn_version IS NULL
"""


_LOST_REPLACEMENTS = text(f"{_LOST} AND o.id = ANY(:ids)")


_HOLD_PENDING = text(f"""
    WITH wanted AS MATERIALIZED (
        (SELECT id FROM outcome
         WHERE namespace_id = :ns AND applied_at IS NULL AND set_aside_at IS NULL
         ORDER BY known_at, recorded_at, position, id LIMIT :limit)
        UNION ({_LOST})
    )
    SELECT o.id FROM outcome o
    WHERE o.namespace_id = :ns AND o.applied_at IS NULL AND o.id IN (SELECT id FROM wanted)
    ORDER BY o.known_at, o.recorded_at, o.position, o.id FOR NO KEY UPDATE OF o
""")  # noqa: S608 - the constant above


_REINSTATE = text("""
    UPDATE outcome SET reason = NULL,
        status = CASE WHEN bank_version IS NULL THEN 'accepted' ELSE 'applied' END,
        applied_at = CASE WHEN bank_version IS NULL THEN NULL ELSE applied_at END
    WHERE namespace_id = :ns AND id = ANY(:ids)
""")


# What is closed counts for ever, and by the metric that it was taken in by.
_FREE_CATEGORIES = text("""
    UPDATE category c SET metric = NULL, reward_kind = NULL, fixed_by = NULL
    WHERE c.namespace_id = :ns AND c.fixed_by = 'outcomes'
      AND c.id IN (SELECT category_id FROM retrieval WHERE namespace_id = :ns AND id = ANY(:ids))
      AND NOT EXISTS (
        SELECT 1 FROM retrieval r JOIN outcome o ON o.retrieval_id = r.id
        WHERE r.namespace_id = :ns AND r.category_id = c.id AND o.evidence <> 'none'
          AND o.status IN ('accepted', 'applied')
          AND o.metric = c.metric AND o.reward_kind = c.reward_kind
      )
      AND NOT EXISTS (
        SELECT 1 FROM weight_event e WHERE e.namespace_id = :ns AND e.memory_id IS NULL
          AND e.reason = 'closed' AND e.subject = 'effect' AND e.category_id = c.id)
""")


_WAITING_MEASURES = text("""
    SELECT DISTINCT r.category_id, o.metric, o.reward_kind FROM outcome o
    JOIN retrieval r ON r.namespace_id = o.namespace_id AND r.id = o.retrieval_id
    WHERE o.namespace_id = :ns AND o.applied_at IS NULL AND o.evidence <> 'none'
      AND r.category_id = ANY(:ids)
""")
