"""Predictions, the settlements of their events, and the scores between the two"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

APP = "memlift_app"
ISOLATED = (
    "settlement",
    "settled_window",
    "prediction",
    "prediction_revision",
    "prediction_score",
)
HERE = "namespace_id = NULLIF(current_setting('memlift.namespace', true), '')::uuid"


def moment(name: str, *, nullable: bool = False) -> sa.Column[object]:
    return sa.Column(name, sa.DateTime(timezone=True), nullable=nullable)


def key(table: str, column: str, target: str, *, cascade: bool = False) -> sa.ForeignKeyConstraint:
    name = op.f(f"fk_{table}_{column}")
    return sa.ForeignKeyConstraint(
        [column], [f"{target}.id"], name=name, ondelete="CASCADE" if cascade else None
    )


def json(name: str, *, nullable: bool = True) -> sa.Column[object]:
    return sa.Column(name, postgresql.JSONB(none_as_null=nullable), nullable=nullable)


def upgrade() -> None:
    op.add_column("task", moment("closes_at", nullable=True))
    op.create_index("ix_task_namespace_id_group_key", "task", ["namespace_id", "group_key"])
    settlements()
    predictions()
    scores()
    for table in ISOLATED:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY namespace ON {table} USING ({HERE}) WITH CHECK ({HERE})")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {APP}")


def settlements() -> None:
    op.create_table(
        "settlement",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        json("resolutions", nullable=False),
        json("crowd"),
        sa.Column("correction", sa.Integer(), nullable=False),
        sa.Column("corrects", sa.Uuid(), nullable=True),
        sa.Column("superseded_by", sa.Uuid(), nullable=True),
        moment("known_at"),
        moment("recorded_at"),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        key("settlement", "namespace_id", "namespace", cascade=True),
        key("settlement", "corrects", "settlement"),
        key("settlement", "superseded_by", "settlement"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_settlement")),
    )
    op.create_index(
        "ix_settlement_namespace_id_event_id", "settlement", ["namespace_id", "event", "id"]
    )
    op.create_table(
        "settled_window",
        sa.Column("settlement_id", sa.Uuid(), nullable=False),
        sa.Column("task_id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("correction", sa.Integer(), nullable=False),
        key("settled_window", "settlement_id", "settlement", cascade=True),
        key("settled_window", "task_id", "task"),
        key("settled_window", "namespace_id", "namespace", cascade=True),
        sa.PrimaryKeyConstraint("settlement_id", "task_id", name=op.f("pk_settled_window")),
        sa.UniqueConstraint(
            "task_id", "correction", name=op.f("uq_settled_window_task_id_correction")
        ),
    )


def predictions() -> None:
    op.create_table(
        "prediction",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("agent_id", sa.Uuid(), nullable=False),
        sa.Column("task_id", sa.Uuid(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("settlement_id", sa.Uuid(), nullable=True),
        moment("recorded_at"),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.CheckConstraint(
            "state IN ('pending', 'settled', 'late')", name=op.f("ck_prediction_state")
        ),
        key("prediction", "namespace_id", "namespace", cascade=True),
        key("prediction", "agent_id", "agent"),
        key("prediction", "task_id", "task"),
        key("prediction", "settlement_id", "settlement"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_prediction")),
        sa.UniqueConstraint(
            "namespace_id",
            "agent_id",
            "task_id",
            name=op.f("uq_prediction_namespace_id_agent_id_task_id"),
        ),
    )
    op.create_index("ix_prediction_namespace_id_task_id", "prediction", ["namespace_id", "task_id"])
    op.create_index(
        "ix_prediction_namespace_id_state_id", "prediction", ["namespace_id", "state", "id"]
    )
    op.create_table(
        "prediction_revision",
        sa.Column("prediction_id", sa.Uuid(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("retrieval_id", sa.Uuid(), nullable=True),
        json("probabilities", nullable=False),
        json("baseline_probabilities"),
        json("full_probabilities"),
        json("answers"),
        sa.Column("rationale", sa.Text(), nullable=True),
        moment("known_at"),
        moment("recorded_at"),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        key("prediction_revision", "prediction_id", "prediction", cascade=True),
        key("prediction_revision", "namespace_id", "namespace", cascade=True),
        key("prediction_revision", "retrieval_id", "retrieval"),
        sa.PrimaryKeyConstraint("prediction_id", "number", name=op.f("pk_prediction_revision")),
    )


def scores() -> None:
    op.create_table(
        "prediction_score",
        sa.Column("settlement_id", sa.Uuid(), nullable=False),
        sa.Column("prediction_id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("brier", postgresql.DOUBLE_PRECISION(), nullable=True),
        sa.Column("baseline_brier", postgresql.DOUBLE_PRECISION(), nullable=True),
        sa.Column("skill", postgresql.DOUBLE_PRECISION(), nullable=True),
        sa.Column("outcome_id", sa.Uuid(), nullable=True),
        sa.CheckConstraint(
            "status IN ('scored', 'ignored')", name=op.f("ck_prediction_score_status")
        ),
        key("prediction_score", "settlement_id", "settlement", cascade=True),
        key("prediction_score", "prediction_id", "prediction", cascade=True),
        key("prediction_score", "namespace_id", "namespace", cascade=True),
        key("prediction_score", "outcome_id", "outcome"),
        sa.PrimaryKeyConstraint("settlement_id", "prediction_id", name=op.f("pk_prediction_score")),
    )
    op.create_index("ix_prediction_score_prediction_id", "prediction_score", ["prediction_id"])


def downgrade() -> None:
    for table in reversed(ISOLATED):
        op.drop_table(table)
    op.drop_index("ix_task_namespace_id_group_key", "task")
    op.drop_column("task", "closes_at")
