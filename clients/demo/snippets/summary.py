"""What a play came to: pure arithmetic over attempts.

Tasks of one topic stand or fall together, so the topics of each seed are the units of an interval,
however many tasks they have and however often they are played. What the server leaves to chance,
such as its rankers, is common to all tasks of a play: that shows between plays alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean

from clients.demo.snippets.play import ARMS, MEMLIFT, SIMILARITY, Attempt

NORMAL_95 = 1.959963984540054
FEW: Mapping[int, float] = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776}
LATELY = 3
"""A note has gone when the last so many tasks of its topic were done without it."""

WINDOW = 50

Play = tuple[int, int]
"""The seed that dealt, and how often it had been played before: the server has its own chance."""

Plays = Mapping[Play, Sequence[Attempt]]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over tasks with its 95 % interval; None where there are fewer than two units."""

    mean: float
    low: float | None
    high: float | None
    tasks: int


def success(plays: Plays, arm: str, since: int = 0) -> Estimate:
    """The share of tasks from `since` on whose tests passed."""
    values = {
        (play, one.topic, one.place): float(one.passed)
        for play, one in _since(plays, since)
        if one.arm == arm
    }
    return _by_topic(values)


def gain(plays: Plays, arm: str, other: str, since: int = 0) -> Estimate:
    """How much more of the same tasks this arm solved than the other."""
    passed = {
        name: {
            (play, one.topic, one.place): float(one.passed)
            for play, one in _since(plays, since)
            if one.arm == name
        }
        for name in (arm, other)
    }
    return _by_topic({task: passed[arm][task] - passed[other][task] for task in passed[arm]})


def gain_by_play(plays: Plays, arm: str, other: str, since: int = 0) -> Estimate:
    """The same with every play as one unit."""
    gains = {
        (play, "", place): gain({play: attempts}, arm, other, since).mean
        for place, (play, attempts) in enumerate(plays.items())
    }
    return _estimate(gains, {key: str(key) for key in gains})


def count_served(plays: Plays, arm: str, worth: str, since: int = 0) -> int:
    """How often notes of this worth stood in what was served."""
    return sum(
        name.endswith(f"/{worth}")
        for _, one in _since(plays, since)
        if one.arm == arm
        for name in one.served
    )


def count_followed(plays: Plays, arm: str, worth: str, since: int = 0) -> int:
    """How often the agent did what a note of this worth says."""
    return sum(
        one.followed is not None and one.followed.endswith(f"/{worth}")
        for _, one in _since(plays, since)
        if one.arm == arm
    )


def find_gone(attempts: Sequence[Attempt], worth: str) -> list[str]:
    """Notes that MemLift served once and does not serve any more, though plain similarity does."""
    served = {(one.arm, one.place): one.served for one in attempts}
    gone: list[str] = []
    for topic, places in _places(attempts).items():
        note, last = f"{topic}/{worth}", places[-LATELY:]
        before = any(note in served[MEMLIFT, place] for place in places)
        now = any(note in served[MEMLIFT, place] for place in last)
        otherwise = any(note in served[SIMILARITY, place] for place in last)
        if before and otherwise and not now:
            gone.append(note)
    return gone


def curves(attempts: Sequence[Attempt], window: int = WINDOW) -> dict[str, list[float]]:
    """Success over the last `window` tasks, after every task, by arm."""
    found: dict[str, list[float]] = {}
    for arm in ARMS:
        passed = [one.passed for one in attempts if one.arm == arm]
        found[arm] = [
            fmean(passed[max(0, end - window) : end]) for end in range(1, len(passed) + 1)
        ]
    return found


def _since(plays: Plays, since: int) -> Iterator[tuple[Play, Attempt]]:
    for play, attempts in plays.items():
        yield from ((play, one) for one in attempts if one.place >= since)


def _places(attempts: Sequence[Attempt]) -> dict[str, list[int]]:
    """The places of each topic's tasks, in order."""
    places: dict[str, list[int]] = {}
    for one in attempts:
        if one.arm == MEMLIFT:
            places.setdefault(one.topic, []).append(one.place)
    return places


Key = tuple[Play, str, int]
"""A task in a play: its topic and its place."""


def _by_topic(values: Mapping[Key, float]) -> Estimate:
    return _estimate(values, {key: f"{key[0][0]} {key[1]}" for key in values})


def _estimate(values: Mapping[Key, float], units_of: Mapping[Key, str]) -> Estimate:
    return estimate_by_unit(list(values.values()), [units_of[key] for key in values])


def estimate_by_unit(values: Sequence[float], units: Sequence[object]) -> Estimate:
    """The mean, its error from the sums of what each unit deviates by; `units` names that of each
    value.
    """
    mean = fmean(values)
    sums: dict[object, float] = {}
    for value, unit in zip(values, units, strict=True):
        sums[unit] = sums.get(unit, 0.0) + value - mean
    count = len(sums)
    if count == 1:
        return Estimate(mean, None, None, len(values))
    error = sqrt(count / (count - 1) * sum(part**2 for part in sums.values())) / len(values)
    half = _student(count - 1) * error
    return Estimate(mean, mean - half, mean + half, len(values))


def _student(freedom: int) -> float:
    """The two-sided 95 % point of Student's t; from five degrees on by its expansion."""
    if freedom in FEW:
        return FEW[freedom]
    z = NORMAL_95
    first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2
