"""Which meta-guideline a guideline is compiled by: at most one, by weight and similarity."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from memory.belief.inclusion import trial_probability
from memory.belief.weight_view import WeightView, probation_share
from memory.guidelines.entities import Directives, Guidance
from memory.memories.entities import Kind, Trust
from memory.memories.rules import MULTIPLIERS, back_off
from memory.meta_guidelines.entities import ServedGuidance
from memory.meta_guidelines.store import NearMetaGuideline
from memory.receipts.entities import Gates, Item
from memory.tasks.entities import CategoryName


@dataclass(frozen=True, slots=True)
class ChosenMetaGuideline:
    """The meta-guideline of one retrieval: as the receipt, the compiler and the caller have it.

    `p`: the probability that its coin lets it be followed, where the retrieval has coins; 1 for one
    that is pinned, which somebody vouches for.
    """

    item: Item
    guidance: Guidance
    served: ServedGuidance
    p: float


def choose_meta_guideline(
    guides: Sequence[NearMetaGuideline],
    view: WeightView,
    *,
    gates: Gates,
    place: int,
    category: str | None,
) -> ChosenMetaGuideline | None:
    """The largest of effective weight times similarity times what its bucket counts, ties by
    weight, then by id; None where none passes the raw gate, for then nothing is like enough to the
    task. By a literal rule the most similar one. It takes this place in the receipt of a task of
    this category, which is None where it was only guessed.
    """
    opened = back_off({guide.bucket: guide.held for guide in guides})
    literal = view.policy.literal
    near = [g for g in guides if literal or (g.bucket in opened and g.similarity >= gates.raw)]
    items = {guide.id: _make_item(guide, view, place) for guide in near}
    if not items:
        return None

    def order(item: Item) -> tuple[float, float, UUID]:
        if literal:
            return (-item.similarity, 0.0, item.memory_id)
        return (-item.score, -item.effective_weight, item.memory_id)

    best = min(items.values(), key=order)
    [guide] = [guide for guide in near if guide.id == best.memory_id]
    return ChosenMetaGuideline(
        best,
        _make_guidance(guide, best, category),
        _make_served(guide),
        p=1.0 if guide.pinned else _trial(guide, best, view, gates),
    )


def _trial(guide: NearMetaGuideline, item: Item, view: WeightView, gates: Gates) -> float:
    """That nobody verified it yet is no reason to try it less."""
    score = item.score / probation_share(guide.status)
    below_floor = score < gates.score <= item.relevance
    return trial_probability(view.lift(guide), below_floor=below_floor)


def _make_item(guide: NearMetaGuideline, view: WeightView, place: int) -> Item:
    weights = view.weights(guide)
    relevance = guide.similarity * MULTIPLIERS[guide.bucket]
    return Item(
        memory_id=guide.id,
        version=guide.version,
        rank=place,
        similarity=guide.similarity,
        relevance=relevance,
        effective_weight=weights.effective,
        ranking_weight=weights.ranking,
        score=weights.effective * relevance,
        scores=None,
        propensity=1.0,
        served=False,
        cited=False,
        exploration_slot=False,
        kind=Kind.META_GUIDELINE,
    )


def _make_guidance(guide: NearMetaGuideline, item: Item, category: str | None) -> Guidance:
    return Guidance(
        id=guide.id,
        instruction=guide.instruction,
        author=guide.agent,
        effective_weight=item.effective_weight,
        trust=Trust(guide.trust),
        learned_at=guide.learned_at,
        directives=Directives.read(guide.detail),
        category=category,
    )


def _make_served(guide: NearMetaGuideline) -> ServedGuidance:
    return ServedGuidance(
        memory_id=guide.id,
        failure_reason=guide.failure_reason,
        instruction=guide.instruction,
        directives=Directives.read(guide.detail),
        agent=guide.agent,
        category=CategoryName(guide.category, guide.subcategory),
        learned_at=guide.learned_at,
    )
