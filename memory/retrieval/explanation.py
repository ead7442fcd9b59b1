"""What a retrieval can say of itself: stage by stage, replayed by the functions that served it, and
a sentence for each memory of a receipt.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from memory.belief.inclusion import KEPT, LOWEST, Coin, Footing
from memory.belief.rankers import (
    ASKED,
    RANKERS,
    Candidate,
    knowledge_age,
    nearness,
    order_scores,
)
from memory.kernel.quoting import shown
from memory.memories.entities import Kind
from memory.receipts.entities import Fate, Item, Receipt
from memory.receipts.guideline_entities import CutReason
from memory.receipts.search_entities import QueriesBy
from memory.retrieval.context import Context
from memory.retrieval.entities import (
    Advice,
    Considered,
    Explanation,
    RankerView,
    RoutedBy,
    Routing,
)
from memory.retrieval.ranking import Ranking, ranker_shares
from memory.retrieval.selection import Selection, fates, slot_pool, walk_places
from memory.tenancy.entities import Call

SHOWN = 256
"""So many candidates are described, beside those that are served: the head of the largest k."""


_LEFT_OUT = (
    "left out by its coin, which keeps it with probability {p:.2f}: runs without it show what it is"
    " worth"
)


_LEFT_OUT_BELOW_FLOOR = (
    "left out: its weight took its score below the floor; it is tried again with probability"
    " {p:.2f}"
)


_OUTSHONE = (
    "left out: it is believed to harm, and a memory that is believed to help is there; it is tried"
    " again with probability {p:.2f}"
)


_WHY_LEFT_OUT = {
    Footing.BELOW: _LEFT_OUT_BELOW_FLOOR,
    Footing.ALL_BELOW: _LEFT_OUT_BELOW_FLOOR,
    Footing.OUTSHONE: _OUTSHONE,
}


_WHY = {
    Fate.SERVED: "place {place} in the order of {ranker}",
    Fate.EXPLORATION_SLOT: "drawn into the last place, because it has been credited least",
    Fate.DISPLACED: "the last place was its own, and was given at random to one credited less",
    Fate.RAW_GATE: "similarity {similarity:.3f} is below the gate {raw:.3f}",
    Fate.SCORE_FLOOR: "{measure} {measured:.3f} is below the floor {floor:.3f}",
    Fate.GROUP: "a better placed memory of the same source group has a place",
    Fate.LOOK_ALIKE: "a memory that says the same and has earned more has a place",
    Fate.PROBATION: "the one place for a memory on probation is taken",
    Fate.AUTHOR_SHARE: "its author has all places but the last, and another's memory waits",
    Fate.LEFT_OUT: _LEFT_OUT,
    Fate.BEYOND_K: "better placed memories have taken all {k} places",
}


WHY_CUT = {
    CutReason.BUDGET: "the budget was spent",
    CutReason.QUARANTINED: "its source is not believed",
    CutReason.EMPTY: "nothing of it was left to show",
    CutReason.LEFT_OUT: "the language model had no use for it",
    CutReason.CATEGORY: "the meta-guideline leaves out other categories",
    CutReason.DISAGREEMENT: "it disagrees with others, and the meta-guideline left it out",
    CutReason.MAX_MEMORIES: "the meta-guideline asks for fewer memories",
}


def explain_ranking(
    call: Call, ranking: Ranking, advice: Advice, laps: Mapping[str, float]
) -> Explanation:
    """Numbers of every stage; the texts of candidates only in a preview."""
    placed = _place_candidates(ranking, advice)
    describer = _Describer(ranking, advice)
    return Explanation(
        routing=_routing(ranking.context),
        matching=ranking.context.head.matching,
        head=len(placed),
        considered=tuple(
            describer.describe(one)
            for one in placed
            if one.place <= SHOWN or one.candidate.id in describer.items
        ),
        shares=_shares(call, ranking),
        timings=dict(laps),
    )


@dataclass(frozen=True, slots=True)
class PlacedCandidate:
    """A candidate at its `place` in the ranker's order, from 1; its fate, and the propensity it
    had of being served.
    """

    candidate: Candidate
    place: int
    fate: Fate
    propensity: float
    rankers: Mapping[str, RankerView]


def _place_candidates(ranking: Ranking, advice: Advice) -> tuple[PlacedCandidate, ...]:
    everyone = ranking.everyone()
    if ranking.context.request.all_rankers:
        return place_for_all(everyone, ranking.selection)
    items = advice.receipt.items
    drawn = next((item.memory_id for item in items if item.exploration_slot), None)
    return place_candidates(everyone, ranking.selection, drawn, tuple(ranking.rankers))


def _routing(context: Context) -> Routing:
    by = RoutedBy.NEAREST if context.confidence > 0 else RoutedBy.NONE_NEAR
    if context.task is not None:
        by = RoutedBy.TASK
    elif context.request.task is not None and context.request.task.category is not None:
        by = RoutedBy.CALLER
    return Routing(by, context.confidence, context.near)


def _shares(call: Call, ranking: Ranking) -> Mapping[str, float]:
    """How far each ranker is believed, which is not how likely it was to be drawn."""
    if not ranking.view.policy.guarded or ranking.context.request.all_rankers:
        return dict(ranking.rankers)
    context = ranking.context
    records, category = context.states.records, context.category_ids.category
    return dict(ranker_shares(records, category, context.as_of, signal=call.namespace.signal))


class _Describer:
    """Describes the candidates of one retrieval."""

    def __init__(self, ranking: Ranking, advice: Advice) -> None:
        self._ranking = ranking
        self._request = ranking.context.request
        self._arm = advice.receipt.arm
        self.items: Mapping[object, Item] = {item.memory_id: item for item in advice.receipt.items}
        self._cut = {cut.memory_id: cut.reason for cut in advice.receipt.guideline.cut}

    def describe(self, one: PlacedCandidate) -> Considered:
        candidate, item = one.candidate, self.items.get(one.candidate.id)
        row, preview = self._ranking.rows[candidate.id], self._request.is_preview
        return Considered(
            memory_id=candidate.id,
            version=candidate.version,
            place=one.place,
            fate=one.fate,
            why=self._why(one, item),
            similarity=candidate.similarity,
            relevance=candidate.relevance,
            fused=candidate.fused,
            effective_weight=candidate.effective_weight,
            ranking_weight=candidate.ranking_weight,
            deviation=self._ranking.view.deviation_in_weight(row),
            score=candidate.score,
            propensity=one.propensity,
            identifiers=self._ranking.context.head.named.get(candidate.id, ()),
            inclusion=self._inclusion(candidate),
            contender=item is not None and item.contender,
            served=item is not None and item.served,
            cited=item is not None and item.cited,
            credited=candidate.credited,
            probation=candidate.probation,
            source_group=candidate.group,
            learned_at=candidate.learned_at,
            agent=row.agent,
            category=row.category,
            subcategory=row.subcategory,
            situation=row.situation if preview else None,
            lesson=row.lesson if preview else None,
            rankers=one.rankers,
        )

    def _inclusion(self, candidate: Candidate) -> float | None:
        coin = self._coin(candidate)
        return None if coin is None else coin.p

    def _coin(self, candidate: Candidate) -> Coin | None:
        """As the ranker has it, tossed or not."""
        coin = self._ranking.inclusions.get(candidate.id)
        weighted = RANKERS[self._ranking.selection.ranker].weighted
        return None if coin is None else coin.seen_by(weighted=weighted)

    def _why(self, one: PlacedCandidate, item: Item | None) -> str:
        parts = [self._place(one)]
        if named := self._ranking.context.head.named.get(one.candidate.id):
            parts.append(f"found by name: {', '.join(map(shown, named))}")
        if one.candidate.fused is not None:
            parts.append(f"{one.candidate.fused:.3f} with the words that it shares with the task")
        if self._request.is_preview:
            parts += _say_trial(one, self._coin(one.candidate) or KEPT)
        if item is not None and not item.served and not item.left_out:
            parts.append(f"not served: the arm was {self._arm}")
        if one.candidate.id in self._cut:
            parts.append(f"not in the guideline: {WHY_CUT[self._cut[one.candidate.id]]}")
        return "; ".join(parts)

    def _place(self, one: PlacedCandidate) -> str:
        selection = self._ranking.selection
        coin = selection.coin(one.candidate)
        if one.fate is Fate.LEFT_OUT and coin.footing in _WHY_LEFT_OUT:
            return _WHY_LEFT_OUT[coin.footing].format(p=coin.p)
        if self._request.all_rankers and one.fate is Fate.SERVED:
            having = sum(by.fate is Fate.SERVED for by in one.rankers.values())
            return f"served by {having} of {len(ASKED)} rankers"
        weighted = RANKERS[selection.ranker].weighted
        return _WHY[one.fate].format(
            place=one.place,
            ranker=selection.ranker,
            similarity=one.candidate.similarity,
            raw=selection.gates.raw,
            measure="effective weight times relevance" if weighted else "relevance",
            measured=one.candidate.floor_score if weighted else one.candidate.nearness,
            floor=selection.gates.score,
            k=selection.k,
            p=coin.p,
        )


def _say_trial(one: PlacedCandidate, coin: Coin) -> list[str]:
    """In a preview: what a coin would do, where an agent acted."""
    if one.fate is Fate.SERVED and coin.p < 1:
        return [f"an agent that acts gets it with probability {coin.p:.2f}, to tell memories apart"]
    if one.fate is Fate.SCORE_FLOOR and coin.below_floor:
        return [f"an agent that acts may get it with probability {coin.p:.2f}, to try it again"]
    return []


def place_candidates(
    candidates: Sequence[Candidate],
    selection: Selection,
    drawn: UUID | None = None,
    rankers: Collection[str] = tuple(RANKERS),
) -> tuple[PlacedCandidate, ...]:
    """All candidates in the ranker's order; `drawn`: what the exploration slot served, if anything;
    `rankers`: those whose opinions are wanted.
    """
    walk = list(fates(candidates, selection))
    served = [candidate for candidate, fate in walk if fate is Fate.SERVED]
    chances = _propensities(candidates, selection)
    last = served[-1].id if len(served) == selection.k else None
    changed: dict[UUID | None, Fate] = (
        {} if drawn is None else {last: Fate.DISPLACED, drawn: Fate.EXPLORATION_SLOT}
    )
    by_ranker = _by_ranker(candidates, selection, rankers)
    return tuple(
        PlacedCandidate(
            candidate=candidate,
            place=place,
            fate=changed.get(candidate.id, fate),
            propensity=chances.get(candidate.id, 0.0),
            rankers=by_ranker[candidate.id],
        )
        for place, (candidate, fate) in enumerate(walk, start=1)
    )


def place_for_all(
    candidates: Sequence[Candidate], selection: Selection
) -> tuple[PlacedCandidate, ...]:
    """Where all rankers serve: a candidate is served when one of them serves it, for certain."""
    return tuple(
        replace(one, fate=Fate.SERVED, propensity=1.0)
        if any(by.fate is Fate.SERVED for by in one.rankers.values())
        else one
        for one in place_candidates(
            candidates, replace(selection, slot_probability=0), rankers=ASKED
        )
    )


def _propensities(candidates: Sequence[Candidate], selection: Selection) -> dict[UUID, float]:
    walk = walk_places(candidates, selection)
    placed = [(c, rank) for rank, c in enumerate(walk.served, start=1)]
    pool = slot_pool(candidates, selection, walk)
    undisplaced = 1 - selection.slot_probability if pool else 1.0
    chances = {
        c.id: selection.coin(c).p * (undisplaced if rank == selection.k else 1.0)
        for c, rank in (*placed, *walk.left_out)
    }
    return chances | {c.id: selection.slot_probability / len(pool) for c in pool}


def _by_ranker(
    candidates: Sequence[Candidate], selection: Selection, rankers: Collection[str]
) -> dict[UUID, dict[str, RankerView]]:
    """What each of the rankers makes of each candidate."""
    views: dict[UUID, dict[str, RankerView]] = {candidate.id: {} for candidate in candidates}
    for ranker in rankers:
        scores = order_scores(ranker, candidates, selection.as_of)
        by_id = {c.id: score for c, score in zip(candidates, scores, strict=True)}
        for candidate, fate in fates(candidates, replace(selection, ranker=ranker)):
            age = knowledge_age(ranker, candidate, selection.as_of)
            views[candidate.id][ranker] = RankerView(by_id[candidate.id], age, fate)
    return views


def explain_items(receipt: Receipt) -> Receipt:
    """The receipt with a sentence for each memory."""
    items = tuple(replace(item, sentence=_sentence(receipt, item)) for item in receipt.items)
    return replace(receipt, items=items)


def _sentence(receipt: Receipt, item: Item) -> str:
    parts = _reasons(receipt, item)
    if item.exploration_slot:
        parts.append("drawn into the last place because it has been credited least")
    if item.left_out:
        # Others may lie there too, but with coins of their own.
        lift = nearness(item.relevance, is_exact=bool(item.identifiers)) - item.relevance
        score = item.score + item.effective_weight * lift
        below = item.inclusion == LOWEST and score < receipt.gates.score
        parts.append((_LEFT_OUT_BELOW_FLOOR if below else _LEFT_OUT).format(p=item.inclusion))
    elif not item.served:
        parts.append(f"not served: the arm was {receipt.arm}")
    elif not item.cited:
        reasons = {cut.memory_id: cut.reason for cut in receipt.guideline.cut}
        why = WHY_CUT[reasons.get(item.memory_id, CutReason.BUDGET)]
        parts.append(f"not in the guideline: {why}")
    return "; ".join(parts) + f". Propensity {item.propensity:g}."


def _reasons(receipt: Receipt, item: Item) -> list[str]:
    if item.kind is Kind.META_GUIDELINE:
        return [
            f"The meta-guideline of this guideline: similarity {item.similarity:.3f}",
            f"counted as {item.relevance:.3f} in the category where it was found",
            f"effective weight {item.effective_weight:.3f}, so score {item.score:.3f}",
        ]
    if item.kind is Kind.CONSTRAINT:
        return [
            f"A constraint: similarity {item.similarity:.3f} of the nearest task it comes from",
            f"counted as {item.relevance:.3f} for its category and for who ran its pairs",
            f"effective weight {item.effective_weight:.3f}, so score {item.score:.3f}",
        ]
    would = "Would have rank" if item.left_out else "Rank"
    relevance = f"relevance {item.relevance:.3f}{_found_by(receipt, item)}"
    if item.fused is not None:
        relevance += f", {item.fused:.3f} with the words that it shares with the task"
    return [
        f"{would} {item.rank} by ranker {receipt.ranker}: {relevance}",
        f"ranking weight {item.ranking_weight:.3f}",
        f"effective weight {item.effective_weight:.3f}, so score {item.score:.3f}",
        f"gates {receipt.gates.raw:.3f} on similarity and {receipt.gates.score:.3f} on score",
        *(["found by an identifier that the task names"] if item.identifiers else []),
    ]


def _found_by(receipt: Receipt, item: Item) -> str:
    """Which of several queries it is nearest to."""
    search = receipt.search
    if item.query is None or search is None:
        return ""
    if search.by is QueriesBy.CALLER:
        return f" to the caller's query {item.query + 1}"
    if item.query == 0:
        return " to the task's text"
    words = [shown(query.text) for query in search.queries]
    said = words[item.query - 1] if item.query <= len(words) else "(erased)"
    return f" to the query {said}"
