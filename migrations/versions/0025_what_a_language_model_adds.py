"""Queries of a language model, an agent's past error beside its notes, and changesets"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

APP = "memlift_app"
ISOLATED = ("changeset",)
HERE = "namespace_id = NULLIF(current_setting('memlift.namespace', true), '')::uuid"
WHEN = sa.DateTime(timezone=True)


def upgrade() -> None:
    # Null: receipts of earlier releases.
    op.add_column("retrieval", sa.Column("search", JSONB(), nullable=True))
    op.add_column("retrieval", sa.Column("past_error", JSONB(), nullable=True))
    op.add_column("retrieval_item", sa.Column("query", sa.SmallInteger(), nullable=True))
    op.add_column("candidate", sa.Column("compared_at", WHEN, nullable=True))
    op.add_column("ticket", sa.Column("rule", sa.Text(), nullable=False, server_default="gain"))
    op.add_column("ticket", sa.Column("repair_tried_at", WHEN, nullable=True))
    op.create_check_constraint(op.f("ck_ticket_rule"), "ticket", "rule IN ('gain', 'wins')")
    create_changesets()


def create_changesets() -> None:
    states = "'waiting', 'proposed', 'applied', 'rejected', 'nothing', 'quarantined', 'undone'"
    op.create_table(
        "changeset",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("category_id", sa.Uuid(), nullable=False),
        sa.Column("family", sa.Text(), nullable=False),
        sa.Column("outcome_ids", ARRAY(sa.Uuid()), nullable=False),
        sa.Column("similarity", sa.DOUBLE_PRECISION(), nullable=False),
        sa.Column("changes", JSONB(), nullable=False, server_default=sa.text("'[]'")),
        sa.Column("ticket_id", sa.Uuid(), nullable=True),
        sa.Column("claims", sa.Integer(), nullable=False, server_default="0"),
        sa.Column("claimed_until", WHEN, nullable=True),
        sa.Column("recorded_at", WHEN, nullable=False),
        sa.Column("finished_at", WHEN, nullable=True),
        sa.CheckConstraint(f"state IN ({states})", name=op.f("ck_changeset_state")),
        *(
            sa.ForeignKeyConstraint(
                [f"{other}_id"], [f"{other}.id"], name=op.f(f"fk_changeset_{other}_id"), ondelete=on
            )
            for other, on in (("namespace", "CASCADE"), ("category", None), ("ticket", "SET NULL"))
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_changeset")),
    )
    op.create_index("ix_changeset_namespace_id_id", "changeset", ["namespace_id", "id"])
    op.create_index("ix_changeset_ticket_id", "changeset", ["ticket_id"])
    op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON changeset TO {APP}")
    op.execute("ALTER TABLE changeset ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE changeset FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY namespace ON changeset USING ({HERE}) WITH CHECK ({HERE})")


def downgrade() -> None:
    op.drop_table("changeset")
    op.drop_constraint(op.f("ck_ticket_rule"), "ticket", type_="check")
    op.drop_column("ticket", "repair_tried_at")
    op.drop_column("ticket", "rule")
    op.drop_column("candidate", "compared_at")
    op.drop_column("retrieval_item", "query")
    op.drop_column("retrieval", "past_error")
    op.drop_column("retrieval", "search")
