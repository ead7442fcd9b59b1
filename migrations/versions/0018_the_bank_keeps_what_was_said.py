"""The bank keeps what was said: normal forms, refutations, and what the embedder cannot read"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # The job that merges twins fills it in for texts that were there before.
    op.add_column("memory_version", sa.Column("normal_sha256", sa.LargeBinary()))
    op.add_column(
        "memory",
        sa.Column("contradicts", postgresql.ARRAY(sa.Uuid()), nullable=False, server_default="{}"),
    )
    op.add_column(
        "embedding",
        sa.Column("unknown_share", sa.Float(53), nullable=False, server_default="0"),
    )


def downgrade() -> None:
    op.drop_column("memory", "contradicts")
    op.drop_column("embedding", "unknown_share")
    op.drop_column("memory_version", "normal_sha256")
