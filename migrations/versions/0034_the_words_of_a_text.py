"""A text keeps its terms beside word pieces, and an item of a receipt what it was ordered by.

Terms of older texts are written by the job `merge`, in parts: no writer waits for that here.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("memory_version", sa.Column("raw_terms", ARRAY(sa.Text()), nullable=True))
    op.add_column("retrieval_item", sa.Column("fused", sa.Double(), nullable=True))


def downgrade() -> None:
    op.drop_column("retrieval_item", "fused")
    op.drop_column("memory_version", "raw_terms")
