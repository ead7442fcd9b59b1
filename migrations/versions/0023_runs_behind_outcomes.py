"""Runs stand behind receipts; the timetable alone runs a job once a period"""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

FRESH = "acquired_at IS NULL"
SERVED_NOTHING = "status = 'ignored' AND reason = 'observational'"
NAME = "uq_job_run_job_namespace_id_period"


def upgrade() -> None:
    op.add_column("trajectory", sa.Column("rationale", sa.Text(), nullable=True))
    op.add_column("trajectory", sa.Column("task_variant", sa.Text(), nullable=True))
    op.add_column("trajectory", sa.Column("retrieval_id", sa.Uuid(), nullable=True))
    op.create_foreign_key(
        op.f("fk_trajectory_retrieval_id"),
        "trajectory",
        "retrieval",
        ["retrieval_id"],
        ["id"],
    )
    op.create_index(
        op.f("ix_trajectory_namespace_id_retrieval_id"),
        "trajectory",
        ["namespace_id", "retrieval_id"],
    )

    to_acquire("applied_at", f"{FRESH} AND (status = 'applied' OR {SERVED_NOTHING})")
    op.add_column("candidate", sa.Column("expected", sa.Double(), nullable=True))
    once_a_period("NOT dry_run AND key_id IS NULL")


def to_acquire(column: str, condition: str) -> None:
    op.drop_index("ix_outcome_to_acquire", "outcome")
    op.create_index(
        "ix_outcome_to_acquire",
        "outcome",
        ["namespace_id", column],
        postgresql_where=sa.text(condition),
    )


def once_a_period(condition: str) -> None:
    op.drop_index(NAME, "job_run")
    columns = ["job", "namespace_id", "period"]
    op.create_index(NAME, "job_run", columns, unique=True, postgresql_where=sa.text(condition))


def downgrade() -> None:
    # Of runs by hand beside the timetable's, and of several by hand, the first is kept.
    op.execute("""
        DELETE FROM job_run later USING job_run first
        WHERE NOT later.dry_run AND NOT first.dry_run AND later.job = first.job
          AND later.namespace_id IS NOT DISTINCT FROM first.namespace_id
          AND later.period = first.period AND first.id < later.id
    """)
    once_a_period("NOT dry_run")
    op.drop_column("candidate", "expected")
    to_acquire("bank_version", f"{FRESH} AND status = 'applied'")
    op.drop_index(op.f("ix_trajectory_namespace_id_retrieval_id"), "trajectory")
    op.drop_constraint(op.f("fk_trajectory_retrieval_id"), "trajectory", type_="foreignkey")
    for column in ("retrieval_id", "task_variant", "rationale"):
        op.drop_column("trajectory", column)
