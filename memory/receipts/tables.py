"""The loop's records: what was served, and with what result."""

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
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, JSONB

from memory.kernel.postgres.tables import (
    NUMBERS,
    bank_version,
    identity,
    key_id,
    metadata,
    moment,
    namespace_id,
    one_of,
)

ARMS = ("on", "control", "forced_on", "forced_off", "paired", "empty", "suspended", "retest")


retrieval = Table(
    "retrieval",
    metadata,
    identity(),
    namespace_id(),
    Column("agent_id", Uuid, ForeignKey("agent.id"), nullable=False),
    # As the agent was declared then: runs of different models are no pair, and what an agent
    # brings of its own decides where its strength starts.
    Column("agent_model", Text),
    Column("own_information", Boolean, nullable=False, server_default="false"),
    Column("task_id", Uuid, ForeignKey("task.id"), nullable=False),
    Column("category_id", Uuid, ForeignKey("category.id"), nullable=False),
    Column("subcategory_id", Uuid, ForeignKey("category.id")),
    Column("confidence", DOUBLE_PRECISION, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("arm", Text, nullable=False),
    Column("propensity", DOUBLE_PRECISION, nullable=False),
    Column("eligible", Boolean, nullable=False),
    Column("reason", Text),
    Column("format", Text, nullable=False),
    Column("k", Integer, nullable=False),
    Column("max_tokens", Integer, nullable=False),
    bank_version(),
    moment("as_of"),
    Column("model_id", Uuid, ForeignKey("embedding_model.id"), nullable=False),
    Column("raw_gate", DOUBLE_PRECISION, nullable=False),
    Column("score_floor", DOUBLE_PRECISION, nullable=False),
    Column("ranker", Text, nullable=False),
    Column("rankers", JSONB, nullable=False),
    Column("all_rankers", Boolean, nullable=False),
    Column("strength", DOUBLE_PRECISION, nullable=False),
    Column("policy", Text, nullable=False),
    Column("compiler", Text, nullable=False),
    Column("counter", Text, nullable=False),
    Column("lines", JSONB, nullable=False),
    Column("text", Text),
    Column("tokens", Integer, nullable=False),
    Column("cut", JSONB, nullable=False),
    Column("timings", JSONB, nullable=False),
    moment("known_at"),
    moment("recorded_at"),
    moment("expires_at"),
    key_id(),
    one_of("arm", ARMS),
    one_of("purpose", ("act", "paired", "replay")),
    Index("ix_retrieval_namespace_id_id", "namespace_id", "id"),
    Index("ix_retrieval_namespace_id_task_id", "namespace_id", "task_id"),
    # What a key was served lately.
    Index("ix_retrieval_namespace_id_key_id_id", "namespace_id", "key_id", "id"),
)


retrieval_item = Table(
    "retrieval_item",
    metadata,
    Column("retrieval_id", Uuid, ForeignKey("retrieval.id", ondelete="CASCADE"), primary_key=True),
    Column("memory_id", Uuid, ForeignKey("memory.id", ondelete="CASCADE"), primary_key=True),
    namespace_id(),
    Column("version", Integer, nullable=False),
    Column("similarity", DOUBLE_PRECISION, nullable=False),
    Column("relevance", DOUBLE_PRECISION, nullable=False),
    Column("effective_weight", DOUBLE_PRECISION, nullable=False),
    Column("ranking_weight", DOUBLE_PRECISION, nullable=False),
    Column("score", DOUBLE_PRECISION, nullable=False),
    Column("scores", JSONB),
    Column("rank", Integer, nullable=False),
    Column("propensity", DOUBLE_PRECISION, nullable=False),
    # `served`: the agent got it (a control arm records what it would have got); `cited`: in the
    # guideline.
    Column("served", Boolean, nullable=False),
    Column("cited", Boolean, nullable=False),
    Column("exploration_slot", Boolean, nullable=False),
    Index("ix_retrieval_item_namespace_id_memory_id", "namespace_id", "memory_id"),
)


outcome = Table(
    "outcome",
    metadata,
    identity(),
    namespace_id(),
    Column("retrieval_id", Uuid, ForeignKey("retrieval.id"), nullable=False),
    Column("evaluator", Text, nullable=False),
    Column("verifier", Text, nullable=False),
    Column("metric", Text, nullable=False),
    Column("reward_kind", Text, nullable=False),
    Column("raw", JSONB, nullable=False),
    Column("sha256", LargeBinary, nullable=False),
    Column("reward", DOUBLE_PRECISION, nullable=False),
    Column("reward_full", DOUBLE_PRECISION, nullable=False),
    Column("reward_without", DOUBLE_PRECISION),
    Column("helpful", ARRAY(Uuid), nullable=False),
    Column("harmful", ARRAY(Uuid), nullable=False),
    Column("authored", ARRAY(Uuid), nullable=False),
    # Memories about which this key has said enough for the day: its word does not count.
    Column("muted", ARRAY(Uuid), nullable=False, server_default=text("'{}'::uuid[]")),
    # Of a numeric pair: d·e and d², d from the answer without memory to the one with, e to truth.
    Column("numeric", NUMBERS),
    # What each ranker's own answer would have earned, by name of ranker.
    Column("ranker_rewards", JSONB(none_as_null=True)),
    # The off-run's outcome that completed this pair.
    Column("partner_id", Uuid, ForeignKey("outcome.id")),
    Column("answers", JSONB),
    Column("stances", JSONB),
    Column("evidence", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("reason", Text),
    Column("supersedes", Uuid, ForeignKey("outcome.id")),
    moment("known_at"),
    moment("recorded_at"),
    Column("position", Integer, nullable=False),
    moment("applied_at", nullable=True),
    bank_version(nullable=True),
    # What it showed beyond expectation, once applied.
    Column("residual", DOUBLE_PRECISION),
    # The version of the bank that took it out of the ledger again.
    Column("withdrawn_version", BigInteger),
    key_id(),
    # What the reporter would do otherwise; and when acquisition had looked at the outcome.
    Column("lesson", JSONB),
    moment("acquired_at", nullable=True),
    one_of("verifier", ("human", "test", "judge", "self")),
    one_of("evidence", ("paired", "control", "single", "none")),
    one_of("status", ("accepted", "applied", "ignored", "superseded")),
    one_of("reward_kind", ("continuous", "binary")),
    Index(
        "ix_outcome_pending",
        "namespace_id",
        "known_at",
        "recorded_at",
        "position",
        "id",
        postgresql_where=text("applied_at IS NULL"),
    ),
    Index("ix_outcome_namespace_id_retrieval_id", "namespace_id", "retrieval_id"),
    Index("ix_outcome_namespace_id_key_id_known_at", "namespace_id", "key_id", "known_at"),
    Index(
        "ix_outcome_to_withdraw",
        "namespace_id",
        postgresql_where=text(
            "status = 'superseded' AND bank_version IS NOT NULL AND withdrawn_version IS NULL"
        ),
    ),
    Index(
        "uq_outcome_partner_id",
        "partner_id",
        unique=True,
        postgresql_where=text("status IN ('accepted', 'applied')"),
    ),
    Index(
        "ix_outcome_to_acquire",
        "namespace_id",
        "bank_version",
        postgresql_where=text("acquired_at IS NULL AND status = 'applied'"),
    ),
    Index(
        "uq_outcome_effective",
        "retrieval_id",
        unique=True,
        postgresql_where=text("status IN ('accepted', 'applied')"),
    ),
)
