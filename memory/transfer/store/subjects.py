"""Which rows are about one agent: what it wrote, was served, reported and forecast, and what was
learned of it.
"""

from collections.abc import Mapping
from types import MappingProxyType

_MEMORIES = "(SELECT id FROM memory WHERE namespace_id = :ns AND agent_id = :agent)"
_RECEIPTS = "(SELECT id FROM retrieval WHERE namespace_id = :ns AND agent_id = :agent)"
_RUNS = "(SELECT id FROM trajectory WHERE namespace_id = :ns AND agent_id = :agent)"
_FORECASTS = "(SELECT id FROM prediction WHERE namespace_id = :ns AND agent_id = :agent)"
_OUTCOMES = f"(SELECT id FROM outcome WHERE namespace_id = :ns AND retrieval_id IN {_RECEIPTS})"  # noqa: S608 - written above
_NAME = "(SELECT name FROM agent WHERE namespace_id = :ns AND id = :agent)"


ABOUT_AGENT: Mapping[str, str] = MappingProxyType(
    {
        "api_key": f"{_NAME} = ANY(agents)",
        "agent": "id = :agent",
        "audit": f"subject IN (SELECT x.id::text FROM {_MEMORIES} x)",  # noqa: S608 - written above
        "candidate": f"outcome_id IN {_OUTCOMES}",
        "cell": "agent_id = :agent",
        "competence": "agent_id = :agent",
        "constraint_support": f"memory_id IN {_MEMORIES} OR :agent IN"
        " (preferred_agent_id, unpreferred_agent_id)",
        "contrast": f"preferred_id IN {_RUNS} OR unpreferred_id IN {_RUNS}",
        "effect_day": "agent_id = :agent",
        "influence": f"memory_id IN {_MEMORIES}",
        "memory": "agent_id = :agent",
        "memory_version": f"memory_id IN {_MEMORIES}",
        "memory_weight": f"memory_id IN {_MEMORIES}",
        "outcome": f"retrieval_id IN {_RECEIPTS}",
        "prediction": "agent_id = :agent",
        "prediction_revision": f"prediction_id IN {_FORECASTS}",
        "prediction_score": f"prediction_id IN {_FORECASTS}",
        "retrieval": "agent_id = :agent",
        "retrieval_item": f"retrieval_id IN {_RECEIPTS}",
        "strength": "agent_id = :agent",
        # What it was asked: of a receipt, a run, a memory or a forecast of its own.
        "task": " OR ".join(
            f"id IN (SELECT task_id FROM {table} WHERE namespace_id = :ns AND agent_id = :agent)"  # noqa: S608 - written above
            for table in ("retrieval", "trajectory", "memory", "prediction")
        ),
        "ticket": f"memory_id IN {_MEMORIES} OR leased_agent_id = :agent",
        "trajectory": "agent_id = :agent",
        "trial": "agent_id = :agent",
        "usage": "agent_id = :agent",
        "weight_deviation": "agent_id = :agent",
        "weight_event": f"agent_id = :agent OR memory_id IN {_MEMORIES}",
        "writing": f"agent = {_NAME} OR memory_id IN {_MEMORIES} OR retrieval_id IN {_RECEIPTS}",
    }
)
"""For each table with rows about an agent, which those are."""


ABOUT_NOBODY: Mapping[str, str] = MappingProxyType(
    {
        "category": "is shared by all agents",
        "centroid": "is made of many texts at once",
        "change": "names memories that are in it",
        "changeset": "is of several failures, of whichever agents",
        "contradiction": "is of two memories, and decided by whoever keeps the bank",
        "embedding": "is made of texts that are in it",
        "health_sample": "is of the whole namespace",
        "ledger_closing": "is of the whole namespace",
        "noise": "is of the whole namespace",
        "ranker_record": "is of the whole namespace",
        "receipt_tally": "counts receipts of all agents",
        "rollback": "names what was taken from several agents at once",
        "settled_window": "is what happened, whoever forecast it",
        "settlement": "is what happened, whoever forecast it",
        "task_embedding": "is made of texts that are in it",
        "taxonomy": "is of the whole namespace",
    }
)
"""Tables that a file about one agent lacks, and why."""
