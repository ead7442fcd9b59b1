"""Candidates are tried: a ticket is claimed, its tasks are run, and each result is reported.

Both clients drive the same `TrialQueue`, which does no I/O. What was not judged is given back when
the block ends, however it ends.
"""

import contextlib
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self

from memlift_client import _fields as f
from memlift_client import _models as m
from memlift_client import _operations as ops
from memlift_client._faults import MemLiftError
from memlift_client._task import AsyncPerforms, Performs
from memlift_client._wire import Call, finite

Free = Mapping[str, object]


class TicketTrial:
    """One run that a ticket asks for: `task`, to be done with `guideline` in the prompt."""

    def __init__(self, ticket: m.Ticket, slot: m.TrialSlot) -> None:
        self.ticket = ticket
        """All that is known of the candidate's ticket, as of the last report."""
        self.slot = slot.slot
        self.task = slot.task
        self.task_id = slot.task_id
        self.purpose = slot.purpose
        """`source`, `other` or `anchor`: what the run is to show."""
        self.needs_without = slot.reference is None
        """Whether nothing is known of the task, so that a run without the guideline counts too."""
        self.result: f.TrialResultFields | None = None
        self.taken = False
        """Whether the server has the result."""

    @property
    def guideline(self) -> str:
        """The candidate as it would be served, and nothing else."""
        return self.ticket.guideline

    def reward(self, reward: float, *, without: float | None = None) -> None:
        """How it went, 0 to 1, and how it went without the guideline; reported with the next trial,
        or when the block ends.
        """
        self.result = {"slot": self.slot, "reward": finite(float(reward))}
        if without is not None:
            self.result["without"] = {"reward": finite(float(without), "without.reward")}

    def answer(self, value: Free, truth: Free, *, without: Free | None = None) -> None:
        """The same where `ticket.metric` is another than `reward`: what was answered, and what
        came true, in the metric's own form.
        """
        self.result = {"slot": self.slot, "value": value, "truth": truth}
        if without is not None:
            self.result["without"] = {"value": without}


class TrialQueue:
    """Which trial is next, and what is to be said of the last one."""

    def __init__(self, agent: str, category: str | None, limit: int | None) -> None:
        self.decided: list[m.Ticket] = []
        """The tickets that came to their end by these trials."""
        self._agent = agent
        self._category = category
        self._left = limit
        self._held: dict[str, m.Ticket] = {}
        self._slots: Iterator[m.TrialSlot] = iter(())
        self._ticket: m.Ticket | None = None
        self._trial: TicketTrial | None = None
        self._sent: TicketTrial | None = None

    def claiming(self) -> Call[tuple[m.Ticket, ...]] | None:
        """Asks for the next ticket; None where as many were tried as were wanted."""
        if self._left == 0:
            return None
        self._left = None if self._left is None else self._left - 1
        return ops.claim_tickets(self._agent, category=self._category, limit=1)

    def take(self, ticket: m.Ticket) -> None:
        self._held[ticket.id] = self._ticket = ticket
        self._slots = iter([slot for slot in ticket.trials if slot.reward is None])

    def advance(self) -> TicketTrial | None:
        """The next trial of the ticket; None where it has no more."""
        slot = next(self._slots, None)
        if slot is None or self._ticket is None:
            return None
        self._trial = TicketTrial(self._ticket, slot)
        return self._trial

    def reporting(self) -> Call[m.Ticket] | None:
        """Reports the last trial; None where there is nothing to say of it."""
        trial, self._trial = self._trial, None
        if trial is None or trial.result is None:
            return None
        ticket, self._sent = trial.ticket, trial
        return ops.report_trials(
            ticket.id, agent=self._agent, trials=[trial.result], metric=ticket.metric
        )

    def reported(self, ticket: m.Ticket) -> None:
        """What the server made of it; a ticket that is decided asks for no more."""
        self._ticket = ticket
        if self._sent is not None:
            self._sent.taken = True
        if ticket.state != "leased":
            self.decided.append(ticket)
            self._held.pop(ticket.id, None)
            self._slots = iter(())

    def releasing(self) -> list[Call[m.Ticket]]:
        """Gives back what is held still."""
        held, self._held = self._held, {}
        return [ops.release_ticket(ticket_id) for ticket_id in held]


class Tickets:
    """`with memory.tickets() as trials: for trial in trials: …`."""

    def __init__(self, client: Performs, queue: TrialQueue) -> None:
        self._client = client
        self._queue = queue

    @property
    def decided(self) -> list[m.Ticket]:
        """The tickets that came to their end by these trials."""
        return self._queue.decided

    def elsewhere(self) -> tuple[m.Ticket, ...]:
        """Tickets that somebody tries, or tried and did not give back: free when the lease ends."""
        return self._client.perform(ops.list_tickets(state="leased")).items

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> TicketTrial:
        self._report()
        while (trial := self._queue.advance()) is None:
            call = self._queue.claiming()
            claimed = () if call is None else self._client.perform(call)
            if not claimed:
                raise StopIteration
            self._queue.take(claimed[0])
        return trial

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._report()  # what was judged is judged
        finally:
            for call in self._queue.releasing():
                with contextlib.suppress(MemLiftError):  # its lease ends by itself
                    self._client.perform(call)

    def _report(self) -> None:
        if (call := self._queue.reporting()) is not None:
            self._queue.reported(self._client.perform(call))


class AsyncTickets:
    """`async with memory.tickets() as trials: async for trial in trials: …`."""

    def __init__(self, client: AsyncPerforms, queue: TrialQueue) -> None:
        self._client = client
        self._queue = queue

    @property
    def decided(self) -> list[m.Ticket]:
        """The tickets that came to their end by these trials."""
        return self._queue.decided

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> TicketTrial:
        await self._report()
        while (trial := self._queue.advance()) is None:
            call = self._queue.claiming()
            claimed = () if call is None else await self._client.perform(call)
            if not claimed:
                raise StopAsyncIteration
            self._queue.take(claimed[0])
        return trial

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._report()  # what was judged is judged
        finally:
            for call in self._queue.releasing():
                with contextlib.suppress(MemLiftError):  # its lease ends by itself
                    await self._client.perform(call)

    async def _report(self) -> None:
        if (call := self._queue.reporting()) is not None:
            self._queue.reported(await self._client.perform(call))
