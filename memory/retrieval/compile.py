"""Makes advice of a ranking: arm → selection → constraints → meta-guideline → guideline → receipt.

No I/O: whatever is needed was loaded before.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from memory.belief.inclusion import Coin
from memory.belief.rankers import RANKERS, Candidate
from memory.constraints.selection import SelectedConstraints, select_constraints
from memory.guidelines.compiler import Budget, compile_guideline
from memory.guidelines.entities import Entry, Guidance, entry_of, without_counts
from memory.guidelines.wording import Framing, category_text
from memory.kernel.engine import Engine
from memory.meta_guidelines.selection import ChosenMetaGuideline, choose_meta_guideline
from memory.receipts.entities import Item, Reason, Receipt, Timings
from memory.receipts.guideline_entities import Format, Guideline
from memory.receipts.store.receipts import expiry
from memory.retrieval.arms import ArmRequest, Assignment, assign_arm
from memory.retrieval.context import Context
from memory.retrieval.entities import Advice, ServedMemory
from memory.retrieval.past_errors import told_of, with_past_error
from memory.retrieval.ranking import Ranking
from memory.retrieval.selection import (
    SelectedCandidate,
    eligible,
    same_rankers,
    select,
    select_by_all,
)
from memory.tenancy.entities import Call, Clock

DETERMINISTIC = "deterministic/1"
"""The compiler that needs no language model."""


def assemble(engine: Engine, call: Call, ranking: Ranking) -> Advice:
    """What the agent gets, with its receipt, which says of a control arm what it would have got."""
    context, gates = ranking.context, ranking.selection.gates
    experienced = eligible(ranking.candidates, ranking.selection)
    tossed = ranking.tossing.spent and RANKERS[ranking.selection.ranker].coins
    toss = ranking.tossing.toss if tossed else None
    constraints = select_constraints(
        context.constraints, ranking.view, gates, toss, alone=not experienced
    )
    can = experienced or constraints.eligible
    assignment = _assign(engine, call, ranking, can=can)
    serving = assignment.arm.is_served

    selected = _select(engine, ranking)
    experiences = selected.items
    entries = _entries(ranking, experiences, constraints) if serving else ()
    items = (*experiences, *_behind(constraints.items, len(experiences)))
    directing = _direct(engine, ranking, entries, place=len(items) + 1) if items else None
    guide = None if directing is None or directing.item.left_out else directing.guide
    guideline = (
        _compile(engine, ranking, entries, None) if directing is None else directing.guideline
    )

    directed = () if directing is None else (directing.item,)
    items = (*items, *(one for one in directed if not one.left_out))
    behind = _behind(constraints.left_out, len(experiences))
    items = (*items, *selected.left_out, *behind, *(one for one in directed if one.left_out))
    items = _say_how_found(ranking, items)
    items = _mark_served(items, guideline, context.request.format, serving=serving)
    receipt = _receipt(engine, call, ranking, assignment, eligible=can)
    receipt = replace(
        receipt,
        passed_over=_passed_over(ranking, items, constraints.near, serving=serving),
        reason=_reason(assignment, items),
        past_error=told_of(context.past_error, guideline) if serving else None,
    )
    return Advice(
        receipt=replace(receipt, items=items, guideline=guideline),
        memories=_memories(ranking, items) if serving else (),
        guidance=guide.served if guide is not None and serving else None,
        constraints=constraints.served if serving else (),
        entries=entries,
        guide=None if guide is None else guide.guidance,
    )


@dataclass(frozen=True, slots=True)
class Directing:
    """The meta-guideline of a retrieval, and the guideline that its coin makes of it."""

    guide: ChosenMetaGuideline
    item: Item
    guideline: Guideline


def _direct(
    engine: Engine, ranking: Ranking, entries: Sequence[Entry], *, place: int
) -> Directing | None:
    """Compile with the meta-guideline and without; a coin decides which of the two is served.

    It is a contender only where the two differ: one that changes no letter was not followed,
    whatever its coin says.
    """
    context, tossing = ranking.context, ranking.tossing
    gates = ranking.selection.gates
    category = context.given_category
    guide = choose_meta_guideline(
        context.guides, ranking.view, gates=gates, place=place, category=category
    )
    if guide is None:
        return None
    plain = _compile(engine, ranking, entries, None)
    guided = _compile(engine, ranking, entries, guide.guidance)
    acts = guided.text != plain.text
    if not tossing.spent:
        return Directing(guide, guide.item, guided)
    coin = tossing.toss(guide.guidance.id, Coin(guide.p, left_out=False))
    item = replace(guide.item, inclusion=coin.p, left_out=coin.left_out, contender=acts)
    return Directing(guide, item, plain if coin.left_out else guided)


def take_out(engine: Engine, ranking: Ranking, advice: Advice, gone: Collection[UUID]) -> Advice:
    """The same advice without memories that are gone, its guideline compiled again by rule."""
    receipt, serving = advice.receipt, advice.receipt.arm.is_served
    guide = None if advice.guide is None or advice.guide.id in gone else advice.guide
    entries = tuple(entry for entry in advice.entries if entry.id not in gone)
    guideline = _compile(engine, ranking, entries, guide)
    items = tuple(item for item in receipt.items if item.memory_id not in gone)
    items = _mark_served(items, guideline, receipt.format, serving=serving)
    compiler = _compiler_of(receipt.format)
    return replace(
        advice,
        receipt=replace(
            receipt,
            items=items,
            guideline=guideline,
            compiler=compiler,
            past_error=told_of(ranking.context.past_error, guideline) if serving else None,
        ),
        memories=_memories(ranking, items) if serving else (),
        guidance=None if guide is None else advice.guidance,
        constraints=tuple(one for one in advice.constraints if one.memory_id not in gone),
        entries=entries,
        guide=guide,
    )


def _compiler_of(wanted: Format) -> str:
    return DETERMINISTIC if wanted.is_prose else "none"


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


def _reason(assignment: Assignment, items: Sequence[Item]) -> Reason:
    """Why the arm is what it is, or why it serves nothing: all fell to their coins."""
    emptied = any(item.left_out for item in items) and not any(item.served for item in items)
    return Reason.LEFT_OUT if assignment.arm.is_served and emptied else assignment.reason


@dataclass(frozen=True, slots=True)
class SelectedItems:
    """The experiences that have a place, and those that their coins left out."""

    items: tuple[Item, ...]
    left_out: tuple[Item, ...] = ()


def _select(engine: Engine, ranking: Ranking) -> SelectedItems:
    """What the ranker that was drawn would serve, or what any of them would."""
    if ranking.context.request.all_rankers:
        union = select_by_all(ranking.candidates, ranking.selection)
        return SelectedItems(
            tuple(
                replace(_item(one.candidate, place), scores=dict(one.scores))
                for place, one in enumerate(union, start=1)
            )
        )
    selected = select(ranking.candidates, ranking.selection, engine.chance, ranking.everyone)
    return SelectedItems(
        tuple(map(_selected_item, selected.items)), tuple(map(_selected_item, selected.left_out))
    )


def _selected_item(one: SelectedCandidate) -> Item:
    return replace(
        _item(one.candidate, one.rank),
        propensity=one.propensity,
        exploration_slot=one.exploration_slot,
        inclusion=None if one.coin is None else one.coin.p,
        left_out=one.coin is not None and one.coin.left_out,
        contender=one.coin is not None,
    )


def _say_how_found(ranking: Ranking, items: Sequence[Item]) -> tuple[Item, ...]:
    """Each with the query that its similarity is to, where there were several, and with the
    identifiers by which it was found.
    """
    found, named = ranking.found_by, ranking.context.head.named
    return tuple(
        replace(
            item,
            query=found.get(item.memory_id),
            identifiers=named.get(item.memory_id, ()),
        )
        for item in items
    )


def _passed_over(
    ranking: Ranking, items: Sequence[Item], constraints: Sequence[UUID], *, serving: bool
) -> tuple[UUID, ...]:
    """What the head, or the nearest tasks of constraints, held past the raw gate and a run with
    memory goes without. A whole bank has no head, and without gates nothing says what was near
    enough.
    """
    near = ranking.context.request.gates == "on" and not ranking.view.policy.whole_bank
    if not (serving and near):
        return ()
    served = {item.memory_id for item in items if item.served}
    raw = ranking.selection.gates.raw
    held = [*(c.id for c in ranking.candidates if c.is_near(raw)), *constraints]
    return tuple(one for one in held if one not in served)


def _same_rankers(ranking: Ranking) -> tuple[str, ...] | None:
    """Where one of several was drawn, those that would have served the same."""
    if ranking.context.request.all_rankers or len(ranking.rankers) == 1:
        return None
    return same_rankers(ranking.candidates, ranking.selection, ranking.rankers)


def _item(candidate: Candidate, place: int) -> Item:
    """A candidate that is certain of this place."""
    return Item(
        memory_id=candidate.id,
        version=candidate.version,
        rank=place,
        similarity=candidate.similarity,
        relevance=candidate.relevance,
        fused=candidate.fused,
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
    disputed = {one for item in experiences for one in ranking.rows[item.memory_id].contradicts}
    first = (
        replace(entry_of(ranking.rows[item.memory_id], item), disputed=item.memory_id in disputed)
        for item in experiences
    )
    behind = (replace(one, rank=one.rank + len(experiences)) for one in constraints.entries)
    entries = (*first, *behind)
    return entries if ranking.view.past is None else tuple(map(without_counts, entries))


def _behind(constraints: Sequence[Item], experiences: int) -> tuple[Item, ...]:
    """Constraints take their places behind the experiences."""
    return tuple(replace(item, rank=item.rank + experiences) for item in constraints)


def _compile(
    engine: Engine, ranking: Ranking, entries: Sequence[Entry], guidance: Guidance | None
) -> Guideline:
    context = ranking.context
    form = context.request.format
    if not form.is_prose:
        entries = ()
    framing = Framing(category_text(context.category), ranking.strength.value, form)

    def compiled(max_tokens: int) -> Guideline:
        budget = Budget(max_tokens, engine.counter)
        return compile_guideline(entries, budget, framing, guidance if entries else None)

    whole = context.request.max_tokens
    return with_past_error(engine, context.past_error, compiled, whole)


def _mark_served(
    items: Sequence[Item], guideline: Guideline, wanted: Format, *, serving: bool
) -> tuple[Item, ...]:
    """Only what is cited may be credited: by the compiled text, or all where data was asked for."""
    whole = wanted is Format.MEMORIES

    def mark(item: Item) -> Item:
        served = serving and not item.left_out
        return replace(item, served=served, cited=served and (whole or item.memory_id in cited))

    cited = guideline.cited
    return tuple(map(mark, items))


def _memories(ranking: Ranking, items: Sequence[Item]) -> tuple[ServedMemory, ...]:
    rows = ranking.rows
    return tuple(
        rows[item.memory_id].served(item)
        for item in items
        if item.served and item.memory_id in rows
    )


def _receipt(
    engine: Engine, call: Call, ranking: Ranking, assignment: Assignment, *, eligible: bool
) -> Receipt:
    """The record as far as it is known before anything is selected."""
    context, request = ranking.context, ranking.context.request
    known_at = known_at_of(call, context)
    return Receipt(
        retrieval_id=context.retrieval_id,
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
        k=context.k,
        max_tokens=request.max_tokens,
        all_rankers=request.all_rankers,
        bank_version=context.head.bank_version,
        as_of=context.as_of,
        ranker=ranking.selection.ranker,
        rankers=dict(ranking.rankers),
        same_rankers=_same_rankers(ranking),
        passed_over=None,
        strength=ranking.strength.value,
        policy=call.namespace.policy,
        compiler=_compiler_of(request.format),
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
        search=context.search,
        trace_id=request.trace_id,
    )


def known_at_of(call: Call, context: Context) -> datetime:
    """When a retrieval happens: now, or the time that a replay names."""
    return call.now if call.namespace.clock is Clock.WALL else context.as_of
