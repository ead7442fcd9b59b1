"""An agent asks before it acts, and can read its receipts later.

requests → complete_requests → embed_queries → load_contexts → rank → assemble → commit_receipts
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from memory.inference.service import require_model
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Rejected
from memory.kernel.paging import Listed, Page, listed
from memory.receipts.entities import Receipt, ReceiptFilter, Timings
from memory.receipts.store.receipts import ReceiptStore
from memory.retrieval.compile import assemble, known_at_of
from memory.retrieval.context import Answer, Context, RequestBatch, load_contexts, text_of
from memory.retrieval.entities import Advice, Query, RetrievalRequest
from memory.retrieval.explanation import explain_items, explain_ranking
from memory.retrieval.model_compiler import rewrite_guidelines
from memory.retrieval.ranking import HeadRanker, Ranking
from memory.tasks.store.tasks import Provenance, TaskStore
from memory.tenancy.entities import Act, Call, Clock, utc

STATES = ("pending", "answered", "expired", "all")


async def retrieve(
    engine: Engine, call: Call, requests: Sequence[RetrievalRequest]
) -> list[Answer]:
    """Advice for each request, in their order, each with a receipt that was committed."""
    call.key.require(Act.RETRIEVE)
    require_model(engine, call.namespace)
    clock = _Stopwatch()
    batch = RequestBatch(dict(enumerate(requests)))
    await complete_requests(engine, call, batch)
    await embed_queries(engine, batch)
    clock.lap("embed_ms")

    contexts = await load_contexts(engine, call, batch)
    clock.lap("search_ms")

    ranker = HeadRanker(engine, call)
    rankings: list[Ranking] = []
    advice: list[Advice] = []
    for context in contexts:
        # A batch over a whole bank takes a while: others are served between its requests.
        await asyncio.sleep(0)
        ranking = ranker.rank(context, await rerank(engine, context))
        rankings.append(ranking)
        advice.append(assemble(engine, call, ranking))
    clock.lap("rank_ms")

    if engine.llm is not None:
        advice = await rewrite_guidelines(engine, call, contexts, advice)
        clock.lap("write_ms")

    await commit_receipts(engine, call, batch, rankings=rankings, advice=advice, laps=clock.laps)
    return [batch.answers[place] for place in range(len(requests))]


class _Stopwatch:
    """How long each part took, in milliseconds, for the receipt."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = round((now - self._last) * 1000, 3)
        self._last = now


async def complete_requests(engine: Engine, call: Call, batch: RequestBatch) -> None:
    """Fills in what a request leaves open, its time and its queries; refuses what is wrong."""
    await _load_tasks(engine, call, batch)
    for place, request in list(batch.requests.items()):
        try:
            call.key.require_agent(request.agent)
            as_of = _as_of(call, request.as_of)
            queries = request.queries or (Query(text_of(request, batch.tasks.get(place))),)
            batch.requests[place] = replace(request, as_of=as_of, queries=queries)
        except MemoryFault as fault:
            batch.refuse(place, fault)


async def _load_tasks(engine: Engine, call: Call, batch: RequestBatch) -> None:
    """Tasks that are asked about by id."""
    named = {place: one.task_id for place, one in batch.requests.items() if one.task_id}
    if not named:
        return
    async with engine.database.transaction(call.namespace.id) as connection:
        for place, task_id in named.items():
            try:
                batch.tasks[place] = await TaskStore(connection, call.namespace.id).get(task_id)
            except MemoryFault as fault:
                batch.refuse(place, fault)


def _as_of(call: Call, given: datetime | None) -> datetime:
    """One time for the whole retrieval: now by default in `wall`, required in `replay`."""
    if given is None:
        return call.namespace.known_at(None, call.now, "as_of")
    as_of = utc(given, "as_of")
    if call.namespace.clock is Clock.WALL and as_of > call.now:
        raise Rejected("as_of lies in the future", field="as_of")
    return as_of


async def embed_queries(engine: Engine, batch: RequestBatch) -> None:
    """All queries of all requests, in as few batches as the device takes."""
    texts = [[query.text for query in request.queries] for request in batch.requests.values()]
    vectors = await asyncio.gather(*(engine.embedder.embed(part) for part in texts))
    batch.vectors = {
        place: tuple(some) for place, some in zip(batch.requests, vectors, strict=True)
    }


async def rerank(engine: Engine, context: Context) -> Mapping[UUID, float]:
    """The reranker's opinion of the head; nothing without one, and no transaction is open."""
    rows = context.head.rows
    if engine.reranker is None or not rows:
        return {}
    texts = [f"{row.situation}\n{row.lesson}" for row in rows]
    scores = await engine.reranker.relevance(context.text, texts)
    return {row.id: score for row, score in zip(rows, scores, strict=True)}


async def commit_receipts(
    engine: Engine,
    call: Call,
    batch: RequestBatch,
    *,
    rankings: Sequence[Ranking],
    advice: Sequence[Advice],
    laps: Mapping[str, float],
) -> None:
    """Receipts are durable before any answer leaves; a preview leaves none."""
    receipts: list[Receipt] = []
    async with engine.database.transaction(call.namespace.id) as connection:
        tasks = TaskStore(connection, call.namespace.id)
        for ranking, one in zip(rankings, advice, strict=True):
            place, request = ranking.context.place, ranking.context.request
            try:
                task_id = await _ensure_task(tasks, call, ranking.context)
            except MemoryFault as fault:
                batch.refuse(place, fault)
                continue
            receipt = replace(one.receipt, task_id=task_id, timings=Timings(**laps))
            answer = replace(one, receipt=receipt)
            batch.answers[place] = _explain(call, ranking, answer, laps)
            if not request.is_preview:
                receipts.append(receipt)
        if receipts:
            await ReceiptStore(connection, call.namespace.id).add(receipts)


def _explain(call: Call, ranking: Ranking, advice: Advice, laps: Mapping[str, float]) -> Advice:
    """How it came about, where that was asked."""
    if not ranking.context.request.explain:
        return advice
    explanation = explain_ranking(call, ranking, advice, laps)
    return replace(advice, receipt=explain_items(advice.receipt), explanation=explanation)


async def _ensure_task(tasks: TaskStore, call: Call, context: Context) -> UUID | None:
    """The task the receipt is about, stored now if it is new; a preview stores none."""
    if context.task is not None:
        return context.task.id
    if context.request.is_preview:
        return None
    assert context.request.task is not None
    draft = context.request.task.in_category(context.category)
    provenance = Provenance(call.key.id, known_at_of(call, context), call.now)
    task, _ = await tasks.ensure(draft, context.category_ids, provenance)
    return task.id


async def get_receipt(engine: Engine, call: Call, retrieval_id: UUID) -> Receipt:
    async with engine.database.transaction(call.namespace.id) as connection:
        return await ReceiptStore(connection, call.namespace.id).get(retrieval_id)


async def explain(engine: Engine, call: Call, retrieval_id: UUID) -> Receipt:
    """The receipt, each of its memories with a sentence on why it stands where it stands."""
    return explain_items(await get_receipt(engine, call, retrieval_id))


async def list_receipts(
    engine: Engine, call: Call, wanted: ReceiptFilter, page: Page
) -> Listed[Receipt]:
    """By the time they were made. In a replay namespace the newest applied fact is the present."""
    if wanted.state not in STATES:
        raise Rejected(f"state must be one of {STATES}", field="state", limit=list(STATES))
    now = call.now
    if call.namespace.clock is Clock.REPLAY:
        now = call.namespace.newest_known_at or call.namespace.created_at
    async with engine.database.transaction(call.namespace.id) as connection:
        store = ReceiptStore(connection, call.namespace.id)
        found, total = await store.browse(wanted, page, now)
    return listed(found, page, total, lambda receipt: (str(receipt.retrieval_id),))
