"""An agent asks before it acts: task → embedding → exact head → ranking → guideline → receipt."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from memory.inference.service import require_model
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Rejected
from memory.kernel.postgres.database import undone
from memory.receipts.entities import CutMemory, Format, GuidelineLine, Receipt
from memory.receipts.store.receipts import NewReceipt, ReceiptStore, expiry
from memory.retrieval.context import Asked, Finder, Found
from memory.retrieval.entities import Ask, Query, Served
from memory.retrieval.model_compiler import in_a_models_words
from memory.retrieval.serving import Ranked, Serving, rank, serve
from memory.retrieval.workings import workings_of
from memory.tasks.entities import Task
from memory.tasks.store.tasks import Provenance, TaskStore
from memory.tenancy.entities import Act, Call, Clock, utc

PREVIEW = "preview"


ARMS = ("auto", "on", "off")


AS_ASSIGNED = ("arm", "propensity", "reason")


AS_COMPILED = ("counter", "text", "tokens")


AS_ASKED = ("purpose", "format", "k", "max_tokens", "all_rankers")


PURPOSES = ("act", "paired", "replay", PREVIEW)


Answer = Served | MemoryFault


async def retrieve(engine: Engine, call: Call, asks: Sequence[Ask]) -> list[Answer]:
    """Serve each ask; the answers are in the asks' order, each with a receipt that was
    committed.
    """
    call.key.require(Act.RETRIEVE)
    require_model(engine, call.namespace)
    clock = _Stopwatch()
    answers: dict[int, Answer] = {}
    asked = await _embedded(engine, await _checked(engine, call, asks, answers))
    clock.lap("embed_ms")

    found = await _found(engine, call, asked, answers)
    clock.lap("search_ms")

    served: list[tuple[Found, Ranked, Serving]] = []
    for one in found:
        # A batch over a whole bank takes a while: others are served between its asks.
        await asyncio.sleep(0)
        ranked = rank(engine, call, one, await _relevance(engine, one))
        served.append((one, ranked, serve(engine, call, one, ranked)))
    clock.lap("rank_ms")

    if engine.writer is not None:
        served = await in_a_models_words(engine, call, served)
        clock.lap("write_ms")

    answers |= await _committed(engine, call, served, clock)
    return [answers[position] for position in range(len(asks))]


async def _found(
    engine: Engine, call: Call, asked: Sequence[Asked], answers: dict[int, Answer]
) -> list[Found]:
    """What ranking needs for each ask; what cannot be looked for goes to `answers`."""
    found: list[Found] = []
    model_id = require_model(engine, call.namespace)
    async with engine.database.transaction(call.namespace.id) as connection:
        finder = Finder(connection, call, model_id)
        for one in asked:
            try:
                if one.ask.purpose == PREVIEW:
                    async with undone(connection):
                        found.append(await Finder(connection, call, model_id).find(one))
                else:
                    found.append(await finder.find(one))
            except Rejected as fault:
                answers[one.position] = fault
    return found


class _Stopwatch:
    """How long each part took, in milliseconds, for the receipt."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = round((now - self._last) * 1000, 3)
        self._last = now


async def _checked(
    engine: Engine, call: Call, asks: Sequence[Ask], answers: dict[int, Answer]
) -> list[Asked]:
    """The asks that can be served; what is wrong with the others goes to `answers`."""
    good: list[Asked] = []
    tasks = await _tasks(engine, call, asks, answers)
    for position, ask in enumerate(asks):
        if position in answers:
            continue
        try:
            call.key.require_agent(ask.agent)
            _require_words(ask)
            task = tasks.get(position)
            as_of = _as_of(call, ask.as_of)
            text = task.text if task is not None else ask.task.text if ask.task else ""
            queries = ask.queries or (Query(text),)
            good.append(Asked(position, ask, task, as_of, queries, ()))
        except MemoryFault as fault:
            answers[position] = fault
    return good


async def _tasks(
    engine: Engine, call: Call, asks: Sequence[Ask], answers: dict[int, Answer]
) -> dict[int, Task]:
    """Tasks that are asked about by id."""
    named = [(position, ask.task_id) for position, ask in enumerate(asks) if ask.task_id]
    found: dict[int, Task] = {}
    if not named:
        return found
    async with engine.database.transaction(call.namespace.id) as connection:
        for position, task_id in named:
            try:
                found[position] = await TaskStore(connection, call.namespace.id).get(task_id)
            except MemoryFault as fault:
                answers[position] = fault
    return found


def _require_words(ask: Ask) -> None:
    if ask.arm not in ARMS:
        raise Rejected("arm must be auto, on or off", field="arm", limit=list(ARMS))
    if ask.purpose not in PURPOSES:
        raise Rejected(f"purpose must be one of {PURPOSES}", field="purpose", limit=list(PURPOSES))


def _as_of(call: Call, given: datetime | None) -> datetime:
    """One time for the whole retrieval: now by default in `wall`, required in `replay`."""
    if given is None:
        return call.namespace.known_at(None, call.now, "as_of")
    as_of = utc(given, "as_of")
    if call.namespace.clock is Clock.WALL and as_of > call.now:
        raise Rejected("as_of lies in the future", field="as_of")
    return as_of


async def _embedded(engine: Engine, asked: Sequence[Asked]) -> list[Asked]:
    """All queries of all asks, in as few batches as the device takes."""
    texts = [[query.text for query in one.queries] for one in asked]
    vectors = await asyncio.gather(*(engine.embedder.embed(part) for part in texts))
    return [replace(one, vectors=tuple(v)) for one, v in zip(asked, vectors, strict=True)]


async def _relevance(engine: Engine, found: Found) -> Mapping[UUID, float]:
    """The reranker's opinion of the head; nothing without one, and no transaction is open."""
    if engine.reranker is None or not found.weighed.head.rows:
        return {}
    texts = [f"{row.situation}\n{row.lesson}" for row in found.weighed.head.rows]
    scores = await engine.reranker.relevance(found.asked.text, texts)
    return {row.id: score for row, score in zip(found.weighed.head.rows, scores, strict=True)}


async def _committed(
    engine: Engine,
    call: Call,
    served: Sequence[tuple[Found, Ranked, Serving]],
    clock: _Stopwatch,
) -> dict[int, Answer]:
    """Receipts are durable before any answer leaves; a preview leaves none."""
    answers: dict[int, Answer] = {}
    receipts: list[NewReceipt] = []
    async with engine.database.transaction(call.namespace.id) as connection:
        tasks = TaskStore(connection, call.namespace.id)
        for found, ranked, serving in served:
            position = found.asked.position
            try:
                task_id = await _task_id(tasks, call, found)
            except MemoryFault as fault:
                answers[position] = fault
                continue
            receipt = _receipt(engine, call, (found, ranked, serving, clock), task_id)
            answer = Served(receipt, serving.memories, serving.guidance, serving.constraints)
            if found.asked.ask.explain:
                workings = workings_of(call, found, ranked, serving, clock.laps)
                answer = replace(answer, workings=workings)
            answers[position] = answer
            if found.asked.ask.purpose != PREVIEW:
                receipts.append(
                    NewReceipt(receipt, found.agent, found.category_ids, engine.model.id)
                )
        if receipts:
            await ReceiptStore(connection, call.namespace.id).open(receipts)
    return answers


async def _task_id(tasks: TaskStore, call: Call, found: Found) -> UUID | None:
    """The task the receipt is about, stored now if it is new; a preview stores none."""
    asked = found.asked
    if asked.task is not None:
        return asked.task.id
    if asked.ask.purpose == PREVIEW:
        return None
    assert asked.ask.task is not None
    draft = asked.ask.task.in_category(found.category)
    written = Provenance(call.key.id, _known_at(call, found), call.now)
    task, _ = await tasks.ensure(draft, found.category_ids, written)
    return task.id


def _known_at(call: Call, found: Found) -> datetime:
    return call.now if call.namespace.clock is Clock.WALL else found.asked.as_of


def _receipt(
    engine: Engine,
    call: Call,
    parts: tuple[Found, Ranked, Serving, _Stopwatch],
    task_id: UUID | None,
) -> Receipt:
    found, ranked, serving, clock = parts
    ask, guideline = found.asked.ask, serving.guideline
    known_at = _known_at(call, found)
    return Receipt(
        id=serving.receipt_id,
        agent=found.agent.name,
        task_id=task_id,
        category=found.category,
        confidence=found.confidence,
        **{name: getattr(serving.assignment, name) for name in AS_ASSIGNED},
        eligible=serving.eligible,
        **{name: getattr(ask, name) for name in AS_ASKED},
        bank_version=found.weighed.head.bank_version,
        as_of=found.asked.as_of,
        raw_gate=ranked.selection.gates.raw,
        score_floor=ranked.selection.gates.score,
        ranker=ranked.selection.ranker,
        rankers=ranked.rankers,
        strength=ranked.followed.strength,
        policy=call.namespace.policy,
        compiler=serving.compiler if ask.format is Format.GUIDELINE else "none",
        **{name: getattr(guideline, name) for name in AS_COMPILED},
        lines=tuple(GuidelineLine(line.text, line.memory_ids) for line in guideline.lines),
        cut=tuple(CutMemory(cut.memory_id, cut.reason) for cut in guideline.cut),
        items=serving.items,
        timings=dict(clock.laps),
        known_at=known_at,
        recorded_at=call.now,
        expires_at=expiry(known_at, ask.expires_in, engine.settings.receipt_expiry),
        key_id=call.key.id,
    )
