"""Namespaces, keys, sessions, and what is kept about calls: idempotency and audit. No row-level
security here.
"""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from memory.kernel.postgres.tables import identity, key_id, metadata, moment, one_of

RANDOM_BYTES = "decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')"
"""32 bytes, 244 bits of them by the database's strong generator."""


namespace = Table(
    "namespace",
    metadata,
    identity(),
    Column("slug", Text, nullable=False),
    Column("clock", Text, nullable=False),
    Column("learning", Text, nullable=False),
    Column("policy", Text, nullable=False),
    Column("settings", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    Column("bank_version", BigInteger, nullable=False, server_default="0"),
    # Living memories, kept here so that a quota costs no count.
    Column("n_memories", BigInteger, nullable=False, server_default="0"),
    moment("newest_known_at", nullable=True),
    # Whether residuals of one memory on different dates agree: else weights are doubted.
    Column("signal", Boolean, nullable=False, server_default="true"),
    Column("model_id", Uuid, ForeignKey("embedding_model.id")),
    # Models that it was moved from, whose vectors are kept until they are dropped.
    Column("former_model_ids", ARRAY(Uuid), nullable=False, server_default=text("'{}'::uuid[]")),
    # The key of the coins; the database makes it, and it is never shown.
    Column("secret", LargeBinary, nullable=False, server_default=text(RANDOM_BYTES)),
    # By memory, that it shall be tried apart from its companions, and until when.
    Column("apart_trials", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    Column("version", Integer, nullable=False, server_default="1"),
    moment("created_at"),
    moment("deletion_requested_at", nullable=True),
    Column("deletion_sha256", LargeBinary),
    key_id(),
    UniqueConstraint("slug"),
    one_of("clock", ("wall", "replay")),
    one_of("learning", ("on", "frozen")),
)


namespace_move = Table(
    "namespace_move",
    metadata,
    Column("namespace_id", Uuid, ForeignKey("namespace.id", ondelete="CASCADE"), primary_key=True),
    # `arriving` where it goes to; where it comes from `paused` for seconds, then `moved`.
    Column("state", Text, nullable=False),
    # From then on it is served again, unless it has moved.
    moment("paused_until", nullable=True),
    # Where callers find it once it has moved.
    Column("url", Text, nullable=False),
    # By table, the oldest transaction at its source that may not have been copied.
    Column("places", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    moment("started_at"),
    one_of("state", ("arriving", "paused", "moved")),
)


api_key = Table(
    "api_key",
    metadata,
    identity(),
    Column("namespace_id", Uuid, ForeignKey("namespace.id", ondelete="CASCADE")),
    Column("role", Text, nullable=False),
    Column("agents", ARRAY(Text)),
    # The highest verifier that it may claim, and the first key of the party whose word it speaks.
    Column("verifies", Text, nullable=False),
    Column("party_id", Uuid),
    Column("name", Text, nullable=False),
    Column("sha256", LargeBinary, nullable=False),
    Column("created_by", Uuid),
    moment("created_at"),
    moment("expires_at", nullable=True),
    moment("revoked_at", nullable=True),
    moment("last_used_at", nullable=True),
    one_of("role", ("agent", "evaluator", "reader", "admin", "operator")),
    one_of("verifies", ("human", "test", "judge", "self")),
    Index("ix_api_key_namespace_id_party_id", "namespace_id", "party_id"),
)


dashboard_session = Table(
    "dashboard_session",
    metadata,
    # The session id itself stands in the browser's cookie alone.
    Column("sha256", LargeBinary, primary_key=True),
    Column("key_id", Uuid, ForeignKey("api_key.id", ondelete="CASCADE"), nullable=False),
    moment("created_at"),
    moment("seen_at"),
    moment("expires_at"),
    Index("ix_dashboard_session_key_id", "key_id"),
)


idempotency = Table(
    "idempotency",
    metadata,
    Column("key_id", Uuid, primary_key=True),
    Column("method", Text, primary_key=True),
    Column("path", Text, primary_key=True),
    Column("idempotency_key", Text, primary_key=True),
    Column("namespace_id", Uuid, ForeignKey("namespace.id", ondelete="CASCADE")),
    Column("body_sha256", LargeBinary, nullable=False),
    Column("state", Text, nullable=False),
    Column("status", Integer),
    Column("response", LargeBinary),
    moment("locked_until"),
    moment("created_at"),
    one_of("state", ("running", "done")),
    Index("ix_idempotency_created_at", "created_at"),
)


audit = Table(
    "audit",
    metadata,
    identity(),
    Column("namespace_id", Uuid),
    Column("key_id", Uuid),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("detail", JSONB, nullable=False, server_default=text("'{}'::jsonb")),
    moment("recorded_at"),
    Index("ix_audit_namespace_id_id", "namespace_id", "id"),
)
