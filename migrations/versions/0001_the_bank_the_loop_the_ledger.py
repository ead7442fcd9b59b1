"""The bank, the loop, the ledger"""

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import HALFVEC
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=True),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column(
            "detail",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index("ix_audit_namespace_id_id", "audit", ["namespace_id", "id"], unique=False)
    op.create_table(
        "embedding_model",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("revision", sa.Text(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("width", sa.Integer(), nullable=False),
        sa.Column("calibration", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("state IN ('active', 'retired')", name=op.f("ck_embedding_model_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_embedding_model")),
        sa.UniqueConstraint(
            "name", "revision", "sha256", name=op.f("uq_embedding_model_name_revision_sha256")
        ),
    )
    op.create_table(
        "job_run",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("job", sa.Text(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=True),
        sa.Column("period", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=True),
        sa.Column("dry_run", sa.Boolean(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("now", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("result", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.CheckConstraint("state IN ('running', 'done', 'failed')", name=op.f("ck_job_run_state")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job_run")),
    )
    op.create_index(
        "uq_job_run_job_namespace_id_period",
        "job_run",
        ["job", "namespace_id", "period"],
        unique=True,
        postgresql_where=sa.text("NOT dry_run"),
    )
    op.create_table(
        "lease",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("beat_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_lease")),
    )
    op.create_table(
        "namespace",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("clock", sa.Text(), nullable=False),
        sa.Column("learning", sa.Text(), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column(
            "settings",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("bank_version", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("n_memories", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("newest_known_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("model_id", sa.Uuid(), nullable=True),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("deletion_requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deletion_sha256", sa.LargeBinary(), nullable=True),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.CheckConstraint("clock IN ('wall', 'replay')", name=op.f("ck_namespace_clock")),
        sa.CheckConstraint("learning IN ('on', 'frozen')", name=op.f("ck_namespace_learning")),
        sa.ForeignKeyConstraint(
            ["model_id"], ["embedding_model.id"], name=op.f("fk_namespace_model_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_namespace")),
        sa.UniqueConstraint("slug", name=op.f("uq_namespace_slug")),
    )
    op.create_table(
        "agent",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=True),
        sa.Column("family", sa.Text(), nullable=True),
        sa.Column("size_class", sa.Text(), nullable=True),
        sa.Column("own_information", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_agent_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent")),
        sa.UniqueConstraint("namespace_id", "name", name=op.f("uq_agent_namespace_id_name")),
    )
    op.create_table(
        "api_key",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=True),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("agents", postgresql.ARRAY(sa.Text()), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("created_by", sa.Uuid(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "role IN ('agent', 'evaluator', 'reader', 'admin', 'operator')",
            name=op.f("ck_api_key_role"),
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_api_key_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_key")),
    )
    op.create_table(
        "category",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("parent_id", sa.Uuid(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=True),
        sa.Column("reward_kind", sa.Text(), nullable=True),
        sa.Column("taxonomy_version", sa.Integer(), server_default="1", nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_category_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["parent_id"], ["category.id"], name=op.f("fk_category_parent_id"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_category")),
        sa.UniqueConstraint(
            "namespace_id",
            "parent_id",
            "name",
            name=op.f("uq_category_namespace_id_parent_id_name"),
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.create_table(
        "change",
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("bank_version", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subjects", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_change_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("namespace_id", "bank_version", name=op.f("pk_change")),
    )
    op.create_table(
        "idempotency",
        sa.Column("key_id", sa.Uuid(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=True),
        sa.Column("body_sha256", sa.LargeBinary(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("response", sa.LargeBinary(), nullable=True),
        sa.Column("locked_until", sa.DateTime(timezone=True), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("state IN ('running', 'done')", name=op.f("ck_idempotency_state")),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_idempotency_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "key_id", "method", "path", "idempotency_key", name=op.f("pk_idempotency")
        ),
    )
    op.create_index("ix_idempotency_created_at", "idempotency", ["created_at"], unique=False)
    op.create_table(
        "noise",
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("reward_kind", sa.Text(), nullable=False),
        sa.Column("state", postgresql.ARRAY(sa.DOUBLE_PRECISION()), nullable=False),
        sa.Column("touched_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_noise_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("namespace_id", "reward_kind", name=op.f("pk_noise")),
    )
    op.create_table(
        "cell",
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("category_id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("state", postgresql.ARRAY(sa.DOUBLE_PRECISION()), nullable=False),
        sa.Column("touched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "strength",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column(
            "effect",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("n_control", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agent.id"], name=op.f("fk_cell_agent_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["category_id"], ["category.id"], name=op.f("fk_cell_category_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_cell_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("agent_id", "category_id", name=op.f("pk_cell")),
    )
    op.create_table(
        "centroid",
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("category_id", sa.Uuid(), nullable=False),
        sa.Column("model_id", sa.Uuid(), nullable=False),
        sa.Column("total", postgresql.ARRAY(sa.DOUBLE_PRECISION()), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["category_id"],
            ["category.id"],
            name=op.f("fk_centroid_category_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["model_id"], ["embedding_model.id"], name=op.f("fk_centroid_model_id")
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_centroid_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("category_id", "model_id", name=op.f("pk_centroid")),
    )
    op.create_table(
        "ranker_record",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("category_id", sa.Uuid(), nullable=True),
        sa.Column("losses", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("n", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("dates", sa.Integer(), nullable=False),
        sa.Column("touched_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["category_id"],
            ["category.id"],
            name=op.f("fk_ranker_record_category_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_ranker_record_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ranker_record")),
        sa.UniqueConstraint(
            "namespace_id",
            "category_id",
            name=op.f("uq_ranker_record_namespace_id_category_id"),
            postgresql_nulls_not_distinct=True,
        ),
    )
    op.create_table(
        "task",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("category_id", sa.Uuid(), nullable=False),
        sa.Column("subcategory_id", sa.Uuid(), nullable=True),
        sa.Column("group_key", sa.Text(), nullable=True),
        sa.Column(
            "metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column("known_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("erased_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.ForeignKeyConstraint(["category_id"], ["category.id"], name=op.f("fk_task_category_id")),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_task_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["subcategory_id"], ["category.id"], name=op.f("fk_task_subcategory_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_task")),
    )
    op.create_index(
        "uq_task_namespace_id_key",
        "task",
        ["namespace_id", "key"],
        unique=True,
        postgresql_where=sa.text("key IS NOT NULL"),
    )
    op.create_table(
        "retrieval",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("task_id", sa.Uuid(), nullable=False),
        sa.Column("category_id", sa.Uuid(), nullable=False),
        sa.Column("subcategory_id", sa.Uuid(), nullable=True),
        sa.Column("confidence", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("arm", sa.Text(), nullable=False),
        sa.Column("propensity", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("eligible", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("k", sa.Integer(), nullable=False),
        sa.Column("max_tokens", sa.Integer(), nullable=False),
        sa.Column("bank_version", sa.BigInteger(), nullable=False),
        sa.Column("as_of", sa.DateTime(timezone=True), nullable=False),
        sa.Column("model_id", sa.Uuid(), nullable=False),
        sa.Column("raw_gate", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("score_floor", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("ranker", sa.Text(), nullable=False),
        sa.Column("rankers", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("rivals", sa.Boolean(), nullable=False),
        sa.Column("strength", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("compiler", sa.Text(), nullable=False),
        sa.Column("counter", sa.Text(), nullable=False),
        sa.Column("lines", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("cut", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("timings", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("known_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.CheckConstraint(
            "arm IN ('on', 'control', 'forced_on', 'forced_off', 'paired', 'empty', 'suspended', 'probe')",
            name=op.f("ck_retrieval_arm"),
        ),
        sa.CheckConstraint(
            "purpose IN ('act', 'paired', 'replay')", name=op.f("ck_retrieval_purpose")
        ),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_retrieval_agent_id")),
        sa.ForeignKeyConstraint(
            ["category_id"], ["category.id"], name=op.f("fk_retrieval_category_id")
        ),
        sa.ForeignKeyConstraint(
            ["model_id"], ["embedding_model.id"], name=op.f("fk_retrieval_model_id")
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_retrieval_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["subcategory_id"], ["category.id"], name=op.f("fk_retrieval_subcategory_id")
        ),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name=op.f("fk_retrieval_task_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_retrieval")),
    )
    op.create_index(
        "ix_retrieval_namespace_id_id", "retrieval", ["namespace_id", "id"], unique=False
    )
    op.create_index(
        "ix_retrieval_namespace_id_task_id", "retrieval", ["namespace_id", "task_id"], unique=False
    )
    op.create_table(
        "trajectory",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("task_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("steps", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("result", sa.Text(), nullable=True),
        sa.Column("reward", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("verifier", sa.Text(), nullable=False),
        sa.Column("known_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("erased_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.CheckConstraint(
            "verifier IN ('human', 'test', 'judge', 'self', 'none')",
            name=op.f("ck_trajectory_verifier"),
        ),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_trajectory_agent_id")),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_trajectory_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name=op.f("fk_trajectory_task_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trajectory")),
    )
    op.create_index(
        "ix_trajectory_namespace_id_task_id",
        "trajectory",
        ["namespace_id", "task_id"],
        unique=False,
    )
    op.create_table(
        "memory",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("status_reason", sa.Text(), nullable=True),
        sa.Column("trust", sa.Text(), nullable=False),
        sa.Column("visibility", sa.Text(), nullable=False),
        sa.Column("pinned", sa.Boolean(), server_default="false", nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("category_id", sa.Uuid(), nullable=False),
        sa.Column("subcategory_id", sa.Uuid(), nullable=True),
        sa.Column("task_id", sa.Uuid(), nullable=True),
        sa.Column("trajectory_id", sa.Uuid(), nullable=True),
        sa.Column("source_group", sa.Text(), nullable=False),
        sa.Column(
            "detail",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column(
            "metadata",
            postgresql.JSONB(astext_type=sa.Text()),
            server_default=sa.text("'{}'::jsonb"),
            nullable=False,
        ),
        sa.Column(
            "derived_from",
            postgresql.ARRAY(sa.Uuid()),
            server_default=sa.text("'{}'::uuid[]"),
            nullable=False,
        ),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("evidence", sa.Integer(), server_default="1", nullable=False),
        sa.Column("start_weight", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("learned_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("erased_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("bank_version", sa.BigInteger(), nullable=False),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.CheckConstraint(
            "kind IN ('experience', 'constraint', 'meta_guideline')", name=op.f("ck_memory_kind")
        ),
        sa.CheckConstraint(
            "status IN ('proposed', 'verifying', 'active', 'rejected', 'probation', 'suspended', 'retired')",
            name=op.f("ck_memory_status"),
        ),
        sa.CheckConstraint(
            "trust IN ('trusted', 'unverified', 'quarantined')", name=op.f("ck_memory_trust")
        ),
        sa.CheckConstraint(
            "visibility IN ('agent', 'namespace')", name=op.f("ck_memory_visibility")
        ),
        sa.ForeignKeyConstraint(["agent_id"], ["agent.id"], name=op.f("fk_memory_agent_id")),
        sa.ForeignKeyConstraint(
            ["category_id"], ["category.id"], name=op.f("fk_memory_category_id")
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_memory_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["subcategory_id"], ["category.id"], name=op.f("fk_memory_subcategory_id")
        ),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name=op.f("fk_memory_task_id")),
        sa.ForeignKeyConstraint(
            ["trajectory_id"], ["trajectory.id"], name=op.f("fk_memory_trajectory_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_memory")),
    )
    op.create_index(
        "ix_memory_namespace_id_status", "memory", ["namespace_id", "status"], unique=False
    )
    op.create_index(
        "ix_memory_namespace_id_task_id", "memory", ["namespace_id", "task_id"], unique=False
    )
    op.create_index(
        "uq_memory_living_text",
        "memory",
        ["namespace_id", "owner", "kind", "category_id", "sha256"],
        unique=True,
        postgresql_where=sa.text("status NOT IN ('retired', 'rejected') AND erased_at IS NULL"),
    )
    op.create_table(
        "outcome",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("retrieval_id", sa.Uuid(), nullable=False),
        sa.Column("evaluator", sa.Text(), nullable=False),
        sa.Column("verifier", sa.Text(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("reward_kind", sa.Text(), nullable=False),
        sa.Column("raw", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        sa.Column("reward", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("reward_full", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("reward_without", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("helpful", postgresql.ARRAY(sa.Uuid()), nullable=False),
        sa.Column("harmful", postgresql.ARRAY(sa.Uuid()), nullable=False),
        sa.Column("authored", postgresql.ARRAY(sa.Uuid()), nullable=False),
        sa.Column("answers", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("stances", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("evidence", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("supersedes", sa.Uuid(), nullable=True),
        sa.Column("known_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("applied_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("bank_version", sa.BigInteger(), nullable=True),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.CheckConstraint(
            "evidence IN ('paired', 'control', 'single', 'none')", name=op.f("ck_outcome_evidence")
        ),
        sa.CheckConstraint(
            "reward_kind IN ('continuous', 'binary')", name=op.f("ck_outcome_reward_kind")
        ),
        sa.CheckConstraint(
            "status IN ('accepted', 'applied', 'ignored', 'superseded')",
            name=op.f("ck_outcome_status"),
        ),
        sa.CheckConstraint(
            "verifier IN ('human', 'test', 'judge', 'self')", name=op.f("ck_outcome_verifier")
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_outcome_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["retrieval_id"], ["retrieval.id"], name=op.f("fk_outcome_retrieval_id")
        ),
        sa.ForeignKeyConstraint(["supersedes"], ["outcome.id"], name=op.f("fk_outcome_supersedes")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_outcome")),
    )
    op.create_index(
        "ix_outcome_namespace_id_retrieval_id",
        "outcome",
        ["namespace_id", "retrieval_id"],
        unique=False,
    )
    op.create_index(
        "ix_outcome_pending",
        "outcome",
        ["namespace_id", "known_at", "recorded_at", "position", "id"],
        unique=False,
        postgresql_where=sa.text("applied_at IS NULL"),
    )
    op.create_index(
        "uq_outcome_effective",
        "outcome",
        ["retrieval_id"],
        unique=True,
        postgresql_where=sa.text("status IN ('accepted', 'applied')"),
    )
    op.create_table(
        "embedding",
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("field", sa.Text(), nullable=False),
        sa.Column("model_id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("vector", HALFVEC(), nullable=False),
        sa.Column("token_ids", postgresql.ARRAY(sa.Integer()), nullable=False),
        sa.CheckConstraint(
            "field IN ('situation', 'lesson', 'task')", name=op.f("ck_embedding_field")
        ),
        sa.ForeignKeyConstraint(
            ["memory_id"], ["memory.id"], name=op.f("fk_embedding_memory_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["model_id"], ["embedding_model.id"], name=op.f("fk_embedding_model_id")
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_embedding_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "memory_id", "version", "field", "model_id", name=op.f("pk_embedding")
        ),
    )
    op.create_index(
        "ix_embedding_namespace_id_model_id_field",
        "embedding",
        ["namespace_id", "model_id", "field"],
        unique=False,
    )
    op.create_table(
        "memory_version",
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("situation", sa.Text(), nullable=False),
        sa.Column("lesson", sa.Text(), nullable=False),
        sa.Column("known_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("bank_version", sa.BigInteger(), nullable=False),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.ForeignKeyConstraint(
            ["memory_id"],
            ["memory.id"],
            name=op.f("fk_memory_version_memory_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_memory_version_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("memory_id", "version", name=op.f("pk_memory_version")),
    )
    op.create_table(
        "memory_weight",
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("state", postgresql.ARRAY(sa.DOUBLE_PRECISION()), nullable=False),
        sa.Column("touched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("n_credited", sa.Integer(), server_default="0", nullable=False),
        sa.Column("n_helpful", sa.Integer(), server_default="0", nullable=False),
        sa.Column("n_harmful", sa.Integer(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(
            ["memory_id"],
            ["memory.id"],
            name=op.f("fk_memory_weight_memory_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_memory_weight_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("memory_id", name=op.f("pk_memory_weight")),
        postgresql_with={"fillfactor": "50"},
    )
    op.create_table(
        "retrieval_item",
        sa.Column("retrieval_id", sa.Uuid(), nullable=False),
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("similarity", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("relevance", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("effective_weight", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("ranking_weight", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("score", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("scores", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("propensity", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("served", sa.Boolean(), nullable=False),
        sa.Column("cited", sa.Boolean(), nullable=False),
        sa.Column("slot", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["memory_id"],
            ["memory.id"],
            name=op.f("fk_retrieval_item_memory_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_retrieval_item_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["retrieval_id"],
            ["retrieval.id"],
            name=op.f("fk_retrieval_item_retrieval_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("retrieval_id", "memory_id", name=op.f("pk_retrieval_item")),
    )
    op.create_index(
        "ix_retrieval_item_namespace_id_memory_id",
        "retrieval_item",
        ["namespace_id", "memory_id"],
        unique=False,
    )
    op.create_table(
        "weight_deviation",
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("state", postgresql.ARRAY(sa.DOUBLE_PRECISION()), nullable=False),
        sa.Column("touched_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["agent_id"],
            ["agent.id"],
            name=op.f("fk_weight_deviation_agent_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["memory_id"],
            ["memory.id"],
            name=op.f("fk_weight_deviation_memory_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_weight_deviation_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("memory_id", "agent_id", name=op.f("pk_weight_deviation")),
        postgresql_with={"fillfactor": "50"},
    )
    op.create_table(
        "weight_event",
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("bank_version", sa.BigInteger(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("memory_id", sa.Uuid(), nullable=True),
        sa.Column("agent_id", sa.Uuid(), nullable=True),
        sa.Column("category_id", sa.Uuid(), nullable=True),
        sa.Column("reward_kind", sa.Text(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("state_before", postgresql.ARRAY(sa.DOUBLE_PRECISION()), nullable=True),
        sa.Column("state_after", postgresql.ARRAY(sa.DOUBLE_PRECISION()), nullable=False),
        sa.Column("touched_before", sa.DateTime(timezone=True), nullable=True),
        sa.Column("touched_after", sa.DateTime(timezone=True), nullable=True),
        sa.Column("weight_before", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("weight_after", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("outcome_id", sa.Uuid(), nullable=True),
        sa.Column("known_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("superseded_by", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("kind IN ('learn', 'set')", name=op.f("ck_weight_event_kind")),
        sa.CheckConstraint(
            "subject IN ('memory', 'deviation', 'cell', 'noise')",
            name=op.f("ck_weight_event_subject"),
        ),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agent.id"], name=op.f("fk_weight_event_agent_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["category_id"],
            ["category.id"],
            name=op.f("fk_weight_event_category_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["memory_id"], ["memory.id"], name=op.f("fk_weight_event_memory_id"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_weight_event_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["outcome_id"], ["outcome.id"], name=op.f("fk_weight_event_outcome_id")
        ),
        sa.PrimaryKeyConstraint(
            "namespace_id", "bank_version", "position", name=op.f("pk_weight_event")
        ),
    )
    op.create_index(
        "ix_weight_event_memory_id",
        "weight_event",
        ["namespace_id", "memory_id", "bank_version"],
        unique=False,
    )


def downgrade() -> None:
    op.drop_index("ix_weight_event_memory_id", table_name="weight_event")
    op.drop_table("weight_event")
    op.drop_table("weight_deviation")
    op.drop_index("ix_retrieval_item_namespace_id_memory_id", table_name="retrieval_item")
    op.drop_table("retrieval_item")
    op.drop_table("memory_weight")
    op.drop_table("memory_version")
    op.drop_index("ix_embedding_namespace_id_model_id_field", table_name="embedding")
    op.drop_table("embedding")
    op.drop_index(
        "uq_outcome_effective",
        table_name="outcome",
        postgresql_where=sa.text("status IN ('accepted', 'applied')"),
    )
    op.drop_index(
        "ix_outcome_pending", table_name="outcome", postgresql_where=sa.text("applied_at IS NULL")
    )
    op.drop_index("ix_outcome_namespace_id_retrieval_id", table_name="outcome")
    op.drop_table("outcome")
    op.drop_index(
        "uq_memory_living_text",
        table_name="memory",
        postgresql_where=sa.text("status NOT IN ('retired', 'rejected') AND erased_at IS NULL"),
    )
    op.drop_index("ix_memory_namespace_id_task_id", table_name="memory")
    op.drop_index("ix_memory_namespace_id_status", table_name="memory")
    op.drop_table("memory")
    op.drop_index("ix_trajectory_namespace_id_task_id", table_name="trajectory")
    op.drop_table("trajectory")
    op.drop_index("ix_retrieval_namespace_id_task_id", table_name="retrieval")
    op.drop_index("ix_retrieval_namespace_id_id", table_name="retrieval")
    op.drop_table("retrieval")
    op.drop_index(
        "uq_task_namespace_id_key", table_name="task", postgresql_where=sa.text("key IS NOT NULL")
    )
    op.drop_table("task")
    op.drop_table("ranker_record")
    op.drop_table("centroid")
    op.drop_table("cell")
    op.drop_table("noise")
    op.drop_index("ix_idempotency_created_at", table_name="idempotency")
    op.drop_table("idempotency")
    op.drop_table("change")
    op.drop_table("category")
    op.drop_table("api_key")
    op.drop_table("agent")
    op.drop_table("namespace")
    op.drop_table("lease")
    op.drop_index(
        "uq_job_run_job_namespace_id_period",
        table_name="job_run",
        postgresql_where=sa.text("NOT dry_run"),
    )
    op.drop_table("job_run")
    op.drop_table("embedding_model")
    op.drop_index("ix_audit_namespace_id_id", table_name="audit")
    op.drop_table("audit")
