"""Whose word a report is: whether it counts for a memory, and how far.

The author rule: a party's word about its own memories does not count where others are harmed. A
memory's author is the key that wrote it, and whoever speaks as one with that key; names prove
nothing. About the memories of others a party's word counts within a bound. Keys that judge others,
and settlements, are nobody's word, and where one party is alone it harms nobody.
"""

from collections.abc import Collection
from dataclasses import dataclass
from uuid import UUID

from memory.kernel.postgres.database import Connection
from memory.outcomes.precedence import Authorship, author_of
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import ReceiptContext
from memory.tenancy.entities import Call
from memory.tenancy.parties import speak_as_one
from memory.tenancy.store.keys import KeyStore


@dataclass(frozen=True, slots=True)
class Reporter:
    """`keys`: those whose word is the reporter's; none where the author rule does not hold.

    `bounded`: the party whose influence is bounded; None where nobody's is.
    """

    keys: frozenset[UUID] = frozenset()
    bounded: UUID | None = None

    def find_authored(self, receipt: ReceiptContext) -> frozenset[UUID]:
        """The served memories about which the reporter's word does not count."""
        served = [
            Authorship(memory, receipt.writers[memory], memory in receipt.shared)
            for memory in receipt.cited
        ]
        return author_of(self.keys, served)


NOBODY = Reporter()
"""A settlement, an evaluator, an admin; and who is alone."""


async def load_reporter(
    connection: Connection, call: Call, receipts: Collection[ReceiptContext]
) -> Reporter:
    """Who the caller is to the memories of these receipts."""
    key, party_id = call.key, call.key.party_id
    if party_id is None:
        return NOBODY
    if not await OutcomeStore(connection, call.namespace.id).others_took_part(party_id):
        return NOBODY
    writers = {writer for one in receipts for writer in one.writers.values()} - {None, key.id}
    others = await KeyStore(connection).some([writer for writer in writers if writer is not None])
    same = {other.id for other in others.values() if speak_as_one(key, other)}
    return Reporter(frozenset({key.id, *same}), party_id)
