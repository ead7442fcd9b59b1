"""What language models cost all namespaces together on a day, and what is set aside for calls"""

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

APP = "memlift_app"


def upgrade() -> None:
    op.create_table(
        "server_budget",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("cost", sa.Double(), nullable=False, server_default="0"),
        sa.Column("cost_reserved", sa.Double(), nullable=False, server_default="0"),
        sa.Column("reserved_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("stopped", sa.BigInteger(), nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("day", name="pk_server_budget"),
    )
    op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON server_budget TO {APP}")


def downgrade() -> None:
    op.drop_table("server_budget")
