"""What a language model cost a namespace on a day, and what is set aside for calls under way"""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None

COLUMNS = {"cost": sa.Double(), "cost_reserved": sa.Double(), "unpriced": sa.BigInteger()}


def upgrade() -> None:
    for name, of in COLUMNS.items():
        column = sa.Column(name, of, nullable=False, server_default="0")
        op.add_column("writing_budget", column)


def downgrade() -> None:
    for name in reversed(COLUMNS):
        op.drop_column("writing_budget", name)
