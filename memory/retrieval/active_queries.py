"""Queries that a language model writes for a task, searched for beside the task's text.

After Live-Evo's active retrieval (arXiv 2602.02369). All requests of a call are asked about at once
and share one deadline; what is not there in time is searched for by the task's text alone. No
transaction is open while the model thinks.
"""

import asyncio
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass

from memory.kernel.engine import Engine
from memory.llm import prompts
from memory.llm.client import LlmFailure, LlmSession, ask_or_explain
from memory.llm.entities import LlmSubject
from memory.llm.models import name_for
from memory.llm.replies import Malformed, list_of, object_of, read_object, text_of
from memory.llm.roles import LlmRole, prompt_of, said
from memory.receipts.search_entities import NoQueries, QueriesBy, Query, Search, Target
from memory.retrieval.context import RequestBatch
from memory.retrieval.context import text_of as task_text
from memory.retrieval.entities import RetrievalRequest
from memory.tenancy.entities import Call

AT_ONCE = 8


MOST_QUERIES = 3


MAX_WORDS, MAX_QUERY = 24, 300


ROOM = 400
"""Tokens of an answer."""


@dataclass(frozen=True, slots=True)
class _Asking:
    """Whom to ask, for whom, and until when."""

    engine: Engine
    name: str
    """Of the model that writes the queries."""
    call: Call
    deadline: float
    places: asyncio.Semaphore


async def add_active_queries(engine: Engine, call: Call, batch: RequestBatch) -> None:
    """Puts a model's queries behind the task's text, and says of each request what was searched
    for. A text that several requests have is asked about once.
    """
    wanted: dict[str, list[int]] = {}
    for place, request in batch.requests.items():
        reason = _reason_not_to_ask(engine, call, request)
        if reason is None:
            wanted.setdefault(task_text(request, batch.tasks.get(place)), []).append(place)
        else:
            by = QueriesBy.CALLER if request.queries else QueriesBy.TASK
            batch.searches[place] = Search(by, reason=reason.value)
    if engine.llm is None or not wanted:
        return
    seconds = engine.settings.llm.queries.total_seconds()
    places = asyncio.Semaphore(AT_ONCE)
    name = name_for(engine, call.namespace.settings, "search")
    asking = _Asking(engine, name, call, time.monotonic() + seconds, places)
    found = await asyncio.gather(
        *(_search_for(asking, batch, text, some[0]) for text, some in wanted.items())
    )
    for search, some in zip(found, wanted.values(), strict=True):
        for place in some:
            _apply(engine, batch, place, search)


def _reason_not_to_ask(engine: Engine, call: Call, request: RetrievalRequest) -> NoQueries | None:
    reasons = {
        NoQueries.NO_MODEL: engine.llm is None,
        NoQueries.OFF_SERVER: not engine.settings.llm.queries,
        NoQueries.OFF_NAMESPACE: not call.namespace.settings.active_queries,
        NoQueries.OFF_REQUEST: not request.active_queries,
        NoQueries.OWN_QUERIES: bool(request.queries),
        NoQueries.NOT_ACTING: request.is_preview or request.arm == "off",
    }
    return next((reason for reason, holds in reasons.items() if holds), None)


def _apply(engine: Engine, batch: RequestBatch, place: int, search: Search) -> None:
    batch.searches[place] = search
    batch.queries[place] += search.queries
    result = "cached" if search.cached else search.reason or "asked"
    engine.llm_counters.queries[result] += 1


async def _search_for(asking: _Asking, batch: RequestBatch, text: str, place: int) -> Search:
    """The queries for a text: as they were written lately, or as the model writes them now."""
    engine, namespace_id = asking.engine, asking.call.namespace.id
    asked = f"search {asking.name} {text}"
    known = engine.recent_answers.find(namespace_id, asked)
    if known is not None:
        return Search(QueriesBy.MODEL, read_queries(known, text), cached=True)
    pause = engine.query_pauses[asking.name]
    if time.monotonic() < pause.until:
        return Search(QueriesBy.TASK, reason=NoQueries.PAUSED.value)
    async with asking.places:
        left = asking.deadline - time.monotonic()
        if left <= 0:
            return Search(QueriesBy.TASK, reason=NoQueries.DEADLINE.value)
        session = _session(asking, batch, place)
        result = await ask_or_explain(session, search_role(text), left)
    failed = result.reason if isinstance(result, LlmFailure) else None
    pause.note(slow=failed == "llm_slow", now=time.monotonic())
    if isinstance(result, LlmFailure):
        return Search(QueriesBy.TASK, reason=result.reason)
    engine.recent_answers.keep(namespace_id, asked, _written(result.value))
    return Search(QueriesBy.MODEL, result.value)


def _session(asking: _Asking, batch: RequestBatch, place: int) -> LlmSession:
    request, call = batch.requests[place], asking.call
    subject = LlmSubject(
        retrieval_id=batch.retrieval_ids[place],
        task_id=request.task_id,
        agent=request.agent,
        key_id=call.key.id,
    )
    return LlmSession(asking.engine, call.namespace.id, subject, call.now)


def search_role(task: str) -> LlmRole[tuple[Query, ...]]:
    """A task → two or three queries."""
    asked = prompts.SEARCH.format(words=MAX_WORDS)
    schema = prompts.SEARCH_SCHEMA
    return LlmRole(
        "search",
        prompt_of("search", asked, [("Task", said(task))], schema, room=ROOM),
        lambda answer: read_queries(answer, task),
    )


def read_queries(answer: str, task: str) -> tuple[Query, ...]:
    """The queries of an answer, each once, none of them the task itself. Raises Malformed."""
    parts = list_of(read_object(answer, ("queries",)), "queries", MOST_QUERIES)
    found = dict.fromkeys(_read_query(object_of(part, "a query")) for part in parts)
    kept = tuple(one for one in found if one.text.casefold() != task.strip().casefold())
    if not kept:
        raise Malformed("no query says anything but the task", code="empty")
    return kept


def _read_query(part: Mapping[str, object]) -> Query:
    target = part.get("target")
    if target not in tuple(Target):
        raise Malformed("a query's target is neither situation nor lesson")
    return Query(text_of(part, "text", MAX_QUERY), Target(str(target)))


def _written(queries: tuple[Query, ...]) -> str:
    parts = [{"text": one.text, "target": one.target.value} for one in queries]
    return json.dumps({"queries": parts}, ensure_ascii=False)
