"""Scores that were given elsewhere, and the rewards that they amount to."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

MLFLOW_PREFIX = "tr-"


class ScoreRefused(ValueError):
    """A score that is no reward; says of which, and what would be taken."""


@dataclass(frozen=True, slots=True)
class Score:
    """What an evaluator said of a trace. `id` is its own for good in the place where it is kept;
    `trace_id` is None where it is about something else, such as a session.
    """

    id: str
    name: str
    value: object
    trace_id: str | None
    made_at: datetime | None = None
    line: int | None = None
    """Where it stands, if its place gave it no id."""

    @property
    def label(self) -> str:
        """What people find it by."""
        return self.id if self.line is None else f"line {self.line}"

    def traces(self) -> tuple[str, ...]:
        """How a retrieval may have named the trace, the likeliest first: as the place does, or by
        the id of OpenTelemetry that is within (`tr-4bf9…`, a UUID).
        """
        if self.trace_id is None:
            return ()
        try:
            plain = UUID(self.trace_id.removeprefix(MLFLOW_PREFIX)).hex
        except ValueError:
            return (self.trace_id,)
        return (self.trace_id,) if plain == self.trace_id else (self.trace_id, plain)


@dataclass(frozen=True, slots=True)
class UnreadableLine:
    """A line of a file that holds no score, and why."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class RewardScale:
    """Which scores are rewards: from `low`, the worst, to `high`, the best (which may be the
    smaller number), and what is said in words by `labels`.
    """

    low: float = 0.0
    high: float = 1.0
    labels: Mapping[str, float] = field(default_factory=dict[str, float])

    def __post_init__(self) -> None:
        if self.low == self.high or not math.isfinite(self.low - self.high):
            raise ScoreRefused("--scale: MIN and MAX must be two numbers")
        for label, reward in self.labels.items():
            if not 0 <= reward <= 1:
                raise ScoreRefused(f"--label: {label}={reward:g} must lie in 0…1")

    def reward(self, value: object) -> float:
        """The reward, 0 to 1. Raises ScoreRefused for what is none."""
        if isinstance(value, bool):
            return float(value)
        if isinstance(value, str) and value in self.labels:
            return self.labels[value]
        if not isinstance(value, int | float):
            known = ", ".join(self.labels) or "none"
            raise ScoreRefused(f"{value!r} is no number; labels that are known: {known} (--label)")
        if not min(self.low, self.high) <= value <= max(self.low, self.high):
            limits = f"{self.low:g}…{self.high:g}"
            shown = f"{value:g}" if isinstance(value, float) else str(value)[:40]
            raise ScoreRefused(f"{shown} must lie in {limits} (--scale MIN MAX)")
        return (value - self.low) / (self.high - self.low)
