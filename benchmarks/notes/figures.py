"""Figures and targets of the suite: pure, from the rows of its arms."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmarks import metrics
from benchmarks.metrics import Target
from benchmarks.notes.arms import MEMLIFT, SIMILARITY
from benchmarks.notes.player import Done, Weight
from clients.demo.snippets.summary import Estimate, estimate_by_unit

REPORTED = (1, 2)
"""The orders that are reported; 0 is the one that constants are chosen on."""

BANK, SMALL_BANK, MODEL_BANK = 1000, 300, 150
EARLY = 500
GAINED, GAIN_AIM = 0.045, 0.055
RIGHT, RIGHT_AIM = 0.51, 0.53
EARLY_GAINED, EARLY_AIM = 0.015, 0.035
MODEL_GAINED = 0.06


@dataclass(frozen=True, slots=True, order=True)
class Play:
    """One bank in one order."""

    bank: int
    order: int

    def __str__(self) -> str:
        return f"bank-{self.bank}-order-{self.order}"


@dataclass(frozen=True, slots=True)
class Played:
    """What one arm left behind; `whole` once it came to its end."""

    tasks: Sequence[Done]
    weights: Sequence[Weight]
    whole: bool


Plays = Mapping[Play, Mapping[str, Played]]
Pairs = Sequence[tuple[Sequence[Done], Sequence[Done]]]
"""The tasks of two arms, of each order."""

Worth = Callable[[Done], float]


@dataclass(frozen=True, slots=True)
class Summary:
    """What the rows amount to."""

    numbers: dict[str, float]
    targets: list[Target]


def score(one: Done) -> float:
    """The reward: 1 less half the squared distance."""
    return 1.0 - one.loss


def is_right(one: Done) -> float:
    return float(one.right)


def summarise(plays: Plays, *, model: bool) -> Summary:
    """`model`: a language model answered, which has one target of its own."""
    return Summary(describe(plays), _model_targets(plays) if model else _vote_targets(plays))


def describe(plays: Plays) -> dict[str, float]:
    """Every figure of every arm, and what each differs by from similarity alone."""
    numbers: dict[str, float] = {}
    for play, arms in sorted(plays.items()):
        for name, played in arms.items():
            numbers |= {f"{play}, {name}, {k}": v for k, v in _arm(played).items()}
            if SIMILARITY in arms and name != SIMILARITY:
                gains = _gains(played.tasks, arms[SIMILARITY].tasks)
                numbers |= {f"{play}, {name} - {SIMILARITY}, {k}": v for k, v in gains.items()}
    return numbers


def _arm(played: Played) -> dict[str, float]:
    tasks = played.tasks
    found = {
        "tasks": float(len(tasks)),
        "Brier": fmean(one.loss for one in tasks),
        "accuracy": fmean(map(is_right, tasks)),
        "accuracy, last half": fmean(map(is_right, last_half(tasks))),
        "Brier, first 500": fmean(one.loss for one in tasks[:EARLY]),
        "ms of a retrieval": fmean(one.ms for one in tasks),
    }
    served = sum(one.served for one in last_half(tasks))
    if served:
        right = sum(one.served_right for one in last_half(tasks))
        found["right among served, last half"] = right / served
    if played.weights:
        found |= _weights(played.weights)
    return found


def _weights(weights: Sequence[Weight]) -> dict[str, float]:
    retired = [one for one in weights if one.retired]
    found = {
        "notes": float(len(weights)),
        "notes that are right": float(sum(one.right for one in weights)),
        "retired": float(len(retired)),
        "retired that are right": float(sum(one.right for one in retired)),
        "served a note": fmean(one.served for one in weights),
    }
    good = [one.weight for one in weights if one.right]
    bad = [one.weight for one in weights if not one.right]
    if good and bad:
        found["AUC of weights"] = area(good, bad)
    return found


def area(good: Sequence[float], bad: Sequence[float]) -> float:
    """How often a right note weighs more than a wrong one, a tie being half (Mann and Whitney)."""
    wins = sum((a > b) + 0.5 * (a == b) for a in good for b in bad)
    return wins / (len(good) * len(bad))


def _gains(tasks: Sequence[Done], others: Sequence[Done]) -> dict[str, float]:
    found: dict[str, float] = {}
    count = min(len(tasks), len(others))
    half = count // 2
    for name, worth, part in (
        ("gain", score, slice(count)),
        ("gain, first 500", score, slice(min(EARLY, count))),
        ("gain, last half", score, slice(half, count)),
        ("accuracy", is_right, slice(count)),
        ("accuracy, last half", is_right, slice(half, count)),
    ):
        found |= _spread(name, pool([(tasks[part], others[part])], worth))
    return found


def pool(pairs: Pairs, worth: Worth) -> Estimate:
    """How much more the first of each pair is worth on the same tasks; dates are the units. Raises
    ValueError where the tasks are not the same.
    """
    values: list[float] = []
    units: list[tuple[int, int]] = []
    for place, (tasks, others) in enumerate(pairs):
        for one, other in zip(tasks, others, strict=True):
            if one.id != other.id:
                raise ValueError(f"the arms did not answer the same tasks: {one.id}, {other.id}")
            values.append(worth(one) - worth(other))
            units.append((place, one.date))
    return estimate_by_unit(values, units)


def last_half(tasks: Sequence[Done]) -> Sequence[Done]:
    return tasks[len(tasks) // 2 :]


def curve(tasks: Sequence[Done], window: int) -> list[float]:
    """Accuracy over the last `window` tasks, after every task from the `window`th on."""
    right = [one.right for one in tasks]
    return [sum(right[end - window : end]) / window for end in range(window, len(right) + 1)]


def _spread(name: str, found: Estimate) -> dict[str, float]:
    if found.low is None or found.high is None:
        return {name: found.mean}
    return {name: found.mean, f"{name}, low": found.low, f"{name}, high": found.high}


def pair_reported(plays: Plays, bank: int, arm: str = MEMLIFT) -> Pairs:
    """The tasks of `arm` and those of similarity, of each reported order that both finished."""
    both = (
        (arms[arm], arms[SIMILARITY])
        for play, arms in sorted(plays.items())
        if play.bank == bank and play.order in REPORTED and {arm, SIMILARITY} <= arms.keys()
    )
    return [(one.tasks, other.tasks) for one, other in both if one.whole and other.whole]


def _vote_targets(plays: Plays) -> list[Target]:
    pairs = pair_reported(plays, BANK)
    early = [(one[:EARLY], other[:EARLY]) for one, other in pairs]
    late = [done for one, _ in pairs for done in last_half(one)]
    right = fmean(map(is_right, late)) if late else None
    name = f"{MEMLIFT} - {SIMILARITY}, bank of {BANK}, reported orders"
    return [
        aim_at_least(f"{name}: gain", GAINED, gain(pairs), aim=GAIN_AIM),
        metrics.at_least(
            f"{MEMLIFT}, bank of {BANK}, reported orders: accuracy, last half",
            RIGHT,
            right,
            {"aim": RIGHT_AIM},
        ),
        aim_at_least(f"{name}: gain, first {EARLY}", EARLY_GAINED, gain(early), aim=EARLY_AIM),
    ]


def _model_targets(plays: Plays) -> list[Target]:
    late = [(last_half(one), last_half(other)) for one, other in pair_reported(plays, MODEL_BANK)]
    found = pool(late, is_right) if late else None
    name = f"{MEMLIFT} - {SIMILARITY}, a language model: accuracy, last halves of reported orders"
    low = None if found is None else found.low
    return [
        aim_at_least(name, MODEL_GAINED, found),
        metrics.at_least(f"{name}, lower end of the interval", 0.0, low, {}),
    ]


def gain(pairs: Pairs) -> Estimate | None:
    """How much less the first loses than the second; None where neither has played."""
    return pool(pairs, score) if pairs else None


def aim_at_least(
    name: str, target: float, found: Estimate | None, aim: float | None = None
) -> Target:
    parts = {} if aim is None else {"aim": aim}
    if found is not None and found.low is not None and found.high is not None:
        parts |= {"low": found.low, "high": found.high, "tasks": float(found.tasks)}
    return metrics.at_least(name, target, None if found is None else found.mean, parts)
