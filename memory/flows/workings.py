"""What a retrieval can say of itself, stage by stage: replayed by the functions that served it."""

from collections.abc import Mapping

from memory.domain.access import Call
from memory.domain.loop import Item
from memory.domain.task import CategoryName
from memory.domain.workings import Considered, Fate, RoutedBy, Routing, Workings
from memory.flows.finding import Found
from memory.flows.following import ranker_shares
from memory.flows.receipts import WHY_CUT
from memory.flows.serving import Ranked, Serving
from memory.flows.weighing import Eyes, deviation_in_weight
from memory.guideline.entry import CutReason
from memory.learning.policy import policy_named
from memory.retrieval.explaining import Explained, explain, explain_rivals
from memory.retrieval.rankers import RANKERS

PREVIEW = "preview"
SHOWN = 256
"""So many candidates are told of, beside those that are served: the head of the largest k."""

_WHY = {
    Fate.SERVED: "place {place} in the order of {ranker}",
    Fate.SLOT: "drawn into the last place, because it has been credited least",
    Fate.DISPLACED: "the last place was its own, and was given by lot to one credited less",
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


def _explained(found: Found, ranked: Ranked, serving: Serving) -> tuple[Explained, ...]:
    everyone = ranked.everyone()
    if found.asked.ask.rivals:
        return explain_rivals(everyone, ranked.selection)
    drawn = next((item.memory_id for item in serving.items if item.slot), None)
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
        found.category_ids[0],
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
        self._eyes = Eyes(found.agent.id, found.asked.as_of, policy, found.past)
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
            deviation=deviation_in_weight(row, self._eyes),
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
        if self._ask.rivals and one.fate is Fate.SERVED:
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
