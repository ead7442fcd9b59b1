"""Runs that failed and outcomes that cannot be applied are kept; tokens set aside come back"""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

ONCE = "uq_job_run_job_namespace_id_period"
WHERE = "NOT dry_run AND key_id IS NULL"


def upgrade() -> None:
    op.add_column("job_run", sa.Column("reason", sa.Text(), nullable=True))
    op.add_column("outcome", sa.Column("set_aside_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column(
        "writing_budget", sa.Column("reserved_until", sa.DateTime(timezone=True), nullable=True)
    )
    op.create_index("ix_job_run_namespace_id_job_id", "job_run", ["namespace_id", "job", "id"])
    failed = sa.text("state = 'failed'")
    op.create_index(
        "ix_job_run_failed", "job_run", ["namespace_id", "job"], postgresql_where=failed
    )
    once_a_period(f"{WHERE} AND state <> 'failed'")


def once_a_period(condition: str) -> None:
    op.drop_index(ONCE, "job_run")
    columns = ["job", "namespace_id", "period"]
    op.create_index(ONCE, "job_run", columns, unique=True, postgresql_where=sa.text(condition))


def downgrade() -> None:
    op.execute("DELETE FROM job_run WHERE state = 'failed'")
    once_a_period(WHERE)
    op.drop_column("writing_budget", "reserved_until")
    op.drop_index("ix_job_run_failed", "job_run")
    op.drop_index("ix_job_run_namespace_id_job_id", "job_run")
    op.drop_column("outcome", "set_aside_at")
    op.drop_column("job_run", "reason")
