"""A report's numbers, reckoned once: rewards, a numeric pair's sums, what each ranker earned."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import cast

from memory.belief.evidence import verifier_rank
from memory.belief.rewards import METRICS, numeric_pair, reward_of
from memory.kernel.errors import Rejected
from memory.kernel.text import ANSWERS_BYTES, cleaned_json
from memory.outcomes.entities import Report
from memory.receipts.entities import SETTLEMENT
from memory.verification.entities import ReportedLesson

REWARD_KINDS = ("continuous", "binary")


# The digest of a stored report is compared with that of the next one, whatever code made either: a
# field that comes later belongs to the second list, where it is left out unless it was given.
DIGESTED = (
    *("reward", "metric", "value", "truth", "without", "full", "reward_kind", "evaluator"),
    *("verifier", "helpful", "harmful", "answers", "stances", "known_at", "supersedes"),
)


DIGESTED_IF_GIVEN = ("lesson",)


@dataclass(frozen=True, slots=True)
class Rewards:
    """As acted, without memory, had memory been followed wholly; and each ranker's own."""

    reward: float
    without: float | None
    full: float
    rankers: Mapping[str, float] | None


def reckoned(one: Report, *, rivals: Sequence[str] | None) -> Rewards:
    """Every number of the report as a reward in [0, 1]; `rivals`: who answers beside the agent.
    Raises Rejected naming the field.
    """
    if one.metric not in METRICS:
        raise Rejected(f"metric must be one of {METRICS}", field="metric", limit=list(METRICS))
    if one.reward_kind not in REWARD_KINDS:
        raise Rejected("reward_kind is continuous or binary", field="reward_kind")
    verifier_rank(one.verifier)
    acted = one.reward if one.metric == "reward" else one.value
    reward = reward_of(one.metric, acted, one.truth)
    if one.reward_kind == "binary" and reward not in (0.0, 1.0):
        raise Rejected("a binary reward is 0 or 1", field="reward", limit=[0, 1])
    full = _half(one, one.full, "full")
    return Rewards(
        reward,
        _half(one, one.without, "without"),
        reward if full is None else full,
        _rankers(one, rivals),
    )


def raw(one: Report) -> dict[str, object]:
    """The numbers as they came, for whoever recomputes."""
    parts = {"reward": one.reward, "value": one.value, "truth": one.truth, "without": one.without}
    given = {name: part for name, part in {**parts, "full": one.full}.items() if part is not None}
    return cleaned_json(cast("Mapping[str, object]", given), "value", ANSWERS_BYTES)


def numeric(metric: str, given: Mapping[str, object]) -> list[float] | None:
    """The sums of a numeric pair, from the numbers as they came; None where they are no pair."""
    if metric != "brier" or "without" not in given:
        return None
    without = cast("Mapping[str, object]", given["without"])["value"]
    followed = cast("Mapping[str, object]", given.get("full", {})).get("value", given["value"])
    return list(numeric_pair(followed, without, given["truth"]))


def digest(one: Report) -> bytes:
    """Two reports with the same digest say the same; stored reports keep theirs for good."""
    fields = {name: getattr(one, name) for name in DIGESTED}
    added = {name: getattr(one, name) for name in DIGESTED_IF_GIVEN}
    fields |= {name: value for name, value in added.items() if value is not None}
    return sha256(json.dumps(fields, sort_keys=True, default=_digested).encode()).digest()


def _digested(value: object) -> str:
    """What JSON has no form for. A lesson by its two fields, in the words it was first told in."""
    if isinstance(value, ReportedLesson):
        return f"ReportedLesson(lesson={value.lesson!r}, situation={value.situation!r})"
    return str(value)


def other_half(metric: str, given: Mapping[str, object]) -> dict[str, object]:
    """What a run without memory answered, as the `without` of the run with it."""
    name = "reward" if metric == "reward" else "value"
    return {name: given[name]}


def _half(one: Report, half: Mapping[str, object] | None, field: str) -> float | None:
    if half is None:
        return None
    name = "reward" if one.metric == "reward" else "value"
    if set(half) != {name}:
        raise Rejected(f"{field} holds {name} and nothing else", field=field, limit=name)
    return _reward(one, half[name], field)


def _reward(one: Report, value: object, field: str) -> float:
    try:
        return reward_of(one.metric, value, one.truth)
    except Rejected as fault:
        path = f"{field}.{fault.field}"
        raise Rejected(f"{field}: {fault.detail}", field=path, limit=fault.limit) from fault


def require_answers(answers: Collection[str], rivals: Sequence[str] | None) -> None:
    """All rivals' answers, and only where there are rivals."""
    if rivals is None:
        raise Rejected("only a retrieval with rivals has an answer a ranker", field="answers")
    if set(answers) != set(rivals):
        raise Rejected(
            f"answers has one entry for each of {', '.join(rivals)}",
            field="answers",
            limit=list(rivals),
        )


def _rankers(one: Report, rivals: Sequence[str] | None) -> dict[str, float] | None:
    """Each ranker's own answer, scored by the same metric: all of them, or none."""
    if not one.answers:
        return None
    # Of a forecast this was asked when it was made, perhaps of other rankers than today's.
    if rivals is None or one.evaluator != SETTLEMENT:
        require_answers(one.answers, rivals)
    return {
        ranker: _reward(one, one.answers[ranker], f"answers.{ranker}") for ranker in one.answers
    }
