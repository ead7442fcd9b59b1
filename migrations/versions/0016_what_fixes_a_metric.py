"""A category's metric says who fixed it: outcomes that count, or an admin"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("category", sa.Column("fixed_by", sa.Text(), nullable=True))
    isolate("NO FORCE")
    op.execute("UPDATE category SET fixed_by = 'outcomes' WHERE metric IS NOT NULL")
    # Until now any outcome fixed them, also one that taught nothing.
    op.execute("""
        UPDATE category c SET metric = NULL, reward_kind = NULL, fixed_by = NULL
        WHERE metric IS NOT NULL AND NOT EXISTS (
            SELECT 1 FROM retrieval r JOIN outcome o ON o.retrieval_id = r.id
            WHERE r.category_id = c.id AND o.evidence <> 'none'
              AND o.status IN ('accepted', 'applied')
              AND o.metric = c.metric AND o.reward_kind = c.reward_kind
        )
    """)
    isolate("FORCE")
    op.create_check_constraint(
        op.f("ck_category_fixed_by"), "category", "fixed_by IN ('outcomes', 'admin')"
    )
    op.create_check_constraint(
        op.f("ck_category_fixed"), "category", "(metric IS NULL) = (fixed_by IS NULL)"
    )


def isolate(how: str) -> None:
    """The owner reads and writes every namespace while the migration runs, and only then."""
    for table in ("category", "retrieval", "outcome"):
        op.execute(f"ALTER TABLE {table} {how} ROW LEVEL SECURITY")


def downgrade() -> None:
    op.drop_constraint(op.f("ck_category_fixed"), "category", type_="check")
    op.drop_constraint(op.f("ck_category_fixed_by"), "category", type_="check")
    op.drop_column("category", "fixed_by")
