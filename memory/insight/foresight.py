"""Which of two policies told outcomes better beforehand: weights before each → shares, interval.

Both are asked the same of the same outcomes: whether what was served weighs more than 1 on average,
just before an outcome moves it, and whether that outcome then was better than without. Which
memories were served stays as it was, so this is about the weights, not about what others would have
brought. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from math import ceil, fsum, log
from uuid import UUID

from memory.belief.effect import (
    ArmOutcome,
    Estimate,
    add_outcome,
    effect_of,
    initial_day,
    sequence_reach,
)
from memory.belief.fold import Learn, feedback_date
from memory.belief.policy import Policy
from memory.belief.states import State, States
from memory.insight.what_if_entities import Foresight

SILENT = 1e-9  # a weight so near 1 says neither more nor less
MOST_DATES = 100_000
_Cell = tuple[UUID, UUID, str]


@dataclass(slots=True)
class WeightRecorder:
    """What a policy weighed the served memories at before each outcome, in log weight; 0 where none
    of them could have acted. Given to `fold` as its `watch`.
    """

    policy: Policy
    levels: list[float] = field(default_factory=list[float])

    def note(self, entry: Learn, before: States) -> None:
        exposure = entry.observation.exposure or {}
        acting = [one for one in entry.observation.counted if exposure.get(one, 1.0) > 0.0]
        weights = [self._weight(entry, before, one) for one in acting]
        self.levels.append(fsum(log(one) for one in weights) / len(weights) if weights else 0.0)

    def _weight(self, entry: Learn, before: States, memory: UUID) -> float:
        policy, now = self.policy, entry.now
        state, deviation = before.memories[memory], before.deviations.get(memory)
        aged = None if deviation is None else policy.age_deviation(deviation, now)
        return policy.effective_weight(policy.age_memory(state, now), aged)


def compare_foresight(
    outcomes: Sequence[Learn], here: WeightRecorder, there: WeightRecorder
) -> Foresight:
    """Both over the outcomes that were better or worse than without memory, or, of single ones,
    than the agent's usual one in that category until then.
    """
    usual, days, shares = _UsualRewards(), dict[date, State](), list[tuple[float, float]]()
    for entry, first, second in zip(outcomes, here.levels, there.levels, strict=True):
        gain = usual.gain(entry)
        if not gain or not entry.observation.counted:
            continue
        earlier, later = _score(first, gain), _score(second, gain)
        shares.append((earlier, later))
        day = feedback_date(entry.now)
        pair = ArmOutcome("paired", 1.0, later, earlier)
        days[day] = add_outcome(days.get(day) or initial_day(), pair, entry.now)
    if not shares:
        return Foresight(0, 0)
    found, n = effect_of(list(days.values())).paired, len(shares)
    return Foresight(
        n,
        found.dates,
        fsum(one for one, _ in shares) / n,
        fsum(one for _, one in shares) / n,
        found.low,
        found.high,
        _needed(found),
    )


def _needed(found: Estimate) -> int | None:
    """Outcomes, in all, after which a difference as large as this one would be told from none."""
    mean, low, high = found.mean, found.low, found.high
    if not mean or low is None or high is None or low > 0.0 or high < 0.0:
        return None
    spread = (high - low) / 2 / sequence_reach(found.dates)
    dates = found.dates
    while spread * sequence_reach(dates) >= abs(mean):
        dates += ceil(dates / 20)
        if dates > MOST_DATES:
            return None
    return ceil(found.n * dates / found.dates)


def _score(level: float, gain: float) -> float:
    """1 where the weights pointed the way that it went, 0 where the other, half where nowhere."""
    if abs(level) < SILENT:
        return 0.5
    return 1.0 if (level > 0.0) == (gain > 0.0) else 0.0


@dataclass(slots=True)
class _UsualRewards:
    """Sums and counts of the rewards that an agent had in a category, until now."""

    sums: dict[_Cell, tuple[float, int]] = field(default_factory=dict[_Cell, tuple[float, int]])

    def gain(self, entry: Learn) -> float:
        """How much better an outcome was than without; 0 where nothing says so. It is the usual of
        later ones.
        """
        cell, seen = (entry.agent, entry.category, entry.reward_kind), entry.observation
        total, n = self.sums.get(cell, (0.0, 0))
        reward = seen.reward_off if seen.reward_on is None else seen.reward_on
        if reward is not None:
            self.sums[cell] = (total + reward, n + 1)
        if seen.reward_on is None:
            return 0.0
        if seen.reward_off is not None:
            return seen.reward_on - seen.reward_off
        return seen.reward_on - total / n if n else 0.0
