"""A report's numbers, computed once: rewards, a numeric pair's sums, what each ranker earned."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import cast
from uuid import UUID

from memory.kernel.errors import Rejected
from memory.kernel.metrics import METRICS, numeric_pair, reward_of
from memory.kernel.text import ANSWERS_BYTES, cleaned_json
from memory.outcomes.entities import REWARD, Report
from memory.receipts.entities import SETTLEMENT, RunResult
from memory.verification.entities import ReportedLesson

# The digest of a stored report is compared with that of the next one, whatever code made either: a
# field that comes later belongs to the second list, where it is left out unless it was given.
DIGESTED = (
    *("reward", "metric", "value", "truth", "without", "full", "reward_kind", "evaluator"),
    *("verifier", "helpful", "harmful", "answers", "stances", "known_at", "supersedes"),
)


DIGESTED_IF_GIVEN = ("lesson", "used")


UNDIGESTED = ("keep", "run")
"""How a report is to be taken, not what it says; and the run behind it, which may come later."""


@dataclass(frozen=True, slots=True)
class Rewards:
    """As acted, without memory, had memory been followed wholly; and each ranker's own."""

    reward: float
    without: float | None
    full: float
    rankers: Mapping[str, float] | None


def compute_rewards(report: Report, *, rankers: Sequence[str] | None) -> Rewards:
    """Every number of the report as a reward in [0, 1]; `rankers`: who answers beside the agent.
    Raises Rejected naming the field.
    """
    metric = report.metric_name
    if metric not in METRICS:
        raise Rejected(f"metric must be one of {METRICS}", field="metric", limit=list(METRICS))
    acted = report.reward if metric == REWARD else report.value
    reward = reward_of(metric, acted, report.truth)
    if report.reward_kind == "binary" and reward not in (0.0, 1.0):
        raise Rejected("a binary reward is 0 or 1", field="reward", limit=[0, 1])
    full = _reward_of_run(report, report.full, "full")
    return Rewards(
        reward,
        _reward_of_run(report, report.without, "without"),
        reward if full is None else full,
        _rewards_of_rankers(report, rankers),
    )


def _reward_of_run(report: Report, run: RunResult | None, field: str) -> float | None:
    if run is None:
        return None
    result, name = run.stored(), _answer_name(report.metric_name)
    if name not in result:
        raise Rejected(f"{field} holds {name} and nothing else", field=field, limit=name)
    return _reward(report, result[name], field)


def _rewards_of_rankers(report: Report, rankers: Sequence[str] | None) -> dict[str, float] | None:
    """Each ranker's own answer, scored by the same metric: all of them, or none."""
    if not report.answers:
        return None
    # Of a forecast this was asked when it was made, perhaps of other rankers than today's.
    if rankers is None or report.evaluator != SETTLEMENT:
        require_answers(report.answers, rankers)
    return {
        ranker: _reward(report, answer, f"answers.{ranker}")
        for ranker, answer in report.answers.items()
    }


def _reward(report: Report, value: object, field: str) -> float:
    try:
        return reward_of(report.metric_name, value, report.truth)
    except Rejected as fault:
        path = f"{field}.{fault.field}"
        raise Rejected(f"{field}: {fault.detail}", field=path, limit=fault.limit) from fault


def require_answers(answers: Collection[str], rankers: Sequence[str] | None) -> None:
    """All rankers' answers, and only where all were asked."""
    if rankers is None:
        raise Rejected("only a retrieval with all_rankers takes answers", field="answers")
    if set(answers) != set(rankers):
        raise Rejected(
            f"answers has one entry for each of {', '.join(rankers)}",
            field="answers",
            limit=list(rankers),
        )


def require_served(ids: tuple[UUID, ...], served: Collection[UUID], field: str) -> tuple[UUID, ...]:
    """These memories. Raises Rejected where one is not among those that were served."""
    unknown = [memory_id for memory_id in ids if memory_id not in served]
    if unknown:
        raise Rejected(f"{unknown[0]} was not served by this retrieval", field=field)
    return ids


def numbers_as_reported(report: Report) -> dict[str, object]:
    """The numbers as they came, for whoever recomputes."""
    parts = {
        "reward": report.reward,
        "value": report.value,
        "truth": report.truth,
        "without": None if report.without is None else report.without.stored(),
        "full": None if report.full is None else report.full.stored(),
    }
    present = {name: part for name, part in parts.items() if part is not None}
    return cleaned_json(present, "value", ANSWERS_BYTES)


def pair_sums(metric: str, raw: Mapping[str, object]) -> tuple[float, float] | None:
    """The sums of a numeric pair, from the numbers as they came; None where they are no pair."""
    if metric != "brier" or "without" not in raw:
        return None
    without = cast("Mapping[str, object]", raw["without"])["value"]
    followed = cast("Mapping[str, object]", raw.get("full", {})).get("value", raw["value"])
    return numeric_pair(followed, without, raw["truth"])


def result_without(metric: str, raw: Mapping[str, object]) -> dict[str, object]:
    """What a run without memory answered, as the `without` of the run with it."""
    name = _answer_name(metric)
    return {name: raw[name]}


def _answer_name(metric: str) -> str:
    return "reward" if metric == REWARD else "value"


def digest(report: Report) -> bytes:
    """Two reports with the same digest say the same; stored reports keep theirs for good."""
    fields = {name: getattr(report, name) for name in DIGESTED} | {"metric": report.metric_name}
    added = {name: getattr(report, name) for name in DIGESTED_IF_GIVEN}
    fields |= {name: value for name, value in added.items() if value is not None}
    return sha256(json.dumps(fields, sort_keys=True, default=_digested).encode()).digest()


def _digested(value: object) -> object:
    """What JSON has no form for. A lesson by its two fields, in the words it was first told in."""
    if isinstance(value, ReportedLesson):
        return f"ReportedLesson(lesson={value.lesson!r}, situation={value.situation!r})"
    return value.stored() if isinstance(value, RunResult) else str(value)
