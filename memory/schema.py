"""The schema, one table a noun; `metadata` is what migrations are compared with."""

from memory.belief.tables import (
    cell,
    effect_day,
    memory_weight,
    noise,
    ranker_record,
    strength,
    weight_deviation,
    weight_event,
)
from memory.constraints.tables import (
    competence,
    constraint_support,
    contradiction,
    contrast,
    task_embedding,
    taxonomy,
)
from memory.forecasts.tables import (
    prediction,
    prediction_revision,
    prediction_score,
    settled_window,
    settlement,
)
from memory.inference.tables import embedding_model
from memory.insight.tables import health_sample
from memory.kernel.postgres.tables import change, job_run, lease, metadata
from memory.llm.tables import writing, writing_budget
from memory.memories.tables import embedding, memory, memory_version
from memory.receipts.tables import outcome, retrieval, retrieval_item
from memory.tasks.tables import agent, category, centroid, task, trajectory
from memory.tenancy.tables import api_key, audit, dashboard_session, idempotency, namespace
from memory.verification.tables import candidate, ticket, trial

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
