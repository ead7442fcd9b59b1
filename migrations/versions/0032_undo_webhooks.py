"""What rollbacks took is kept, so that they can be undone; webhooks and their deliveries"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

ISOLATED = ("rollback", "webhook", "webhook_delivery")
APP = "memlift_app"
HERE = "namespace_id = NULLIF(current_setting('memlift.namespace', true), '')::uuid"


def upgrade() -> None:
    op.create_table(
        "rollback",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.Column("source", JSONB(), nullable=False),
        sa.Column("taken", JSONB(), nullable=False),
        sa.Column("first_version", sa.BigInteger(), nullable=True),
        sa.Column("bank_version", sa.BigInteger(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("undone_version", sa.BigInteger(), nullable=True),
        sa.Column("undone_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("undone_by", sa.Uuid(), nullable=True),
        belongs("rollback"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rollback")),
    )
    op.create_index("ix_rollback_namespace_id_id", "rollback", ["namespace_id", "id"])
    create_webhooks()
    for table in ISOLATED:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(f"CREATE POLICY namespace ON {table} USING ({HERE}) WITH CHECK ({HERE})")
        op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON {table} TO {APP}")


def create_webhooks() -> None:
    op.create_table(
        "webhook",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("key_id", sa.Uuid(), nullable=True),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("kinds", ARRAY(sa.Text()), nullable=False),
        sa.Column("secret", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("failures", sa.Integer(), server_default="0", nullable=False),
        sa.Column("disabled_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("disabled_reason", sa.Text(), nullable=True),
        belongs("webhook"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook")),
    )
    op.create_index("ix_webhook_namespace_id", "webhook", ["namespace_id"])
    op.create_table(
        "webhook_delivery",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("namespace_id", sa.Uuid(), nullable=False),
        sa.Column("webhook_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("data", JSONB(), nullable=False),
        sa.Column("once", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default="0", nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("fault", sa.Text(), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "state IN ('waiting', 'delivered', 'failed')", name=op.f("ck_webhook_delivery_state")
        ),
        belongs("webhook_delivery"),
        sa.ForeignKeyConstraint(
            ["webhook_id"],
            ["webhook.id"],
            name=op.f("fk_webhook_delivery_webhook_id"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_delivery")),
        sa.UniqueConstraint("webhook_id", "once", name=op.f("uq_webhook_delivery_webhook_id_once")),
    )
    waiting = sa.text("state = 'waiting'")
    op.create_index(
        "ix_webhook_delivery_waiting",
        "webhook_delivery",
        ["namespace_id", "next_at"],
        postgresql_where=waiting,
    )
    op.create_index("ix_webhook_delivery_webhook_id_id", "webhook_delivery", ["webhook_id", "id"])


def belongs(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["namespace_id"],
        ["namespace.id"],
        name=op.f(f"fk_{table}_namespace_id"),
        ondelete="CASCADE",
    )


def downgrade() -> None:
    for table in reversed(ISOLATED):
        op.drop_table(table)
