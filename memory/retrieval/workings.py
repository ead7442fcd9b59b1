"""What a retrieval can say of itself, stage by stage: replayed by the functions that served it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from memory.belief.policy import policy_named
from memory.belief.rankers import RANKERS, Candidate, knowledge_age, order_scores
from memory.belief.weight_view import WeightView
from memory.guidelines.entities import CutReason
from memory.receipts.entities import Fate, Item
from memory.retrieval.context import Found
from memory.retrieval.entities import ByRanker, Considered, RoutedBy, Routing, Workings
from memory.retrieval.following import ranker_shares
from memory.retrieval.receipts import WHY_CUT
from memory.retrieval.selection import Selection, fates, slot_pool
from memory.retrieval.serving import Ranked, Serving
from memory.tasks.entities import CategoryName
from memory.tenancy.entities import Call

PREVIEW = "preview"


SHOWN = 256
"""So many candidates are told of, beside those that are served: the head of the largest k."""


_WHY = {
    Fate.SERVED: "place {place} in the order of {ranker}",
    Fate.EXPLORATION_SLOT: "drawn into the last place, because it has been credited least",
    Fate.DISPLACED: "the last place was its own, and was given at random to one credited less",
    Fate.RAW_GATE: "similarity {similarity:.3f} is below the gate {raw:.3f}",
    Fate.SCORE_FLOOR: "{measure} {measured:.3f} is below the floor {floor:.3f}",
    Fate.GROUP: "a better placed memory of the same source group has a place",
    Fate.PROBATION: "the one place for a memory on probation is taken",
    Fate.BEYOND_K: "better placed memories have taken all {k} places",
}


def workings_of(
    call: Call, found: Found, ranked: Ranked, serving: Serving, laps: Mapping[str, float]
) -> Workings:
    """Numbers of every stage; the texts of candidates only in a preview."""
    explained = _explained(found, ranked, serving)
    teller = _Teller(call, found, ranked, serving)
    return Workings(
        routing=_routing(found),
        matching=found.weighed.head.matching,
        head=len(explained),
        considered=tuple(
            teller.told(one)
            for one in explained
            if one.place <= SHOWN or one.candidate.id in teller.items
        ),
        shares=_shares(call, found, ranked),
        timings=dict(laps),
    )


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


def _explained(found: Found, ranked: Ranked, serving: Serving) -> tuple[Explained, ...]:
    everyone = ranked.everyone()
    if found.asked.ask.all_rankers:
        return explain_rivals(everyone, ranked.selection)
    drawn = next((item.memory_id for item in serving.items if item.exploration_slot), None)
    return explain(everyone, ranked.selection, drawn, tuple(ranked.rankers))


def _routing(found: Found) -> Routing:
    by = RoutedBy.NEAREST if found.confidence > 0 else RoutedBy.NONE_NEAR
    if found.asked.task is not None:
        by = RoutedBy.TASK
    elif found.asked.category is not None:
        by = RoutedBy.CALLER
    return Routing(by, found.confidence, found.nearby)


def _shares(call: Call, found: Found, ranked: Ranked) -> Mapping[str, float]:
    """How far each ranker is believed, which is not how likely it was to be drawn."""
    if not policy_named(call.namespace.policy).guarded:
        return ranked.rankers
    return ranker_shares(
        found.following.records,
        found.category_ids.category,
        found.asked.as_of,
        signal=call.namespace.signal,
    )


class _Teller:
    """Tells of candidates of one retrieval."""

    def __init__(self, call: Call, found: Found, ranked: Ranked, serving: Serving) -> None:
        self._ranked = ranked
        self._serving = serving
        self._ask = found.asked.ask
        policy = policy_named(call.namespace.policy)
        self._view = WeightView(found.agent.id, found.asked.as_of, policy, found.past)
        self.items: Mapping[object, Item] = {item.memory_id: item for item in serving.items}
        self._cut = {cut.memory_id: cut.reason for cut in serving.guideline.cut}

    def told(self, one: Explained) -> Considered:
        candidate, item = one.candidate, self.items.get(one.candidate.id)
        row, preview = self._ranked.rows[candidate.id], self._ask.purpose == PREVIEW
        return Considered(
            memory_id=candidate.id,
            version=candidate.version,
            place=one.place,
            fate=one.fate,
            why=self._why(one, item),
            similarity=candidate.similarity,
            relevance=candidate.relevance,
            effective_weight=candidate.effective_weight,
            ranking_weight=candidate.ranking_weight,
            deviation=self._view.deviation_in_weight(row),
            score=candidate.score,
            propensity=one.propensity,
            served=item is not None and item.served,
            cited=item is not None and item.cited,
            credited=candidate.credited,
            probation=candidate.probation,
            group=candidate.group,
            learned_at=candidate.learned_at,
            agent=row.agent,
            category=CategoryName(row.category, row.subcategory),
            situation=row.situation if preview else None,
            lesson=row.lesson if preview else None,
            rankers=one.rankers,
        )

    def _why(self, one: Explained, item: Item | None) -> str:
        parts = [self._place(one)]
        if item is not None and not item.served:
            parts.append(f"not served: the arm was {self._serving.assignment.arm}")
        if one.candidate.id in self._cut:
            reason = WHY_CUT[CutReason(self._cut[one.candidate.id])]
            parts.append(f"not in the guideline: {reason}")
        return "; ".join(parts)

    def _place(self, one: Explained) -> str:
        selection = self._ranked.selection
        if self._ask.all_rankers and one.fate is Fate.SERVED:
            having = sum(by.fate is Fate.SERVED for by in one.rankers.values())
            return f"served by {having} of {len(RANKERS)} rankers"
        weighted = RANKERS[selection.ranker].weighted
        return _WHY[one.fate].format(
            place=one.place,
            ranker=selection.ranker,
            similarity=one.candidate.similarity,
            raw=selection.gates.raw,
            measure="effective weight times relevance" if weighted else "relevance",
            measured=one.candidate.score if weighted else one.candidate.relevance,
            floor=selection.gates.score,
            k=selection.k,
        )


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
        {} if drawn is None else {last: Fate.DISPLACED, drawn: Fate.EXPLORATION_SLOT}
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
