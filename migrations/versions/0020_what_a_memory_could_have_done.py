"""Outcomes name what was used, and keep how far each memory could have acted"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

APP = "memlift_app"
ISOLATED = ("usage",)
HERE = "namespace_id = NULLIF(current_setting('memlift.namespace', true), '')::uuid"
BEFORE = ("memory", "deviation", "influence", "cell", "noise", "strength", "effect", "record")


def upgrade() -> None:
    # Null: not said; and applied before there was any exposure.
    op.add_column("outcome", sa.Column("used", postgresql.ARRAY(sa.Uuid()), nullable=True))
    op.add_column(
        "prediction_revision", sa.Column("used", postgresql.ARRAY(sa.Uuid()), nullable=True)
    )
    op.add_column("outcome", sa.Column("exposure", postgresql.JSONB(), nullable=True))
    admit_subjects(*BEFORE, "usage")
    op.create_table(
        "usage",
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("category_id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("state", postgresql.ARRAY(sa.DOUBLE_PRECISION()), nullable=False),
        sa.Column("touched_at", sa.DateTime(timezone=True), nullable=True),
        *(
            sa.ForeignKeyConstraint(
                [f"{other}_id"],
                [f"{other}.id"],
                name=op.f(f"fk_usage_{other}_id"),
                ondelete="CASCADE",
            )
            for other in ("agent", "category", "namespace")
        ),
        sa.PrimaryKeyConstraint("agent_id", "category_id", name=op.f("pk_usage")),
    )
    op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON usage TO {APP}")
    op.execute("ALTER TABLE usage ENABLE ROW LEVEL SECURITY")
    op.execute("ALTER TABLE usage FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY namespace ON usage USING ({HERE}) WITH CHECK ({HERE})")


def admit_subjects(*subjects: str) -> None:
    op.drop_constraint(op.f("ck_weight_event_subject"), "weight_event", type_="check")
    listed = ", ".join(f"'{subject}'" for subject in subjects)
    op.create_check_constraint(
        op.f("ck_weight_event_subject"), "weight_event", f"subject IN ({listed})"
    )


def downgrade() -> None:
    op.drop_table("usage")
    op.execute("ALTER TABLE weight_event NO FORCE ROW LEVEL SECURITY")
    op.execute("DELETE FROM weight_event WHERE subject = 'usage'")
    op.execute("ALTER TABLE weight_event FORCE ROW LEVEL SECURITY")
    admit_subjects(*BEFORE)
    op.drop_column("outcome", "exposure")
    op.drop_column("prediction_revision", "used")
    op.drop_column("outcome", "used")
