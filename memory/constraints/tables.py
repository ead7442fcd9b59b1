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

from memory.kernel.postgres.tables import identity, key_id, metadata, moment, namespace_id, one_of

PAIR_CLASSES = ("discordant", "both_right", "both_wrong", "unknown")


CONTRAST_STATES = ("queued", "distilling", "distilled", "empty", "refused", "no_text", "failed")


contrast = Table(
    "contrast",
    metadata,
    identity(),
    namespace_id(),
    Column("task_id", Uuid, ForeignKey("task.id"), nullable=False),
    # Of two right runs the cheaper is preferred; of two wrong ones neither is, and order says
    # nothing.
    Column("preferred_id", Uuid, ForeignKey("trajectory.id"), nullable=False),
    Column("unpreferred_id", Uuid, ForeignKey("trajectory.id"), nullable=False),
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
    identity(),
    namespace_id(),
    Column("memory_id", Uuid, ForeignKey("memory.id", ondelete="CASCADE"), nullable=False),
    # Null where its author brought the constraint without a contrast.
    Column("contrast_id", Uuid, ForeignKey("contrast.id")),
    Column("task_id", Uuid, ForeignKey("task.id"), nullable=False),
    Column("preferred_agent_id", Uuid, ForeignKey("agent.id")),
    Column("unpreferred_agent_id", Uuid, ForeignKey("agent.id")),
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
    UniqueConstraint("memory_id", "contrast_id"),
    Index("ix_constraint_support_namespace_id_memory_id", "namespace_id", "memory_id"),
    Index("ix_constraint_support_namespace_id_task_id", "namespace_id", "task_id"),
)


contradiction = Table(
    "contradiction",
    metadata,
    identity(),
    namespace_id(),
    Column("first_id", Uuid, ForeignKey("memory.id", ondelete="CASCADE"), nullable=False),
    Column("second_id", Uuid, ForeignKey("memory.id", ondelete="CASCADE"), nullable=False),
    Column("category_id", Uuid, ForeignKey("category.id"), nullable=False),
    Column("reason", Text, nullable=False),
    Column("likeness", DOUBLE_PRECISION, nullable=False),
    Column("state", Text, nullable=False),
    Column("resolution", Text),
    Column("resolution_reason", Text),
    moment("recorded_at"),
    moment("resolved_at", nullable=True),
    key_id(),
    one_of("state", ("open", "resolved")),
    one_of("resolution", ("first", "second", "both", "neither")),
    UniqueConstraint("first_id", "second_id"),
    Index("ix_contradiction_namespace_id_state_id", "namespace_id", "state", "id"),
)


task_embedding = Table(
    "task_embedding",
    metadata,
    Column("task_id", Uuid, ForeignKey("task.id", ondelete="CASCADE"), primary_key=True),
    Column("model_id", Uuid, ForeignKey("embedding_model.id"), primary_key=True),
    namespace_id(),
    Column("vector", HALFVEC(), nullable=False),
    Index("ix_task_embedding_namespace_id_model_id", "namespace_id", "model_id"),
)


taxonomy = Table(
    "taxonomy",
    metadata,
    namespace_id(primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("categories", JSONB, nullable=False),
    Column("allow_new", Boolean, nullable=False),
    moment("recorded_at"),
    key_id(),
)


competence = Table(
    "competence",
    metadata,
    Column("agent_id", Uuid, ForeignKey("agent.id", ondelete="CASCADE"), primary_key=True),
    Column("category_id", Uuid, ForeignKey("category.id", ondelete="CASCADE"), primary_key=True),
    namespace_id(),
    # Verified runs, and the sum of their rewards.
    Column("n", Integer, nullable=False),
    Column("total", DOUBLE_PRECISION, nullable=False),
    Index("ix_competence_namespace_id", "namespace_id"),
)
