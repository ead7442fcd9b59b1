"""What of a row the types of its columns do not say, and the server would never have written: texts
beyond their limits, rewards beyond 0 and 1, documents of another form, rankers that are none. Pure.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pydantic import TypeAdapter, ValidationError

from memory.belief.rankers import RANKERS
from memory.kernel.errors import Rejected
from memory.kernel.text import KEY, LESSON, NAME, SITUATION, TASK, cleaned
from memory.transfer.shapes import Row

_TEXTS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "agent": {"name": NAME},
        "api_key": {"name": NAME},
        "category": {"name": NAME},
        "memory_version": {"situation": SITUATION, "lesson": LESSON},
        "task": {"text": TASK, "key": KEY},
    }
)
"""Texts that are cleaned where they are taken, and how many characters they may have."""


_REWARDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"outcome": ("reward", "reward_full", "reward_without")}
)


_ROUNDING = 1e-9  # what sums of floats may be off


_OBJECT: TypeAdapter[Any] = TypeAdapter(dict[str, Any] | None)
_NUMBERS: TypeAdapter[Any] = TypeAdapter(dict[str, float | None] | None)


_DOCUMENTS: Mapping[str, Mapping[str, TypeAdapter[Any]]] = MappingProxyType(
    {
        "memory": {"detail": _OBJECT, "metadata": _OBJECT},
        "outcome": {"exposure": _NUMBERS, "ranker_rewards": _NUMBERS},
        "prediction_revision": {
            "probabilities": _NUMBERS,
            "baseline_probabilities": _NUMBERS,
            "full_probabilities": _NUMBERS,
        },
        "retrieval": {
            "rankers": _NUMBERS,
            "search": _OBJECT,
            "past_error": _OBJECT,
            "timings": _NUMBERS,
            "lines": TypeAdapter(list[dict[str, Any]]),
            "cut": TypeAdapter(list[dict[str, Any]]),
        },
        "retrieval_item": {"scores": _NUMBERS},
        "task": {"metadata": _OBJECT},
    }
)


def require_sound(table: str, row: Row) -> None:
    """Raises Rejected where the server would not have written the row like this."""
    for name, limit in _TEXTS.get(table, {}).items():
        _require_clean(row.get(name), name, limit)
    for name in _REWARDS.get(table, ()):
        reward = row.get(name)
        if reward is not None and not -_ROUNDING <= reward <= 1 + _ROUNDING:
            raise Rejected(f"has a {name} that is not between 0 and 1", field=name, limit=[0, 1])
    for name, form in _DOCUMENTS.get(table, {}).items():
        _require_form(row.get(name), name, form)
    if table == "retrieval" and row["ranker"] not in RANKERS:
        raise Rejected("has a ranker that is not known", field="ranker", limit=sorted(RANKERS))


def _require_clean(text: str | None, name: str, limit: int) -> None:
    """What was erased is blank, and a text that was cut short may end in white space."""
    bare = (text or "").strip()
    if bare and cleaned(bare, name, limit) != bare:
        raise Rejected(f"has a {name} that is not in Unicode's form NFC", field=name)
    if text is not None and len(text) > limit:
        raise Rejected(f"has a {name} of more than {limit} characters", field=name, limit=limit)


def _require_form(document: str | None, name: str, form: TypeAdapter[Any]) -> None:
    if document is None:
        return
    try:
        form.validate_json(document)
    except ValidationError as fault:
        first = fault.errors(include_input=False, include_url=False)[0]
        raise Rejected(f"has something else for {name}: {first['msg']}", field=name) from fault
