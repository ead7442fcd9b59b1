"""Which models' vectors a namespace keeps beside those that it is searched by"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "namespace",
        sa.Column("former_model_ids", ARRAY(sa.Uuid()), nullable=False, server_default="{}"),
    )


def downgrade() -> None:
    op.drop_column("namespace", "former_model_ids")
