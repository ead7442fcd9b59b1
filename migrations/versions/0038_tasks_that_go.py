"""Whether a trial names a task is found by its index: tasks that nothing names go when they are old"""

from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

NAME = "ix_trial_namespace_id_task_id"


def upgrade() -> None:
    op.create_index(NAME, "trial", ["namespace_id", "task_id"])


def downgrade() -> None:
    op.drop_index(NAME, "trial")
