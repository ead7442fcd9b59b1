"""What a language model was asked and said, and its tokens a day"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

APP = "memlift_app"
ISOLATED = ("writing", "writing_budget")
HERE = "namespace_id = NULLIF(current_setting('memlift.namespace', true), '')::uuid"


def upgrade() -> None:
    op.create_table(
        "writing",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("prompt", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("tokens", sa.Integer(), nullable=False),
        sa.Column("duration_ms", postgresql.DOUBLE_PRECISION(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("fault", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("retrieval_id", sa.Uuid(), nullable=True),
        sa.Column("memory_id", sa.Uuid(), nullable=True),
        sa.Column("ticket_id", sa.Uuid(), nullable=True),
        sa.Column("task_id", sa.Uuid(), nullable=True),
        sa.Column("agent", sa.Text(), nullable=True),
        sa.Column("memory_ids", postgresql.ARRAY(sa.Uuid()), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("erased_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.CheckConstraint(
            "status IN ('done', 'failed', 'stopped')", name=op.f("ck_writing_status")
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_writing_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_writing")),
    )
    op.create_index("ix_writing_namespace_id_id", "writing", ["namespace_id", "id"])
    op.create_index(
        "ix_writing_namespace_id_retrieval_id", "writing", ["namespace_id", "retrieval_id"]
    )
    op.create_table(
        "writing_budget",
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("spent", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("reserved", sa.BigInteger(), server_default="0", nullable=False),
        sa.Column("stopped", sa.BigInteger(), server_default="0", nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_writing_budget_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("namespace_id", "day", name=op.f("pk_writing_budget")),
    )
    for table in ISOLATED:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY namespace ON {table} USING ({HERE}) WITH CHECK ({HERE})")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {APP}")


def downgrade() -> None:
    for table in reversed(ISOLATED):
        op.drop_table(table)
