"""The batcher, on computations that are plain functions."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.inference.batcher import Batcher, BatchLimits
from memory.kernel.departure import Departure, departing
from memory.kernel.errors import Overloaded, Unavailable
from memory.kernel.turns import Turn, TurnClass, taking_turn
from tests.fixtures.profiles import examples


@pytest.fixture
async def worker() -> AsyncGenerator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(max_workers=1) as worker:
        yield worker


class Device:
    """Upper-cases texts, remembers its batches, and can be held up by the test."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.go_on = threading.Event()
        self.busy = threading.Event()
        self.go_on.set()

    def compute(self, texts: Sequence[str]) -> list[str]:
        self.batches.append(list(texts))
        self.busy.set()
        self.go_on.wait()
        if any("bad" in text for text in texts):
            raise ValueError("bad text")
        return [text.upper() for text in texts]

    async def hold(
        self, batcher: Batcher[str, str], text: str = "first"
    ) -> asyncio.Task[list[str]]:
        """Keep the device busy with one text until `go_on` is set."""
        self.go_on.clear()
        held = asyncio.create_task(batcher.submit([text]))
        await asyncio.to_thread(self.busy.wait)
        return held


def a_batcher(
    worker: ThreadPoolExecutor,
    compute: Callable[[Sequence[str]], Sequence[str]],
    **limits: int,
) -> Batcher[str, str]:
    return Batcher(compute, cost=len, limits=BatchLimits(**limits), worker=worker)


async def later(batcher: Batcher[str, str], *texts: str) -> asyncio.Task[list[str]]:
    asked = asyncio.create_task(batcher.submit(texts))
    await asyncio.sleep(0)
    return asked


async def test_results_come_in_the_order_of_the_items(worker):
    batcher = a_batcher(worker, Device().compute)

    assert await batcher.submit(["long one", "b", "mid"]) == ["LONG ONE", "B", "MID"]
    assert await batcher.submit([]) == []


async def test_what_arrives_while_the_device_is_busy_becomes_one_batch(worker):
    device = Device()
    batcher = a_batcher(worker, device.compute)
    held = await device.hold(batcher)
    others = [await later(batcher, text) for text in ("ccc", "a", "bb")]
    device.go_on.set()

    assert await held == ["FIRST"]
    assert await asyncio.gather(*others) == [["CCC"], ["A"], ["BB"]]
    assert device.batches == [["first"], ["a", "bb", "ccc"]]


async def test_a_batch_stays_within_its_cost_and_its_length(worker):
    device = Device()
    batcher = a_batcher(worker, device.compute, cost=10, items=3)

    await batcher.submit(["x" * 25, "aaaa", "bbbb", "cccc", "d", "e", "f"])

    assert device.batches == [["x" * 25], ["aaaa", "bbbb"], ["d", "e", "cccc"], ["f"]]


async def test_a_bulk_load_does_not_keep_a_single_ask_waiting(worker):
    device = Device()
    batcher = a_batcher(worker, device.compute, items=4)
    held = await device.hold(batcher)
    bulk = await later(batcher, *(f"bulk {n}" for n in range(20)))
    single = await later(batcher, "single")
    device.go_on.set()
    await asyncio.gather(held, bulk, single)

    assert "single" in device.batches[1]


async def test_one_bad_item_fails_its_own_caller_only(worker):
    device = Device()
    batcher = a_batcher(worker, device.compute)
    answers = await asyncio.gather(
        batcher.submit(["good"]),
        batcher.submit(["bad"]),
        batcher.submit(["fine", "well"]),
        return_exceptions=True,
    )

    assert answers[0] == ["GOOD"]
    assert isinstance(answers[1], Unavailable)
    assert answers[2] == ["FINE", "WELL"]
    assert batcher.stats.failures == 1
    assert batcher.stats.items == 3


async def test_every_waiter_is_answered_when_the_device_is_broken(worker):
    def broken(texts: Sequence[str]) -> list[str]:
        raise RuntimeError("no device")

    batcher = a_batcher(worker, broken)
    answers = await asyncio.gather(
        *(batcher.submit([str(n)]) for n in range(20)), return_exceptions=True
    )

    assert all(isinstance(answer, Unavailable) for answer in answers)
    assert "no device" in str(answers[0])
    assert batcher.stats.queued == 0


async def test_a_computation_that_loses_results_fails_its_callers(worker):
    batcher = a_batcher(worker, lambda texts: [])

    with pytest.raises(Unavailable, match="0 results for 1 items"):
        await batcher.submit(["a"])


async def test_a_full_queue_refuses_and_says_when_to_come_back(worker):
    device = Device()
    batcher = a_batcher(worker, device.compute, queue=3)
    held = await device.hold(batcher)
    waiting = await later(batcher, "a", "b")

    with pytest.raises(Overloaded) as refused:
        await batcher.submit(["c", "d"])
    device.go_on.set()

    assert refused.value.retry_after == 1.0
    assert refused.value.limit == 3
    assert await waiting == ["A", "B"]
    assert await held == ["FIRST"]
    assert batcher.stats.refused == 2


async def test_a_call_larger_than_the_queue_is_served_when_nothing_waits(worker):
    batcher = a_batcher(worker, Device().compute, queue=2)

    assert await batcher.submit(["a", "b", "c"]) == ["A", "B", "C"]


async def test_a_caller_who_left_costs_nothing(worker):
    device = Device()
    batcher = a_batcher(worker, device.compute)
    held = await device.hold(batcher)
    leaving = await later(batcher, "never computed", "nor this")
    staying = await later(batcher, "stays")
    leaving.cancel()
    await asyncio.wait([leaving])

    assert batcher.stats.queued == 1
    device.go_on.set()
    assert await staying == ["STAYS"]
    assert await held == ["FIRST"]
    assert device.batches == [["first"], ["stays"]]


async def test_a_caller_may_leave_while_its_own_item_is_computed(worker):
    device = Device()
    batcher = a_batcher(worker, device.compute)
    held = await device.hold(batcher)
    held.cancel()
    await asyncio.wait([held])
    device.go_on.set()

    assert await batcher.submit(["next"]) == ["NEXT"]


async def test_closing_finishes_the_running_batch_and_answers_the_rest(worker):
    device = Device()
    batcher = a_batcher(worker, device.compute)
    held = await device.hold(batcher)
    waiting = await later(batcher, "too late")
    closing = asyncio.create_task(batcher.close())
    await asyncio.wait([waiting])
    device.go_on.set()
    await closing

    assert await held == ["FIRST"]
    with pytest.raises(Unavailable, match="closed"):
        await waiting
    with pytest.raises(Unavailable, match="closed"):
        await batcher.submit(["after"])


async def test_the_device_is_used_from_one_thread_only(worker):
    threads: set[int] = set()

    def compute(texts: Sequence[str]) -> Sequence[str]:
        threads.add(threading.get_ident())
        return texts

    batcher = a_batcher(worker, compute, items=1)
    await asyncio.gather(*(batcher.submit([str(n)]) for n in range(10)))

    assert len(threads) == 1
    assert threading.get_ident() not in threads


# Each example opens an event loop and a thread; thirty keep the folder quick.
@examples(30)
@given(
    calls=st.lists(st.lists(st.text(max_size=12), max_size=5), max_size=8),
    cost=st.integers(1, 30),
    items=st.integers(1, 6),
)
def test_whatever_the_limits_each_caller_gets_its_own_results(
    calls: list[list[str]], cost: int, items: int
):
    async def ask_all() -> list[list[str]]:
        with ThreadPoolExecutor(max_workers=1) as worker:
            batcher = a_batcher(
                worker, lambda texts: [t + "!" for t in texts], cost=cost, items=items
            )
            return await asyncio.gather(*(batcher.submit(call) for call in calls))

    assert asyncio.run(ask_all()) == [[text + "!" for text in call] for call in calls]


async def test_texts_of_a_caller_who_left_are_not_computed(worker):
    device = Device()
    batcher = a_batcher(worker, device.compute)
    departures: list[Departure] = []

    async def ask(*texts: str) -> list[str]:
        departures.append(Departure(lambda: True))
        with departing(departures[-1]):
            return await batcher.submit(texts)

    held = await device.hold(batcher)
    gone = asyncio.create_task(ask("left", "left too"))
    stays = await later(batcher, "stays")
    departures[0].leave()
    with pytest.raises(Unavailable) as left:
        await gone
    assert batcher.stats.queued == 1
    device.go_on.set()

    assert (await held, await stays) == (["FIRST"], ["STAYS"])
    assert left.value.kind == "caller_left"
    assert device.batches == [["first"], ["stays"]]


LOUD, QUIET = Turn(UUID(int=1)), Turn(UUID(int=2))


async def of(turn: Turn, batcher: Batcher[str, str], *texts: str) -> asyncio.Task[list[str]]:
    with taking_turn(turn):
        return await later(batcher, *texts)


async def test_many_calls_of_one_namespace_are_one_turn_beside_another_namespace(worker):
    device = Device()
    batcher = a_batcher(worker, device.compute, items=4)
    held = await device.hold(batcher)
    loud = [await of(LOUD, batcher, f"loud {n}", f"loud again {n}") for n in range(20)]
    quiet = await of(QUIET, batcher, "quiet 1", "quiet 2")
    device.go_on.set()
    await asyncio.gather(held, quiet, *loud)

    assert {"quiet 1", "quiet 2"} <= {*device.batches[1], *device.batches[2]}


async def test_who_comes_after_a_silence_saves_nothing_up(worker):
    device = Device()
    batcher = a_batcher(worker, device.compute, items=2)
    held = await device.hold(batcher)
    loud = await of(LOUD, batcher, *(f"loud {n}" for n in range(8)))
    device.go_on.set()
    await asyncio.gather(held, loud)
    device.batches.clear()
    device.busy.clear()
    held = await device.hold(batcher)
    loud = await of(LOUD, batcher, *(f"loud {n}" for n in range(4)))
    quiet = await of(QUIET, batcher, *(f"soft {n}" for n in range(4)))
    device.go_on.set()
    await asyncio.gather(held, loud, quiet)

    assert [{text[:4] for text in batch} for batch in device.batches[1:]] == [{"loud", "soft"}] * 4


async def test_a_job_is_given_a_quarter_of_what_callers_are_given(worker):
    device = Device()
    batcher = a_batcher(worker, device.compute, items=5)
    held = await device.hold(batcher)
    job = await of(Turn(UUID(int=1), TurnClass.JOB), batcher, *(f"jobs {n:2}" for n in range(10)))
    call = await of(Turn(UUID(int=1)), batcher, *(f"call {n:2}" for n in range(10)))
    waiting = (batcher.stats.queued_job, batcher.stats.queued_call)
    device.go_on.set()
    await asyncio.gather(held, job, call)

    assert waiting == (10, 10)
    first = [text[:4] for batch in device.batches[1:3] for text in batch]
    assert (first.count("call"), first.count("jobs")) == (8, 2)
    assert (batcher.stats.queued_job, batcher.stats.queued_call) == (0, 0)


async def test_one_namespace_has_three_quarters_of_the_queue_and_leaves_the_rest(worker):
    device = Device()
    batcher = a_batcher(worker, device.compute, queue=8)
    held = await device.hold(batcher)
    loud = await of(LOUD, batcher, "a", "b", "c", "d", "e", "f")
    with pytest.raises(Overloaded, match="this namespace"), taking_turn(LOUD):
        await batcher.submit(["g"])
    quiet = await of(QUIET, batcher, "h", "i")
    device.go_on.set()

    assert (await held, len(await loud), await quiet) == (["FIRST"], 6, ["H", "I"])


async def test_a_batch_is_cut_to_what_the_device_does_in_a_moment(worker):
    batches: list[int] = []

    def slow(texts: Sequence[str]) -> Sequence[str]:
        batches.append(len(texts))
        time.sleep(0.02 * len(texts))
        return texts

    limits = BatchLimits(items=64, seconds=0.1, few=2)
    batcher = Batcher(slow, cost=len, limits=limits, worker=worker)
    await batcher.submit(["text"])
    await batcher.submit(["text"] * 30)

    # Slower than it should be it may be found, never faster: so a batch has five at most.
    assert 2 <= max(batches) <= 6


async def test_where_several_namespaces_ask_a_batch_is_shorter(worker):
    batches: list[int] = []

    def slow(texts: Sequence[str]) -> Sequence[str]:
        batches.append(len(texts))
        time.sleep(0.02 * len(texts))
        return texts

    limits = BatchLimits(items=64, seconds=0.2, shared_seconds=0.04, few=4)
    batcher = Batcher(slow, cost=len, limits=limits, worker=worker)
    for turn in (LOUD, QUIET):
        with taking_turn(turn):
            await batcher.submit(["text"])
    with taking_turn(LOUD):
        await batcher.submit(["text"] * 12)

    assert 2 <= max(batches) <= 3
