"""Which rows are about one agent, key or task: what it wrote, was served, reported and forecast,
and what was learned of it.
"""

from collections.abc import Mapping
from types import MappingProxyType

from memory.transfer.entities import SubjectKind

_COLUMNS: Mapping[SubjectKind, str] = {"agent": "agent_id", "key": "key_id", "task": "task_id"}


def _about(kind: SubjectKind) -> dict[str, str]:
    """For each table with rows that hang on a memory, receipt, run or forecast of the subject."""
    column = _COLUMNS[kind]

    def ids(table: str) -> str:
        return f"(SELECT id FROM {table} WHERE namespace_id = :ns AND {column} = :subject)"  # noqa: S608 - written here

    memories, receipts = ids("memory"), ids("retrieval")
    runs, forecasts = ids("trajectory"), ids("prediction")
    outcomes = f"(SELECT id FROM outcome WHERE namespace_id = :ns AND retrieval_id IN {receipts})"  # noqa: S608 - written here
    own = f"{column} = :subject"
    return {
        "audit": f"subject IN (SELECT x.id::text FROM {memories} x)",  # noqa: S608 - written here
        "candidate": f"outcome_id IN {outcomes}",
        "constraint_support": f"memory_id IN {memories}",
        "contrast": f"preferred_id IN {runs} OR unpreferred_id IN {runs}",
        "influence": f"memory_id IN {memories}",
        "memory": own,
        "memory_version": f"memory_id IN {memories}",
        "memory_weight": f"memory_id IN {memories}",
        "outcome": f"retrieval_id IN {receipts}",
        "prediction": own,
        "prediction_revision": f"prediction_id IN {forecasts}",
        "prediction_score": f"prediction_id IN {forecasts}",
        "retrieval": own,
        "retrieval_item": f"retrieval_id IN {receipts}",
        # What it was asked: of a receipt, a run, a memory or a forecast of its own.
        "task": " OR ".join(
            f"id IN (SELECT task_id FROM {table} WHERE namespace_id = :ns AND {own})"  # noqa: S608 - written here
            for table in ("retrieval", "trajectory", "memory", "prediction")
        ),
        "ticket": f"memory_id IN {memories}",
        "trajectory": own,
        "trial": own,
        "weight_event": f"memory_id IN {memories}",
        "writing": f"memory_id IN {memories} OR retrieval_id IN {receipts}",
    }


def _with(kind: SubjectKind, more: Mapping[str, str]) -> Mapping[str, str]:
    """And the rows that name the subject in a way of their own."""
    found = _about(kind)
    for table, which in more.items():
        found[table] = f"{found[table]} OR {which}" if table in found else which
    return MappingProxyType(found)


_NAME = "(SELECT name FROM agent WHERE namespace_id = :ns AND id = :subject)"


ABOUT: Mapping[SubjectKind, Mapping[str, str]] = MappingProxyType(
    {
        "agent": _with(
            "agent",
            {
                "api_key": f"{_NAME} = ANY(agents)",
                "agent": "id = :subject",
                "cell": "agent_id = :subject",
                "competence": "agent_id = :subject",
                "constraint_support": ":subject IN (preferred_agent_id, unpreferred_agent_id)",
                "effect_day": "agent_id = :subject",
                "strength": "agent_id = :subject",
                "ticket": "leased_agent_id = :subject",
                "usage": "agent_id = :subject",
                "weight_deviation": "agent_id = :subject",
                "weight_event": "agent_id = :subject",
                "writing": f"agent = {_NAME}",
            },
        ),
        "key": _with(
            "key",
            {
                "api_key": "id = :subject",
                "agent": "key_id = :subject",
                "audit": "key_id = :subject",
                "category": "key_id = :subject",
                "constraint_support": ":subject IN (preferred_key_id, unpreferred_key_id)",
                "contradiction": "key_id = :subject",
                "contrast": "key_id = :subject",
                "memory_version": "key_id = :subject",
                "outcome": "key_id = :subject",
                "prediction_revision": "key_id = :subject",
                "settlement": "key_id = :subject",
                "task": "key_id = :subject",
                "ticket": ":subject IN (key_id, leased_key_id)",
                "writing": "key_id = :subject",
            },
        ),
        "task": _with(
            "task",
            {
                "constraint_support": "task_id = :subject",
                "contrast": "task_id = :subject",
                "settled_window": "task_id = :subject",
                "task": "id = :subject",
                "writing": "task_id = :subject",
            },
        ),
    }
)
"""By kind of subject, for each table with rows about it, which those are."""


ABOUT_NOBODY: Mapping[str, str] = MappingProxyType(
    {
        "centroid": "is made of many texts at once",
        "change": "names memories that are in it",
        "changeset": "is of several failures, of whichever agents",
        "embedding": "is made of texts that are in it",
        "health_sample": "is of the whole namespace",
        "ledger_closing": "is of the whole namespace",
        "noise": "is of the whole namespace",
        "ranker_record": "is of the whole namespace",
        "receipt_tally": "counts receipts of all agents",
        "rollback": "names what was withdrawn from several agents at once",
        "task_embedding": "is made of texts that are in it",
        "taxonomy": "is of the whole namespace",
    }
)
"""Tables that no file about one subject has, and why."""
