"""A namespace that moves to another deployment, and what keeps its transactions out meanwhile"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

APP = "memlift_app"

# Called as a transaction enters a namespace. After `paused_until` the namespace is served again,
# whatever became of who moves it; the lock makes that one, should it still live, see who came in.
FUNCTION = """
CREATE FUNCTION memlift_require_here(entered uuid) RETURNS void
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    move namespace_move;
BEGIN
    SELECT * INTO move FROM namespace_move WHERE namespace_id = entered;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF move.state = 'paused' AND move.paused_until <= clock_timestamp() THEN
        SELECT * INTO move FROM namespace_move WHERE namespace_id = entered FOR SHARE;
        IF NOT FOUND OR (move.state = 'paused' AND move.paused_until <= clock_timestamp()) THEN
            RETURN;
        END IF;
    END IF;
    IF move.state = 'moved' THEN
        RAISE EXCEPTION USING ERRCODE = 'ML421', MESSAGE = move.url;
    END IF;
    RAISE EXCEPTION USING ERRCODE = 'ML503', MESSAGE = 'the namespace is being moved';
END $$
"""


def upgrade() -> None:
    op.create_table(
        "namespace_move",
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("paused_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("places", JSONB(), server_default=sa.text("'{}'::jsonb"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state IN ('arriving', 'paused', 'moved')", name=op.f("ck_namespace_move_state")
        ),
        sa.ForeignKeyConstraint(
            ["namespace_id"],
            ["namespace.id"],
            name=op.f("fk_namespace_move_namespace_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("namespace_id", name=op.f("pk_namespace_move")),
    )
    op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON namespace_move TO {APP}")
    op.execute(FUNCTION)


def downgrade() -> None:
    op.execute("DROP FUNCTION memlift_require_here(uuid)")
    op.drop_table("namespace_move")
