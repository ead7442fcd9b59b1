"""Many small asks become few large batches; one thread owns the device.

There is no timer to tune: the next batch gathers while the device is busy. Namespaces take turns by
what they cost, and in each its callers, one item each: a bulk load keeps no single ask waiting, and
one namespace no other. A batch is as long as the device is found to do in a moment, so that who
comes while it works waits for that long at most. Everything here but `compute` runs on the event
loop, so nothing needs a lock.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

from memory.inference.turns import FairQueue
from memory.kernel.departure import given_up
from memory.kernel.errors import MemoryFault, Overloaded, Unavailable
from memory.kernel.turns import Askers, Turn, TurnClass, aside, current_turn

Item = TypeVar("Item")


Result = TypeVar("Result")


PASS_COST = 100


def text_cost(text: str) -> int:
    """What a text takes of the device, in characters; what each takes whatever its length is about
    as much as a hundred of them (8 ms of 15 for a text of 130, on a processor).
    """
    return len(text) + PASS_COST


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How much goes into a batch and how much may wait.

    `cost` bounds a batch (characters, for texts), `items` bounds its length, `seconds` bounds how
    long it is expected to take (below `few` items it is not cut for that). Where several namespaces
    ask, it is `shared_seconds` and half as few. `queue` bounds the items that wait, of which one
    namespace may have three quarters. A caller told to come back gets `retry_after` seconds.
    """

    cost: int = 16_384
    items: int = 64
    seconds: float = 0.05
    shared_seconds: float = 0.015
    few: int = 4
    queue: int = 2_048
    retry_after: float = 1.0


@dataclass(slots=True)
class InferenceStats:
    """Counters since the start, read by the metrics; `queued` is the present length, of which
    `queued_call` are items that a caller waits for and `queued_job` items of jobs.
    """

    items: int = 0
    batches: int = 0
    failures: int = 0
    refused: int = 0
    queued: int = 0
    queued_call: int = 0
    queued_job: int = 0


SLOWER = 1.02
"""How much slower than at its best the device may have become from one batch to the next."""


@dataclass(slots=True)
class _Pace:
    """How long the device takes for a unit of cost, in batches that keep it busy: the best that was
    seen of late, for what a small batch takes is mostly not its cost.
    """

    seconds: float = 0.0

    def learn(self, cost: int, seconds: float) -> None:
        seen = seconds / max(1, cost)
        self.seconds = min(seen, self.seconds * SLOWER) if self.seconds else seen


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
        self._queue: FairQueue[_Waiter[Item, Result]] = FairQueue()
        self._askers: Askers[Turn] = Askers()
        self._pace = _Pace()
        self._serving: asyncio.Task[None] | None = None
        self._closed = False

    async def submit(self, items: Sequence[Item]) -> list[Result]:
        """One result an item, order preserved.

        Raises Overloaded when the queue is full, Unavailable when the model fails or closes. A
        call that is larger than the whole queue is served when nothing else waits.
        """
        turn = current_turn()
        self._admit(len(items), turn)
        loop = asyncio.get_running_loop()
        waiters = [_Waiter(i, self._cost(i), loop.create_future()) for i in items]
        if not waiters:
            return []
        call = deque(waiters)
        self._askers.note(turn, loop.time())
        self._queue.add(turn, call)
        self._count()
        if self._serving is None or self._serving.done():
            self._serving = loop.create_task(self._serve())
        try:
            answers = [waiter.answer for waiter in waiters]
            async with aside():
                with given_up(*answers):  # pyright: ignore[reportArgumentType] - they only fail by it
                    return list(await asyncio.gather(*answers))
        finally:
            # The caller has its answers, or left, or failed with one item: nobody waits for more.
            for waiter in waiters:
                waiter.answer.cancel()
            if call:
                self._queue.remove(turn, call)
                self._count()

    async def close(self) -> None:
        """Finish the batch on the device, answer everyone else with Unavailable."""
        self._closed = True
        self._refuse_all()
        if self._serving is not None:
            await asyncio.gather(self._serving, return_exceptions=True)

    def _admit(self, count: int, turn: Turn) -> None:
        if self._closed:
            raise _closing()
        waiting, own = self._queue.total, self._queue.waiting[turn]
        share = self._limits.queue * 3 // 4
        if waiting and waiting + count > self._limits.queue:
            self._refuse(
                count, "More texts wait for the model than it can take; come back shortly."
            )
        if turn.namespace_id is not None and own and own + count > share:
            self._refuse(count, "More texts of this namespace wait for the model than its share.")

    def _refuse(self, count: int, why: str) -> NoReturn:
        self.stats.refused += count
        raise Overloaded(why, limit=self._limits.queue, retry_after=self._limits.retry_after)

    def _count(self) -> None:
        self.stats.queued = self._queue.total
        self.stats.queued_call = self._queue.waiting_of(TurnClass.CALL)
        self.stats.queued_job = self._queue.waiting_of(TurnClass.JOB)

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
        """The next items, one of each caller in turn, shortest first; empty when none wait. What
        nobody waits for any more is passed over.
        """
        batch: list[_Waiter[Item, Result]] = []
        cost, several = 0, self._askers.are_several(asyncio.get_running_loop().time())
        while self._queue and len(batch) < self._limits.items:
            cost += self._queue.peek().cost
            if batch and self._is_full(len(batch), cost, several=several):
                break
            waiter = self._queue.take(self._queue.peek().cost)
            if waiter.answer.done():
                cost -= waiter.cost
                continue
            batch.append(waiter)
        self._count()
        return sorted(batch, key=lambda waiter: waiter.cost)

    def _is_full(self, items: int, cost: int, *, several: bool) -> bool:
        """Whether a batch of so many items is not to grow to that cost."""
        limits = self._limits
        if cost > limits.cost:
            return True
        few, seconds = limits.few, limits.seconds
        if several:
            few, seconds = few // 2, limits.shared_seconds
        return items >= few and cost * self._pace.seconds > seconds

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
            results, seconds = await loop.run_in_executor(self._worker, self._timed, items)
        except MemoryFault:
            raise
        except Exception as fault:
            raise _failed(f"{type(fault).__name__}: {fault}") from fault
        if len(results) != len(items):
            raise _failed(f"{len(results)} results for {len(items)} items")
        self.stats.items += len(items)
        self._pace.learn(sum(map(self._cost, items)), seconds)
        return results

    def _timed(self, items: list[Item]) -> tuple[Sequence[Result], float]:
        """In the worker thread: what it takes by itself, without the way there."""
        began = time.perf_counter()
        return self._compute(items), time.perf_counter() - began

    def _refuse_all(self) -> None:
        while self._queue:
            _settle_with([self._queue.take(0.0)], _closing())
        self._count()


def _settle_with(waiters: "Sequence[_Waiter[Item, Result]]", fault: Exception) -> None:
    for waiter in waiters:
        if not waiter.answer.done():
            waiter.answer.set_exception(fault)


def _is_of_model(fault: Exception) -> bool:
    return isinstance(fault, MemoryFault) and fault.retry_after is not None


def _failed(why: str) -> Unavailable:
    return Unavailable(f"The model failed on this input ({why}).", code="model_failed")


def _closing() -> Unavailable:
    return Unavailable("The model is being closed.", code="closing", retry_after=1.0)
