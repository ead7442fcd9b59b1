"""The client for code that waits: one method a call, the whole loop."""

import time
from collections.abc import Callable, Iterator
from functools import wraps
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

import httpx

from memlift_client import _calls_admin as calls_admin
from memlift_client import _calls_constraints as calls_constraints
from memlift_client import _calls_contrasts as calls_contrasts
from memlift_client import _calls_forecasts as calls_forecasts
from memlift_client import _calls_loop as calls_loop
from memlift_client import _calls_memories as calls_memories
from memlift_client import _calls_meta as calls_meta
from memlift_client import _calls_runs as calls_runs
from memlift_client import _calls_tickets as calls_tickets
from memlift_client._connection import Connection, no_answer, reply_of
from memlift_client._results_bank import Page
from memlift_client._retries import Event, Exchange, Patience, Pause, Step
from memlift_client._wire import Call, Reply

Given = ParamSpec("Given")
Result = TypeVar("Result")


def _method(
    build: Callable[Given, Call[Result]],
) -> Callable[Concatenate["MemLift", Given], Result]:
    @wraps(build)
    def method(self: "MemLift", /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
        return self.perform(build(*args, **kwargs))

    return method


def _each(
    build: Callable[Given, Call[Page[Result]]],
) -> Callable[Concatenate["MemLift", Given], Iterator[Result]]:
    @wraps(build)
    def method(self: "MemLift", /, *args: Given.args, **kwargs: Given.kwargs) -> Iterator[Result]:
        return self.every(build(*args, **kwargs))

    return method


class MemLift:
    """Speaks to one server with one key, inside one namespace.

    `with MemLift(url, key, namespace="default") as memory: ...` closes the connections at the end.
    Methods named `each_…` walk through all pages; `list_…` give one.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        namespace: str = "default",
        *,
        patience: Patience | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        patience = patience or Patience()
        self._connection = Connection(url, key, namespace, patience)
        self._http = httpx.Client(
            base_url=url,
            headers=self._connection.headers(),
            timeout=self._connection.patience.timeout,
            transport=transport,
        )

    def within(self, namespace: str) -> "MemLift":
        """The same server, key and connections, in another namespace."""
        other = object.__new__(MemLift)
        other._connection = self._connection.within(namespace)
        other._http = self._http
        return other

    def perform(self, call: Call[Result]) -> Result:
        """Make one call and read its answer. Raises MemLiftProblem or Unreachable."""
        ready = self._connection.prepared(call)
        return ready.result(self._run(self._connection.exchange(ready)))

    def every(self, call: Call[Page[Result]]) -> Iterator[Result]:
        """The rows of all pages, fetched as they are needed."""
        page = self.perform(call)
        yield from page.items
        while page.next_cursor is not None:
            page = self.perform(call.after(page.next_cursor))
            yield from page.items

    def _run(self, exchange: Exchange) -> Reply:
        event: Event = None
        while True:
            try:
                step = exchange.send(event)
            except StopIteration as end:
                return end.value
            event = self._take(step)

    def _take(self, step: Step) -> Event:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        try:
            return reply_of(
                self._http.send(self._http.build_request(**self._connection.sent(step)))
            )
        except httpx.TransportError as fault:
            return no_answer(fault)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    live = _method(calls_admin.live)
    ready = _method(calls_admin.ready)
    me = _method(calls_admin.me)
    create_namespace = _method(calls_admin.create_namespace)
    get_namespace = _method(calls_admin.get_namespace)
    change_namespace = _method(calls_admin.change_namespace)
    list_namespaces = _method(calls_admin.list_namespaces)
    request_deletion = _method(calls_admin.request_deletion)
    delete_namespace = _method(calls_admin.delete_namespace)
    create_key = _method(calls_admin.create_key)
    list_keys = _method(calls_admin.list_keys)
    revoke_key = _method(calls_admin.revoke_key)
    add_agent = _method(calls_admin.add_agent)
    get_agent = _method(calls_admin.get_agent)
    list_agents = _method(calls_admin.list_agents)
    change_agent = _method(calls_admin.change_agent)
    add_category = _method(calls_admin.add_category)
    list_categories = _method(calls_admin.list_categories)
    add_task = _method(calls_admin.add_task)
    get_task = _method(calls_admin.get_task)
    list_tasks = _method(calls_admin.list_tasks)
    list_jobs = _method(calls_admin.list_jobs)
    run_job = _method(calls_admin.run_job)
    list_job_runs = _method(calls_admin.list_job_runs)
    audit = _method(calls_admin.audit)
    erase = _method(calls_admin.erase)
    erase_experience = _method(calls_admin.erase_experience)
    remember = _method(calls_loop.remember)
    remember_all = _method(calls_loop.remember_all)
    get_experience = _method(calls_loop.get_experience)
    list_experiences = _method(calls_loop.list_experiences)
    edit_experience = _method(calls_loop.edit_experience)
    list_versions = _method(calls_loop.list_versions)
    suspend = _method(calls_loop.suspend)
    retire = _method(calls_loop.retire)
    restore = _method(calls_loop.restore)
    list_memories = _method(calls_memories.list_memories)
    get_memory = _method(calls_memories.get_memory)
    neighbours = _method(calls_memories.neighbours)
    list_episodes = _method(calls_memories.list_episodes)
    list_records = _method(calls_memories.list_records)
    change_trust = _method(calls_memories.change_trust)
    change_memories = _method(calls_memories.change_memories)
    foresee_erasure = _method(calls_memories.foresee_erasure)
    add_meta_guideline = _method(calls_meta.add_meta_guideline)
    get_meta_guideline = _method(calls_meta.get_meta_guideline)
    list_meta_guidelines = _method(calls_meta.list_meta_guidelines)
    edit_meta_guideline = _method(calls_meta.edit_meta_guideline)
    suspend_meta_guideline = _method(calls_meta.suspend_meta_guideline)
    retire_meta_guideline = _method(calls_meta.retire_meta_guideline)
    restore_meta_guideline = _method(calls_meta.restore_meta_guideline)
    contrast = _method(calls_contrasts.contrast)
    get_contrast = _method(calls_contrasts.get_contrast)
    list_contrasts = _method(calls_contrasts.list_contrasts)
    redo_contrast = _method(calls_contrasts.redo_contrast)
    add_constraint = _method(calls_constraints.add_constraint)
    get_constraint = _method(calls_constraints.get_constraint)
    list_constraints = _method(calls_constraints.list_constraints)
    constraint_support = _method(calls_constraints.constraint_support)
    suspend_constraint = _method(calls_constraints.suspend_constraint)
    retire_constraint = _method(calls_constraints.retire_constraint)
    restore_constraint = _method(calls_constraints.restore_constraint)
    list_contradictions = _method(calls_constraints.list_contradictions)
    get_contradiction = _method(calls_constraints.get_contradiction)
    resolve_contradiction = _method(calls_constraints.resolve_contradiction)
    retrieve = _method(calls_loop.retrieve)
    retrieve_all = _method(calls_loop.retrieve_all)
    get_retrieval = _method(calls_loop.get_retrieval)
    explain = _method(calls_loop.explain)
    list_retrievals = _method(calls_loop.list_retrievals)
    report = _method(calls_loop.report)
    report_all = _method(calls_loop.report_all)
    apply_outcomes = _method(calls_loop.apply_outcomes)
    get_outcome = _method(calls_loop.get_outcome)
    list_outcomes = _method(calls_loop.list_outcomes)
    get_weight = _method(calls_loop.get_weight)
    list_weight_events = _method(calls_loop.list_weight_events)
    list_weights = _method(calls_loop.list_weights)
    effect = _method(calls_loop.effect)
    rankers = _method(calls_loop.rankers)
    bank_at = _method(calls_loop.bank_at)
    difference = _method(calls_loop.difference)
    what_if = _method(calls_loop.what_if)
    rollback = _method(calls_loop.rollback)
    import_history = _method(calls_tickets.import_history)
    refine = _method(calls_tickets.refine)
    claim_tickets = _method(calls_tickets.claim_tickets)
    report_trials = _method(calls_tickets.report_trials)
    get_ticket = _method(calls_tickets.get_ticket)
    list_tickets = _method(calls_tickets.list_tickets)
    release_ticket = _method(calls_tickets.release_ticket)
    cancel_ticket = _method(calls_tickets.cancel_ticket)
    approve_ticket = _method(calls_tickets.approve_ticket)
    retry_ticket = _method(calls_tickets.retry_ticket)
    list_candidates = _method(calls_tickets.list_candidates)
    retry_candidate = _method(calls_tickets.retry_candidate)
    predict = _method(calls_forecasts.predict)
    predict_all = _method(calls_forecasts.predict_all)
    get_prediction = _method(calls_forecasts.get_prediction)
    list_predictions = _method(calls_forecasts.list_predictions)
    settle = _method(calls_forecasts.settle)
    settle_all = _method(calls_forecasts.settle_all)
    get_settlement = _method(calls_forecasts.get_settlement)
    list_settlements = _method(calls_forecasts.list_settlements)
    add_trajectory = _method(calls_runs.add_trajectory)
    add_all_trajectories = _method(calls_runs.add_all_trajectories)
    get_trajectory = _method(calls_runs.get_trajectory)
    list_trajectories = _method(calls_runs.list_trajectories)
    competence = _method(calls_runs.competence)
    bring_taxonomy = _method(calls_runs.bring_taxonomy)
    taxonomy = _method(calls_runs.taxonomy)
    list_taxonomies = _method(calls_runs.list_taxonomies)
    health = _method(calls_loop.health)
    list_health = _method(calls_loop.list_health)

    each_namespace = _each(calls_admin.list_namespaces)
    each_key = _each(calls_admin.list_keys)
    each_agent = _each(calls_admin.list_agents)
    each_category = _each(calls_admin.list_categories)
    each_task = _each(calls_admin.list_tasks)
    each_job_run = _each(calls_admin.list_job_runs)
    each_audit_entry = _each(calls_admin.audit)
    each_experience = _each(calls_loop.list_experiences)
    each_memory = _each(calls_memories.list_memories)
    each_episode = _each(calls_memories.list_episodes)
    each_meta_guideline = _each(calls_meta.list_meta_guidelines)
    each_contrast = _each(calls_contrasts.list_contrasts)
    each_constraint = _each(calls_constraints.list_constraints)
    each_support = _each(calls_constraints.constraint_support)
    each_contradiction = _each(calls_constraints.list_contradictions)
    each_retrieval = _each(calls_loop.list_retrievals)
    each_outcome = _each(calls_loop.list_outcomes)
    each_weight_event = _each(calls_loop.list_weight_events)
    each_weight = _each(calls_loop.list_weights)
    each_ticket = _each(calls_tickets.list_tickets)
    each_candidate = _each(calls_tickets.list_candidates)
    each_prediction = _each(calls_forecasts.list_predictions)
    each_settlement = _each(calls_forecasts.list_settlements)
    each_trajectory = _each(calls_runs.list_trajectories)
    each_competence = _each(calls_runs.competence)
    each_health = _each(calls_loop.list_health)
