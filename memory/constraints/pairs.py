"""Runs of one task become pairs: which run is compared with which, and as what. Pure.

MemCollab (arXiv 2603.23234) prefers the weaker agent's run when it is right, else the stronger
one's: of two wrong runs one is then called the better, and of two right ones one the worse. Here
the verdicts decide alone, and what they do not decide is not distilled.
"""

from collections.abc import Sequence
from functools import partial
from itertools import pairwise

from memory.constraints.checks.same_task import OTHER_TASK
from memory.constraints.contrast_entities import PairClass, RunPair, RunSketch
from memory.constraints.proof import NO_VERDICT, reason_against

MAX_PAIRS = 8
"""The most pairs a group makes at once, whatever its size."""


CHEAPER = 0.7
"""Of two right runs one is preferred when it took at most this share of the other's cost; where not
every run names its cost, of the other's steps.
"""


CLOSE = 1e-9


def pairs_of(group: Sequence[RunSketch]) -> list[RunPair]:
    """The pairs of one task's runs, those of each version of the task by themselves."""
    variants = list(dict.fromkeys(run.variant for run in group))
    return [
        pair
        for variant in variants
        for pair in _pairs_of_variant([run for run in group if run.variant == variant])
    ]


def _pairs_of_variant(group: Sequence[RunSketch]) -> list[RunPair]:
    """The best right run for each wrong one; without a wrong one the
    cheapest right run against the dearest; without a right one two wrong runs; and where fewer than
    two have a verdict, one pair that is refused.
    """
    rights = [run for run in group if run.right is True]
    wrongs = [run for run in group if run.right is False]
    if rights and wrongs:
        return _discordant(rights, wrongs)
    if len(rights) > 1:
        return _both_right(rights)
    if len(wrongs) > 1:
        return [_both_wrong(wrongs)]
    return _unknown(group)


def _discordant(rights: Sequence[RunSketch], wrongs: Sequence[RunSketch]) -> list[RunPair]:
    # What no right run is far from, nor vouched for, comes last; its place decides between equals.
    best = min(rights, key=lambda run: (*_standing(run), run.id))
    chosen = sorted(wrongs, key=lambda run: (*_standing(run)[:2], _kinship(best, run), run.id))
    pairs: list[RunPair] = []
    for wrong in chosen[:MAX_PAIRS]:
        right = min(rights, key=partial(_fitness, wrong))
        pairs.append(_pair(right, wrong, PairClass.DISCORDANT))
    return pairs


def _both_right(rights: Sequence[RunSketch]) -> list[RunPair]:
    """At most one: of other families rather than of one, and then the furthest apart."""
    priced = all(run.cost is not None for run in rights)
    spent = {run.id: (run.cost or 0.0) if priced else float(run.n_steps) for run in rights}
    worded = [run for run in rights if not run.wordless] or list(rights)
    ordered = sorted(worded, key=lambda run: (spent[run.id], run.id))
    found = [
        (_kinship(cheap, dear), spent[cheap.id] - spent[dear.id], place, cheap, dear)
        for place, cheap in enumerate(ordered[:MAX_PAIRS])
        for dear in ordered[-MAX_PAIRS:]
        if _cheaper(spent[cheap.id], spent[dear.id])
    ]
    if not found:
        return []
    *_, cheap, dear = min(found, key=lambda one: (*one[:3], one[-1].id))
    return [_pair(cheap, dear, PairClass.BOTH_RIGHT)]


def _cheaper(less: float, more: float) -> bool:
    return more > 0.0 and less <= CHEAPER * more * (1.0 + CLOSE)


def _both_wrong(wrongs: Sequence[RunSketch]) -> RunPair:
    """The two best vouched for, of other families rather than of one."""
    first = min(wrongs, key=lambda run: (*_standing(run)[:2], run.id))
    others = [run for run in wrongs if run.id != first.id]
    second = min(
        others, key=lambda run: (run.wordless, _kinship(first, run), *_standing(run), run.id)
    )
    return _pair(first, second, PairClass.BOTH_WRONG)


def _unknown(group: Sequence[RunSketch]) -> list[RunPair]:
    ordered = sorted(group, key=lambda run: (run.right is None, run.id))
    return [_pair(one, other, PairClass.UNKNOWN) for one, other in pairwise(ordered[:2])]


def _fitness(wrong: RunSketch, run: RunSketch) -> tuple[object, ...]:
    """Best verified first; among equals of another family, then of another agent, then the better
    run, then the cheaper.
    """
    wordless, rank, worse = _standing(run)
    cost = run.cost if run.cost is not None else run.n_steps
    return wordless, rank, _kinship(run, wrong), worse, cost, run.id


def _standing(run: RunSketch) -> tuple[bool, int, float]:
    """Smaller is better: with words, well verified, well rewarded."""
    return run.wordless, -run.verdict.rank, -(run.reward or 0.0)


def _kinship(one: RunSketch, other: RunSketch) -> int:
    """0: different families; 1: different agents; 2: the same agent."""
    if one.agent_id == other.agent_id:
        return 2
    known = one.family is not None and other.family is not None
    return 0 if known and one.family != other.family else 1


def _pair(preferred: RunSketch, unpreferred: RunSketch, pair_class: PairClass) -> RunPair:
    return RunPair(preferred, unpreferred, pair_class, find_fault(preferred, unpreferred))


def find_fault(one: RunSketch, other: RunSketch) -> str | None:
    """Why the two are no support for anything, if so: nobody judged one, one is not about what its
    task is about, or their verdicts prove nothing.
    """
    if one.right is None or other.right is None:
        return NO_VERDICT
    if one.refused is not None or other.refused is not None:
        return OTHER_TASK
    return reason_against(one.verdict, other.verdict)
