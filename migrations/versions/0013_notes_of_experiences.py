"""Notes of experiences: free text beside the lesson"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("memory", sa.Column("note", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("memory", "note")
