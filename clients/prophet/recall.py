"""The agent's side of the memory server: it asks, it tells, and it never waits for long.

Whatever fails here costs the memory of one event, not its forecast: a call answers with what it
got, or with a Silence that says why there is nothing.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from memlift_client import (
    AgentFields,
    KeyRefused,
    MemLift,
    MemLiftError,
    MemLiftProblem,
    PredictionFields,
    Retrieval,
    RetrievalFields,
    TaskFields,
)

from clients.prophet.deadline import TooSlow, within
from clients.prophet.event import Event
from clients.prophet.forecaster import Wish

LOG = logging.getLogger("memlift.prophet")
SAID = 200

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Silence:
    """The memory server gave nothing, and why."""

    reason: str


class Recall:
    """One agent's access to one namespace.

    seconds: how long a call may take. `about` describes the agent, before its first question.
    `reached`: whether a question was answered so far.
    """

    def __init__(
        self, memory: MemLift, agent: str, about: AgentFields, seconds: float = 5.0
    ) -> None:
        self._memory = memory
        self.agent = agent
        self._about = about
        self._seconds = seconds
        self._introduced = False
        self.reached = False

    def ask(self, event: Event, wish: Wish) -> Retrieval | Silence:
        """What is remembered of events like this one."""
        fields = RetrievalFields(
            agent=self.agent,
            task=_task(event),
            k=wish.k,
            all_rankers=wish.all_rankers,
            purpose="paired",
            format=wish.format,
        )
        if event.asked_at is not None:
            fields["as_of"] = event.asked_at
        result = self._tried("retrieval", event, lambda: self._asked(fields, event))
        self.reached = self.reached or not isinstance(result, Silence)
        return result

    def tell(self, event: Event, fields: PredictionFields) -> Silence | None:
        """Hand in the forecast, for the settlement to come."""
        if "retrieval_id" not in fields:
            fields["task"] = _task(event)
        if event.asked_at is not None:
            fields["known_at"] = event.asked_at
        return self._tried("prediction", event, lambda: self._told(fields))

    def _told(self, fields: PredictionFields) -> None:
        self._memory.predict(**fields)

    def _asked(self, fields: RetrievalFields, event: Event) -> Retrieval:
        self._introduce()
        try:
            return self._memory.retrieve(**fields)
        except MemLiftProblem as problem:
            if problem.code != "task_conflict":
                raise
        # The window was moved since it was first asked about: the server keeps its first end.
        fields["task"] = _task(replace(event, closes_at=None))
        return self._memory.retrieve(**fields)

    def _introduce(self) -> None:
        """Say once what the agent is; one that is known already stays as it is."""
        if self._introduced:
            return
        try:
            self._memory.add_agent(self.agent, **self._about)
        except MemLiftProblem as problem:
            LOG.info("agent %s was not described anew: %s", self.agent, problem)
        self._introduced = True

    def _tried(self, what: str, event: Event, work: Callable[[], Result]) -> Result | Silence:
        try:
            return within(self._seconds, work)
        except KeyRefused as fault:
            # What was a key when the agent began is none any more: no event will have a memory.
            LOG.error("%s: the key is refused, and will be: %s", event.key, fault)  # noqa: TRY400 - its trace says nothing more
            return Silence(f"KeyRefused: {fault}"[:SAID])
        except (TooSlow, MemLiftError, ValueError) as fault:
            reason = f"{type(fault).__name__}: {fault}"[:SAID]
            LOG.warning("%s: no %s by the memory server: %s", event.key, what, reason)
            return Silence(reason)


def _task(event: Event) -> TaskFields:
    task = TaskFields(text=event.title, key=event.key, group_key=event.slug)
    if event.category:
        task["category"] = event.category
    if event.closes_at is not None:
        task["closes_at"] = event.closes_at
    return task
