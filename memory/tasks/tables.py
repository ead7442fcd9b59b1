"""Who acts and on what: agents, categories, tasks, trajectories."""

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import DOUBLE_PRECISION, JSONB

from memory.kernel.postgres.tables import (
    NUMBERS,
    belongs_to,
    identity,
    key_id,
    metadata,
    moment,
    namespace_id,
    one_of,
)

VERIFIERS = ("human", "test", "judge", "self", "none")


agent = Table(
    "agent",
    metadata,
    namespace_id(),
    identity(),
    Column("name", Text, nullable=False),
    Column("model", Text),
    Column("family", Text),
    Column("size_class", Text),
    Column("own_information", Boolean, nullable=False, server_default="false"),
    Column("version", Integer, nullable=False, server_default="1"),
    moment("created_at"),
    key_id(),
    UniqueConstraint("namespace_id", "name"),
)


category = Table(
    "category",
    metadata,
    namespace_id(),
    identity(),
    Column("parent_id", Uuid),
    Column("name", Text, nullable=False),
    # Fixed by the first outcome that counts, until none is left, or by an admin.
    Column("metric", Text),
    Column("reward_kind", Text),
    Column("fixed_by", Text),
    Column("taxonomy_version", Integer, nullable=False, server_default="1"),
    moment("created_at"),
    key_id(),
    belongs_to("parent_id", "category", ondelete="CASCADE"),
    one_of("fixed_by", ("outcomes", "admin")),
    CheckConstraint("(metric IS NULL) = (fixed_by IS NULL)", name="fixed"),
    UniqueConstraint("namespace_id", "parent_id", "name", postgresql_nulls_not_distinct=True),
)


centroid = Table(
    "centroid",
    metadata,
    namespace_id(),
    Column("category_id", Uuid, primary_key=True),
    Column("model_id", Uuid, ForeignKey("embedding_model.id"), primary_key=True),
    Column("total", NUMBERS, nullable=False),
    Column("n", Integer, nullable=False),
    # The vector of the taxonomy's description, which counts as one example more.
    Column("prior", NUMBERS),
    belongs_to("category_id", "category", ondelete="CASCADE"),
)


task = Table(
    "task",
    metadata,
    namespace_id(),
    identity(),
    Column("key", Text),
    Column("text", Text, nullable=False),
    Column("sha256", LargeBinary, nullable=False),
    Column("category_id", Uuid, nullable=False),
    Column("subcategory_id", Uuid),
    Column("group_key", Text),
    Column("metadata", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    moment("known_at"),
    moment("recorded_at"),
    moment("erased_at", nullable=True),
    key_id(),
    # When its window closes: from then on no prediction counts.
    moment("closes_at", nullable=True),
    belongs_to("category_id", "category"),
    belongs_to("subcategory_id", "category"),
    Index("ix_task_namespace_id_group_key", "namespace_id", "group_key"),
    Index(
        "uq_task_namespace_id_key",
        "namespace_id",
        "key",
        unique=True,
        postgresql_where=text("key IS NOT NULL"),
    ),
)


trajectory = Table(
    "trajectory",
    metadata,
    namespace_id(),
    identity(),
    Column("task_id", Uuid, nullable=False),
    Column("agent_id", Uuid, nullable=False),
    Column("steps", JSONB, nullable=False),
    Column("result", Text),
    # Why, in the agent's own words.
    Column("rationale", Text),
    # Which version of the task was run; the receipt behind which the run stands.
    Column("task_variant", Text),
    Column("retrieval_id", Uuid),
    Column("reward", DOUBLE_PRECISION),
    Column("verifier", Text, nullable=False),
    # What the run took, in the caller's unit; of two right runs the cheaper is preferred.
    Column("cost", DOUBLE_PRECISION),
    # What observable checks say of it; null: none has looked at it.
    Column("examined", JSONB),
    # When its group was last looked at for pairs; null: not yet.
    moment("paired_at", nullable=True),
    moment("known_at"),
    moment("recorded_at"),
    moment("erased_at", nullable=True),
    # When a rollback took it back: from then on it has no verdict.
    moment("withdrawn_at", nullable=True),
    key_id(),
    belongs_to("task_id", "task"),
    belongs_to("agent_id", "agent"),
    belongs_to("retrieval_id", "retrieval"),
    one_of("verifier", VERIFIERS),
    Index("ix_trajectory_namespace_id_task_id", "namespace_id", "task_id"),
    Index("ix_trajectory_namespace_id_retrieval_id", "namespace_id", "retrieval_id"),
    # Runs that still have their words.
    Index(
        "ix_trajectory_namespace_id_known_at",
        "namespace_id",
        "known_at",
        postgresql_where=text("erased_at IS NULL"),
    ),
    Index(
        "ix_trajectory_unexamined",
        "namespace_id",
        "id",
        postgresql_where=text("examined IS NULL"),
    ),
    Index(
        "ix_trajectory_unpaired",
        "namespace_id",
        "id",
        postgresql_where=text("paired_at IS NULL"),
    ),
)
