"""Contrasts and their results: pairs of runs, the support of constraints, contradictions."""

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB

from memory.kernel.postgres.tables import (
    belongs_to,
    identity,
    key_id,
    metadata,
    moment,
    namespace_id,
    one_of,
)

PAIR_CLASSES = ("discordant", "both_right", "both_wrong", "unknown")


CONTRAST_STATES = ("queued", "distilling", "distilled", "empty", "refused", "no_text", "failed")


contrast = Table(
    "contrast",
    metadata,
    namespace_id(),
    identity(),
    Column("task_id", Uuid, nullable=False),
    # Of two right runs the cheaper is preferred; of two wrong ones neither is, and order says
    # nothing.
    Column("preferred_id", Uuid, nullable=False),
    Column("unpreferred_id", Uuid, nullable=False),
    Column("pair_class", Text, nullable=False),
    Column("self_contrast", Boolean, nullable=False),
    # Whether it may be counted for a constraint; if not, why not.
    Column("supports", Boolean, nullable=False),
    Column("reason", Text),
    Column("state", Text, nullable=False),
    Column("distiller", Text),
    Column("claims", Integer, nullable=False, server_default="0"),
    moment("claimed_until", nullable=True),
    # What the distiller said that could not be used, and why.
    Column("rejected", JSONB, nullable=False, server_default=text("'[]'::jsonb")),
    Column("duration_ms", DOUBLE_PRECISION),
    Column("tokens", Integer, nullable=False, server_default="0"),
    moment("known_at"),
    moment("recorded_at"),
    moment("done_at", nullable=True),
    key_id(),
    belongs_to("task_id", "task"),
    belongs_to("preferred_id", "trajectory"),
    belongs_to("unpreferred_id", "trajectory"),
    one_of("pair_class", PAIR_CLASSES),
    one_of("state", CONTRAST_STATES),
    Index(
        "uq_contrast_pair",
        "namespace_id",
        text("least(preferred_id, unpreferred_id)"),
        text("greatest(preferred_id, unpreferred_id)"),
        unique=True,
    ),
    Index("ix_contrast_namespace_id_state_id", "namespace_id", "state", "id"),
    Index("ix_contrast_namespace_id_task_id", "namespace_id", "task_id"),
    Index("ix_contrast_preferred_id", "preferred_id"),
    Index("ix_contrast_unpreferred_id", "unpreferred_id"),
)


constraint_support = Table(
    "constraint_support",
    metadata,
    namespace_id(),
    identity(),
    Column("memory_id", Uuid, nullable=False),
    # Null where its author brought the constraint without a contrast.
    Column("contrast_id", Uuid),
    Column("task_id", Uuid, nullable=False),
    Column("preferred_agent_id", Uuid),
    Column("unpreferred_agent_id", Uuid),
    # As the agents were declared when the pair was made.
    Column("preferred_family", Text),
    Column("unpreferred_family", Text),
    Column("preferred_size", Text),
    Column("unpreferred_size", Text),
    Column("pair_class", Text),
    Column("verifier", Text, nullable=False),
    Column("preferred_key_id", Uuid),
    Column("unpreferred_key_id", Uuid),
    Column("counts", Boolean, nullable=False),
    moment("known_at"),
    moment("recorded_at"),
    belongs_to("memory_id", "memory", ondelete="CASCADE"),
    belongs_to("contrast_id", "contrast"),
    belongs_to("task_id", "task"),
    belongs_to("preferred_agent_id", "agent"),
    belongs_to("unpreferred_agent_id", "agent"),
    UniqueConstraint("namespace_id", "memory_id", "contrast_id"),
    Index("ix_constraint_support_namespace_id_memory_id", "namespace_id", "memory_id"),
    Index("ix_constraint_support_namespace_id_task_id", "namespace_id", "task_id"),
)


contradiction = Table(
    "contradiction",
    metadata,
    namespace_id(),
    identity(),
    Column("first_id", Uuid, nullable=False),
    Column("second_id", Uuid, nullable=False),
    Column("category_id", Uuid, nullable=False),
    Column("reason", Text, nullable=False),
    Column("likeness", DOUBLE_PRECISION, nullable=False),
    Column("state", Text, nullable=False),
    Column("resolution", Text),
    Column("resolution_reason", Text),
    moment("recorded_at"),
    moment("resolved_at", nullable=True),
    key_id(),
    belongs_to("first_id", "memory", ondelete="CASCADE"),
    belongs_to("second_id", "memory", ondelete="CASCADE"),
    belongs_to("category_id", "category"),
    one_of("state", ("open", "resolved")),
    one_of("resolution", ("first", "second", "both", "neither")),
    UniqueConstraint("namespace_id", "first_id", "second_id"),
    Index("ix_contradiction_namespace_id_state_id", "namespace_id", "state", "id"),
)


task_embedding = Table(
    "task_embedding",
    metadata,
    namespace_id(),
    Column("task_id", Uuid, primary_key=True),
    Column("model_id", Uuid, ForeignKey("embedding_model.id"), primary_key=True),
    Column("vector", HALFVEC(), nullable=False),
    belongs_to("task_id", "task", ondelete="CASCADE"),
    Index("ix_task_embedding_namespace_id_model_id", "namespace_id", "model_id"),
)


taxonomy = Table(
    "taxonomy",
    metadata,
    namespace_id(),
    Column("version", Integer, primary_key=True),
    Column("categories", JSONB, nullable=False),
    Column("allow_new", Boolean, nullable=False),
    moment("recorded_at"),
    key_id(),
)


competence = Table(
    "competence",
    metadata,
    namespace_id(),
    Column("agent_id", Uuid, primary_key=True),
    Column("category_id", Uuid, primary_key=True),
    # Verified runs, and the sum of their rewards.
    Column("n", Integer, nullable=False),
    Column("total", DOUBLE_PRECISION, nullable=False),
    belongs_to("agent_id", "agent", ondelete="CASCADE"),
    belongs_to("category_id", "category", ondelete="CASCADE"),
)
