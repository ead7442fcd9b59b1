"""Which runs failed, which trials a candidate has to pass, and whether it enters the bank. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil, comb, fsum, sqrt
from uuid import UUID

from memory.memories.entities import Trust
from memory.verification.entities import Run, TrialPurpose

GAIN = 0.05


POSTERIOR = Fraction(9, 10)


BOUNDED_FROM = 3
"""From so many trials the lower 80 % bound of the gain must lie above zero as well."""


DEAD_BAND = 0.02
"""A difference on an anchor that is smaller is neither loss nor win."""


MAX_REFINEMENTS = 3


ROUNDING = 1e-9


# One-sided 80 % quantiles of Student's t for 2, 3, … degrees of freedom; beyond, the last is safe.
_T80 = (1.0607, 0.9785, 0.9410, 0.9195, 0.9057, 0.8960, 0.8889, 0.8834, 0.8791, 0.8755, 0.8726)


_BELIEVED = frozenset({"human", "test"})


class Decision(StrEnum):
    ADMITTED = "admitted"
    REJECTED = "rejected"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Trial:
    """A run with the candidate; `reward` None: not yet run. `same_task`: the one it came from."""

    task: UUID
    reward: float | None
    same_task: bool


@dataclass(frozen=True, slots=True)
class Reference:
    """What a task's runs without the candidate brought: their mean, and how many there were."""

    reward: float
    runs: int = 1


@dataclass(frozen=True, slots=True)
class Anchor:
    """A task that went well before the candidate, and how it went with it (None: not yet run)."""

    before: float
    after: float | None


@dataclass(frozen=True, slots=True)
class RewardPair:
    """What a task brought without the changes and with them; None: not known yet."""

    before: float | None
    after: float | None

    @property
    def gain(self) -> float | None:
        return None if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True, slots=True)
class TrialVerdict:
    """`evidence` is `same_task` where nothing but the task it came from was tried."""

    decision: Decision
    reason: str
    evidence: str


def admission(
    trials: Sequence[Trial],
    reference: Mapping[UUID, Reference],
    reward_kind: str,
    anchors: Sequence[Anchor],
    *,
    literal: bool = False,
) -> TrialVerdict:
    """The verdict on a candidate; `reference` is what each task of the trials brought without.
    A `literal` rule asks for the gain alone, whatever kind the rewards are of.
    """
    evidence = "same_task" if all(trial.same_task for trial in trials) else "other_task"
    rewards = [(trial.task, trial.reward) for trial in trials if trial.reward is not None]
    after = [(anchor.before, anchor.after) for anchor in anchors if anchor.after is not None]
    if not rewards or len(rewards) < len(trials) or len(after) < len(anchors):
        return TrialVerdict(Decision.UNDECIDED, "trials_missing", evidence)
    tried = [reference[task] for task in sorted({task for task, _ in rewards})]
    if reward_kind == "binary" and not literal:
        reason = _binary([reward for _, reward in rewards], tried)
    else:
        reason = _continuous([reward - reference[task].reward for task, reward in rewards])
    reason = reason or _anchored(after)
    decision = Decision.ADMITTED if reason is None else Decision.REJECTED
    return TrialVerdict(decision, reason or "gain", evidence)


def more_wins(rewards: Sequence[RewardPair]) -> TrialVerdict:
    """The verdict on a changeset: admitted iff wins exceed losses, over tasks that failed and tasks
    that went well (Mistake Notebook). A difference within the dead band is neither.
    """
    gains = [one.gain for one in rewards]
    if None in gains or not gains:
        return TrialVerdict(Decision.UNDECIDED, "trials_missing", "several_tasks")
    wins = sum(gain is not None and gain > DEAD_BAND for gain in gains)
    losses = sum(gain is not None and gain < -DEAD_BAND for gain in gains)
    if wins > losses:
        return TrialVerdict(Decision.ADMITTED, f"{wins}_wins_{losses}_losses", "several_tasks")
    return TrialVerdict(Decision.REJECTED, f"{wins}_wins_{losses}_losses", "several_tasks")


def posterior(new: tuple[int, int], reference: tuple[int, int]) -> Fraction:
    """P(p_new > p_ref) from (successes, runs) of each, with a flat prior on both; exact."""
    a, b = new[0] + 1, new[1] - new[0] + 1
    c, d = reference[0] + 1, reference[1] - reference[0] + 1
    # Beta(a, b) is the a-th of a + b - 1 uniform points, Beta(c, d) the c-th of c + d - 1: count
    # the ways to deal both so that at least c of the second lie below the a-th of the first.
    total = comb(a + b + c + d - 2, a + b - 1)
    below = sum(comb(a - 1 + c + j, c + j) * comb(b + d - 2 - j, d - 1 - j) for j in range(d))
    return Fraction(below, total)


def trust_of(source: str, *, manages: bool) -> Trust:
    """Trust of an imported memory: a person or a test, on the word of who manages the bank."""
    return Trust.TRUSTED if manages and source in _BELIEVED else Trust.UNVERIFIED


def improvable(reward: float) -> bool:
    """Whether a run left room for a gain that would be admitted."""
    return reward + GAIN <= 1.0 + ROUNDING


def _continuous(gains: Sequence[float]) -> str | None:
    """Why the gains do not suffice; None where they do."""
    n = len(gains)
    mean = fsum(gains) / n
    if mean < GAIN - ROUNDING:
        return "gain_too_small"
    if n < BOUNDED_FROM:
        return None
    deviation = sqrt(fsum((gain - mean) ** 2 for gain in gains) / (n - 1))
    quantile = _T80[min(n - BOUNDED_FROM, len(_T80) - 1)]
    return None if mean - quantile * deviation / sqrt(n) > 0 else "gain_uncertain"


def _binary(rewards: Sequence[float], tried: Sequence[Reference]) -> str | None:
    """Why the successes do not suffice; each task's runs without the candidate count once."""
    new = (sum(reward == 1.0 for reward in rewards), len(rewards))
    known = (round(fsum(one.reward * one.runs for one in tried)), sum(one.runs for one in tried))
    return None if posterior(new, known) >= POSTERIOR else "posterior_too_low"


def _anchored(anchors: Sequence[tuple[float, float]]) -> str | None:
    losses = sum(before - after > DEAD_BAND for before, after in anchors)
    wins = sum(after - before > DEAD_BAND for before, after in anchors)
    return "anchors_lost" if losses > wins else None


WORST = 0.3


WINDOW = 50
"""A stream has no batches: each run is compared with the last so many."""


def disappoints(run: Run) -> bool:
    """Whether a run went worse than was expected of its agent, by more than the dead band."""
    return run.expected is None or run.reward < run.expected - DEAD_BAND


def worst(runs: Sequence[Run]) -> list[Run]:
    """The worst ⌈.3 n⌉ of n task groups, each by its worst run; worst first, of equals the newest,
    so that what failed now is not kept out by what failed as badly before.
    """
    lowest: dict[str, Run] = {}
    for run in sorted(runs, key=_badness):
        lowest.setdefault(run.group, run)
    # The product is rounded first: .3 times 10 must be 3, whatever the last bit says.
    return list(lowest.values())[: ceil(round(WORST * len(lowest), 9))]


def failures(before: Sequence[Run], fresh: Sequence[Run]) -> list[Run]:
    """Which of the fresh runs are among the worst of their window; both in order of arrival.

    `before` are runs that were looked at already: they fill the first windows. A task that comes
    again is judged by how it went this time.
    """
    every = [*before[-WINDOW:], *fresh]
    found: dict[str, Run] = {}
    for start in range(len(every) - len(fresh), len(every), WINDOW):
        end = min(start + WINDOW, len(every))
        own = set(every[start:end])
        groups = {run.group for run in own}
        earlier = [run for run in every[max(0, end - WINDOW) : start] if run.group not in groups]
        for run in worst([*earlier, *own]):
            if run in own:
                found.setdefault(run.group, run)
    return list(found.values())


def _badness(run: Run) -> tuple[float, int]:
    return run.reward, -run.id.int


ANCHORS = 2


@dataclass(frozen=True, slots=True)
class WantedTrial:
    """A run that is asked for; `reference` is the reward without the candidate, if known."""

    purpose: TrialPurpose
    task: UUID
    reference: float | None


def plan(
    source: WantedTrial, group: str, runs: Sequence[Run], trials: int, *, literal: bool = False
) -> list[WantedTrial]:
    """The trials to run; `runs` are earlier ones of the category, the newest first.

    One of the trials goes to another task, where there is one that left room for a gain. By a
    `literal` rule the task that it came from is run again, and nothing else.
    """
    if literal:
        return [source] * trials
    foreign = _one_each(run for run in runs if run.group != group and run.task != source.task)
    others = [run for run in foreign if improvable(run.reward)][:1]
    own = max(1, trials - len(others))
    taken = {run.task for run in others}
    floor = source.reference or 0.0
    good = [run for run in foreign if run.task not in taken and run.reward > floor]
    best = sorted(good, key=lambda run: -run.reward)[:ANCHORS]
    return [
        *[source] * own,
        *(WantedTrial(TrialPurpose.OTHER, run.task, run.reward) for run in others),
        *(WantedTrial(TrialPurpose.ANCHOR, run.task, run.reward) for run in best),
    ]


def plan_changeset(failed: Sequence[WantedTrial], runs: Sequence[Run]) -> list[WantedTrial]:
    """Every task that failed, and the best of the earlier runs of other tasks: a changeset that
    helps where it was made from may do harm elsewhere.
    """
    taken = {one.task for one in failed}
    good = sorted(
        (run for run in _one_each(runs) if run.task not in taken), key=lambda run: -run.reward
    )
    anchors = [WantedTrial(TrialPurpose.ANCHOR, run.task, run.reward) for run in good[:ANCHORS]]
    return [*failed, *anchors]


def _one_each(runs: Iterable[Run]) -> list[Run]:
    """The newest run of each task."""
    newest: dict[UUID, Run] = {}
    for run in runs:
        newest.setdefault(run.task, run)
    return list(newest.values())
