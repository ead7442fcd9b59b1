"""What was asked of a language model and what it said, and the tokens it may take a day."""

from sqlalchemy import BigInteger, Column, Date, Index, Integer, Table, Text, Uuid
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION

from memory.kernel.postgres.tables import identity, key_id, metadata, moment, namespace_id, one_of

# The ids name what may come later (a receipt) or never: no foreign keys.
writing = Table(
    "writing",
    metadata,
    namespace_id(),
    identity(),
    Column("role", Text, nullable=False),
    Column("model", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("prompt", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("duration_ms", DOUBLE_PRECISION, nullable=False),
    Column("status", Text, nullable=False),
    Column("fault", Text),
    Column("detail", Text),
    Column("retrieval_id", Uuid),
    Column("memory_id", Uuid),
    Column("ticket_id", Uuid),
    Column("task_id", Uuid),
    Column("agent", Text),
    Column("memory_ids", ARRAY(Uuid), nullable=False),
    moment("recorded_at"),
    moment("erased_at", nullable=True),
    key_id(),
    one_of("status", ("done", "failed", "stopped")),
    Index("ix_writing_namespace_id_retrieval_id", "namespace_id", "retrieval_id"),
)


writing_budget = Table(
    "writing_budget",
    metadata,
    namespace_id(),
    Column("day", Date, primary_key=True),
    Column("spent", BigInteger, nullable=False, server_default="0"),
    Column("reserved", BigInteger, nullable=False, server_default="0"),
    # When the last attempt that something was set aside for is over, however it ended.
    moment("reserved_until", nullable=True),
    Column("stopped", BigInteger, nullable=False, server_default="0"),
    # US dollars, and tokens whose price nobody knew.
    Column("cost", DOUBLE_PRECISION, nullable=False, server_default="0"),
    Column("cost_reserved", DOUBLE_PRECISION, nullable=False, server_default="0"),
    Column("unpriced", BigInteger, nullable=False, server_default="0"),
)


# All namespaces share it: what a server may cost is no namespace's.
server_budget = Table(
    "server_budget",
    metadata,
    Column("day", Date, primary_key=True),
    Column("cost", DOUBLE_PRECISION, nullable=False, server_default="0"),
    Column("cost_reserved", DOUBLE_PRECISION, nullable=False, server_default="0"),
    moment("reserved_until", nullable=True),
    Column("stopped", BigInteger, nullable=False, server_default="0"),
)
