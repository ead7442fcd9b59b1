"""Faults of the language model are called what they are faults of: `llm_busy`, not `writer_busy`"""

from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

# Where the name of a fault is kept, and in which column.
KEPT = (("writing", "fault"), ("contrast", "reason"))


def upgrade() -> None:
    rename("writer_", "llm_")


def downgrade() -> None:
    rename("llm_", "writer_")


def rename(old: str, new: str) -> None:
    for table, column in KEPT:
        # Rows of all namespaces at once: for a while the owner is not kept from them.
        op.execute(f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY")
        op.execute(
            f"UPDATE {table} SET {column} = '{new}' || substr({column}, {len(old) + 1}) "
            f"WHERE starts_with({column}, '{old}')"
        )
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
