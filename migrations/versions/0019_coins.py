"""Memories are left out by a coin now and then, so that they are told apart.

A namespace has a secret that keys its coins. A receipt says which memories its coins kept and left
out, what else was near, and which rankers would have served the same; a memory counts how often it
was absent. Receipts from before say none of it.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


RANDOM_BYTES = "decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')"


def upgrade() -> None:
    op.add_column(
        "namespace",
        sa.Column("secret", sa.LargeBinary(), server_default=sa.text(RANDOM_BYTES), nullable=False),
    )
    op.add_column(
        "memory_weight",
        sa.Column("n_absent", sa.Integer(), server_default="0", nullable=False),
    )
    op.add_column("retrieval", sa.Column("same_rankers", postgresql.ARRAY(sa.Text())))
    op.add_column("retrieval", sa.Column("passed_over", postgresql.ARRAY(sa.Uuid())))
    op.add_column("retrieval_item", sa.Column("inclusion", postgresql.DOUBLE_PRECISION()))
    for name in ("left_out", "contender"):
        op.add_column(
            "retrieval_item",
            sa.Column(name, sa.Boolean(), server_default="false", nullable=False),
        )


def downgrade() -> None:
    for name in ("contender", "left_out", "inclusion"):
        op.drop_column("retrieval_item", name)
    for name in ("passed_over", "same_rankers"):
        op.drop_column("retrieval", name)
    op.drop_column("memory_weight", "n_absent")
    op.drop_column("namespace", "secret")
