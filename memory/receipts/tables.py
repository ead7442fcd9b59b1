"""The loop's records: what was served, and with what result."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, JSONB

from memory.kernel.postgres.tables import (
    NUMBERS,
    bank_version,
    belongs_to,
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
    namespace_id(),
    identity(),
    Column("agent_id", Uuid, nullable=False),
    # As the agent was declared then: runs of different models are no pair, and what an agent
    # brings of its own decides where its strength starts.
    Column("agent_model", Text),
    Column("own_information", Boolean, nullable=False, server_default="false"),
    Column("task_id", Uuid, nullable=False),
    Column("category_id", Uuid, nullable=False),
    Column("subcategory_id", Uuid),
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
    # The queries and whose they were; null: not known.
    Column("search", JSONB(none_as_null=True)),
    Column("model_id", Uuid, ForeignKey("embedding_model.id"), nullable=False),
    Column("raw_gate", DOUBLE_PRECISION, nullable=False),
    Column("score_floor", DOUBLE_PRECISION, nullable=False),
    Column("ranker", Text, nullable=False),
    Column("rankers", JSONB, nullable=False),
    # Which rankers would have served the same; null where none was drawn, or not known.
    Column("same_rankers", ARRAY(Text)),
    # What the head held past the raw gate and was not served; null: not known.
    Column("passed_over", ARRAY(Uuid)),
    Column("all_rankers", Boolean, nullable=False),
    Column("strength", DOUBLE_PRECISION, nullable=False),
    Column("policy", Text, nullable=False),
    Column("compiler", Text, nullable=False),
    Column("counter", Text, nullable=False),
    Column("lines", JSONB, nullable=False),
    Column("text", Text),
    Column("tokens", Integer, nullable=False),
    Column("cut", JSONB, nullable=False),
    # What went wrong at a task like it, beside the lines; its words stand here alone.
    Column("past_error", JSONB(none_as_null=True)),
    Column("timings", JSONB, nullable=False),
    moment("known_at"),
    moment("recorded_at"),
    moment("expires_at"),
    key_id(),
    # The caller's own id of the trace that the run belongs to.
    Column("trace_id", Text),
    belongs_to("agent_id", "agent"),
    belongs_to("task_id", "task"),
    belongs_to("category_id", "category"),
    belongs_to("subcategory_id", "category"),
    one_of("arm", ARMS),
    one_of("purpose", ("act", "paired", "replay")),
    Index("ix_retrieval_namespace_id_task_id", "namespace_id", "task_id"),
    Index("ix_retrieval_namespace_id_known_at", "namespace_id", "known_at"),
    Index(
        "ix_retrieval_namespace_id_trace_id",
        "namespace_id",
        "trace_id",
        postgresql_where=text("trace_id IS NOT NULL"),
    ),
    # What a key was served lately.
    Index("ix_retrieval_namespace_id_key_id_id", "namespace_id", "key_id", "id"),
)


retrieval_item = Table(
    "retrieval_item",
    metadata,
    namespace_id(),
    Column("retrieval_id", Uuid, primary_key=True),
    Column("memory_id", Uuid, primary_key=True),
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
    # Those of the task by which it was found.
    Column("identifiers", ARRAY(Text), nullable=False, server_default=text("'{}'::text[]")),
    # What it was ordered by where the task's words counted.
    Column("fused", DOUBLE_PRECISION),
    # Which of several queries it is nearest to.
    Column("query", SmallInteger),
    # The probability with which a coin keeps it, whether it left it out, and whether the memory
    # would have a place if kept.
    Column("inclusion", DOUBLE_PRECISION),
    Column("left_out", Boolean, nullable=False, server_default="false"),
    Column("contender", Boolean, nullable=False, server_default="false"),
    belongs_to("retrieval_id", "retrieval", ondelete="CASCADE"),
    belongs_to("memory_id", "memory", ondelete="CASCADE"),
    Index("ix_retrieval_item_namespace_id_memory_id", "namespace_id", "memory_id"),
    # Coins that could have fallen either way, by time.
    Index(
        "ix_retrieval_item_coins",
        "namespace_id",
        "retrieval_id",
        "memory_id",
        postgresql_where=text("contender AND inclusion > 0.005 AND inclusion < 0.995"),
    ),
)


# What receipts counted for that were removed because they were old: how often a memory was served,
# how often was asked in a category, and the last time.
receipt_tally = Table(
    "receipt_tally",
    metadata,
    namespace_id(),
    Column("kind", Text, primary_key=True),
    Column("subject_id", Uuid, primary_key=True),
    Column("n", BigInteger, nullable=False),
    moment("last_at"),
    one_of("kind", ("memory", "category")),
)


outcome = Table(
    "outcome",
    metadata,
    namespace_id(),
    identity(),
    Column("retrieval_id", Uuid, nullable=False),
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
    # The memories that the agent acted on; null: not said.
    Column("used", ARRAY(Uuid)),
    # By memory how far it could have acted, once applied; null: applied before this was decided.
    Column("exposure", JSONB(none_as_null=True)),
    Column("authored", ARRAY(Uuid), nullable=False),
    # Memories about which this key has said enough for the day: its word does not count.
    Column("muted", ARRAY(Uuid), nullable=False, server_default=text("'{}'::uuid[]")),
    # Of a numeric pair: d·e and d², d from the answer without memory to the one with, e to truth.
    Column("numeric", NUMBERS),
    # What each ranker's own answer would have earned, by name of ranker.
    Column("ranker_rewards", JSONB(none_as_null=True)),
    # The off-run's outcome that completed this pair.
    Column("partner_id", Uuid),
    Column("answers", JSONB),
    Column("stances", JSONB),
    Column("evidence", Text, nullable=False),
    Column("status", Text, nullable=False),
    Column("reason", Text),
    Column("supersedes", Uuid),
    moment("known_at"),
    moment("recorded_at"),
    Column("position", Integer, nullable=False),
    moment("applied_at", nullable=True),
    # Since when it waits no longer, because it cannot be applied.
    moment("set_aside_at", nullable=True),
    bank_version(nullable=True),
    # What it showed beyond expectation, once applied.
    Column("residual", DOUBLE_PRECISION),
    # And beyond the baseline alone, as it was before the outcome.
    Column("above_baseline", DOUBLE_PRECISION),
    # The version of the bank that took it out of the ledger again.
    Column("withdrawn_version", BigInteger),
    key_id(),
    # Whose word it is, where the influence of one party is bounded; null where it is not.
    Column("party_id", Uuid),
    # By which arithmetic it is folded, now and in every rebuild: that of the release that took it.
    Column("arithmetic", SmallInteger, nullable=False),
    # What the reporter would do otherwise; and when acquisition had looked at the outcome.
    Column("lesson", JSONB),
    moment("acquired_at", nullable=True),
    belongs_to("retrieval_id", "retrieval"),
    belongs_to("partner_id", "outcome"),
    belongs_to("supersedes", "outcome"),
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
    Index("ix_outcome_namespace_id_known_at", "namespace_id", "known_at"),
    Index(
        "ix_outcome_namespace_id_bank_version",
        "namespace_id",
        "bank_version",
        postgresql_where=text("bank_version IS NOT NULL"),
    ),
    # By which the database finds what still names a row that is to be removed.
    Index("ix_outcome_supersedes", "supersedes", postgresql_where=text("supersedes IS NOT NULL")),
    Index("ix_outcome_partner_id", "partner_id", postgresql_where=text("partner_id IS NOT NULL")),
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
        "namespace_id",
        "partner_id",
        unique=True,
        postgresql_where=text("status IN ('accepted', 'applied')"),
    ),
    Index(
        "ix_outcome_to_acquire",
        "namespace_id",
        "applied_at",
        postgresql_where=text(
            "acquired_at IS NULL AND (status = 'applied' OR status = 'ignored'"
            " AND reason = 'observational')"
        ),
    ),
    Index(
        "uq_outcome_effective",
        "namespace_id",
        "retrieval_id",
        unique=True,
        postgresql_where=text("status IN ('accepted', 'applied')"),
    ),
)
