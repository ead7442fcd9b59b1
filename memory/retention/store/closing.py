"""ClosingStore: the closed beginning of the ledger, moved forward."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import insert, text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.belief.fold import Learned
from memory.belief.state_mapping import Subject, collect_states
from memory.belief.states import State
from memory.belief.store.ledger import CLOSED, OPERATIONS, Closing, to_subject
from memory.belief.store.states import to_by_ranker
from memory.belief.tables import ledger_closing
from memory.retention.entities import Ages

Place = tuple[int, int]
"""Version of the bank and position in it."""


@dataclass(frozen=True, slots=True)
class ClosedStates:
    """The states where the ledger is closed, and where the event of each stands; `stale` are events
    whose subject has a later one.
    """

    states: Learned
    places: dict[Subject, Place]
    stale: list[Place]


@dataclass(frozen=True, slots=True)
class PartCounts:
    """Of the outcomes in a part of the ledger: how many are learned, how many wait to be taken
    back, and by which correction the last was.
    """

    learned: int
    waiting: int
    withdrawn_version: int | None


class ClosingStore:
    """Where the ledger of one namespace is closed."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def load(self, bank_version: int) -> ClosedStates:
        """As they were closed in that version."""
        values = {"ns": self._namespace_id, "version": bank_version}
        rows = await self._connection.execute(_CLOSED, values)
        states: dict[Subject, State] = {}
        places: dict[Subject, Place] = {}
        stale: list[Place] = []
        for row in rows.mappings():
            subject = to_subject(row)
            if subject in places:
                stale.append(places[subject])
            places[subject] = (row["bank_version"], row["position"])
            # An empty state: the subject is at its start again.
            states.pop(subject, None)
            if row["state_after"]:
                by_ranker = to_by_ranker(row["by_ranker_after"])
                states[subject] = State(tuple(row["state_after"]), row["touched_after"], by_ranker)
        return ClosedStates(collect_states(states), places, stale)

    async def last_closable(self, closed: int, ages: Ages) -> int:
        """The last version such that all that was learned from up to it is old, and of no receipt
        on which somebody may still report.
        """
        values = {
            "ns": self._namespace_id,
            "closed": closed,
            "before": ages.before,
            "now": ages.now,
            "operations": list(OPERATIONS),
        }
        last = await self._connection.scalar(_LAST_CLOSABLE, values)
        return closed if last is None else max(closed, last)

    async def step_to(self, closed: int, last: int, limit: int) -> int:
        """The version at which the next `limit` entries of the fold end, at most `last`."""
        values: dict[str, object] = {"ns": self._namespace_id, "closed": closed, "last": last}
        values["skip"] = limit - 1
        outcomes = await self._connection.scalar(_NTH_OUTCOME, values)
        last = min(last, outcomes or last)
        values |= {"last": last, "operations": list(OPERATIONS)}
        return min(last, await self._connection.scalar(_NTH_SET, values) or last)

    async def standing(self, closed: int, last: int) -> PartCounts:
        """Of the outcomes in versions above `closed`, up to `last`."""
        values = {"ns": self._namespace_id, "closed": closed, "last": last}
        row = (await self._connection.execute(_STANDING, values)).one()
        return PartCounts(row.learned, row.waiting, row.withdrawn_version)

    async def drop_unpublished(self, closed: int, last: int) -> None:
        """Events of a closing that was begun in these versions and did not come about."""
        values = {"ns": self._namespace_id, "closed": closed, "last": last}
        await self._connection.execute(_DROP_UNPUBLISHED, values)

    async def first_free(self, bank_version: int) -> int:
        """The first position of that version at which no event stands."""
        values = {"ns": self._namespace_id, "version": bank_version}
        return await self._connection.scalar(_FIRST_FREE, values) or 0

    async def try_alone(self) -> bool:
        """False where somebody reads the whole ledger; else nobody begins to until commit."""
        name = f"ledger/{self._namespace_id}"
        return bool(await self._connection.scalar(_TRY_ALONE, {"name": name}))

    async def publish(self, closing: Closing) -> None:
        """From its commit on the ledger is closed up to there."""
        await self._connection.execute(
            ledger_closing.delete().where(ledger_closing.c.namespace_id == self._namespace_id)
        )
        await self._connection.execute(
            insert(ledger_closing).values(
                namespace_id=self._namespace_id,
                bank_version=closing.bank_version,
                known_at=closing.known_at,
                withdrawn_version=closing.withdrawn_version,
                recorded_at=closing.recorded_at,
            )
        )

    async def remove_events(self, places: Sequence[Place]) -> int:
        """Closed events in whose place later ones stand."""
        values = {
            "ns": self._namespace_id,
            "versions": [place[0] for place in places],
            "positions": [place[1] for place in places],
        }
        return (await self._connection.execute(_REMOVE_PLACES, values)).rowcount


_CLOSED = text(f"""
    SELECT subject, memory_id, agent_id, party_id, category_id, reward_kind, day, state_after,
        by_ranker_after, touched_after, bank_version, position
    FROM weight_event
    WHERE namespace_id = :ns AND bank_version <= :version AND reason = '{CLOSED}'
    ORDER BY bank_version, position
""")  # noqa: S608 - the constant above


_LAST_CLOSABLE = text("""
    SELECT least(
        (SELECT bank_version FROM namespace WHERE id = :ns),
        (SELECT o.bank_version - 1 FROM outcome o JOIN retrieval r ON r.id = o.retrieval_id
         WHERE o.namespace_id = :ns AND o.bank_version > :closed
           AND (o.known_at >= :before OR r.expires_at > :now
                OR o.status = 'superseded' AND o.withdrawn_version IS NULL)
         ORDER BY o.bank_version LIMIT 1),
        (SELECT e.bank_version - 1 FROM weight_event e
         WHERE e.namespace_id = :ns AND e.bank_version > :closed AND e.known_at >= :before
           AND (e.kind = 'learn' OR e.reason = ANY(CAST(:operations AS text[])))
         ORDER BY e.bank_version LIMIT 1))
""")


_NTH_OUTCOME = text("""
    SELECT bank_version FROM outcome
    WHERE namespace_id = :ns AND bank_version > :closed AND bank_version <= :last
    ORDER BY bank_version OFFSET :skip LIMIT 1
""")


_NTH_SET = text("""
    SELECT bank_version FROM weight_event
    WHERE namespace_id = :ns AND bank_version > :closed AND bank_version <= :last
      AND kind = 'set' AND subject = 'memory' AND reason = ANY(CAST(:operations AS text[]))
    ORDER BY bank_version OFFSET :skip LIMIT 1
""")


_STANDING = text("""
    SELECT count(*) FILTER (WHERE withdrawn_version IS NULL) AS learned,
        count(*) FILTER (WHERE withdrawn_version IS NULL AND status = 'superseded') AS waiting,
        max(withdrawn_version) AS withdrawn_version
    FROM outcome WHERE namespace_id = :ns AND bank_version > :closed AND bank_version <= :last
""")


_DROP_UNPUBLISHED = text(f"""
    DELETE FROM weight_event
    WHERE namespace_id = :ns AND bank_version > :closed AND bank_version <= :last
      AND reason = '{CLOSED}'
""")  # noqa: S608 - the constant above


_FIRST_FREE = text("""
    SELECT max(position) + 1 FROM weight_event WHERE namespace_id = :ns AND bank_version = :version
""")


_TRY_ALONE = text("SELECT pg_try_advisory_xact_lock(hashtextextended(:name, 0))")


_REMOVE_PLACES = text("""
    DELETE FROM weight_event e
    USING unnest(CAST(:versions AS bigint[]), CAST(:positions AS integer[])) AS s (version, place)
    WHERE e.namespace_id = :ns AND e.bank_version = s.version AND e.position = s.place
""")
