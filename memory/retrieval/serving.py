"""From what was found to what is served: weights, arm, selection, guideline, receipt. No I/O."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, cast
from uuid import UUID

from memory.belief.policy import Policy, policy_named
from memory.belief.weight_view import WeightView
from memory.constraints.entities import ServedConstraint
from memory.constraints.selection import Bindings, bindings
from memory.guidelines.compiler import Budget, Entry, Framing, Guideline, compile_guideline
from memory.guidelines.entities import entry_of
from memory.kernel.engine import Engine
from memory.kernel.ids import new_id
from memory.meta_guidelines.entities import ServedGuidance
from memory.meta_guidelines.selection import Chosen, choose
from memory.receipts.entities import Format, Gates, Item
from memory.retrieval.arms import Arm, Assignment, Purpose, assign
from memory.retrieval.arms import Ask as ArmAsk
from memory.retrieval.context import Found
from memory.retrieval.entities import ServedMemory
from memory.retrieval.following import Followed, choose_ranker, followed
from memory.retrieval.head import Query, ensure_whole, nearest
from memory.retrieval.selection import (
    Candidate,
    Selection,
    eligible,
    rival_selection,
    select,
    shortlist,
)
from memory.retrieval.store.search import Found as Row
from memory.retrieval.weighing import candidates
from memory.tasks.entities import CategoryName
from memory.tenancy.entities import Call

SERVING = frozenset({Arm.ON, Arm.FORCED_ON, Arm.PAIRED, Arm.RETEST})


@dataclass(frozen=True, slots=True)
class Ranked:
    """The head with its weights, and the rules it is selected by.

    `candidates` may be a shortlist of `everyone`, where that is a whole bank.
    """

    candidates: tuple[Candidate, ...]
    everyone: Callable[[], tuple[Candidate, ...]]
    rows: Mapping[UUID, Row]
    selection: Selection
    rankers: Mapping[str, float]
    followed: Followed


@dataclass(frozen=True, slots=True)
class Serving:
    """What the agent gets, and how it came about; `entries` is what the guideline is made of."""

    assignment: Assignment
    eligible: bool
    items: tuple[Item, ...]
    memories: tuple[ServedMemory, ...]
    guideline: Guideline
    compiler: str = "deterministic/1"
    receipt_id: UUID = field(default_factory=new_id)
    guidance: ServedGuidance | None = None
    constraints: tuple[ServedConstraint, ...] = ()
    entries: tuple[Entry, ...] = ()


def rank(engine: Engine, call: Call, found: Found, relevance: Mapping[UUID, float]) -> Ranked:
    """Weights re-rank the exact head; `relevance` is the reranker's, empty without one."""
    weighed = found.weighed
    similarities = weighed.stored.similarities(_queries(found))
    head = nearest(similarities, found.head_size)
    ensure_whole(len(head), found.head_size, weighed.head.matching)
    policy = policy_named(call.namespace.policy)
    choice = choose_ranker(found, policy, engine.chance, signal=call.namespace.signal)
    selection = Selection(
        k=found.asked.ask.k,
        gates=gates(engine, call, policy),
        as_of=found.asked.as_of,
        ranker=choice.ranker,
        slot_probability=call.namespace.settings.slot_rate,
    )
    # Rivals need what each ranker would serve, and a reranker's relevance has an order of its own.
    short = policy.whole_bank and not found.asked.ask.all_rankers and not relevance
    some = shortlist(weighed.bank, similarities, selection) if short else head
    return Ranked(
        candidates=candidates(weighed, some, similarities, relevance),
        everyone=partial(candidates, weighed, head, similarities, relevance),
        rows=weighed.by_id,
        selection=selection,
        rankers=choice.rankers,
        followed=followed(found, policy),
    )


def gates(engine: Engine, call: Call, policy: Policy) -> Gates:
    """Measured for the model unless the namespace sets them; the paper's rule has no raw gate."""
    settings = call.namespace.settings
    measured = engine.model.calibration["q99"]
    raw = 0.0 if policy.whole_bank else measured
    return Gates(
        raw=settings.raw_gate if settings.raw_gate is not None else raw,
        score=settings.score_floor if settings.score_floor is not None else measured,
    )


def serve(engine: Engine, call: Call, found: Found, ranked: Ranked) -> Serving:
    """Assign the arm, select, compile."""
    ask = found.asked.ask
    view = WeightView(
        found.agent.id, found.asked.as_of, policy_named(call.namespace.policy), found.past
    )
    bound = bindings(found.bound, view, ranked.selection.gates)
    can = eligible(ranked.candidates, ranked.selection) or bound.eligible
    assignment = assign(
        ArmAsk(
            arm=cast("Literal['auto', 'on', 'off']", ask.arm),
            purpose=Purpose(ask.purpose),
            eligible=can,
            control_outcomes=found.controls,
            control_rate=call.namespace.settings.control_rate,
            suspended=ranked.followed.suspended,
        ),
        engine.chance,
    )
    serving = assignment.arm in SERVING
    items = _rivals(ranked) if ask.all_rankers else _selected(engine, ranked)
    entries = _entries(ranked, items, bound) if serving else ()
    items = (*items, *_after(bound, len(items)))
    chosen = _guidance(found, ranked, view, len(items) + 1) if items else None
    guideline = _compiled(engine, (found, ranked, chosen), entries)
    items = items if chosen is None else (*items, chosen.item)
    cited = _cited(ask.format, guideline, items) if serving else frozenset[UUID]()
    return Serving(
        assignment=assignment,
        eligible=can,
        items=tuple(replace(item, served=serving, cited=item.memory_id in cited) for item in items),
        memories=tuple(_content(row) for row in _rows(ranked, items)) if serving else (),
        guideline=guideline,
        guidance=chosen.served if chosen is not None and serving else None,
        constraints=bound.served if serving else (),
        entries=entries,
    )


def _queries(found: Found) -> list[Query]:
    return [
        Query(query.target.value, made.vector)
        for query, made in zip(found.asked.queries, found.asked.vectors, strict=True)
    ]


def _selected(engine: Engine, ranked: Ranked) -> tuple[Item, ...]:
    chosen = select(ranked.candidates, ranked.selection, engine.chance, ranked.everyone)
    return tuple(
        _item(one.candidate, one.rank, (one.propensity, one.exploration_slot), None)
        for one in chosen.items
    )


def _rivals(ranked: Ranked) -> tuple[Item, ...]:
    rivals = rival_selection(ranked.candidates, ranked.selection)
    return tuple(
        _item(rival.candidate, place, (1.0, False), rival.scores)
        for place, rival in enumerate(rivals, start=1)
    )


def _item(
    candidate: Candidate,
    place: int,
    drawn: tuple[float, bool],
    scores: Mapping[str, float | None] | None,
) -> Item:
    return Item(
        memory_id=candidate.id,
        version=candidate.version,
        rank=place,
        similarity=candidate.similarity,
        relevance=candidate.relevance,
        effective_weight=candidate.effective_weight,
        ranking_weight=candidate.ranking_weight,
        score=candidate.score,
        scores=None if scores is None else dict(scores),
        propensity=drawn[0],
        served=False,
        cited=False,
        exploration_slot=drawn[1],
    )


def _guidance(found: Found, ranked: Ranked, view: WeightView, place: int) -> Chosen | None:
    gate = ranked.selection.gates.raw
    return choose(found.guides, view, gate=gate, place=place, category=found.category.name)


def _rows(ranked: Ranked, items: Sequence[Item]) -> list[Row]:
    return [ranked.rows[item.memory_id] for item in items if item.memory_id in ranked.rows]


def _after(bound: Bindings, experiences: int) -> tuple[Item, ...]:
    """Constraints take their places behind the experiences."""
    return tuple(replace(item, rank=item.rank + experiences) for item in bound.items)


def _entries(ranked: Ranked, items: Sequence[Item], bound: Bindings) -> tuple[Entry, ...]:
    experiences = (entry_of(ranked.rows[item.memory_id], item) for item in items)
    constraints = (replace(entry, rank=entry.rank + len(items)) for entry in bound.entries)
    return (*experiences, *constraints)


def _compiled(
    engine: Engine, parts: tuple[Found, Ranked, Chosen | None], entries: Sequence[Entry]
) -> Guideline:
    found, ranked, chosen = parts
    ask = found.asked.ask
    if ask.format is Format.MEMORIES:
        entries = ()
    budget = Budget(ask.max_tokens, engine.counter)
    guidance = chosen.guidance if chosen is not None and entries else None
    framing = Framing(_category_text(found.category), ranked.followed.strength)
    return compile_guideline(entries, budget, framing, guidance)


def _cited(wanted: Format, guideline: Guideline, items: Sequence[Item]) -> frozenset[UUID]:
    """Which memories may be credited: those in the compiled text, or all where data was asked."""
    if wanted is Format.MEMORIES:
        return frozenset(item.memory_id for item in items)
    return frozenset(memory_id for line in guideline.lines for memory_id in line.memory_ids)


def _content(row: Row) -> ServedMemory:
    return ServedMemory(
        memory_id=row.id,
        situation=row.situation,
        lesson=row.lesson,
        metadata=row.metadata,
        agent=row.agent,
        category=CategoryName(row.category, row.subcategory),
        learned_at=row.learned_at,
    )


def _category_text(category: CategoryName) -> str:
    if category.subcategory is None:
        return category.name
    return f"{category.name} / {category.subcategory}"
