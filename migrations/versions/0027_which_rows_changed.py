"""Which rows changed, and by which transaction: what resident copies follow"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

ISOLATED = ("row_change",)
APP = "memlift_app"
HERE = "namespace_id = NULLIF(current_setting('memlift.namespace', true), '')::uuid"

# What a change of each table is called, and the column that names the memories it is about; one of
# a memory itself is called by its kind.
FEEDING = {
    "memory": ("", "id"),
    "memory_version": ("memory", "memory_id"),
    "embedding": ("memory", "memory_id"),
    "memory_weight": ("memory", "memory_id"),
    "weight_deviation": ("memory", "memory_id"),
    "influence": ("memory", "memory_id"),
    "agent": ("agent", None),
    "category": ("category", None),
    "centroid": ("centroid", None),
    "taxonomy": ("taxonomy", None),
    "constraint_support": ("support", None),
    "cell": ("cell", None),
    "strength": ("strength", None),
    "ranker_record": ("record", None),
}
EVENTS = {"insert": "NEW", "update": "NEW", "delete": "OLD"}

# Nothing is said of a namespace that is being deleted, nor where no namespace is entered and so no
# row of one can be seen. A namespace takes no part in its own deletion.
FUNCTION = """
CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF row_security_active('row_change')
        AND NULLIF(current_setting('memlift.namespace', true), '') IS NULL THEN
        RETURN NULL;
    END IF;
    INSERT INTO row_change (namespace_id, xid, kind, memory_ids, recorded_at)
    SELECT t.namespace_id, pg_current_xact_id()::text::bigint, {kind}, {ids}, clock_timestamp()
    FROM touched t JOIN namespace n ON n.id = t.namespace_id GROUP BY t.namespace_id, {kind};
    RETURN NULL;
END $$
"""


def upgrade() -> None:
    op.create_table(
        "row_change",
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("xid", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("memory_ids", ARRAY(sa.Uuid()), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_row_change_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_row_change")),
    )
    op.create_index("ix_row_change_namespace_id_xid", "row_change", ["namespace_id", "xid"])
    op.execute("ALTER TABLE row_change ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE row_change FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY namespace ON row_change USING ({HERE}) WITH CHECK ({HERE})")
    op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON row_change TO {APP}")
    columns = {column for _, column in FEEDING.values()}
    for column in sorted(columns, key=str):
        ids = "'{}'" if column is None else f"array_agg(DISTINCT t.{column})"
        kind = "t.kind" if column == "id" else "TG_ARGV[0]"
        op.execute(FUNCTION.format(name=_function(column), kind=kind, ids=ids))
    for table, (kind, column) in FEEDING.items():
        for event, side in EVENTS.items():
            op.execute(f"""
                CREATE TRIGGER row_change_{event} AFTER {event} ON {table}
                REFERENCING {side} TABLE AS touched
                FOR EACH STATEMENT EXECUTE FUNCTION {_function(column)}('{kind}')
            """)


def _function(column: str | None) -> str:
    return "feed_row_change" if column is None else f"feed_row_change_by_{column}"


def downgrade() -> None:
    for table in FEEDING:
        for event in EVENTS:
            op.execute(f"DROP TRIGGER row_change_{event} ON {table}")
    for column in {column for _, column in FEEDING.values()}:
        op.execute(f"DROP FUNCTION {_function(column)}()")
    op.drop_table("row_change")
