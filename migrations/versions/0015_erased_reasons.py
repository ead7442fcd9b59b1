"""An erasure may take what a line of the audit trail says, and nothing else of the line"""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

APP = "memlift_app"


def upgrade() -> None:
    op.execute(f"GRANT UPDATE (detail) ON audit TO {APP}")


def downgrade() -> None:
    op.execute(f"REVOKE UPDATE (detail) ON audit FROM {APP}")
