"""Many small asks become few large batches; one thread owns the device.

There is no timer to tune: the next batch gathers while the device is busy. Callers take turns, one
item each, so a bulk load does not keep a single ask waiting. Everything here but `compute` runs on
the event loop, so nothing needs a lock.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Generic, TypeVar

from memory.kernel.departure import given_up
from memory.kernel.errors import MemoryFault, Overloaded, Unavailable

Item = TypeVar("Item")


Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How much goes into a batch and how much may wait.

    `cost` bounds a batch (characters, for texts), `items` bounds its length, `queue` bounds the
    items that wait. A caller told to come back gets `retry_after` seconds.
    """

    cost: int = 16_384
    items: int = 64
    queue: int = 2_048
    retry_after: float = 1.0


@dataclass(slots=True)
class InferenceStats:
    """Counters since the start, read by the metrics; `queued` is the present length."""

    items: int = 0
    batches: int = 0
    failures: int = 0
    refused: int = 0
    queued: int = 0


@dataclass(slots=True, eq=False)
class _Waiter(Generic[Item, Result]):
    item: Item
    cost: int
    answer: "asyncio.Future[Result]"


class Batcher(Generic[Item, Result]):
    """Runs `compute` over batches of items in the worker thread and answers every waiter.

    A batch that fails is tried again item by item, so that one bad item fails its own caller only;
    where the fault is of the model, not of an item (it says when to come back), all get it at once.
    """

    def __init__(
        self,
        compute: Callable[[Sequence[Item]], Sequence[Result]],
        *,
        cost: Callable[[Item], int],
        limits: BatchLimits,
        worker: Executor,
    ) -> None:
        self.stats = InferenceStats()
        self._compute = compute
        self._cost = cost
        self._limits = limits
        self._worker = worker
        self._calls: deque[deque[_Waiter[Item, Result]]] = deque()
        self._serving: asyncio.Task[None] | None = None
        self._closed = False

    async def submit(self, items: Sequence[Item]) -> list[Result]:
        """One result an item, order preserved.

        Raises Overloaded when the queue is full, Unavailable when the model fails or closes. A
        call that is larger than the whole queue is served when nothing else waits.
        """
        self._admit(len(items))
        loop = asyncio.get_running_loop()
        waiters = [_Waiter(i, self._cost(i), loop.create_future()) for i in items]
        if not waiters:
            return []
        self._calls.append(deque(waiters))
        self.stats.queued += len(waiters)
        if self._serving is None or self._serving.done():
            self._serving = loop.create_task(self._serve())
        try:
            answers = [waiter.answer for waiter in waiters]
            with given_up(*answers):  # pyright: ignore[reportArgumentType] - they only fail by it
                return list(await asyncio.gather(*answers))
        finally:
            # The caller has its answers, or left, or failed with one item: nobody waits for more.
            self._drop(waiters)

    async def close(self) -> None:
        """Finish the batch on the device, answer everyone else with Unavailable."""
        self._closed = True
        self._refuse_all()
        if self._serving is not None:
            await asyncio.gather(self._serving, return_exceptions=True)

    def _admit(self, count: int) -> None:
        if self._closed:
            raise _closing()
        if self.stats.queued and self.stats.queued + count > self._limits.queue:
            self.stats.refused += count
            raise Overloaded(
                "More texts wait for the model than it can take; come back shortly.",
                limit=self._limits.queue,
                retry_after=self._limits.retry_after,
            )

    def _drop(self, waiters: Sequence[_Waiter[Item, Result]]) -> None:
        for waiter in waiters:
            waiter.answer.cancel()
        if not any(_is_given_up(waiter.answer) for waiter in waiters):
            return
        waiting = [call for call in self._calls if not _is_given_up(call[0].answer)]
        self._calls = deque(waiting)
        self.stats.queued = sum(len(call) for call in waiting)

    async def _serve(self) -> None:
        batch: list[_Waiter[Item, Result]] = []
        try:
            while batch := self._next_batch():
                await self._answer(batch)
        finally:
            # Reached with waiters left only when the loop itself is being torn down.
            _settle_with(batch, _closing())
            self._refuse_all()

    def _next_batch(self) -> list[_Waiter[Item, Result]]:
        """The next items, one of each caller in turn, shortest first; empty when none wait."""
        batch: list[_Waiter[Item, Result]] = []
        cost = 0
        while self._calls and len(batch) < self._limits.items:
            cost += self._calls[0][0].cost
            if batch and cost > self._limits.cost:
                break
            call = self._calls.popleft()
            batch.append(call.popleft())
            if call:
                self._calls.append(call)
        self.stats.queued -= len(batch)
        return sorted(batch, key=lambda waiter: waiter.cost)

    async def _answer(self, batch: Sequence[_Waiter[Item, Result]]) -> None:
        try:
            results = await self._run([waiter.item for waiter in batch])
        except Exception as fault:  # noqa: BLE001 - the waiters own this error
            if len(batch) == 1 or _is_of_model(fault):
                self.stats.failures += len(batch)
                _settle_with(batch, fault)
                return
            for waiter in batch:
                if not waiter.answer.done():
                    await self._answer([waiter])
            return
        for waiter, result in zip(batch, results, strict=True):
            if not waiter.answer.done():
                waiter.answer.set_result(result)

    async def _run(self, items: list[Item]) -> Sequence[Result]:
        """One batch in the worker thread; whatever goes wrong comes out as a fault of ours."""
        loop = asyncio.get_running_loop()
        self.stats.batches += 1
        try:
            results = await loop.run_in_executor(self._worker, self._compute, items)
        except MemoryFault:
            raise
        except Exception as fault:
            raise _failed(f"{type(fault).__name__}: {fault}") from fault
        if len(results) != len(items):
            raise _failed(f"{len(results)} results for {len(items)} items")
        self.stats.items += len(items)
        return results

    def _refuse_all(self) -> None:
        while self._calls:
            _settle_with(self._calls.popleft(), _closing())
        self.stats.queued = 0


def _settle_with(
    waiters: "Sequence[_Waiter[Item, Result]] | deque[_Waiter[Item, Result]]", fault: Exception
) -> None:
    for waiter in waiters:
        if not waiter.answer.done():
            waiter.answer.set_exception(fault)


def _is_given_up(answer: "asyncio.Future[Result]") -> bool:
    """Whether nobody waits for it, or all it could be is a fault."""
    return answer.done() and (answer.cancelled() or answer.exception() is not None)


def _is_of_model(fault: Exception) -> bool:
    return isinstance(fault, MemoryFault) and fault.retry_after is not None


def _failed(why: str) -> Unavailable:
    return Unavailable(f"The model failed on this input ({why}).", code="model_failed")


def _closing() -> Unavailable:
    return Unavailable("The model is being closed.", code="closing", retry_after=1.0)
