"""What observable checks say of a run is kept with it"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("trajectory", sa.Column("examined", JSONB(), nullable=True))
    op.create_index(
        op.f("ix_trajectory_unexamined"),
        "trajectory",
        ["namespace_id", "id"],
        postgresql_where=sa.text("examined IS NULL"),
    )


def downgrade() -> None:
    op.drop_index(op.f("ix_trajectory_unexamined"), "trajectory")
    op.drop_column("trajectory", "examined")
