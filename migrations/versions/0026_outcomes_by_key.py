"""A retrieval may name the trace that its run belongs to, so that a result finds it"""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("retrieval", sa.Column("trace_id", sa.Text(), nullable=True))
    op.create_index(
        op.f("ix_retrieval_namespace_id_trace_id"),
        "retrieval",
        ["namespace_id", "trace_id"],
        postgresql_where=sa.text("trace_id IS NOT NULL"),
    )


def downgrade() -> None:
    op.drop_index(op.f("ix_retrieval_namespace_id_trace_id"), "retrieval")
    op.drop_column("retrieval", "trace_id")
