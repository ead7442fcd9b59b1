"""SnapshotStore: which memories stood in the bank at a moment, with which text and status, seen
through one namespace.
"""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection

from memory.memories.browse_entities import BankMoment
from memory.memories.entities import Status, Viewer
from memory.memories.tables import STATUSES


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A memory at a moment: the version of its text that was current, and its status."""

    version: int
    status: Status


class SnapshotStore:
    """The bank of one namespace at moments; what was erased since is gone from all of them."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID, viewer: Viewer) -> None:
        self._connection = connection
        self._namespace_id = namespace_id
        self._viewer = viewer

    async def take(self, moment: BankMoment, *, replay: bool) -> dict[UUID, Snapshot]:
        """Every memory that was known by then and that the viewer may see.

        In a replay namespace a change of status, which has no time of its own there, counts where
        nothing that was known later had been recorded before it.
        """
        rows = await self._connection.execute(
            _SNAPSHOT,
            {
                "ns": self._namespace_id,
                "owners": self._viewer.owners,
                "as_of": moment.as_of,
                "version": moment.bank_version,
                "replay": replay,
                "statuses": list(STATUSES),
            },
        )
        return {row.id: Snapshot(row.version, Status(row.status)) for row in rows}


# The feed of changes tells every status a memory was given, but not the one it began with. Where
# all of them lie later, it began as what the first of them leads away from.
_SNAPSHOT = text("""
    WITH seen AS (
        SELECT m.id, max(v.version) AS version FROM memory m
        JOIN memory_version v ON v.memory_id = m.id
        WHERE m.namespace_id = :ns AND m.erased_at IS NULL AND m.owner = ANY(:owners)
          AND (CAST(:as_of AS timestamptz) IS NULL
               OR m.learned_at <= :as_of AND v.known_at <= :as_of)
          AND (CAST(:version AS bigint) IS NULL OR v.bank_version <= :version)
        GROUP BY m.id
    ), last AS (
        SELECT min(bank_version) - 1 AS version FROM weight_event
        WHERE namespace_id = :ns AND :replay AND known_at > CAST(:as_of AS timestamptz)
    ), step AS (
        SELECT CAST(subject AS uuid) AS id, c.kind, c.bank_version,
            CASE WHEN CAST(:version AS bigint) IS NOT NULL THEN c.bank_version <= :version
                 WHEN CAST(:as_of AS timestamptz) IS NULL THEN true
                 WHEN :replay THEN c.bank_version <= coalesce(last.version, c.bank_version)
                 ELSE c.recorded_at <= :as_of END AS past
        FROM last, change c, jsonb_array_elements_text(c.subjects) AS subject
        WHERE c.namespace_id = :ns AND (c.kind = ANY(:statuses) OR c.kind = 'merged')
    ), told AS (
        SELECT s.id, s.bank_version, s.past,
            CASE WHEN s.kind = 'merged' THEN 'retired' ELSE s.kind END AS kind
        FROM step s JOIN memory m ON m.id = s.id
        WHERE s.kind <> 'merged' OR m.status_reason = 'merged'
    ), was AS (
        SELECT DISTINCT ON (id) id, kind FROM told WHERE past ORDER BY id, bank_version DESC
    ), became AS (
        SELECT DISTINCT ON (id) id, kind FROM told WHERE NOT past ORDER BY id, bank_version
    )
    SELECT s.id, s.version, coalesce(was.kind, CASE
            WHEN became.kind IS NULL THEN m.status
            WHEN became.kind IN ('verifying', 'rejected', 'probation') THEN 'proposed'
            WHEN became.kind = 'active' AND EXISTS (
                SELECT 1 FROM ticket t WHERE t.memory_id = s.id) THEN 'proposed'
            WHEN became.kind = 'active' THEN 'probation'
            ELSE 'active' END) AS status
    FROM seen s JOIN memory m ON m.id = s.id
    LEFT JOIN was ON was.id = s.id LEFT JOIN became ON became.id = s.id
""")
