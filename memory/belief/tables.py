"""What learning knows: live states on narrow rows, and the append-only ledger they are a fold
of.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Date,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
)
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB

from memory.kernel.postgres.tables import (
    NUMBERS,
    bank_version,
    belongs_to,
    identity,
    key_id,
    metadata,
    moment,
    namespace_id,
    one_of,
)

SUBJECTS = (
    "memory",
    "deviation",
    "influence",
    "cell",
    "noise",
    "strength",
    "effect",
    "record",
    "usage",
)


# One narrow row a memory: no vector, primary key only, room on the page, so that updates stay on
# it.
memory_weight = Table(
    "memory_weight",
    metadata,
    namespace_id(),
    Column("memory_id", Uuid, primary_key=True),
    Column("state", NUMBERS, nullable=False),
    moment("touched_at", nullable=True),
    Column("n_credited", Integer, nullable=False, server_default="0"),
    Column("n_helpful", Integer, nullable=False, server_default="0"),
    Column("n_harmful", Integer, nullable=False, server_default="0"),
    # Outcomes of runs with memory whose head held it past the raw gate, and that went without it.
    Column("n_absent", Integer, nullable=False, server_default="0"),
    belongs_to("memory_id", "memory", ondelete="CASCADE"),
    postgresql_with={"fillfactor": "50"},
)


weight_deviation = Table(
    "weight_deviation",
    metadata,
    namespace_id(),
    Column("memory_id", Uuid, primary_key=True),
    Column("agent_id", Uuid, primary_key=True),
    Column("state", NUMBERS, nullable=False),
    moment("touched_at", nullable=True),
    belongs_to("memory_id", "memory", ondelete="CASCADE"),
    belongs_to("agent_id", "agent", ondelete="CASCADE"),
    postgresql_with={"fillfactor": "50"},
)


# How far one party alone has moved a memory's belief, and how far that counts for everybody.
influence = Table(
    "influence",
    metadata,
    namespace_id(),
    Column("memory_id", Uuid, primary_key=True),
    Column("party_id", Uuid, primary_key=True),
    Column("state", NUMBERS, nullable=False),
    moment("touched_at", nullable=True),
    belongs_to("memory_id", "memory", ondelete="CASCADE"),
    postgresql_with={"fillfactor": "50"},
)


cell = Table(
    "cell",
    metadata,
    namespace_id(),
    Column("agent_id", Uuid, primary_key=True),
    Column("category_id", Uuid, primary_key=True),
    Column("state", NUMBERS, nullable=False),
    moment("touched_at", nullable=True),
    Column("n_control", Integer, nullable=False, server_default="0"),
    belongs_to("agent_id", "agent", ondelete="CASCADE"),
    belongs_to("category_id", "category", ondelete="CASCADE"),
)


# How far memory is to be followed in a cell: sums, feedback dates, and whether it is suspended.
strength = Table(
    "strength",
    metadata,
    namespace_id(),
    Column("agent_id", Uuid, primary_key=True),
    Column("category_id", Uuid, primary_key=True),
    Column("state", NUMBERS, nullable=False),
    moment("touched_at", nullable=True),
    belongs_to("agent_id", "agent", ondelete="CASCADE"),
    belongs_to("category_id", "category", ondelete="CASCADE"),
)


# What memory did in a cell on one feedback date: the sums an effect and its interval need.
effect_day = Table(
    "effect_day",
    metadata,
    namespace_id(),
    Column("agent_id", Uuid, primary_key=True),
    Column("category_id", Uuid, primary_key=True),
    Column("day", Date, primary_key=True),
    Column("state", NUMBERS, nullable=False),
    moment("touched_at", nullable=True),
    belongs_to("agent_id", "agent", ondelete="CASCADE"),
    belongs_to("category_id", "category", ondelete="CASCADE"),
)


# Which of a cell's last outcomes named the memories that were used.
usage = Table(
    "usage",
    metadata,
    namespace_id(),
    Column("agent_id", Uuid, primary_key=True),
    Column("category_id", Uuid, primary_key=True),
    Column("state", NUMBERS, nullable=False),
    moment("touched_at", nullable=True),
    belongs_to("agent_id", "agent", ondelete="CASCADE"),
    belongs_to("category_id", "category", ondelete="CASCADE"),
)


noise = Table(
    "noise",
    metadata,
    namespace_id(),
    Column("reward_kind", Text, primary_key=True),
    Column("state", NUMBERS, nullable=False),
    moment("touched_at", nullable=True),
)


ranker_record = Table(
    "ranker_record",
    metadata,
    namespace_id(),
    identity(),
    # Null: the record of the whole namespace.
    Column("category_id", Uuid),
    Column("state", NUMBERS, nullable=False),
    # By name of ranker: what it lost on closed days, and its sum of the open day.
    Column("by_ranker", JSONB, nullable=False),
    moment("touched_at", nullable=True),
    belongs_to("category_id", "category", ondelete="CASCADE"),
    UniqueConstraint("namespace_id", "category_id", postgresql_nulls_not_distinct=True),
)


# (bank_version, position) is the ledger's order; one row for each state that a step changed. An
# empty `state_after`: the subject is at its start again, because what had moved it was withdrawn.
weight_event = Table(
    "weight_event",
    metadata,
    namespace_id(),
    Column("bank_version", BigInteger, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("subject", Text, nullable=False),
    Column("memory_id", Uuid),
    Column("agent_id", Uuid),
    Column("party_id", Uuid),
    Column("category_id", Uuid),
    Column("reward_kind", Text),
    Column("day", Date),
    Column("kind", Text, nullable=False),
    Column("reason", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("state_before", NUMBERS),
    Column("state_after", NUMBERS, nullable=False),
    # Of a record of rankers, beside its state: as in `ranker_record`.
    Column("by_ranker_before", JSONB(none_as_null=True)),
    Column("by_ranker_after", JSONB(none_as_null=True)),
    moment("touched_before", nullable=True),
    moment("touched_after", nullable=True),
    Column("weight_before", DOUBLE_PRECISION),
    Column("weight_after", DOUBLE_PRECISION),
    # No foreign key: removing old outcomes would have to look through the whole ledger.
    Column("outcome_id", Uuid),
    moment("known_at"),
    moment("recorded_at"),
    Column("superseded_by", BigInteger),
    belongs_to("memory_id", "memory", ondelete="CASCADE"),
    belongs_to("agent_id", "agent", ondelete="CASCADE"),
    belongs_to("category_id", "category", ondelete="CASCADE"),
    one_of("subject", SUBJECTS),
    one_of("kind", ("learn", "set")),
    Index("ix_weight_event_memory_id", "namespace_id", "memory_id", "bank_version"),
)


# Up to which version what was folded is closed: each subject has a `set` event of the reason
# `closed` with the state that it had then, and no outcome up to there is refolded.
ledger_closing = Table(
    "ledger_closing",
    metadata,
    namespace_id(),
    Column("bank_version", BigInteger, primary_key=True),
    # The newest fact that is closed.
    moment("known_at"),
    # The last correction that withdrew what is closed; null: none did. States recorded between
    # the two tell of what was withdrawn.
    Column("withdrawn_version", BigInteger),
    moment("recorded_at"),
)


# What was taken out of the ledger at once, and given back or not. From `bank_version` on, and until
# `undone_version`, recorded states lack outcomes that stand from `first_version` on.
rollback = Table(
    "rollback",
    metadata,
    namespace_id(),
    identity(),
    key_id(),
    # Whose word it was.
    Column("source", JSONB, nullable=False),
    # What was taken, each as it stood: outcomes, memories, runs, contrasts, support.
    Column("taken", JSONB, nullable=False),
    # Of the outcomes in the ledger the first; null where none was.
    Column("first_version", BigInteger),
    bank_version(),
    moment("recorded_at"),
    Column("undone_version", BigInteger),
    moment("undone_at", nullable=True),
    Column("undone_by", Uuid),
)
