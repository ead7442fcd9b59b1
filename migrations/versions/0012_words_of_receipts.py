"""Receipts in the words of today: all rankers, exploration slot, the arm that tests again"""

from collections.abc import Mapping

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

ARMS = ("on", "control", "forced_on", "forced_off", "paired", "empty", "suspended")


def upgrade() -> None:
    op.alter_column("retrieval", "rivals", new_column_name="all_rankers")
    op.alter_column("retrieval_item", "slot", new_column_name="exploration_slot")
    rename_values("retest", {"arm": ("probe", "retest"), "reason": ("probed", "retested")})


def downgrade() -> None:
    rename_values("probe", {"arm": ("retest", "probe"), "reason": ("retested", "probed")})
    op.alter_column("retrieval_item", "exploration_slot", new_column_name="slot")
    op.alter_column("retrieval", "all_rankers", new_column_name="rivals")


def rename_values(last_arm: str, renamed: Mapping[str, tuple[str, str]]) -> None:
    """In the rows of all namespaces: for a while the owner is not kept from them."""
    op.drop_constraint(op.f("ck_retrieval_arm"), "retrieval", type_="check")
    op.execute("ALTER TABLE retrieval NO FORCE ROW LEVEL SECURITY")
    for column, (old, new) in renamed.items():
        receipts = sa.table("retrieval", sa.column(column))
        op.execute(sa.update(receipts).where(receipts.c[column] == old).values({column: new}))
    op.execute("ALTER TABLE retrieval FORCE ROW LEVEL SECURITY")
    arms = ", ".join(f"'{arm}'" for arm in (*ARMS, last_arm))
    op.create_check_constraint(op.f("ck_retrieval_arm"), "retrieval", f"arm IN ({arms})")
