"""One page of numbers for all workers: whichever is scraped tells what each of them counted.

Each series gets the label `worker`, so that sums are sums over all of them and a worker that was
started again is seen as a counter that began anew. Workers ask each other over local sockets.
"""

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

from memory.inference.shared import HEAD, STATS, packed
from server.placement import OWNER, Placement

PATIENCE = 2.0
"""Seconds that a worker is waited for; one that does not answer is told to be down."""

WORKER = "worker"
LONGEST_PAGE = 1 << 26
OF_ALL = "memlift_feedback_coverage"
"""A ratio of what any of the workers counted: a share of one of them says nothing."""


@contextlib.asynccontextmanager
async def told_to_others(placement: Placement, text: Callable[[], bytes]) -> AsyncGenerator[None]:
    """While it stands, the other workers can read this one's page."""

    async def tell(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            writer.write(text())
            await writer.drain()
        writer.close()

    place = placement.page_socket()
    place.unlink(missing_ok=True)
    before = os.umask(0o177)
    try:
        server = await asyncio.start_unix_server(tell, str(place))
    finally:
        os.umask(before)
    try:
        yield
    finally:
        server.close()
        place.unlink(missing_ok=True)


async def page_of_all(placement: Placement, own: bytes) -> bytes:
    """The page of this worker, those of the others, and how the processes are."""
    others = placement.others()
    pages = await asyncio.gather(*(_read(placement.page_socket(index)) for index in others))
    found = {placement.index: own, **dict(zip(others, pages, strict=True))}
    known = {index: page for index, page in sorted(found.items()) if page is not None}
    owners = await asyncio.gather(*(_owner(place) for place in placement.model_sockets))
    registry = CollectorRegistry()
    registry.register(Joined(known))
    registry.register(Processes(placement, frozenset(known), owners))
    return generate_latest(registry)


async def _read(place: Path) -> bytes | None:
    """All that a socket tells; None where nobody is there, or not in time."""
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_unix_connection(str(place), limit=LONGEST_PAGE)
            try:
                return await reader.read()
            finally:
                writer.close()
    except (OSError, TimeoutError):
        return None


async def _owner(place: Path) -> Mapping[str, Any] | None:
    """What an owner of the models counted, by model; None where it is away."""
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_unix_connection(str(place))
            try:
                writer.write(packed({"ask": STATS}))
                length, _ = HEAD.unpack(await reader.readexactly(HEAD.size))
                return json.loads(await reader.readexactly(length))
            finally:
                writer.close()
    except (OSError, TimeoutError, asyncio.IncompleteReadError, ValueError):
        return None


@dataclass(frozen=True, slots=True, eq=False)
class Joined(Collector):
    """Pages by worker, joined by family."""

    pages: Mapping[int, bytes]

    def describe(self) -> Iterable[Metric]:
        """Nothing in advance: what there is depends on the workers."""
        return ()

    def collect(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for worker, page in self.pages.items():
            for family in text_string_to_metric_families(page.decode()):
                if family.name == OF_ALL:
                    continue
                joined = families.setdefault(
                    family.name, Metric(family.name, family.documentation, family.type)
                )
                joined.samples += [_of(worker, sample) for sample in family.samples]
        yield from families.values()
        yield from _coverage(families)


def _of(worker: int, sample: Sample) -> Sample:
    return sample._replace(labels={**sample.labels, WORKER: str(worker)})


def _coverage(families: Mapping[str, Metric]) -> Iterator[Metric]:
    served = _total(families.get("memlift_retrievals"))
    if served:
        share = _total(families.get("memlift_outcomes")) / served
        yield GaugeMetricFamily(OF_ALL, "Outcomes taken in per receipt written", value=share)


def _total(family: Metric | None) -> float:
    samples = () if family is None else family.samples
    return sum(sample.value for sample in samples if sample.name.endswith("_total"))


@dataclass(frozen=True, slots=True, eq=False)
class Processes(Collector):
    """Which workers answer, how often each process was started again, and the owners' batches."""

    placement: Placement
    answering: frozenset[int]
    owners: Sequence[Mapping[str, Any] | None]

    def describe(self) -> Iterable[Metric]:
        """Nothing in advance, as with the pages."""
        return ()

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily("memlift_worker_up", "Whether a worker answers", labels=(WORKER,))
        for index in range(1, self.placement.count + 1):
            up.add_metric((str(index),), float(index in self.answering))
        yield up
        again = "How often a process that ended was started again"
        restarts = CounterMetricFamily("memlift_worker_restarts", again, labels=(WORKER,))
        counts = self.placement.restarts()
        for name, count in counts.items():
            if not name.startswith(OWNER):
                restarts.add_metric((name,), count)
        yield restarts
        if self.owners:
            owned = (count for name, count in counts.items() if name.startswith(OWNER))
            yield from self._owner(again, sum(owned))

    def _owner(self, again: str, count: int) -> Iterator[Metric]:
        yield GaugeMetricFamily(
            "memlift_owner_up",
            "Whether the owner of the models answers; of several, whether all do",
            all(one is not None for one in self.owners),
        )
        yield CounterMetricFamily("memlift_owner_restarts", again, count)
        items = CounterMetricFamily(
            "memlift_owner_items", "Texts and pairs computed by the owner", labels=("model",)
        )
        batches = CounterMetricFamily(
            "memlift_owner_batches", "Batches computed by the owner", labels=("model",)
        )
        known = [one for one in self.owners if one is not None]
        for model in sorted({model for one in known for model in one}):
            items.add_metric((model,), sum(one[model]["items"] for one in known))
            batches.add_metric((model,), sum(one[model]["batches"] for one in known))
        yield from (items, batches)
