"""The format that was `guideline` is called `full`; `brief` came beside it"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    rename({"guideline": "full"})


def downgrade() -> None:
    rename({"full": "guideline", "brief": "guideline"})


def rename(formats: dict[str, str]) -> None:
    """In the rows of all namespaces: for a while the owner is not kept from them."""
    receipts = sa.table("retrieval", sa.column("format"))
    op.execute("ALTER TABLE retrieval NO FORCE ROW LEVEL SECURITY")
    for old, new in formats.items():
        op.execute(sa.update(receipts).where(receipts.c.format == old).values(format=new))
    op.execute("ALTER TABLE retrieval FORCE ROW LEVEL SECURITY")
