"""What is remembered: memories, their texts, the vectors of the texts, and the models that made
them.
"""

from pgvector.sqlalchemy import HALFVEC
from sqlalchemy import (
    Boolean,
    Column,
    ForeignKey,
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
    bank_version,
    belongs_to,
    identity,
    key_id,
    metadata,
    moment,
    namespace_id,
    one_of,
)

KINDS = ("experience", "constraint", "meta_guideline")


STATUSES = (
    "proposed",
    "verifying",
    "active",
    "rejected",
    "probation",
    "suspended",
    "retired",
)


LIVING = "status NOT IN ('retired', 'rejected') AND erased_at IS NULL"


memory = Table(
    "memory",
    metadata,
    namespace_id(),
    identity(),
    Column("kind", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("status_reason", Text),
    Column("trust", Text, nullable=False),
    Column("visibility", Text, nullable=False),
    Column("pinned", Boolean, nullable=False, server_default="false"),
    # The agent whose private memory this is, as text; `*` where the whole namespace may see it.
    Column("owner", Text, nullable=False),
    Column("agent_id", Uuid, nullable=False),
    Column("category_id", Uuid, nullable=False),
    Column("subcategory_id", Uuid),
    Column("task_id", Uuid),
    Column("trajectory_id", Uuid),
    # What stands or falls together: at most one memory of a source group is served.
    Column("source_group", Text, nullable=False),
    Column("detail", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    Column("metadata", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    Column("derived_from", ARRAY(Uuid), nullable=False, server_default=text("'{}'::uuid[]")),
    # What it speaks against: memories that its writer had been served.
    Column("contradicts", ARRAY(Uuid), nullable=False, server_default=text("'{}'::uuid[]")),
    Column("version", Integer, nullable=False),
    Column("sha256", LargeBinary, nullable=False),
    Column("evidence", Integer, nullable=False, server_default="1"),
    Column("start_weight", DOUBLE_PRECISION, nullable=False),
    moment("learned_at"),
    moment("recorded_at"),
    moment("erased_at", nullable=True),
    # Restored last, and how often it had been credited by then: retirement counts from here.
    moment("returned_at", nullable=True),
    Column("returned_credits", Integer, nullable=False, server_default="0"),
    bank_version(),
    key_id(),
    belongs_to("agent_id", "agent"),
    belongs_to("category_id", "category"),
    belongs_to("subcategory_id", "category"),
    belongs_to("task_id", "task"),
    belongs_to("trajectory_id", "trajectory"),
    one_of("kind", KINDS),
    one_of("status", STATUSES),
    one_of("trust", ("trusted", "unverified", "quarantined")),
    one_of("visibility", ("agent", "namespace")),
    Index(
        "uq_memory_living_text",
        "namespace_id",
        "owner",
        "kind",
        "category_id",
        "sha256",
        unique=True,
        postgresql_where=text(LIVING),
    ),
    Index("ix_memory_namespace_id_status", "namespace_id", "status"),
    Index("ix_memory_namespace_id_task_id", "namespace_id", "task_id"),
    Index("ix_memory_namespace_id_key_id", "namespace_id", "key_id"),
)


ERASED_COLUMNS: dict[str, object] = {"metadata": {}, "detail": {}, "sha256": b""}
"""What the free text of a memory is replaced by when it is erased."""


memory_version = Table(
    "memory_version",
    metadata,
    namespace_id(),
    Column("memory_id", Uuid, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("situation", Text, nullable=False),
    Column("lesson", Text, nullable=False),
    # What both hold to be found as it is written (`memory.kernel.identifiers`).
    Column("identifiers", ARRAY(Text), nullable=False, server_default=text("'{}'::text[]")),
    # Terms of both beside word pieces, as often as they occur; null where not computed yet.
    Column("raw_terms", ARRAY(Text)),
    # Of the normal form of both; null where it was not computed yet.
    Column("normal_sha256", LargeBinary),
    moment("known_at"),
    moment("recorded_at"),
    bank_version(),
    key_id(),
    belongs_to("memory_id", "memory", ondelete="CASCADE"),
)


embedding = Table(
    "embedding",
    metadata,
    namespace_id(),
    Column("memory_id", Uuid, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("field", Text, primary_key=True),
    Column("model_id", Uuid, ForeignKey("embedding_model.id"), primary_key=True),
    # No declared width: it belongs to the model, and models change.
    Column("vector", HALFVEC(), nullable=False),
    Column("token_ids", ARRAY(Integer), nullable=False),
    # The share of the text's characters that the model's tokenizer does not know.
    Column("unknown_share", DOUBLE_PRECISION, nullable=False, server_default="0"),
    belongs_to("memory_id", "memory", ondelete="CASCADE"),
    # `enforce` and `avoid`: the halves of a constraint, which is what contradictions are in.
    one_of("field", ("situation", "lesson", "task", "trigger", "enforce", "avoid")),
    Index("ix_embedding_namespace_id_model_id_field", "namespace_id", "model_id", "field"),
)
