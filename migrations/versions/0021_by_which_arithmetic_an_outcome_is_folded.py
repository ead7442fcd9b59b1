"""An outcome keeps the arithmetic by which it is folded: strength forgets from now on"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

FIRST = "1"
FIRST_NUMBERS = 12  # of a state of strength


def upgrade() -> None:
    # What was taken in by now is folded as it was; whoever adds an outcome says how from now on.
    op.add_column(
        "outcome",
        sa.Column("arithmetic", sa.SmallInteger(), nullable=False, server_default=FIRST),
    )
    op.alter_column("outcome", "arithmetic", server_default=None)


def downgrade() -> None:
    """What is kept of harm is dropped; sums stay as they have aged."""
    op.execute("ALTER TABLE strength NO FORCE ROW LEVEL SECURITY")
    op.execute(f"UPDATE strength SET state = state[1:{FIRST_NUMBERS}]")
    op.execute("ALTER TABLE strength FORCE ROW LEVEL SECURITY")
    op.drop_column("outcome", "arithmetic")
