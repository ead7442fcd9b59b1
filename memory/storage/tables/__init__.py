"""The schema, one table a noun; `metadata` is what migrations are compared with."""

from memory.storage.tables.access import (
    api_key,
    audit,
    dashboard_session,
    idempotency,
    namespace,
)
from memory.storage.tables.actors import agent, category, centroid, task, trajectory
from memory.storage.tables.bank import embedding, embedding_model, memory, memory_version
from memory.storage.tables.base import metadata
from memory.storage.tables.contrast import (
    competence,
    constraint_support,
    contradiction,
    contrast,
    task_embedding,
    taxonomy,
)
from memory.storage.tables.forecast import (
    prediction,
    prediction_revision,
    prediction_score,
    settled_window,
    settlement,
)
from memory.storage.tables.health import health_sample
from memory.storage.tables.learning import (
    cell,
    effect_day,
    memory_weight,
    noise,
    ranker_record,
    strength,
    weight_deviation,
    weight_event,
)
from memory.storage.tables.loop import outcome, retrieval, retrieval_item
from memory.storage.tables.verification import candidate, ticket, trial
from memory.storage.tables.work import change, job_run, lease
from memory.storage.tables.writing import writing, writing_budget

# Every table here has a namespace_id column, row-level security and FORCE; the others hold no
# memory.
ISOLATED = (
    agent,
    category,
    centroid,
    task,
    trajectory,
    memory,
    memory_version,
    embedding,
    memory_weight,
    weight_deviation,
    cell,
    noise,
    strength,
    effect_day,
    ranker_record,
    weight_event,
    retrieval,
    retrieval_item,
    outcome,
    change,
    candidate,
    ticket,
    trial,
    writing,
    writing_budget,
    health_sample,
    settlement,
    settled_window,
    prediction,
    prediction_revision,
    prediction_score,
    contrast,
    constraint_support,
    contradiction,
    task_embedding,
    taxonomy,
    competence,
)

__all__ = [
    "ISOLATED",
    "agent",
    "api_key",
    "audit",
    "candidate",
    "category",
    "cell",
    "centroid",
    "change",
    "competence",
    "constraint_support",
    "contradiction",
    "contrast",
    "dashboard_session",
    "effect_day",
    "embedding",
    "embedding_model",
    "health_sample",
    "idempotency",
    "job_run",
    "lease",
    "memory",
    "memory_version",
    "memory_weight",
    "metadata",
    "namespace",
    "noise",
    "outcome",
    "prediction",
    "prediction_revision",
    "prediction_score",
    "ranker_record",
    "retrieval",
    "retrieval_item",
    "settled_window",
    "settlement",
    "strength",
    "task",
    "task_embedding",
    "taxonomy",
    "ticket",
    "trajectory",
    "trial",
    "weight_deviation",
    "weight_event",
    "writing",
    "writing_budget",
]
