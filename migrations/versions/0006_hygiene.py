"""Health is sampled, restored memories begin anew, and what a key was served is found by its key"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

APP = "memlift_app"
ISOLATED = ("health_sample",)
HERE = "namespace_id = NULLIF(current_setting('memlift.namespace', true), '')::uuid"


def upgrade() -> None:
    op.add_column("memory", sa.Column("returned_at", sa.DateTime(timezone=True)))
    op.add_column(
        "memory", sa.Column("returned_credits", sa.Integer(), server_default="0", nullable=False)
    )
    op.create_index(
        "ix_retrieval_namespace_id_key_id_id", "retrieval", ["namespace_id", "key_id", "id"]
    )
    op.create_table(
        "health_sample",
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("known_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("numbers", postgresql.JSONB(), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name="fk_health_sample_namespace_id",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("namespace_id", "known_at", name="pk_health_sample"),
    )
    for table in ISOLATED:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY namespace ON {table} USING ({HERE}) WITH CHECK ({HERE})")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {APP}")


def downgrade() -> None:
    for table in ISOLATED:
        op.drop_table(table)
    op.drop_index("ix_retrieval_namespace_id_key_id_id", "retrieval")
    op.drop_column("memory", "returned_credits")
    op.drop_column("memory", "returned_at")
