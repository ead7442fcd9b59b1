"""Strength, the guard's record and the effect are states like others; outcomes can be withdrawn"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

APP = "memlift_app"
ISOLATED = ("strength", "effect_day")
HERE = "namespace_id = NULLIF(current_setting('memlift.namespace', true), '')::uuid"
NUMBERS = postgresql.ARRAY(sa.DOUBLE_PRECISION())
BEFORE = "subject IN ('memory', 'deviation', 'cell', 'noise')"
AFTER = "subject IN ('memory', 'deviation', 'cell', 'noise', 'strength', 'effect', 'record')"
WITHDRAWAL = "status = 'superseded' AND bank_version IS NOT NULL AND withdrawn_version IS NULL"


def upgrade() -> None:
    _of_cells("strength")
    _of_cells("effect_day", sa.Column("day", sa.Date(), nullable=False))
    op.drop_column("cell", "strength")
    op.drop_column("cell", "effect")
    for column in ("losses", "n", "dates"):
        op.drop_column("ranker_record", column)
    op.add_column("ranker_record", sa.Column("state", NUMBERS, nullable=False))
    op.add_column("weight_event", sa.Column("day", sa.Date()))
    _subjects(AFTER)
    op.add_column(
        "namespace", sa.Column("signal", sa.Boolean(), server_default="true", nullable=False)
    )
    op.add_column("retrieval", sa.Column("agent_model", sa.Text()))
    op.add_column(
        "retrieval",
        sa.Column("own_information", sa.Boolean(), server_default="false", nullable=False),
    )
    _outcome()


def _of_cells(table: str, *more: sa.Column[object]) -> None:
    """A table of states, one row a cell or a part of one, isolated like the others."""
    op.create_table(
        table,
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("category_id", sa.Uuid(), nullable=False),
        *more,
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("state", NUMBERS, nullable=False),
        sa.Column("touched_at", sa.DateTime(timezone=True)),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["agent.id"], name=f"fk_{table}_agent_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["category_id"], ["category.id"], name=f"fk_{table}_category_id", ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id"], ["namespace.id"], name=f"fk_{table}_namespace_id", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint(
            "agent_id", "category_id", *(c.name for c in more), name=f"pk_{table}"
        ),
    )
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY namespace ON {table} USING ({HERE}) WITH CHECK ({HERE})")
    op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {APP}")


def _subjects(allowed: str) -> None:
    op.drop_constraint("subject", "weight_event", type_="check")
    op.create_check_constraint("subject", "weight_event", allowed)


def _outcome() -> None:
    op.add_column(
        "outcome",
        sa.Column(
            "muted",
            postgresql.ARRAY(sa.Uuid()),
            server_default=sa.text("'{}'::uuid[]"),
            nullable=False,
        ),
    )
    op.add_column("outcome", sa.Column("numeric", NUMBERS))
    op.add_column("outcome", sa.Column("ranker_rewards", NUMBERS))
    op.add_column("outcome", sa.Column("partner_id", sa.Uuid()))
    op.add_column("outcome", sa.Column("residual", sa.DOUBLE_PRECISION()))
    op.add_column("outcome", sa.Column("withdrawn_version", sa.BigInteger()))
    op.create_foreign_key("fk_outcome_partner_id", "outcome", "outcome", ["partner_id"], ["id"])
    op.create_index(
        "ix_outcome_namespace_id_key_id_known_at", "outcome", ["namespace_id", "key_id", "known_at"]
    )
    op.create_index(
        "ix_outcome_to_withdraw", "outcome", ["namespace_id"], postgresql_where=WITHDRAWAL
    )
    op.create_index(
        "uq_outcome_partner_id",
        "outcome",
        ["partner_id"],
        unique=True,
        postgresql_where="status IN ('accepted', 'applied')",
    )


def downgrade() -> None:
    for index in ("uq_outcome_partner_id", "ix_outcome_to_withdraw"):
        op.drop_index(index, "outcome")
    op.drop_index("ix_outcome_namespace_id_key_id_known_at", "outcome")
    columns = ("withdrawn_version", "residual", "partner_id", "ranker_rewards", "numeric", "muted")
    for column in columns:
        op.drop_column("outcome", column)
    op.drop_column("namespace", "signal")
    op.drop_column("retrieval", "own_information")
    op.drop_column("retrieval", "agent_model")
    op.execute("DELETE FROM weight_event WHERE subject IN ('strength', 'effect', 'record')")
    _subjects(BEFORE)
    op.drop_column("weight_event", "day")
    op.execute("DELETE FROM ranker_record")
    op.drop_column("ranker_record", "state")
    op.add_column("ranker_record", sa.Column("losses", postgresql.JSONB(), nullable=False))
    op.add_column("ranker_record", sa.Column("n", sa.DOUBLE_PRECISION(), nullable=False))
    op.add_column("ranker_record", sa.Column("dates", sa.Integer(), nullable=False))
    for column in ("effect", "strength"):
        op.add_column(
            "cell",
            sa.Column(
                column,
                postgresql.JSONB(),
                server_default=sa.text("'{}'::jsonb"),
                nullable=False,
            ),
        )
    for table in ISOLATED:
        op.drop_table(table)
