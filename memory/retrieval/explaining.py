"""Says of each candidate what selecting did with it, by the very functions that select.

Nothing is decided here: places and what keeps from them come from the walk that serves, the slot's
pool from the draw itself. Who was drawn is told, because chance is not asked twice.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from memory.domain.workings import ByRanker, Fate
from memory.retrieval.candidate import Candidate
from memory.retrieval.rankers import RANKERS, knowledge_age, order_scores
from memory.retrieval.selection import Selection, fates, slot_pool


@dataclass(frozen=True, slots=True)
class Explained:
    """A candidate at its `place` in the ranker's order, from 1; its fate, and the propensity it
    had of being served.
    """

    candidate: Candidate
    place: int
    fate: Fate
    propensity: float
    rankers: Mapping[str, ByRanker]


def explain(
    candidates: Sequence[Candidate],
    selection: Selection,
    drawn: UUID | None = None,
    rankers: Collection[str] = tuple(RANKERS),
) -> tuple[Explained, ...]:
    """All candidates in the ranker's order; `drawn`: the memory that the slot served, if any;
    `rankers`: those whose opinions are wanted.
    """
    walk = list(fates(candidates, selection))
    served = [candidate for candidate, fate in walk if fate is Fate.SERVED]
    chances = _propensities(candidates, selection, served)
    last = served[-1].id if len(served) == selection.k else None
    changed: dict[UUID | None, Fate] = (
        {} if drawn is None else {last: Fate.DISPLACED, drawn: Fate.SLOT}
    )
    by_ranker = _by_ranker(candidates, selection, rankers)
    return tuple(
        Explained(
            candidate=candidate,
            place=place,
            fate=changed.get(candidate.id, fate),
            propensity=chances.get(candidate.id, 0.0),
            rankers=by_ranker[candidate.id],
        )
        for place, (candidate, fate) in enumerate(walk, start=1)
    )


def explain_rivals(candidates: Sequence[Candidate], selection: Selection) -> tuple[Explained, ...]:
    """Where all rankers serve: a candidate is served when one of them serves it, for certain."""
    return tuple(
        replace(one, fate=Fate.SERVED, propensity=1.0)
        if any(by.fate is Fate.SERVED for by in one.rankers.values())
        else one
        for one in explain(candidates, replace(selection, slot_probability=0))
    )


def _propensities(
    candidates: Sequence[Candidate], selection: Selection, served: Sequence[Candidate]
) -> dict[UUID, float]:
    chances = {candidate.id: 1.0 for candidate in served}
    pool = slot_pool(candidates, selection, served)
    if not pool:
        return chances
    if len(served) == selection.k:
        chances[served[-1].id] = 1 - selection.slot_probability
    return chances | {c.id: selection.slot_probability / len(pool) for c in pool}


def _by_ranker(
    candidates: Sequence[Candidate], selection: Selection, rankers: Collection[str]
) -> dict[UUID, dict[str, ByRanker]]:
    """What each of the rankers makes of each candidate."""
    found: dict[UUID, dict[str, ByRanker]] = {candidate.id: {} for candidate in candidates}
    for ranker in rankers:
        scores = order_scores(ranker, candidates, selection.as_of)
        by_id = {c.id: score for c, score in zip(candidates, scores, strict=True)}
        for candidate, fate in fates(candidates, replace(selection, ranker=ranker)):
            age = knowledge_age(ranker, candidate, selection.as_of)
            found[candidate.id][ranker] = ByRanker(by_id[candidate.id], age, fate)
    return found
