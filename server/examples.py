"""One example an operation, made from its schema and from one story.

The story: an agent `bot` of a support desk is about to refund an invoice, and a note warns it. What
a name stands for in the story, it stands for everywhere; what has no part in it is the simplest
value that the schema takes.
"""

from collections.abc import Mapping
from typing import Any, cast

Schema = Mapping[str, Any]
REFERENCE = "#/components/schemas/"

_ID = "019ab2c4-5d6e-7f80-9a1b-2c3d4e5f6071"
_NOTE = "Check the payment method first: refunds to cards close an invoice, bank transfers do not."
STORY: Mapping[str, object] = {
    "agent": "bot",
    "agents": ["bot"],
    "avoid": "refunding before the payment method is known",
    "baseline_probabilities": {"yes": 0.5},
    "category": "billing",
    "code": "rejected",
    "description": "Invoices, refunds and payments",
    "detail": "weight lies outside [0.1, 2.0]",
    "enforce": "look up the payment method before refunding",
    "evaluator": "agent",
    "event": "rain-2026-12-24",
    "failure_reason": "Two notes were followed that contradict each other",
    "family": "llama",
    "full_probabilities": {"yes": 0.8},
    "group_key": "invoice-8812",
    "instruction": "Where notes contradict each other, follow the one with the larger weight",
    "key": "invoice-8812",
    "lesson": _NOTE,
    "metric": "reward",
    "model": "llama-3-8b",
    "name": "billing",
    "probabilities": {"yes": 0.7},
    "propensity": 1.0,
    "ranker": "weighted/none",
    "rationale": "Rain has been forecast by two of three models",
    "reason": "reported by support",
    "resolutions": {"2026-12-24": "yes"},
    "result": "The invoice was closed",
    "reward_kind": "continuous",
    "role": "agent",
    "situation": "Refunding an invoice",
    "size_class": "8B",
    "slug": "default",
    "subcategory": "refunds",
    "text": "Refund invoice 8812",
    "trigger": "an invoice is to be refunded",
    "verifier": "self",
}
"""What a name is called in the story, where the schema at hand takes it."""
DEEP = 2
"""From here on an example shows only what is required."""
NUMBERS: Mapping[str, float] = {"reward": 1.0, "weight": 1.0, "k": 3, "max_tokens": 1000}


_TASK = {"text": "Refund invoice 8812", "key": "invoice-8812", "category": "billing"}
_STEPS = [
    {
        "role": "assistant",
        "tool": "refund",
        "arguments": {"invoice": 8812, "to": "card"},
        "error": "the card has expired",
    },
    {"role": "assistant", "text": "The invoice was closed"},
]
BODIES: Mapping[str, object] = {
    "add_agent": {"name": "bot", "model": "llama-3-8b", "family": "llama"},
    "add_constraint": {
        "agent": "bot",
        "task": _TASK,
        "trigger": "an invoice is to be refunded",
        "enforce": "look up the payment method before refunding",
        "avoid": "refunding before the payment method is known",
    },
    "add_contrasts": {"task_id": _ID},
    "add_experience": {
        "agent": "bot",
        "situation": "Refunding an invoice",
        "lesson": _NOTE,
        "task": _TASK,
    },
    "add_trajectory": {
        "agent": "bot",
        "task": _TASK,
        "steps": _STEPS,
        "result": "The invoice was closed",
        "reward": 1.0,
        "verifier": "self",
    },
    "bring_taxonomy": {
        "categories": [{"name": "billing", "description": "Invoices, refunds and payments"}]
    },
    "change_agent": {"own_information": True},
    "change_namespace": {"learning": "frozen"},
    "create_key": {"role": "agent", "name": "support bot", "namespace": "default"},
    "create_retrieval": {"agent": "bot", "task": _TASK, "k": 3},
    "create_retrievals": {"items": [{"agent": "bot", "task": _TASK}]},
    "edit_meta_guideline": {"pinned": True},
    "create_webhook": {
        "url": "https://example.com/memlift",
        "kinds": ["job.failed", "cell.suspended"],
    },
    "erase": {"memory_id": _ID},
    "predict": {
        "agent": "bot",
        "task": {
            "text": "Will it rain on Christmas Eve?",
            "key": "2026-12-24",
            "group_key": "rain-2026-12-24",
        },
        "probabilities": {"yes": 0.7},
    },
    "rename_category": {"name": "invoices"},
    "report_by_key": {"task_key": "invoice-8812", "agent": "bot", "reward": 1.0},
    "report_outcome": {"reward": 1.0, "run": {"steps": _STEPS, "result": "The card has expired"}},
    "report_outcomes": {"items": [{"retrieval_id": _ID, "reward": 1.0}]},
    "report_trials": {"agent": "bot", "trials": [{"slot": 0, "reward": 1.0}]},
    "set_measure": {"metric": "reward", "reward_kind": "binary"},
    "rollback": {"key_id": _ID, "dry_run": True},
    "run_job": {"dry_run": True},
    "what_if": {"policy": "paper"},
}
"""What to send where the simplest body would say nothing, by operation."""


def body_of(operation: str, schema: Schema, schemas: Mapping[str, Schema]) -> object:
    """What to send to an operation, by the name of its function."""
    return BODIES[operation] if operation in BODIES else example_of(schema, schemas)


def example_of(schema: Schema, schemas: Mapping[str, Schema]) -> object:
    """A value that the schema takes, in the words of the story."""
    return _example(schema, schemas, "", depth=0)


def _example(schema: Schema, schemas: Mapping[str, Schema], name: str, *, depth: int) -> object:
    if "$ref" in schema:
        schema = schemas[str(schema["$ref"]).removeprefix(REFERENCE)]
    if "anyOf" in schema:
        arms = [arm for arm in schema["anyOf"] if arm.get("type") != "null"]
        return _example(arms[0], schemas, name, depth=depth)
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if values is not None:
        return STORY[name] if STORY.get(name) in values else values[0]
    if schema.get("type") == "object" or "properties" in schema:
        return _object(schema, schemas, name, depth=depth)
    if schema.get("type") == "array":
        return _array(schema, schemas, name, depth=depth)
    return _plain(schema, name)


def _object(schema: Schema, schemas: Mapping[str, Schema], name: str, *, depth: int) -> object:
    properties = cast("Mapping[str, Schema]", schema.get("properties", {}))
    if not properties:
        value = STORY.get(name)
        return value if isinstance(value, dict) else {}
    wanted = set(schema.get("required", ())) | _telling(properties, depth)
    return {
        part: _example(properties[part], schemas, part, depth=depth + 1)
        for part in properties
        if part in wanted
    }


def _telling(properties: Mapping[str, Schema], depth: int) -> set[str]:
    """Beyond what is required: what makes the body say something."""
    said = {"lesson", "reason", "reward", "task", "text"} if depth < DEEP else set[str]()
    return said & properties.keys()


def _array(schema: Schema, schemas: Mapping[str, Schema], name: str, *, depth: int) -> object:
    values = STORY.get(name)
    if isinstance(values, list):
        return cast("list[object]", values)
    fewest = int(schema.get("minItems", 0))
    if not fewest and depth >= DEEP:
        return []
    one = _example(schema.get("items", {}), schemas, name.removesuffix("s"), depth=depth + 1)
    return [one] * max(1, fewest)


FORMS: Mapping[str, str] = {"uuid": _ID, "date-time": "2026-12-01T09:30:00Z", "date": "2026-12-01"}


def _plain(schema: Schema, name: str) -> object:
    kind, default = schema.get("type"), schema.get("default")
    if schema.get("format") in FORMS:
        return FORMS[schema["format"]]
    if kind == "boolean":
        return bool(default)
    if kind in ("integer", "number"):
        low = schema.get("minimum", schema.get("exclusiveMinimum", 0))
        value = NUMBERS.get(name, low if default is None else default) or 0
        return int(value) if kind == "integer" else float(value)
    text = STORY.get(name)
    return text if isinstance(text, str) else default or name.replace("_", " ") or "text"
