"""Candidates from bad outcomes, tickets that verify them before use, trials of a ticket"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

APP = "memlift_app"
ISOLATED = ("candidate", "ticket", "trial")
HERE = "namespace_id = NULLIF(current_setting('memlift.namespace', true), '')::uuid"


def moment(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def key(table: str, column: str, target: str, *, cascade: bool = True) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_{column}")
    return sa.ForeignKeyConstraint(
        [column], [f"{target}.id"], name=name, ondelete="CASCADE" if cascade else None
    )


def upgrade() -> None:
    op.add_column("outcome", sa.Column("lesson", postgresql.JSONB(), nullable=True))
    op.add_column("outcome", moment("acquired_at", nullable=True))
    op.create_index(
        "ix_outcome_to_acquire",
        "outcome",
        ["namespace_id", "bank_version"],
        postgresql_where=sa.text("acquired_at IS NULL AND status = 'applied'"),
    )
    candidates()
    tickets()
    trials()
    for table in ISOLATED:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY namespace ON {table} USING ({HERE}) WITH CHECK ({HERE})")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {APP}")


def candidates() -> None:
    op.create_table(
        "candidate",
        sa.Column("outcome_id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("claims", sa.Integer(), server_default="0", nullable=False),
        moment("claimed_until", nullable=True),
        sa.Column("memory_id", sa.Uuid(), nullable=True),
        moment("recorded_at"),
        moment("finished_at", nullable=True),
        sa.CheckConstraint(
            "state IN ('waiting', 'proposed', 'twin', 'rejected_twin', 'nothing', 'quarantined')",
            name=op.f("ck_candidate_state"),
        ),
        key("candidate", "outcome_id", "outcome"),
        key("candidate", "namespace_id", "namespace"),
        key("candidate", "memory_id", "memory"),
        sa.PrimaryKeyConstraint("outcome_id", name=op.f("pk_candidate")),
    )
    op.create_index(
        "ix_candidate_waiting",
        "candidate",
        ["namespace_id", "outcome_id"],
        postgresql_where=sa.text("state = 'waiting'"),
    )
    op.create_index(
        "ix_candidate_namespace_id_outcome_id", "candidate", ["namespace_id", "outcome_id"]
    )


def tickets() -> None:
    op.create_table(
        "ticket",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("memory_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("guideline", sa.Text(), nullable=False),
        sa.Column("metric", sa.Text(), nullable=False),
        sa.Column("reward_kind", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("claims", sa.Integer(), server_default="0", nullable=False),
        sa.Column("leased_agent_id", sa.Uuid(), nullable=True),
        sa.Column("leased_key_id", sa.Uuid(), nullable=True),
        moment("lease_until", nullable=True),
        sa.Column("decision", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("evidence", sa.Text(), nullable=True),
        moment("known_at"),
        moment("recorded_at"),
        moment("decided_at", nullable=True),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.CheckConstraint(
            "state IN ('open', 'leased', 'decided', 'expired', 'quarantined')",
            name=op.f("ck_ticket_state"),
        ),
        sa.CheckConstraint(
            "reward_kind IN ('continuous', 'binary')", name=op.f("ck_ticket_reward_kind")
        ),
        sa.CheckConstraint(
            "decision IN ('admitted', 'rejected', 'probation')", name=op.f("ck_ticket_decision")
        ),
        key("ticket", "namespace_id", "namespace"),
        key("ticket", "memory_id", "memory"),
        key("ticket", "leased_agent_id", "agent", cascade=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ticket")),
    )
    op.create_index(
        "uq_ticket_waiting",
        "ticket",
        ["memory_id"],
        unique=True,
        postgresql_where=sa.text("state IN ('open', 'leased', 'quarantined')"),
    )
    op.create_index("ix_ticket_namespace_id_state_id", "ticket", ["namespace_id", "state", "id"])
    op.create_index("ix_ticket_namespace_id_memory_id", "ticket", ["namespace_id", "memory_id"])


def trials() -> None:
    op.create_table(
        "trial",
        sa.Column("ticket_id", sa.Uuid(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("task_id", sa.Uuid(), nullable=False),
        sa.Column("purpose", sa.Text(), nullable=False),
        sa.Column("reference", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("reward", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("reward_without", sa.DOUBLE_PRECISION(), nullable=True),
        sa.Column("raw", postgresql.JSONB(), nullable=True),
        sa.Column("sha256", sa.LargeBinary(), nullable=True),
        sa.Column("agent_id", sa.Uuid(), nullable=True),
        sa.Column("self_verified", sa.Boolean(), nullable=True),
        moment("known_at", nullable=True),
        moment("reported_at", nullable=True),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.CheckConstraint(
            "purpose IN ('source', 'other', 'anchor')", name=op.f("ck_trial_purpose")
        ),
        key("trial", "ticket_id", "ticket"),
        key("trial", "namespace_id", "namespace"),
        key("trial", "task_id", "task", cascade=False),
        key("trial", "agent_id", "agent", cascade=False),
        sa.PrimaryKeyConstraint("ticket_id", "slot", name=op.f("pk_trial")),
    )


def downgrade() -> None:
    for table in reversed(ISOLATED):
        op.drop_table(table)
    op.drop_index("ix_outcome_to_acquire", table_name="outcome")
    op.drop_column("outcome", "acquired_at")
    op.drop_column("outcome", "lesson")
