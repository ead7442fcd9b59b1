"""An admin asks that a memory is tried apart from what is always served beside it"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None


def upgrade() -> None:
    empty = sa.text("'{}'::jsonb")
    trials = sa.Column("apart_trials", postgresql.JSONB(), nullable=False, server_default=empty)
    op.add_column("namespace", trials)


def downgrade() -> None:
    op.drop_column("namespace", "apart_trials")
