"""Forecasts and their results: predictions with their revisions, settlements with the windows
that they resolve, and the scores between the two.
"""

from sqlalchemy import (
    Column,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, DOUBLE_PRECISION, JSONB

from memory.kernel.postgres.tables import (
    belongs_to,
    identity,
    key_id,
    metadata,
    moment,
    namespace_id,
    one_of,
)

PREDICTION_STATES = ("pending", "settled", "late")


prediction = Table(
    "prediction",
    metadata,
    namespace_id(),
    identity(),
    Column("agent_id", Uuid, nullable=False),
    Column("task_id", Uuid, nullable=False),
    Column("state", Text, nullable=False),
    # The settlement whose score stands.
    Column("settlement_id", Uuid),
    moment("recorded_at"),
    key_id(),
    belongs_to("agent_id", "agent"),
    belongs_to("task_id", "task"),
    belongs_to("settlement_id", "settlement"),
    UniqueConstraint("namespace_id", "agent_id", "task_id"),
    one_of("state", PREDICTION_STATES),
    Index("ix_prediction_namespace_id_task_id", "namespace_id", "task_id"),
    Index("ix_prediction_namespace_id_state_id", "namespace_id", "state", "id"),
)


prediction_revision = Table(
    "prediction_revision",
    metadata,
    namespace_id(),
    Column("prediction_id", Uuid, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("retrieval_id", Uuid),
    # Probabilities by name of outcome: as acted, without the guideline, had memory been followed
    # wholly, and for each ranker.
    Column("probabilities", JSONB, nullable=False),
    Column("baseline_probabilities", JSONB(none_as_null=True)),
    Column("full_probabilities", JSONB(none_as_null=True)),
    Column("answers", JSONB(none_as_null=True)),
    # The memories of the receipt that the agent acted on; null: not said.
    Column("used", ARRAY(Uuid)),
    Column("rationale", Text),
    moment("known_at"),
    moment("recorded_at"),
    key_id(),
    belongs_to("prediction_id", "prediction", ondelete="CASCADE"),
    belongs_to("retrieval_id", "retrieval"),
    Index(
        "ix_prediction_revision_retrieval_id",
        "retrieval_id",
        postgresql_where=text("retrieval_id IS NOT NULL"),
    ),
)


settlement = Table(
    "settlement",
    metadata,
    namespace_id(),
    identity(),
    Column("event", Text, nullable=False),
    Column("resolutions", JSONB, nullable=False),
    Column("crowd", JSONB(none_as_null=True)),
    # How often its windows had been settled before, and the settlement it takes the place of.
    Column("correction", Integer, nullable=False),
    Column("corrects", Uuid),
    Column("superseded_by", Uuid),
    moment("known_at"),
    moment("recorded_at"),
    key_id(),
    belongs_to("corrects", "settlement"),
    belongs_to("superseded_by", "settlement"),
    Index("ix_settlement_namespace_id_event_id", "namespace_id", "event", "id"),
)


settled_window = Table(
    "settled_window",
    metadata,
    namespace_id(),
    Column("settlement_id", Uuid, primary_key=True),
    Column("task_id", Uuid, primary_key=True),
    Column("correction", Integer, nullable=False),
    belongs_to("settlement_id", "settlement", ondelete="CASCADE"),
    belongs_to("task_id", "task"),
    UniqueConstraint("namespace_id", "task_id", "correction"),
)


prediction_score = Table(
    "prediction_score",
    metadata,
    namespace_id(),
    Column("settlement_id", Uuid, primary_key=True),
    Column("prediction_id", Uuid, primary_key=True),
    # The revision that counts, null where none was in time.
    Column("revision", Integer),
    Column("status", Text, nullable=False),
    Column("reason", Text),
    Column("brier", DOUBLE_PRECISION),
    Column("baseline_brier", DOUBLE_PRECISION),
    # How much less than the crowd's its Brier score is, over the same outcomes.
    Column("skill", DOUBLE_PRECISION),
    Column("outcome_id", Uuid),
    belongs_to("settlement_id", "settlement", ondelete="CASCADE"),
    belongs_to("prediction_id", "prediction", ondelete="CASCADE"),
    belongs_to("outcome_id", "outcome"),
    one_of("status", ("scored", "ignored")),
    Index("ix_prediction_score_prediction_id", "prediction_id"),
    Index(
        "ix_prediction_score_outcome_id",
        "outcome_id",
        postgresql_where=text("outcome_id IS NOT NULL"),
    ),
)
