"""Figures and targets of the demonstration: pure, from its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from benchmarks import metrics
from clients.demo.snippets.play import ARMS, MEMLIFT, NONE, SIMILARITY
from clients.demo.snippets.summary import (
    Estimate,
    Plays,
    count_followed,
    count_served,
    find_gone,
    gain,
    gain_by_play,
    success,
)

GAINED, WRONG_SHARE = 0.15, 0.2
GAIN = f"{MEMLIFT} - {SIMILARITY}, second half"
BY_PLAY = f"{MEMLIFT} - {SIMILARITY} by play"


def numbers(plays: Plays, weights: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Every figure by name. The second half of the tasks is what counts."""
    half = (1 + max(one.place for attempts in plays.values() for one in attempts)) // 2
    found: dict[str, float] = {}
    for arm in ARMS:
        found |= _spread(f"{arm}, all tasks", success(plays, arm))
        found |= _spread(f"{arm}, second half", success(plays, arm, half))
    found |= _spread(GAIN, gain(plays, MEMLIFT, SIMILARITY, half))
    found |= _spread(f"{MEMLIFT} - {NONE}, second half", gain(plays, MEMLIFT, NONE, half))
    found |= _spread(BY_PLAY, gain_by_play(plays, MEMLIFT, SIMILARITY, half))
    for (seed, repeat), attempts in plays.items():
        alone = gain({(seed, repeat): attempts}, MEMLIFT, SIMILARITY, half)
        found[f"{GAIN}, seed {seed}, play {repeat + 1}"] = alone.mean
    for arm in (SIMILARITY, MEMLIFT):
        for worth in ("right", "wrong"):
            found[f"{arm}: {worth} notes served, second half"] = count_served(
                plays, arm, worth, half
            )
            found[f"{arm}: {worth} notes followed, second half"] = count_followed(
                plays, arm, worth, half
            )
    for worth in ("right", "wrong"):
        found[f"{worth} notes gone"] = sum(len(find_gone(one, worth)) for one in plays.values())
    found |= _by_mode(plays, half)
    found["AUC of weights, right > wrong"] = separation(weights)
    return found


def _by_mode(plays: Plays, half: int) -> dict[str, float]:
    """How often weights had a say in the order, and how well the agent did when they had."""
    late = [
        one
        for attempts in plays.values()
        for one in attempts
        if one.arm == MEMLIFT and one.place >= half
    ]
    found: dict[str, float] = {}
    for mode in ("flat", "weighted"):
        passed = [one.passed for one in late if one.ranker and one.ranker.startswith(f"{mode}/")]
        found[f"{MEMLIFT}: share ordered by {mode} rankers, second half"] = len(passed) / len(late)
        if passed:
            found[f"{MEMLIFT}: success when ordered by {mode} rankers"] = fmean(passed)
    return found


def targets(found: Mapping[str, float]) -> list[metrics.Target]:
    """The gain, that it is more than chance, and how few wrong notes are left."""
    seeds = {name: value for name, value in found.items() if name.startswith(f"{GAIN}, seed")}
    ours, theirs = (
        found.get(f"{arm}: wrong notes served, second half") for arm in (MEMLIFT, SIMILARITY)
    )
    share = ours / theirs if ours is not None and theirs else None
    lows = [found[name] for name in (f"{GAIN}, low", f"{BY_PLAY}, low") if name in found]
    return [
        metrics.at_least(f"success, {GAIN}", GAINED, found.get(GAIN), seeds),
        _above_zero("lower end of its intervals, by topic and by play", min(lows, default=None)),
        metrics.at_most(
            f"wrong notes served, share of {SIMILARITY}, second half", WRONG_SHARE, share, {}
        ),
    ]


def _above_zero(name: str, measured: float | None) -> metrics.Target:
    """Zero itself is not enough."""
    target = metrics.at_least(name, 0.0, measured, {})
    return replace(target, status="missed") if measured == 0.0 else target


def separation(weights: Sequence[Mapping[str, Any]]) -> float:
    """The share of pairs on one topic in which the right note weighs more than the wrong one; a
    tie counts half.
    """
    by_note = {(row["seed"], row["repeat"], row["note"]): float(row["weight"]) for row in weights}
    points: list[float] = []
    for (seed, repeat, note), weight in by_note.items():
        topic, worth = note.split("/")
        if worth == "right":
            other = by_note[seed, repeat, f"{topic}/wrong"]
            points.append(1.0 if weight > other else 0.5 if weight == other else 0.0)
    return sum(points) / len(points) if points else 0.5


def _spread(name: str, found: Estimate) -> dict[str, float]:
    bounds = {f"{name}, low": found.low, f"{name}, high": found.high}
    return {name: found.mean, **{key: end for key, end in bounds.items() if end is not None}}
