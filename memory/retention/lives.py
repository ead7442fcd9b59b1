"""For every table of the database what ends the life of its rows, or why they stay for ever. A new
table is entered here: a test goes through the schema.
"""

from collections.abc import Mapping
from types import MappingProxyType

LIVES: Mapping[str, str] = MappingProxyType(
    {
        "retrieval": "`retention_days` after it was served, once it has expired",
        "retrieval_item": "with its receipt",
        "outcome": "`retention_days` after it became known; what it taught stays",
        "candidate": "with its outcome",
        "weight_event": "with the outcomes that it is of; one event for each belief stays",
        "ledger_closing": "the next closing takes its place",
        "trajectory": "its steps, result and rationale after `retention_days`, unless it is half "
        "of a contrast; its verdict stays",
        "task": "`retention_days` after it became known, once no memory, run, receipt, contrast, "
        "trial or forecast names it and its window has closed",
        "task_embedding": "with its task",
        "writing": "`retention_days` after it was written",
        "writing_budget": "`retention_days` after its day",
        "health_sample": "400 days",
        "idempotency": "24 hours",
        "job_run": "90 days",
        "row_change": "a day",
        "dashboard_session": "12 hours without use, and 7 days at most",
        "webhook_delivery": "30 days after it came to an end",
        "lease": "one row, written over",
    }
)
"""Tables whose rows go by themselves, and when."""


KEPT: Mapping[str, str] = MappingProxyType(
    {
        "namespace": "one row a namespace; deleting the namespace deletes all that is in it",
        "namespace_move": "one row a namespace that moves or has moved: it says where to",
        "api_key": "says whose word each row is, also when it is revoked",
        "server_budget": "one short row a UTC day on which the server's daily cost limit held",
        "audit": "who did what is to be answered years later; one short row an act",
        "agent": "one row an agent",
        "category": "one row a category",
        "centroid": "one row a category and model",
        "taxonomy": "one row a version that somebody wrote",
        "embedding_model": "one row a model",
        "memory": "it is the bank; `max_memories` bounds the living",
        "memory_version": "it is what a receipt served; one row an edit",
        "embedding": "with its memory",
        "memory_weight": "a belief; one row a memory",
        "weight_deviation": "a belief; one row a memory and agent that was credited",
        "influence": "a belief; one row a memory and party that moved it",
        "cell": "a belief; one row an agent and category",
        "strength": "a belief; one row an agent and category",
        "usage": "a belief; one row an agent and category",
        "noise": "a belief; one row a kind of reward",
        "ranker_record": "a belief; one row a category",
        "effect_day": "the effect; one row an agent, category and day",
        "receipt_tally": "what removed receipts counted for; one row a memory and category",
        "competence": "an aggregate; one row an agent and category",
        "change": "the status of memories at a past moment is read from it; one row a change",
        "rollback": "what it withdrew can count again until it is closed; one row a rollback",
        "webhook": "one row an address",
        "contrast": "what a constraint rests on, with the two runs that it compares",
        "constraint_support": "what a constraint rests on",
        "contradiction": "how it was resolved is not to be asked again",
        "ticket": "why a memory was admitted",
        "trial": "why a memory was admitted",
        "changeset": "why a memory was changed, and what undoes it",
        "prediction": "the record of what was forecast",
        "prediction_revision": "the record of what was forecast, and when",
        "prediction_score": "the record of how it came out",
        "settlement": "the record of what happened",
        "settled_window": "the record of what happened",
    }
)
"""Tables whose rows stay, and why."""
