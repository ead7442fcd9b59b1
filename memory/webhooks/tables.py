"""Webhooks, and the deliveries that wait for them: written with the fact that they tell of."""

from sqlalchemy import Column, Index, Integer, Table, Text, UniqueConstraint, Uuid, text
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from memory.kernel.postgres.tables import (
    belongs_to,
    identity,
    key_id,
    metadata,
    moment,
    namespace_id,
    one_of,
)

webhook = Table(
    "webhook",
    metadata,
    namespace_id(),
    identity(),
    key_id(),
    Column("url", Text, nullable=False),
    Column("kinds", ARRAY(Text), nullable=False),
    # Signing needs the secret itself; no answer, export or log has it.
    Column("secret", Text, nullable=False),
    moment("created_at"),
    Column("failures", Integer, nullable=False, server_default="0"),
    moment("disabled_at", nullable=True),
    Column("disabled_reason", Text),
)


webhook_delivery = Table(
    "webhook_delivery",
    metadata,
    namespace_id(),
    identity(),
    Column("webhook_id", Uuid, nullable=False),
    Column("kind", Text, nullable=False),
    Column("data", JSONB, nullable=False),
    # What is told once, whatever number of times it happens; null: told each time.
    Column("once", Text),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False, server_default="0"),
    moment("next_at", nullable=True),
    Column("status", Integer),
    Column("fault", Text),
    moment("recorded_at"),
    moment("finished_at", nullable=True),
    belongs_to("webhook_id", "webhook", ondelete="CASCADE"),
    one_of("state", ("waiting", "delivered", "failed")),
    UniqueConstraint("namespace_id", "webhook_id", "once"),
    Index(
        "ix_webhook_delivery_waiting",
        "namespace_id",
        "next_at",
        postgresql_where=text("state = 'waiting'"),
    ),
    Index("ix_webhook_delivery_webhook_id_id", "webhook_id", "id"),
)
