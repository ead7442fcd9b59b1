"""Makes advice of a ranking: arm → selection → constraints → meta-guideline → guideline → receipt.

No I/O: whatever is needed was loaded before.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from memory.belief.rankers import Candidate
from memory.constraints.selection import SelectedConstraints, select_constraints
from memory.guidelines.compiler import Budget, Framing, compile_guideline
from memory.guidelines.entities import Entry, Guidance, entry_of
from memory.kernel.engine import Engine
from memory.kernel.ids import new_id
from memory.meta_guidelines.selection import choose_meta_guideline
from memory.receipts.entities import Format, Guideline, Item, Receipt, Timings
from memory.receipts.store.receipts import expiry
from memory.retrieval.context import Context
from memory.retrieval.entities import Advice, ServedMemory
from memory.retrieval.ranking import Ranking
from memory.retrieval.selection import (
    ArmRequest,
    Assignment,
    assign_arm,
    eligible,
    select,
    select_by_all,
)
from memory.tasks.entities import CategoryName
from memory.tenancy.entities import Call, Clock

DETERMINISTIC = "deterministic/1"
"""The compiler that needs no language model."""


def assemble(engine: Engine, call: Call, ranking: Ranking) -> Advice:
    """What the agent gets, with its receipt, which says of a control arm what it would have got."""
    context, gates = ranking.context, ranking.selection.gates
    constraints = select_constraints(context.constraints, ranking.view, gates)
    can = eligible(ranking.candidates, ranking.selection) or constraints.eligible
    assignment = _assign(engine, call, ranking, can=can)
    serving = assignment.arm.is_served

    experiences = _select(engine, ranking)
    entries = _entries(ranking, experiences, constraints) if serving else ()
    items = (*experiences, *_behind(constraints, len(experiences)))
    guide = None
    if items:
        guide = choose_meta_guideline(
            context.guides,
            ranking.view,
            gate=gates.raw,
            place=len(items) + 1,
            category=context.category.name,
        )
    guideline = _compile(engine, ranking, entries, None if guide is None else guide.guidance)

    items = items if guide is None else (*items, guide.item)
    items = _mark_served(items, guideline, context.request.format, serving=serving)
    receipt = _receipt(engine, call, ranking, assignment, eligible=can)
    return Advice(
        receipt=replace(receipt, items=items, guideline=guideline),
        memories=_memories(ranking, items) if serving else (),
        guidance=guide.served if guide is not None and serving else None,
        constraints=constraints.served if serving else (),
        entries=entries,
    )


def _assign(engine: Engine, call: Call, ranking: Ranking, *, can: bool) -> Assignment:
    request = ranking.context.request
    return assign_arm(
        ArmRequest(
            arm=request.arm,
            purpose=request.purpose,
            eligible=can,
            control_outcomes=ranking.context.control_outcomes,
            control_rate=call.namespace.settings.control_rate,
            suspended=ranking.strength.suspended,
        ),
        engine.chance,
    )


def _select(engine: Engine, ranking: Ranking) -> tuple[Item, ...]:
    """What the ranker that was drawn would serve, or what any of them would."""
    if ranking.context.request.all_rankers:
        union = select_by_all(ranking.candidates, ranking.selection)
        return tuple(
            replace(_item(one.candidate, place), scores=dict(one.scores))
            for place, one in enumerate(union, start=1)
        )
    selected = select(ranking.candidates, ranking.selection, engine.chance, ranking.everyone)
    return tuple(
        replace(
            _item(one.candidate, one.rank),
            propensity=one.propensity,
            exploration_slot=one.exploration_slot,
        )
        for one in selected.items
    )


def _item(candidate: Candidate, place: int) -> Item:
    """A candidate that is certain of this place."""
    return Item(
        memory_id=candidate.id,
        version=candidate.version,
        rank=place,
        similarity=candidate.similarity,
        relevance=candidate.relevance,
        effective_weight=candidate.effective_weight,
        ranking_weight=candidate.ranking_weight,
        score=candidate.score,
        scores=None,
        propensity=1.0,
        served=False,
        cited=False,
        exploration_slot=False,
    )


def _entries(
    ranking: Ranking, experiences: Sequence[Item], constraints: SelectedConstraints
) -> tuple[Entry, ...]:
    """What the guideline is compiled from."""
    first = (entry_of(ranking.rows[item.memory_id], item) for item in experiences)
    behind = (replace(one, rank=one.rank + len(experiences)) for one in constraints.entries)
    return (*first, *behind)


def _behind(constraints: SelectedConstraints, experiences: int) -> tuple[Item, ...]:
    """Constraints take their places behind the experiences."""
    return tuple(replace(item, rank=item.rank + experiences) for item in constraints.items)


def _compile(
    engine: Engine, ranking: Ranking, entries: Sequence[Entry], guidance: Guidance | None
) -> Guideline:
    context = ranking.context
    if context.request.format is Format.MEMORIES:
        entries = ()
    budget = Budget(context.request.max_tokens, engine.counter)
    framing = Framing(_category_text(context.category), ranking.strength.value)
    return compile_guideline(entries, budget, framing, guidance if entries else None)


def _category_text(category: CategoryName) -> str:
    if category.subcategory is None:
        return category.name
    return f"{category.name} / {category.subcategory}"


def _mark_served(
    items: Sequence[Item], guideline: Guideline, wanted: Format, *, serving: bool
) -> tuple[Item, ...]:
    """Only what is cited may be credited: by the compiled text, or all where data was asked for."""
    whole = wanted is Format.MEMORIES
    cited = {item.memory_id for item in items} if whole else guideline.cited
    return tuple(
        replace(item, served=serving, cited=serving and item.memory_id in cited) for item in items
    )


def _memories(ranking: Ranking, items: Sequence[Item]) -> tuple[ServedMemory, ...]:
    rows = ranking.rows
    return tuple(rows[item.memory_id].served(item) for item in items if item.memory_id in rows)


def _receipt(
    engine: Engine, call: Call, ranking: Ranking, assignment: Assignment, *, eligible: bool
) -> Receipt:
    """The record as far as it is known before anything is selected."""
    context, request = ranking.context, ranking.context.request
    known_at = known_at_of(call, context)
    return Receipt(
        retrieval_id=new_id(),
        agent=context.agent.name,
        task_id=None if context.task is None else context.task.id,
        category=context.category.name,
        subcategory=context.category.subcategory,
        confidence=context.confidence,
        purpose=request.purpose,
        arm=assignment.arm,
        propensity=assignment.propensity,
        eligible=eligible,
        reason=assignment.reason,
        format=request.format,
        k=request.k,
        max_tokens=request.max_tokens,
        all_rankers=request.all_rankers,
        bank_version=context.head.bank_version,
        as_of=context.as_of,
        ranker=ranking.selection.ranker,
        rankers=dict(ranking.rankers),
        strength=ranking.strength.value,
        policy=call.namespace.policy,
        compiler=DETERMINISTIC if request.format is Format.GUIDELINE else "none",
        guideline=Guideline("", (), 0, engine.counter.name, ()),
        items=(),
        gates=ranking.selection.gates,
        timings=Timings(),
        known_at=known_at,
        recorded_at=call.now,
        expires_at=expiry(known_at, request.lifetime, engine.settings.receipt_expiry),
        key_id=call.key.id,
        agent_id=context.agent.id,
        agent_model=context.agent.model,
        own_information=context.agent.own_information,
        category_id=context.category_ids.category,
        subcategory_id=context.category_ids.subcategory,
        model_id=engine.model.id,
    )


def known_at_of(call: Call, context: Context) -> datetime:
    """When a retrieval happens: now, or the time that a replay names."""
    return call.now if call.namespace.clock is Clock.WALL else context.as_of
