"""What an outcome showed above the baseline, and the coins that decided about a place"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # Null for outcomes applied before: the baseline of then is not written down, so they are no
    # part of a comparison.
    op.add_column("outcome", sa.Column("above_baseline", sa.Double(), nullable=True))
    op.create_index(
        "ix_retrieval_item_coins",
        "retrieval_item",
        ["namespace_id", "retrieval_id", "memory_id"],
        postgresql_where=sa.text("contender AND inclusion > 0.005 AND inclusion < 0.995"),
    )


def downgrade() -> None:
    op.drop_index("ix_retrieval_item_coins", table_name="retrieval_item")
    op.drop_column("outcome", "above_baseline")
