"""BlankingStore: takes words out of receipts that were made of words which are erased."""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection


@dataclass(frozen=True, slots=True)
class ReceiptWords:
    """Whose words an erasure takes out of receipts: those about these tasks, of these memories, and
    those of an agent or a key.
    """

    task_ids: tuple[UUID, ...]
    memory_ids: tuple[UUID, ...]
    agent: str | None = None
    key_id: UUID | None = None


class BlankingStore:
    """Words of receipts in one namespace; lines that cite memories go with the memories."""

    def __init__(self, connection: AsyncConnection, namespace_id: UUID) -> None:
        self._connection = connection
        self._namespace_id = namespace_id

    async def blank_words(self, whose: ReceiptWords) -> None:
        """What models wrote to search for goes, what is told of past errors, and the identifiers by
        which memories were found: all were made of words that are erased. Afterwards, when runs and
        lessons have lost theirs.
        """
        values = {
            "ns": self._namespace_id,
            "tasks": list(whose.task_ids),
            "ids": list(whose.memory_ids),
            "agent": whose.agent,
            "key": whose.key_id,
        }
        await self._connection.execute(_BLANK_SEARCHES, values)
        await self._connection.execute(_BLANK_PAST_ERRORS, values)
        await self._connection.execute(_BLANK_IDENTIFIERS, values)


_BLANK_SEARCHES = text("""
    UPDATE retrieval r SET search = jsonb_set(r.search, '{queries}', '[]') FROM agent a
    WHERE r.namespace_id = :ns AND a.id = r.agent_id AND r.search->>'by' = 'model'
      AND (r.task_id = ANY(CAST(:tasks AS uuid[])) OR a.name = CAST(:agent AS text)
        OR r.key_id = CAST(:key AS uuid))
""")


# They stand in the task and in the memory.
_BLANK_IDENTIFIERS = text("""
    UPDATE retrieval_item i SET identifiers = '{}'
    FROM retrieval r JOIN agent a ON a.id = r.agent_id
    WHERE i.namespace_id = :ns AND i.retrieval_id = r.id AND i.identifiers <> '{}'
      AND (i.memory_id = ANY(CAST(:ids AS uuid[])) OR r.task_id = ANY(CAST(:tasks AS uuid[]))
        OR a.name = CAST(:agent AS text) OR r.key_id = CAST(:key AS uuid))
""")


# The run behind it may repeat every memory that it was told of.
_BLANK_PAST_ERRORS = text("""
    UPDATE retrieval r SET past_error = jsonb_set(r.past_error, '{text}', 'null')
    FROM outcome o JOIN retrieval f ON f.id = o.retrieval_id JOIN agent a ON a.id = f.agent_id
    WHERE r.namespace_id = :ns AND r.past_error->>'text' IS NOT NULL
      AND o.id = CAST(r.past_error->>'outcome_id' AS uuid)
      AND (f.task_id = ANY(CAST(:tasks AS uuid[])) OR a.name = CAST(:agent AS text)
        OR f.key_id = CAST(:key AS uuid) OR o.key_id = CAST(:key AS uuid)
        OR r.past_error->>'said_by' = 'reporter' AND o.lesson IS NULL
        OR EXISTS (SELECT FROM trajectory y WHERE y.erased_at IS NOT NULL
          AND y.id = CAST(r.past_error->>'run_id' AS uuid))
        OR EXISTS (SELECT FROM retrieval_item i WHERE i.retrieval_id = f.id AND i.served
          AND i.memory_id = ANY(CAST(:ids AS uuid[]))))
""")
