"""The ledger can be closed up to a version, and old receipts and outcomes are removed in slices"""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

APP = "memlift_app"
ISOLATED = ("ledger_closing", "receipt_tally")
HERE = "namespace_id = NULLIF(current_setting('memlift.namespace', true), '')::uuid"
WHEN = sa.DateTime(timezone=True)
DELETED = "closed"
EVENT_OF = "fk_weight_event_outcome_id"
# By age, by the ledger's order, and by what the database looks for when a named row goes.
INDEXES = (
    ("retrieval", ("namespace_id", "known_at"), None),
    ("outcome", ("namespace_id", "known_at"), None),
    ("outcome", ("namespace_id", "bank_version"), "bank_version IS NOT NULL"),
    ("outcome", ("retrieval_id",), None),
    ("outcome", ("supersedes",), "supersedes IS NOT NULL"),
    ("outcome", ("partner_id",), "partner_id IS NOT NULL"),
    ("trajectory", ("retrieval_id",), "retrieval_id IS NOT NULL"),
    ("trajectory", ("namespace_id", "known_at"), "erased_at IS NULL"),
    ("contrast", ("preferred_id",), None),
    ("contrast", ("unpreferred_id",), None),
    ("prediction_revision", ("retrieval_id",), "retrieval_id IS NOT NULL"),
    ("prediction_score", ("outcome_id",), "outcome_id IS NOT NULL"),
)


def upgrade() -> None:
    op.create_table(
        "ledger_closing",
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("bank_version", sa.BigInteger(), nullable=False),
        sa.Column("known_at", WHEN, nullable=False),
        sa.Column("withdrawn_version", sa.BigInteger(), nullable=True),
        sa.Column("recorded_at", WHEN, nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_ledger_closing_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("namespace_id", "bank_version", name=op.f("pk_ledger_closing")),
    )
    op.create_table(
        "receipt_tally",
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("subject_id", sa.Uuid(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.Column("last_at", WHEN, nullable=False),
        sa.CheckConstraint("kind IN ('memory', 'category')", name=op.f("ck_receipt_tally_kind")),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_receipt_tally_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "namespace_id", "kind", "subject_id", name=op.f("pk_receipt_tally")
        ),
    )
    for table in ISOLATED:
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {APP}")
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY namespace ON {table} USING ({HERE}) WITH CHECK ({HERE})")
    for table, columns, condition in INDEXES:
        where = None if condition is None else sa.text(condition)
        op.create_index(index_of(table, columns), table, list(columns), postgresql_where=where)
    op.drop_constraint(op.f(EVENT_OF), "weight_event", type_="foreignkey")
    # What is not closed cannot be deleted: there the ledger is append-only as before.
    op.execute(f"GRANT DELETE ON weight_event TO {APP}")
    op.execute(f"""
        CREATE POLICY {DELETED} ON weight_event AS RESTRICTIVE FOR DELETE USING (
            reason = 'closed' OR bank_version <= (
                SELECT max(c.bank_version) FROM ledger_closing c
                WHERE c.namespace_id = weight_event.namespace_id))
    """)


def index_of(table: str, columns: tuple[str, ...]) -> str:
    return "_".join(("ix", table, *columns))


def downgrade() -> None:
    op.execute("ALTER TABLE weight_event NO FORCE ROW LEVEL SECURITY")
    if op.get_bind().scalar(
        sa.text("SELECT EXISTS (SELECT FROM weight_event WHERE reason = 'closed')")
    ):
        raise RuntimeError("the ledger was closed: what was folded before cannot be brought back")
    op.execute("ALTER TABLE weight_event FORCE ROW LEVEL SECURITY")
    op.execute(f"DROP POLICY {DELETED} ON weight_event")
    op.execute(f"REVOKE DELETE ON weight_event FROM {APP}")
    op.create_foreign_key(op.f(EVENT_OF), "weight_event", "outcome", ["outcome_id"], ["id"])
    for table, columns, _ in reversed(INDEXES):
        op.drop_index(index_of(table, columns), table)
    op.drop_table("receipt_tally")
    op.drop_table("ledger_closing")
