"""The client for code that awaits: the same calls, the same logic, another way to wait."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar, Unpack

import httpx

from memlift_client import _operations as ops
from memlift_client._answers import Page
from memlift_client._asking import BY_THE_CLIENTS_AGENT, ask, keep
from memlift_client._connection import Connection, no_answer, reply_of
from memlift_client._explaining import explained
from memlift_client._learning import Judge, Text, learning_async
from memlift_client._local import find_local
from memlift_client._prompt import SYSTEM_PROMPT
from memlift_client._retries import Event, Exchange, Pause, RetryPolicy, Step
from memlift_client._task import DEFAULT_AGENT, AsyncOpenedTask, TaskOptions, TaskRun, TaskSettings
from memlift_client._tickets import AsyncTickets, TrialQueue
from memlift_client._wire import Call, Reply

Given = ParamSpec("Given")
Result = TypeVar("Result")


def _method(
    build: Callable[Given, Call[Result]],
) -> Callable[Concatenate["AsyncMemLift", Given], Awaitable[Result]]:
    @wraps(build)
    def method(
        self: "AsyncMemLift", /, *args: Given.args, **kwargs: Given.kwargs
    ) -> Awaitable[Result]:
        if build in BY_THE_CLIENTS_AGENT:
            kwargs.setdefault("agent", self.agent)
        try:
            call = build(*args, **kwargs)
        except TypeError as fault:
            raise TypeError(explained(AsyncMemLift, method, args, kwargs, fault)) from None
        return self.perform(call)

    return method


def _each(
    build: Callable[Given, Call[Page[Result]]],
) -> Callable[Concatenate["AsyncMemLift", Given], AsyncIterator[Result]]:
    @wraps(build)
    def method(
        self: "AsyncMemLift", /, *args: Given.args, **kwargs: Given.kwargs
    ) -> AsyncIterator[Result]:
        return self.every(build(*args, **kwargs))

    return method


class AsyncMemLift:
    """Speaks to one server with one key, inside one namespace.

    `async with AsyncMemLift(url, key) as memory: ...` closes the connections at the end.
    Methods named `each_…` walk through all pages; `list_…` give one.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        namespace: str = "default",
        *,
        agent: str = DEFAULT_AGENT,
        retry_policy: RetryPolicy | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        retry_policy = retry_policy or RetryPolicy()
        self.agent = agent
        """Who asks, where a call does not say."""
        self._connection = Connection(url, key, namespace, retry_policy)
        self._http = httpx.AsyncClient(
            base_url=self._connection.url,
            headers=self._connection.headers(),
            timeout=self._connection.retry_policy.timeout,
            transport=transport,
        )

    @property
    def url(self) -> str:
        """Of the server that it speaks to."""
        return self._connection.url

    def within(self, namespace: str) -> "AsyncMemLift":
        """The same server, key and connections, in another namespace."""
        other = object.__new__(AsyncMemLift)
        other.agent = self.agent
        other._connection = self._connection.within(namespace)
        other._http = self._http
        return other

    @classmethod
    def from_home(
        cls,
        home: str | Path | None = None,
        namespace: str = "default",
        *,
        agent: str = DEFAULT_AGENT,
        retry_policy: RetryPolicy | None = None,
    ) -> Self:
        """The client of a server on this machine: address and key by `MEMLIFT_URL` and
        `MEMLIFT_KEY`, else from its data directory. Raises ConfigurationError where there is none.
        """
        local = find_local(home)
        return cls(local.url, local.key, namespace, agent=agent, retry_policy=retry_policy)

    @staticmethod
    def system_prompt() -> str:
        """How to read a guideline: a constant, to be put into a system prompt once."""
        return SYSTEM_PROMPT

    def task(
        self, text: str, *, agent: str | None = None, **options: Unpack[TaskSettings]
    ) -> AsyncOpenedTask:
        """The run of a task: asks, and reports at the end of the block what `t.reward` said. An
        exception is reward 0, by the agent's own word; without a reward the receipt stays pending.
        """
        chosen = TaskOptions(agent=agent or self.agent, **options)
        return AsyncOpenedTask(self, TaskRun(text, chosen))

    def tickets(
        self, *, agent: str | None = None, category: str | None = None, limit: int | None = None
    ) -> AsyncTickets:
        """The trials of candidates that wait, one after the other, at most of `limit` tickets:
        `async with memory.tickets() as trials`. Each is reported when the next one is asked for;
        what has no reward when the block ends is given back.
        """
        return AsyncTickets(self, TrialQueue(agent or self.agent, category, limit))

    def learn(
        self,
        text: Text = None,
        *,
        reward: Judge = None,
        agent: str | None = None,
        **options: Unpack[TaskSettings],
    ) -> Callable[[Callable[..., Awaitable[Result]]], Callable[..., Awaitable[Result]]]:
        """Makes each call of a function the run of a task; the function takes `guideline`, `task`
        (the run), or both. `text` words the task (`"Refund invoice {invoice}"`), `reward` judges
        what is returned; without one, only a failure is reported.
        """

        def begin(words: str) -> AsyncOpenedTask:
            return self.task(words, agent=agent, **options)

        return lambda function: learning_async(function, begin, text, reward)

    async def perform(self, call: Call[Result], *, key: str | None = None) -> Result:
        """Make one call and read its answer; the same idempotency `key` again has no effect again.
        Raises MemLiftProblem, ConnectionFailed, or ConfigurationError where asking again would not
        help.
        """
        ready = self._connection.prepared(call, key)
        with self._connection.traced(ready) as found:
            reply = await self._run(self._connection.exchange(ready))
            result = self._connection.finish(ready, reply)
            found(result)
        return result

    async def every(self, call: Call[Page[Result]]) -> AsyncIterator[Result]:
        """The rows of all pages, fetched as they are needed."""
        page = await self.perform(call)
        for row in page.items:
            yield row
        while page.next_cursor is not None:
            page = await self.perform(call.after(page.next_cursor))
            for row in page.items:
                yield row

    async def _run(self, exchange: Exchange) -> Reply:
        event: Event = None
        while True:
            try:
                step = exchange.send(event)
            except StopIteration as end:
                return end.value
            event = await self._take(step)

    async def _take(self, step: Step) -> Event:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return None
        try:
            return reply_of(
                await self._http.send(self._http.build_request(**self._connection.sent(step)))
            )
        except httpx.TransportError as fault:
            return no_answer(fault)

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    live = _method(ops.live)
    ready = _method(ops.ready)
    me = _method(ops.me)
    create_namespace = _method(ops.create_namespace)
    get_namespace = _method(ops.get_namespace)
    change_namespace = _method(ops.change_namespace)
    list_namespaces = _method(ops.list_namespaces)
    request_deletion = _method(ops.request_deletion)
    delete_namespace = _method(ops.delete_namespace)
    create_key = _method(ops.create_key)
    list_keys = _method(ops.list_keys)
    revoke_key = _method(ops.revoke_key)
    add_agent = _method(ops.add_agent)
    get_agent = _method(ops.get_agent)
    list_agents = _method(ops.list_agents)
    change_agent = _method(ops.change_agent)
    add_category = _method(ops.add_category)
    list_categories = _method(ops.list_categories)
    rename_category = _method(ops.rename_category)
    set_measure = _method(ops.set_measure)
    add_task = _method(ops.add_task)
    get_task = _method(ops.get_task)
    list_tasks = _method(ops.list_tasks)
    list_jobs = _method(ops.list_jobs)
    run_job = _method(ops.run_job)
    list_job_runs = _method(ops.list_runs)
    stop_job_run = _method(ops.stop_run)
    audit = _method(ops.list_audit)
    erase = _method(ops.erase)
    erase_experience = _method(ops.erase_experience)
    remember = _method(keep)
    remember_all = _method(ops.add_experiences)
    get_experience = _method(ops.get_experience)
    list_experiences = _method(ops.list_experiences)
    edit_experience = _method(ops.edit_experience)
    list_versions = _method(ops.list_versions)
    suspend = _method(ops.suspend_experience)
    retire = _method(ops.retire_experience)
    restore = _method(ops.restore_experience)
    merge = _method(ops.merge_experience)
    try_apart = _method(ops.try_apart)
    get_apart = _method(ops.get_apart)
    stop_apart = _method(ops.stop_apart)
    list_memories = _method(ops.list_memories)
    get_memory = _method(ops.get_memory)
    neighbours = _method(ops.list_neighbours)
    list_episodes = _method(ops.list_episodes)
    list_records = _method(ops.list_records)
    worth = _method(ops.get_worth)
    change_trust = _method(ops.change_trust)
    change_memories = _method(ops.change_memories)
    add_meta_guideline = _method(ops.add_meta_guideline)
    get_meta_guideline = _method(ops.get_meta_guideline)
    list_meta_guidelines = _method(ops.list_meta_guidelines)
    edit_meta_guideline = _method(ops.edit_meta_guideline)
    suspend_meta_guideline = _method(ops.suspend_meta_guideline)
    retire_meta_guideline = _method(ops.retire_meta_guideline)
    restore_meta_guideline = _method(ops.restore_meta_guideline)
    contrast = _method(ops.add_contrasts)
    get_contrast = _method(ops.get_contrast)
    list_contrasts = _method(ops.list_contrasts)
    redo_contrast = _method(ops.redo_contrast)
    add_constraint = _method(ops.add_constraint)
    get_constraint = _method(ops.get_constraint)
    list_constraints = _method(ops.list_constraints)
    constraint_support = _method(ops.list_support)
    vouch_for_constraint = _method(ops.vouch_for_constraint)
    suspend_constraint = _method(ops.suspend_constraint)
    retire_constraint = _method(ops.retire_constraint)
    restore_constraint = _method(ops.restore_constraint)
    list_contradictions = _method(ops.list_contradictions)
    get_contradiction = _method(ops.get_contradiction)
    resolve_contradiction = _method(ops.resolve_contradiction)
    retrieve = _method(ask)
    retrieve_all = _method(ops.create_retrievals)
    get_retrieval = _method(ops.get_retrieval)
    explain = _method(ops.explain_retrieval)
    list_retrievals = _method(ops.list_retrievals)
    report = _method(ops.report_outcome)
    report_by_key = _method(ops.report_by_key)
    report_all = _method(ops.report_outcomes)
    apply_outcomes = _method(ops.apply_outcomes)
    get_outcome = _method(ops.get_outcome)
    list_outcomes = _method(ops.list_outcomes)
    get_weight = _method(ops.get_weight)
    list_weight_events = _method(ops.list_weight_events)
    list_weights = _method(ops.list_weights)
    worth_by_weight = _method(ops.list_worth_by_weight)
    list_influences = _method(ops.list_influences)
    list_moved_memories = _method(ops.list_moved_memories)
    effect = _method(ops.get_effect)
    rankers = _method(ops.get_rankers)
    bank_at = _method(ops.get_bank)
    difference = _method(ops.get_difference)
    what_if = _method(ops.what_if)
    rollback = _method(ops.rollback)
    list_rollbacks = _method(ops.list_rollbacks)
    undo_rollback = _method(ops.undo_rollback)
    create_webhook = _method(ops.create_webhook)
    list_webhooks = _method(ops.list_webhooks)
    delete_webhook = _method(ops.delete_webhook)
    try_webhook = _method(ops.try_webhook)
    list_deliveries = _method(ops.list_deliveries)
    import_history = _method(ops.import_experiences)
    refine = _method(ops.refine_experience)
    claim_tickets = _method(ops.claim_tickets)
    report_trials = _method(ops.report_trials)
    get_ticket = _method(ops.get_ticket)
    list_tickets = _method(ops.list_tickets)
    release_ticket = _method(ops.release_ticket)
    cancel_ticket = _method(ops.cancel_ticket)
    approve_ticket = _method(ops.approve_ticket)
    retry_ticket = _method(ops.retry_ticket)
    list_candidates = _method(ops.list_candidates)
    retry_candidate = _method(ops.retry_candidate)
    list_changes = _method(ops.list_changes)
    list_changesets = _method(ops.list_changesets)
    get_changeset = _method(ops.get_changeset)
    undo_changeset = _method(ops.undo_changeset)
    retry_changeset = _method(ops.retry_changeset)
    predict = _method(ops.predict)
    predict_all = _method(ops.predict_all)
    get_prediction = _method(ops.get_prediction)
    list_predictions = _method(ops.list_predictions)
    settle = _method(ops.settle)
    settle_all = _method(ops.settle_all)
    get_settlement = _method(ops.get_settlement)
    list_settlements = _method(ops.list_settlements)
    add_trajectory = _method(ops.add_trajectory)
    add_all_trajectories = _method(ops.add_trajectories)
    get_trajectory = _method(ops.get_trajectory)
    list_trajectories = _method(ops.list_trajectories)
    competence = _method(ops.list_competences)
    bring_taxonomy = _method(ops.bring_taxonomy)
    taxonomy = _method(ops.get_taxonomy)
    list_taxonomies = _method(ops.list_taxonomies)
    learning_health = _method(ops.get_learning_health)
    list_learning_health = _method(ops.list_learning_health)
    list_llm_calls = _method(ops.list_llm_calls)
    llm_budget = _method(ops.get_llm_budget)

    each_namespace = _each(ops.list_namespaces)
    each_key = _each(ops.list_keys)
    each_agent = _each(ops.list_agents)
    each_category = _each(ops.list_categories)
    each_task = _each(ops.list_tasks)
    each_job_run = _each(ops.list_runs)
    each_audit_entry = _each(ops.list_audit)
    each_experience = _each(ops.list_experiences)
    each_memory = _each(ops.list_memories)
    each_episode = _each(ops.list_episodes)
    each_meta_guideline = _each(ops.list_meta_guidelines)
    each_contrast = _each(ops.list_contrasts)
    each_constraint = _each(ops.list_constraints)
    each_support = _each(ops.list_support)
    each_contradiction = _each(ops.list_contradictions)
    each_retrieval = _each(ops.list_retrievals)
    each_outcome = _each(ops.list_outcomes)
    each_weight_event = _each(ops.list_weight_events)
    each_weight = _each(ops.list_weights)
    each_rollback = _each(ops.list_rollbacks)
    each_delivery = _each(ops.list_deliveries)
    each_ticket = _each(ops.list_tickets)
    each_candidate = _each(ops.list_candidates)
    each_changeset = _each(ops.list_changesets)
    each_prediction = _each(ops.list_predictions)
    each_settlement = _each(ops.list_settlements)
    each_trajectory = _each(ops.list_trajectories)
    each_competence = _each(ops.list_competences)
    each_learning_health = _each(ops.list_learning_health)
    each_llm_call = _each(ops.list_llm_calls)
