"""What stands before the bank: candidates taken from bad outcomes, tickets to verify them, trials
of a ticket.
"""

from sqlalchemy import (
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, JSONB

from memory.kernel.postgres.tables import (
    belongs_to,
    identity,
    key_id,
    metadata,
    moment,
    namespace_id,
    one_of,
)

TICKET_STATES = ("open", "leased", "decided", "expired", "quarantined")


RULES = ("gain", "wins")


CHANGESET_STATES = (
    *("waiting", "proposed", "applied", "rejected", "nothing", "quarantined", "undone"),
)


CANDIDATE_STATES = ("waiting", "proposed", "twin", "rejected_twin", "nothing", "quarantined")


candidate = Table(
    "candidate",
    metadata,
    namespace_id(),
    Column("outcome_id", Uuid, primary_key=True),
    Column("state", Text, nullable=False),
    Column("reason", Text),
    # The reward that was expected of its agent at such tasks.
    Column("expected", DOUBLE_PRECISION),
    # A claim is work begun on it; who died over it is seen by the time.
    Column("claims", Integer, nullable=False, server_default="0"),
    moment("claimed_until", nullable=True),
    # The memory that was made of it, or the twin that was there.
    Column("memory_id", Uuid),
    moment("recorded_at"),
    moment("finished_at", nullable=True),
    # When it was last compared with other failures.
    moment("compared_at", nullable=True),
    belongs_to("outcome_id", "outcome", ondelete="CASCADE"),
    belongs_to("memory_id", "memory", ondelete="CASCADE"),
    one_of("state", CANDIDATE_STATES),
    Index(
        "ix_candidate_waiting",
        "namespace_id",
        "outcome_id",
        postgresql_where=text("state = 'waiting'"),
    ),
)


ticket = Table(
    "ticket",
    metadata,
    namespace_id(),
    identity(),
    Column("memory_id", Uuid, nullable=False),
    Column("version", Integer, nullable=False),
    Column("guideline", Text, nullable=False),
    Column("metric", Text, nullable=False),
    Column("reward_kind", Text, nullable=False),
    # How its trials decide.
    Column("rule", Text, nullable=False, server_default="gain"),
    Column("state", Text, nullable=False),
    Column("claims", Integer, nullable=False, server_default="0"),
    Column("leased_agent_id", Uuid),
    Column("leased_key_id", Uuid),
    moment("lease_until", nullable=True),
    Column("decision", Text),
    Column("reason", Text),
    Column("evidence", Text),
    moment("known_at"),
    moment("recorded_at"),
    moment("decided_at", nullable=True),
    # When a language model was asked to repair what it turned down: once.
    moment("repair_tried_at", nullable=True),
    key_id(),
    belongs_to("memory_id", "memory", ondelete="CASCADE"),
    belongs_to("leased_agent_id", "agent"),
    one_of("state", TICKET_STATES),
    one_of("rule", RULES),
    one_of("reward_kind", ("continuous", "binary")),
    one_of("decision", ("admitted", "rejected", "probation")),
    Index(
        "uq_ticket_waiting",
        "namespace_id",
        "memory_id",
        unique=True,
        postgresql_where=text("state IN ('open', 'leased', 'quarantined')"),
    ),
    Index("ix_ticket_namespace_id_state_id", "namespace_id", "state", "id"),
    Index("ix_ticket_namespace_id_memory_id", "namespace_id", "memory_id"),
)


changeset = Table(
    "changeset",
    metadata,
    namespace_id(),
    identity(),
    Column("state", Text, nullable=False),
    Column("reason", Text),
    Column("category_id", Uuid, nullable=False),
    Column("family", Text, nullable=False),
    # No foreign key: an array has none. The first is the one in the midst.
    Column("outcome_ids", ARRAY(Uuid), nullable=False),
    Column("similarity", DOUBLE_PRECISION, nullable=False),
    # What is changed, by ids: words stand with the memories alone.
    Column("changes", JSONB, nullable=False, server_default=text("'[]'")),
    Column("ticket_id", Uuid),
    Column("claims", Integer, nullable=False, server_default="0"),
    moment("claimed_until", nullable=True),
    moment("recorded_at"),
    moment("finished_at", nullable=True),
    belongs_to("category_id", "category"),
    belongs_to("ticket_id", "ticket", ondelete="SET NULL (ticket_id)"),
    one_of("state", CHANGESET_STATES),
    Index("ix_changeset_ticket_id", "ticket_id"),
)


trial = Table(
    "trial",
    metadata,
    namespace_id(),
    Column("ticket_id", Uuid, primary_key=True),
    Column("slot", Integer, primary_key=True),
    Column("task_id", Uuid, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("reference", DOUBLE_PRECISION),
    # Null until the trial is reported.
    Column("reward", DOUBLE_PRECISION),
    Column("reward_without", DOUBLE_PRECISION),
    Column("raw", JSONB),
    Column("sha256", LargeBinary),
    Column("agent_id", Uuid),
    Column("self_verified", Boolean),
    moment("known_at", nullable=True),
    moment("reported_at", nullable=True),
    key_id(),
    belongs_to("ticket_id", "ticket", ondelete="CASCADE"),
    belongs_to("task_id", "task"),
    Index("ix_trial_namespace_id_task_id", "namespace_id", "task_id"),
    belongs_to("agent_id", "agent"),
    one_of("purpose", ("source", "other", "anchor")),
)
