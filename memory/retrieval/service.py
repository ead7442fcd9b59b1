"""An agent asks before it acts, and can read its receipts later.

requests → complete_requests → add_active_queries → embed_queries → load_contexts → rank → assemble
→ commit_receipts
"""

import asyncio
import heapq
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from memory.belief.policy import policy_named
from memory.guidelines.wording import in_formats
from memory.inference.service import require_model
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Rejected
from memory.kernel.ids import new_id
from memory.kernel.paging import Listed, Page, listed
from memory.kernel.postgres.database import Connection, Declined, Statement
from memory.memories.service import hide_private
from memory.memories.store.status import HeldMemory, StatusStore, require_held
from memory.receipts.entities import Receipt, Timings
from memory.receipts.list_entities import ReceiptFilter
from memory.receipts.search_entities import Query
from memory.receipts.store.receipt_rows import write_receipts
from memory.receipts.store.receipts import ReceiptStore
from memory.retrieval.active_queries import add_active_queries
from memory.retrieval.compile import assemble, known_at_of, take_out
from memory.retrieval.context import Answer, Context, RequestBatch, load_contexts, text_of
from memory.retrieval.entities import Advice, RetrievalRequest
from memory.retrieval.explanation import explain_items, explain_ranking
from memory.retrieval.model_compiler import rewrite_guidelines
from memory.retrieval.past_errors import (
    find_past_errors,
    gone_past_errors,
    hold_past_errors,
)
from memory.retrieval.ranking import HeadRanker, Ranking
from memory.retrieval.resident.namespaces import ResidentNamespace, ResidentNamespaces
from memory.retrieval.words import choose_rerank
from memory.tasks.entities import TaskDraft
from memory.tasks.store.tasks import Provenance, TaskStore, new_task, task_row, write_tasks
from memory.tenancy.entities import Act, Call, Clock, utc
from memory.tenancy.identity import Proof, goes_on, prove
from memory.tenancy.namespace_settings import Rerank, require_head
from memory.tenancy.store.namespaces import NamespaceStore, require_policy

BRIEF_TEXTS = 8_000
"""Characters that are made neutral without letting go of the loop: below a few milliseconds."""


STATES = ("pending", "answered", "noted", "expired", "all")


async def retrieve(
    engine: Engine, call: Call, requests: Sequence[RetrievalRequest], proof: Proof | None = None
) -> list[Answer]:
    """Advice for each request, in their order, each with a receipt that was committed. `proof`:
    where the call was taken up by rows that were read before. Raises Outdated where they do not
    stand.
    """
    call.key.require(Act.RETRIEVE)
    require_model(engine, call.namespace)
    clock = _Stopwatch(engine.on_stage)
    batch = RequestBatch(dict(enumerate(requests)))
    await complete_requests(engine, call, batch)
    await add_active_queries(engine, call, batch)
    if engine.llm is not None:
        clock.lap("query_ms")
    following = follow(engine, call, batch, proof)
    copy, _ = await asyncio.gather(following, embed_queries(engine, batch))
    proven = await prove(engine, call, proof)
    if proven is not call and not goes_on(call, proven):
        return await retrieve(engine, proven, requests)
    call = proven
    clock.lap("embed_ms")

    contexts = await load_contexts(engine, call, batch, copy)
    contexts = await find_past_errors(engine, call, contexts)
    clock.lap("search_ms")

    ranker = HeadRanker(engine, call)
    rankings: list[Ranking] = []
    advice: list[Advice] = []
    for context in contexts:
        ranking = ranker.rank(context, await rerank(engine, call, context))
        rankings.append(ranking)
        if _has_long_texts(ranking):
            advice.append(await asyncio.to_thread(assemble, engine, call, ranking))
        else:
            advice.append(assemble(engine, call, ranking))
            await _let_others(contexts)
    clock.lap("rank_ms")

    if engine.llm is not None:
        advice = await rewrite_guidelines(engine, call, contexts, advice)
        clock.lap("write_ms")

    await commit_receipts(engine, call, batch, Ranked(rankings, advice, clock.laps))
    clock.lap("commit_ms")
    return [batch.answers[place] for place in range(len(requests))]


def _has_long_texts(ranking: Ranking) -> bool:
    """Whether others are to be served while they are made neutral; for short ones a thread costs
    more than they take.
    """
    lengths = (len(row.situation) + len(row.lesson) for row in ranking.rows.values())
    return sum(heapq.nlargest(ranking.context.k, lengths)) > BRIEF_TEXTS


async def _let_others(contexts: Sequence[Context]) -> None:
    """Between two of a batch, which has many, others are served."""
    if len(contexts) > 1:
        await asyncio.sleep(0)


class _Stopwatch:
    """How long each part took, in milliseconds, for the receipt; in seconds for `on_stage`."""

    def __init__(self, on_stage: Callable[[str, float], None]) -> None:
        self._last = time.perf_counter()
        self._on_stage = on_stage
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = round((now - self._last) * 1000, 3)
        self._on_stage(name.removesuffix("_ms"), now - self._last)
        self._last = now


async def complete_requests(engine: Engine, call: Call, batch: RequestBatch) -> None:
    """Fills in what a request leaves open, its time and its queries; refuses what is wrong."""
    await _load_tasks(engine, call, batch)
    for place, request in list(batch.requests.items()):
        try:
            call.key.require_agent(request.agent)
            require_head(request.rerank, call.namespace.policy, "rerank")
            as_of = _as_of(call, request.as_of)
            if request.as_of is None:
                batch.present.add(place)
            text = text_of(request, batch.tasks.get(place))
            batch.queries[place] = request.queries or (Query(text),)
            batch.retrieval_ids[place] = new_id()
            k = policy_named(call.namespace.policy).places if request.k is None else request.k
            batch.requests[place] = replace(request, as_of=as_of, k=k)
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
    texts = [[query.text for query in batch.queries[place]] for place in batch.requests]
    vectors = await asyncio.gather(*(engine.embedder.embed(part) for part in texts))
    batch.vectors = {
        place: tuple(some) for place, some in zip(batch.requests, vectors, strict=True)
    }


async def follow(
    engine: Engine, call: Call, batch: RequestBatch, proof: Proof | None
) -> ResidentNamespace | None:
    """The copy of the namespace, as of now; None where there is none."""
    copies, namespace = engine.resident, call.namespace
    if not isinstance(copies, ResidentNamespaces):
        return None
    wanted = {choose_rerank(namespace, one.rerank) for one in batch.requests.values()}
    words = Rerank.FUSED in wanted
    return await copies.current(
        namespace.id, engine.model.id, namespace.n_memories, words=words, proof=proof
    )


async def rerank(engine: Engine, call: Call, context: Context) -> Mapping[UUID, float]:
    """The reranker's opinion of the head; nothing without one, or where the call or its namespace
    says `none`. No transaction is open.
    """
    rows, namespace = context.head.rows, call.namespace
    literal = policy_named(namespace.policy).literal
    refused = (context.request.rerank or namespace.settings.rerank) is Rerank.NONE
    if engine.reranker is None or not rows or literal or refused:
        return {}
    texts = [f"{row.situation}\n{row.lesson}" for row in rows]
    scores = await engine.reranker.relevance(context.text, texts)
    return {row.id: score for row, score in zip(rows, scores, strict=True)}


@dataclass(frozen=True, slots=True)
class Ranked:
    """What is to be committed: each ranking with the advice that was made of it."""

    rankings: Sequence[Ranking]
    advice: Sequence[Advice]
    laps: Mapping[str, float]

    @property
    def is_stored(self) -> bool:
        """Whether every one of them leaves a receipt, as it stands: a preview leaves none, and the
        words of a past error are held first.
        """
        contexts = [ranking.context for ranking in self.rankings]
        return not any(one.request.is_preview or one.past_error for one in contexts)


async def commit_receipts(engine: Engine, call: Call, batch: RequestBatch, ranked: Ranked) -> None:
    """Receipts are durable before any answer leaves.

    Nearly always nothing has happened to the memories since they were found: then tasks, receipts
    and the proof of that go to the database in one round trip, which keeps all or nothing. Where
    something was erased or taken out of use, it is taken out of answer and receipt; where a task's
    key is known already, or the effect waits for the record of the call, it is done step by step.
    What was ranked by a policy that the namespace has no more is refused.
    """
    if not ranked.rankings:
        return
    if ranked.is_stored and not engine.database.is_deferring:
        try:
            await _commit_at_once(engine, call, batch, ranked)
        except Declined:
            pass
        else:
            return
    await _commit_in_steps(engine, call, batch, ranked)


async def _commit_at_once(engine: Engine, call: Call, batch: RequestBatch, ranked: Ranked) -> None:
    """In one round trip. Raises Declined where anything stands in the way."""
    tasks: list[dict[str, object]] = []
    receipts: list[Receipt] = []
    for ranking, one in zip(ranked.rankings, ranked.advice, strict=True):
        task_id = None if (task := ranking.context.task) is None else task.id
        if task_id is None:
            tasks.append(row := _new_task(call, ranking.context))
            task_id = row["id"]
            assert isinstance(task_id, UUID)
        receipts.append(replace(one.receipt, task_id=task_id, timings=Timings(**ranked.laps)))
    held = _found_in(ranked)
    statements: list[Statement] = [
        require_policy(call.namespace),
        *([require_held(call.namespace.id, held)] if held else []),
        *([write_tasks(tasks)] if tasks else []),
        *write_receipts(call.namespace.id, receipts),
    ]
    await engine.database.exchange(statements, call.namespace.id)
    for ranking, one, receipt in zip(ranked.rankings, ranked.advice, receipts, strict=True):
        answer = replace(one, receipt=receipt)
        answer = _explain(call, ranking, answer, gone=frozenset(), laps=ranked.laps)
        batch.answers[ranking.context.place] = answer


def _found_in(ranked: Ranked) -> dict[UUID, int]:
    """Each memory whose words an answer carries, with the version of the bank it was found in."""
    found: dict[UUID, int] = {}
    for ranking, one in zip(ranked.rankings, ranked.advice, strict=True):
        version = ranking.context.head.bank_version
        for memory_id in _worded(ranking, one):
            found[memory_id] = min(version, found.get(memory_id, version))
    return found


def _new_task(call: Call, context: Context) -> dict[str, object]:
    draft = _draft(context)
    written = _provenance(call, context)
    new = new_task(draft, context.category_ids, written)
    return task_row(call.namespace.id, new, draft, written)


def _draft(context: Context) -> TaskDraft:
    assert context.request.task is not None
    return context.request.task.in_category(context.category)


def _provenance(call: Call, context: Context) -> Provenance:
    return Provenance(call.key.id, known_at_of(call, context), call.now)


async def _commit_in_steps(engine: Engine, call: Call, batch: RequestBatch, ranked: Ranked) -> None:
    receipts: list[Receipt] = []
    async with engine.database.effect(call.namespace.id) as connection:
        await NamespaceStore(connection).require_policy(call.namespace)
        tasks = TaskStore(connection, call.namespace.id)
        contexts = [ranking.context for ranking in ranked.rankings]
        reports = await hold_past_errors(connection, call.namespace.id, contexts)
        changed = await _hold_served(connection, call, ranked)
        unsaid = await gone_past_errors(connection, call.namespace.id, contexts, reports)
        for ranking, given in zip(ranked.rankings, ranked.advice, strict=True):
            gone = _find_gone(ranking, given, changed)
            kept = _without_error(ranking, unsaid)
            whole = not gone and kept is ranking
            one = given if whole else take_out(engine, kept, given, gone)
            place, request = ranking.context.place, ranking.context.request
            try:
                task_id = await _ensure_task(tasks, call, ranking.context)
            except MemoryFault as fault:
                batch.refuse(place, fault)
                continue
            receipt = replace(one.receipt, task_id=task_id, timings=Timings(**ranked.laps))
            answer = replace(one, receipt=receipt)
            batch.answers[place] = _explain(call, ranking, answer, gone=gone, laps=ranked.laps)
            if not request.is_preview:
                receipts.append(receipt)
        if receipts:
            await ReceiptStore(connection, call.namespace.id).add(receipts)


def _without_error(ranking: Ranking, unsaid: Collection[UUID]) -> Ranking:
    """Without a past error whose words were erased since it was read."""
    error = ranking.context.past_error
    if error is None or error.outcome_id not in unsaid:
        return ranking
    return replace(ranking, context=replace(ranking.context, past_error=None))


async def _hold_served(
    connection: Connection, call: Call, ranked: Ranked
) -> Mapping[UUID, HeldMemory]:
    """The memories whose words the answers carry, as they stand; whoever erases one waits for the
    receipts, and finds them.
    """
    ids = _found_in(ranked)
    held = await StatusStore(connection, call.namespace.id).hold(sorted(ids)) if ids else ()
    return {one.id: one for one in held}


def _worded(ranking: Ranking, advice: Advice) -> set[UUID]:
    """What was selected; in an explained preview every candidate has its words."""
    request = ranking.context.request
    shown = ranking.rows if request.explain and request.is_preview else ()
    return {*(item.memory_id for item in advice.receipt.items), *shown}


def _find_gone(
    ranking: Ranking, advice: Advice, held: Mapping[UUID, HeldMemory]
) -> frozenset[UUID]:
    """What was erased, or taken out of use, after the bank was searched."""
    searched = ranking.context.head.bank_version
    return frozenset(
        memory_id
        for memory_id in _worded(ranking, advice)
        if memory_id not in held or held[memory_id].is_gone(searched)
    )


def _explain(
    call: Call,
    ranking: Ranking,
    advice: Advice,
    *,
    gone: Collection[UUID],
    laps: Mapping[str, float],
) -> Advice:
    """How it came about, where that was asked."""
    if not ranking.context.request.explain:
        return advice
    explanation = explain_ranking(call, ranking, advice, laps)
    left = tuple(one for one in explanation.considered if one.memory_id not in gone)
    explanation = replace(explanation, considered=left)
    return replace(advice, receipt=explain_items(advice.receipt), explanation=explanation)


async def _ensure_task(tasks: TaskStore, call: Call, context: Context) -> UUID | None:
    """The task the receipt is about, stored now if it is new; a preview stores none."""
    if context.task is not None:
        if not context.request.is_preview:
            await tasks.hold(context.task.id)
        return context.task.id
    if context.request.is_preview:
        return None
    written = _provenance(call, context)
    task, _ = await tasks.ensure(_draft(context), context.category_ids, written)
    return task.id


async def get_receipt(engine: Engine, call: Call, retrieval_id: UUID) -> Receipt:
    """The record of one retrieval, its guideline in both formats of prose."""
    async with engine.database.transaction(call.namespace.id) as connection:
        receipt = await ReceiptStore(connection, call.namespace.id).get(retrieval_id)
        receipt = await hide_private(connection, call, receipt)
    return replace(receipt, formats=in_formats(receipt))


async def explain(engine: Engine, call: Call, retrieval_id: UUID) -> Receipt:
    """The receipt, each of its memories with a sentence on why it stands where it stands."""
    async with engine.database.transaction(call.namespace.id) as connection:
        receipt = await ReceiptStore(connection, call.namespace.id).get(retrieval_id)
        return await hide_private(connection, call, explain_items(receipt))


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
        found = await hide_private(connection, call, found)
    return listed(found, page, total, lambda receipt: (str(receipt.retrieval_id),))
