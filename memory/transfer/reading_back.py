"""What was read in is read back, as the pages and the rebuild read it, before it stands."""

from collections.abc import Awaitable, Callable, Sequence
from uuid import UUID

from memory.belief.fold import Learned
from memory.belief.store.states import StateStore
from memory.forecasts.store.predictions import PredictionStore
from memory.kernel.errors import MemoryFault, Rejected
from memory.kernel.postgres.database import Connection
from memory.receipts.rebuild import rebuilt
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import ReceiptStore
from memory.tenancy.entities import Namespace
from memory.transfer.store.staging import ImportStore

_AT_ONCE = 500


# What reading a row raises that holds something else than the server writes.
_UNREADABLE = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryFault,
    TypeError,
    ValueError,
)


Reader = Callable[[Sequence[UUID]], Awaitable[object]]


async def require_rows_read(connection: Connection, namespace_id: UUID) -> None:
    """Raises Rejected where a receipt, an outcome or a prediction cannot be read."""
    readers: dict[str, Reader] = {
        "retrieval": ReceiptStore(connection, namespace_id).some,
        "outcome": OutcomeStore(connection, namespace_id).some,
        "prediction": PredictionStore(connection, namespace_id).some,
    }
    for table, read in readers.items():
        ids = await ImportStore(connection, namespace_id).ids(table)
        for start in range(0, len(ids), _AT_ONCE):
            await _require_some(table, ids[start : start + _AT_ONCE], read)


async def _require_some(table: str, ids: Sequence[UUID], read: Reader) -> None:
    try:
        await read(ids)
    except _UNREADABLE as fault:
        if len(ids) == 1:
            raise Rejected(f"{table}.jsonl: row {ids[0]} cannot be read", field=table) from fault
        for one in ids:
            await _require_some(table, [one], read)
        raise


async def find_difference(connection: Connection, namespace: Namespace) -> str | None:
    """A belief that the ledger does not give, in words; None where all are exact. Raises Rejected
    where the ledger cannot be folded, or a belief cannot be read.
    """
    try:
        live = await StateStore(connection, namespace.id).load_all()
    except _UNREADABLE as fault:
        raise Rejected("the file's beliefs cannot be read", field="state") from fault
    try:
        folded = await rebuilt(connection, namespace)
    except _UNREADABLE as fault:
        why = f": {fault}" if isinstance(fault, MemoryFault) else ""
        raise Rejected(f"the file's ledger cannot be folded{why}", field="outcome") from fault
    return _difference(live, folded)


def _difference(live: Learned, folded: Learned) -> str | None:
    if live == folded:
        return None
    for kind, states in live.by_kind.items():
        others = folded.by_kind[kind]
        for key in (*states, *others):
            if states.get(key) != others.get(key):
                named = key if isinstance(key, tuple) else (key,)
                return " ".join((kind, *(str(part) for part in named if part is not None)))
    return None
