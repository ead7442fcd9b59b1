"""Contrasts of runs, constraints and their support, taxonomy; sessions of the dashboard"""

import sqlalchemy as sa
from alembic import op
from pgvector.sqlalchemy import HALFVEC
from sqlalchemy.dialects import postgresql

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

APP = "memlift_app"
ISOLATED = (
    "contrast",
    "constraint_support",
    "contradiction",
    "task_embedding",
    "taxonomy",
    "competence",
)
HERE = "namespace_id = NULLIF(current_setting('memlift.namespace', true), '')::uuid"
NUMBER = postgresql.DOUBLE_PRECISION


def moment(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def own(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.Uuid(), nullable=nullable)


def words(name: str, *, nullable: bool = True) -> sa.Column[object]:
    return sa.Column(name, sa.Text(), nullable=nullable)


def key(table: str, column: str, target: str, *, cascade: bool = False) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_{column}")
    return sa.ForeignKeyConstraint(
        [column], [f"{target}.id"], name=name, ondelete="CASCADE" if cascade else None
    )


def bounded(table: str, column: str, values: tuple[str, ...]) -> sa.CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=op.f(f"ck_{table}_{column}"))


def upgrade() -> None:
    op.add_column("trajectory", sa.Column("cost", NUMBER(), nullable=True))
    op.add_column("trajectory", moment("paired_at", nullable=True))
    op.add_column("centroid", sa.Column("prior", postgresql.ARRAY(NUMBER()), nullable=True))
    op.create_index(
        "ix_trajectory_unpaired",
        "trajectory",
        ["namespace_id", "id"],
        postgresql_where=sa.text("paired_at IS NULL"),
    )
    fields("'situation', 'lesson', 'task', 'trigger', 'enforce', 'avoid'")
    contrasts()
    supports()
    contradictions()
    vectors()
    categories()
    sessions()
    for table in ISOLATED:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY namespace ON {table} USING ({HERE}) WITH CHECK ({HERE})")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {APP}")
    op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON dashboard_session TO {APP}")


def fields(allowed: str) -> None:
    """Which texts of a memory have a vector."""
    name = op.f("ck_embedding_field")
    op.drop_constraint(name, "embedding", type_="check")
    op.create_check_constraint(name, "embedding", f"field IN ({allowed})")


def contrasts() -> None:
    op.create_table(
        "contrast",
        own("id"),
        own("namespace_id"),
        own("task_id"),
        own("preferred_id"),
        own("unpreferred_id"),
        words("pair_class", nullable=False),
        sa.Column("self_contrast", sa.Boolean(), nullable=False),
        sa.Column("supports", sa.Boolean(), nullable=False),
        words("reason"),
        words("state", nullable=False),
        words("distiller"),
        sa.Column("claims", sa.Integer(), server_default="0", nullable=False),
        moment("claimed_until", nullable=True),
        sa.Column(
            "rejected", postgresql.JSONB(), server_default=sa.text("'[]'::jsonb"), nullable=False
        ),
        sa.Column("duration_ms", NUMBER(), nullable=True),
        sa.Column("tokens", sa.Integer(), server_default="0", nullable=False),
        moment("known_at"),
        moment("recorded_at"),
        moment("done_at", nullable=True),
        own("key_id", nullable=True),
        bounded("contrast", "pair_class", ("discordant", "both_right", "both_wrong", "unknown")),
        bounded(
            "contrast",
            "state",
            ("queued", "distilling", "distilled", "empty", "refused", "no_text", "failed"),
        ),
        key("contrast", "namespace_id", "namespace", cascade=True),
        key("contrast", "task_id", "task"),
        key("contrast", "preferred_id", "trajectory"),
        key("contrast", "unpreferred_id", "trajectory"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_contrast")),
    )
    op.create_index(
        "uq_contrast_pair",
        "contrast",
        [
            "namespace_id",
            sa.text("least(preferred_id, unpreferred_id)"),
            sa.text("greatest(preferred_id, unpreferred_id)"),
        ],
        unique=True,
    )
    op.create_index(
        "ix_contrast_namespace_id_state_id", "contrast", ["namespace_id", "state", "id"]
    )
    op.create_index("ix_contrast_namespace_id_task_id", "contrast", ["namespace_id", "task_id"])


def supports() -> None:
    table = "constraint_support"
    op.create_table(
        table,
        own("id"),
        own("namespace_id"),
        own("memory_id"),
        own("contrast_id", nullable=True),
        own("task_id"),
        own("preferred_agent_id", nullable=True),
        own("unpreferred_agent_id", nullable=True),
        words("preferred_family"),
        words("unpreferred_family"),
        words("preferred_size"),
        words("unpreferred_size"),
        words("pair_class"),
        words("verifier", nullable=False),
        own("preferred_key_id", nullable=True),
        own("unpreferred_key_id", nullable=True),
        sa.Column("counts", sa.Boolean(), nullable=False),
        moment("known_at"),
        moment("recorded_at"),
        key(table, "namespace_id", "namespace", cascade=True),
        key(table, "memory_id", "memory", cascade=True),
        key(table, "contrast_id", "contrast"),
        key(table, "task_id", "task"),
        key(table, "preferred_agent_id", "agent"),
        key(table, "unpreferred_agent_id", "agent"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_constraint_support")),
        sa.UniqueConstraint(
            "memory_id", "contrast_id", name=op.f("uq_constraint_support_memory_id_contrast_id")
        ),
    )
    op.create_index(f"ix_{table}_namespace_id_memory_id", table, ["namespace_id", "memory_id"])
    op.create_index(f"ix_{table}_namespace_id_task_id", table, ["namespace_id", "task_id"])


def contradictions() -> None:
    table = "contradiction"
    op.create_table(
        table,
        own("id"),
        own("namespace_id"),
        own("first_id"),
        own("second_id"),
        own("category_id"),
        words("reason", nullable=False),
        sa.Column("likeness", NUMBER(), nullable=False),
        words("state", nullable=False),
        words("resolution"),
        words("resolution_reason"),
        moment("recorded_at"),
        moment("resolved_at", nullable=True),
        own("key_id", nullable=True),
        bounded(table, "state", ("open", "resolved")),
        bounded(table, "resolution", ("first", "second", "both", "neither")),
        key(table, "namespace_id", "namespace", cascade=True),
        key(table, "first_id", "memory", cascade=True),
        key(table, "second_id", "memory", cascade=True),
        key(table, "category_id", "category"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_contradiction")),
        sa.UniqueConstraint(
            "first_id", "second_id", name=op.f("uq_contradiction_first_id_second_id")
        ),
    )
    op.create_index(f"ix_{table}_namespace_id_state_id", table, ["namespace_id", "state", "id"])


def vectors() -> None:
    table = "task_embedding"
    op.create_table(
        table,
        own("task_id"),
        own("model_id"),
        own("namespace_id"),
        sa.Column("vector", HALFVEC(), nullable=False),
        key(table, "task_id", "task", cascade=True),
        key(table, "model_id", "embedding_model"),
        key(table, "namespace_id", "namespace", cascade=True),
        sa.PrimaryKeyConstraint("task_id", "model_id", name=op.f("pk_task_embedding")),
    )
    op.create_index(f"ix_{table}_namespace_id_model_id", table, ["namespace_id", "model_id"])


def categories() -> None:
    op.create_table(
        "taxonomy",
        own("namespace_id"),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("categories", postgresql.JSONB(), nullable=False),
        sa.Column("allow_new", sa.Boolean(), nullable=False),
        moment("recorded_at"),
        own("key_id", nullable=True),
        key("taxonomy", "namespace_id", "namespace", cascade=True),
        sa.PrimaryKeyConstraint("namespace_id", "version", name=op.f("pk_taxonomy")),
    )
    op.create_table(
        "competence",
        own("agent_id"),
        own("category_id"),
        own("namespace_id"),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.Column("total", NUMBER(), nullable=False),
        key("competence", "agent_id", "agent", cascade=True),
        key("competence", "category_id", "category", cascade=True),
        key("competence", "namespace_id", "namespace", cascade=True),
        sa.PrimaryKeyConstraint("agent_id", "category_id", name=op.f("pk_competence")),
    )
    op.create_index("ix_competence_namespace_id", "competence", ["namespace_id"])


def sessions() -> None:
    table = "dashboard_session"
    op.create_table(
        table,
        sa.Column("sha256", sa.LargeBinary(), nullable=False),
        own("key_id"),
        moment("created_at"),
        moment("seen_at"),
        moment("expires_at"),
        key(table, "key_id", "api_key", cascade=True),
        sa.PrimaryKeyConstraint("sha256", name=op.f("pk_dashboard_session")),
    )
    op.create_index(f"ix_{table}_key_id", table, ["key_id"])


def downgrade() -> None:
    op.drop_table("dashboard_session")
    for table in reversed(ISOLATED):
        op.drop_table(table)
    op.execute("DELETE FROM embedding WHERE field IN ('trigger', 'enforce', 'avoid')")
    fields("'situation', 'lesson', 'task'")
    op.drop_column("centroid", "prior")
    op.drop_index("ix_trajectory_unpaired", "trajectory")
    op.drop_column("trajectory", "paired_at")
    op.drop_column("trajectory", "cost")
