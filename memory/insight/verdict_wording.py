"""Whether memory helps, in a sentence with the number behind it. Pure.

What is said of all categories together comes from one comparison of all their outcomes, never from
the categories that look best. Pairs and random outcomes stay apart: pairs speak where they can.
"""

from collections.abc import Mapping, Sequence

from memory.belief.effect import SHOWN_FROM, Estimate
from memory.insight.overview_entities import Comparison, MeasuredEffect, OverallVerdict, Told
from memory.insight.worth_wording import signed
from memory.kernel.quoting import quote

NAMED = 3
"""So many categories are named; of more it is said how many they are."""


_VERBS: Mapping[Told, str] = {
    "helps": "helps in",
    "harms": "harms in",
    "no_difference": "no difference can be told in",
    "unclear": "not clear in",
    "unknown": "not known yet in",
}


def judge(one: Comparison) -> Told:
    """What the intervals say."""
    told = {_judge(estimate) for estimate in (one.paired, one.randomised)} - {"unknown"}
    if {"helps", "harms"} <= told:
        return "unclear"
    for verdict in ("helps", "harms", "no_difference"):
        if verdict in told:
            return verdict
    return "unknown"


def _judge(estimate: Estimate) -> Told:
    if estimate.low is None or estimate.high is None:
        return "unknown"
    if estimate.low > 0.0:
        return "helps"
    return "harms" if estimate.high < 0.0 else "no_difference"


def summarise_effect(effect: MeasuredEffect) -> OverallVerdict:
    """The verdict on everything that is measured alike."""
    told = judge(effect.together)
    return OverallVerdict(told, _headline(effect.together, told), _by_category(effect.categories))


def _headline(one: Comparison, told: Told) -> str:
    if told == "unknown":
        return f"Not known yet whether memory helps: {missing(one)}."
    if told == "unclear":
        return (
            f"Not clear whether memory helps: pairs say {_number(one.paired)}, "
            f"outcomes drawn at random {_number(one.randomised)}."
        )
    said = {
        "helps": "Memory helps",
        "harms": "Memory harms",
        "no_difference": "Memory makes no difference that can be told",
    }[told]
    return f"{said}: {_evidence(one, told)}."


def _evidence(one: Comparison, told: Told) -> str:
    """The estimate that says so; pairs where both do."""
    if _judge(one.paired) == told:
        pairs = "pair" if one.paired.n == 1 else "pairs"
        return f"{_number(one.paired)} over {one.paired.n:,} {pairs} on {one.paired.dates:,} days"
    return (
        f"{_number(one.randomised)} over {one.randomised.n:,} outcomes, {one.controls:,} of them "
        f"left without memory at random, on {one.randomised.dates:,} days"
    )


def _number(estimate: Estimate) -> str:
    """The mean and half of its interval, which is symmetric."""
    assert estimate.mean is not None
    assert estimate.high is not None
    return f"{signed(estimate.mean)} ± {estimate.high - estimate.mean:.2f} reward"


def missing(one: Comparison) -> str:
    """Why there is no interval yet."""
    drawn = one.randomised.mean is not None
    if not one.paired.n and not drawn:
        if one.randomised.n or one.controls:
            return "the outcomes drawn at random are of one side alone, with memory or without"
        return "no outcome compares a run with memory to one without"
    days = max(one.paired.dates, one.randomised.dates if drawn else 0)
    if days < SHOWN_FROM:
        return f"{days} of {SHOWN_FROM} days have outcomes that compare"
    if one.paired.dates < SHOWN_FROM and one.controls < SHOWN_FROM:
        return f"{one.controls} of {SHOWN_FROM} outcomes without memory"
    return "all days are alike, so nothing was seen of how far they may differ"


def _by_category(categories: Sequence[Comparison]) -> str:
    """How many categories say what; empty where there is one alone."""
    if len(categories) < 2:  # noqa: PLR2004 - of one category the headline has said it
        return ""
    parts: list[str] = []
    for told, verb in _VERBS.items():
        some = [one for one in categories if judge(one) == told]
        if some:
            parts.append(f"{verb} {len(some)} ({_names(some, told)})")
    said = "; ".join(parts)
    return f"Of {len(categories)} categories: {said}."


def _names(some: Sequence[Comparison], told: Told) -> str:
    named = [
        f"{quote(one.category or '')}: {missing(one)}"
        if told == "unknown"
        else quote(one.category or "")
        for one in some[:NAMED]
    ]
    more = len(some) - NAMED
    if more > 0:
        named.append(f"{more} more")
    return "; ".join(named) if told == "unknown" else ", ".join(named)
