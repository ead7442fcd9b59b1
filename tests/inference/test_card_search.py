"""A copy that is searched on a card gives what the processor gives, whatever changes meanwhile."""

import asyncio
import weakref
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from uuid import UUID

import numpy as np
import pytest
import torch

from memory.inference import segments
from memory.inference.card import Card, NoCard
from memory.inference.segments import DeviceSegment
from memory.memories.filter_entities import RetrievalFilter
from memory.retrieval.head import QueryVector, margin, nearest, to_stored_precision
from memory.retrieval.resident import card_rows
from memory.retrieval.resident.card_rows import CardCounts, CardRows
from memory.retrieval.resident.namespaces import ResidentNamespace
from memory.retrieval.resident.rows import LoadedRow, ResidentRows, scales_of
from memory.retrieval.resident.scan import Scan
from memory.retrieval.resident.store import SeenTransactions
from memory.retrieval.store.found_rows import FoundRow
from memory.retrieval.store.search import EVERYTHING, Head, Probe, Scope
from tests.fixtures.cards import CardModel, a_card, a_shared_card, an_owner, its_card
from tests.fixtures.engine import NOON
from tests.fixtures.found_rows import a_found_row

WIDTH = 24
BOUND = margin(WIDTH)
READER = UUID(int=7)
FIELDS = ("situation", "lesson")
SCOPE = Scope(agent_id=READER, private=False, as_of=EVERYTHING, model_id=UUID(int=5))
CARDS = [
    "cpu",
    "shared",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="no card here")
    ),
]


@pytest.fixture(params=CARDS)
async def card(request: pytest.FixtureRequest) -> AsyncGenerator[Card]:
    """Of this process, or of one that several share."""
    if request.param == "shared":
        async with a_shared_card() as made:
            yield made
        return
    with a_card(request.param) as made:
        yield made


class Bank:
    """Rows that chance writes, searched on a card and by the processor."""

    def __init__(self, card: Card, seed: int) -> None:
        self.chance = Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.rows = ResidentRows(FIELDS)
        self.kinds = self.numbers.standard_normal((12, WIDTH))
        self.counts = CardCounts()
        snapshot = SeenTransactions("1:1:", 3, NOON)
        on_card = CardRows(self.rows, card, self.counts)
        self.copies = [
            ResidentNamespace(UUID(int=5), self.rows, snapshot, 0, place)
            for place in (on_card, None)
        ]

    def vector(self) -> np.ndarray:
        """Of a few kinds; some are equal, some nearly, some zeros."""
        kind = self.kinds[self.chance.randrange(len(self.kinds))]
        noise = self.chance.choice((0.0, 0.0, 1e-4, 0.3))
        made = kind + noise * self.numbers.standard_normal(WIDTH)
        if self.chance.random() < 0.05:
            made = 0 * made
        return to_stored_precision(made / (np.linalg.norm(made) or 1.0))

    def put(self, number: int) -> None:
        fields = self.chance.choice((FIELDS, FIELDS, FIELDS[:1], FIELDS[1:]))
        when = self.chance.choice((NOON, NOON + timedelta(days=2)))
        owner = self.chance.choice(("*", "*", "*", str(READER), str(UUID(int=8))))
        vectors = {name: self.vector() for name in fields}
        author = self.chance.choice(("solver", "helper"))
        version = self.chance.randrange(3)
        self.rows.put(LoadedRow(owner, a_row(number, version, when, author), vectors))

    def step(self) -> None:
        for _ in range(self.chance.randint(1, 60)):
            self.put(self.chance.randint(1, 500))
        self.rows.drop(UUID(int=self.chance.randint(1, 500)) for _ in range(8))

    def ask(self) -> list[Probe]:
        count = self.chance.choice((1, 1, 1, 2, 3))
        return [Probe(self.vector(), self.chance.choice(FIELDS)) for _ in range(count)]

    def scope(self) -> Scope:
        wanted = RetrievalFilter(authors=self.chance.choice((("solver",), ("nobody",))))
        return replace(
            SCOPE,
            private=self.chance.random() < 0.5,
            as_of=self.chance.choice((EVERYTHING, NOON + timedelta(days=1))),
            filter=wanted if self.chance.random() < 0.3 else None,
        )


def a_row(number: int, version: int, when: datetime, author: str) -> FoundRow:
    return a_found_row(UUID(int=number), READER, when, version=version, author=author)


def exact(head: Head, probes: list[Probe], size: int) -> list[tuple[UUID, float]]:
    """What is made of the rows that were handed over, to the last bit."""
    asked = [QueryVector(one.field, one.vector.astype("f4")) for one in probes]  # pyright: ignore[reportArgumentType] - one of both fields
    found = head.stored.similarities(asked)
    return [(head.stored.ids[place], float(found[place])) for place in nearest(found, size)]


@pytest.mark.parametrize("seed", range(6))
async def test_ids_and_scores_are_those_of_the_processor(card: Card, seed: int):
    bank = Bank(card, seed)
    for _ in range(12):
        bank.step()
        asks = [bank.ask() for _ in range(bank.chance.choice((1, 5, 70)))]
        scope, size = bank.scope(), bank.chance.choice((1, 4, 24, 300))
        scans = [Scan(copy, [probe for ask in asks for probe in ask]) for copy in bank.copies]
        for ask in asks:
            there, here = [await scan.head(ask, scope, size, BOUND) for scan in scans]
            assert exact(there, ask, size) == exact(here, ask, size)
            assert (there.matching, there.bank_version) == (here.matching, here.bank_version)
            if bank.chance.random() < 0.1:
                bank.step()
    assert bank.counts.searches >= 12
    assert bank.counts.failures == 0


async def test_rows_that_change_while_the_card_is_busy_are_looked_at_again(card: Card):
    bank = Bank(card, 5)
    for _ in range(8):
        bank.step()
    changes, found = Random(1), list[UUID]()

    class Busy:
        """The bank changes after each search, as a loop does that goes on."""

        def __init__(self) -> None:
            self._segment = card.open()
            self.write = self._segment.write

        @property
        def bytes(self) -> int:
            return self._segment.bytes

        def nearest(
            self, asked: np.ndarray, seen: np.ndarray, size: int, margin: float
        ) -> list[np.ndarray]:
            slots = self._segment.nearest(asked, seen, size, margin)
            if changes.random() < 0.5:
                bank.rows.drop(found[:1])
            if changes.random() < 0.5:
                bank.step()
            return slots

    busy = replace(card, open=Busy)
    copy = replace(bank.copies[0], on_card=CardRows(bank.rows, busy, bank.counts))
    for _ in range(60):
        ask, scope, size = bank.ask(), bank.scope(), bank.chance.choice((1, 4, 24))
        here = await Scan(bank.copies[1], ask).head(ask, scope, size, BOUND)
        found[:] = [memory_id for memory_id, _ in exact(here, ask, size)]
        there = await Scan(copy, ask).head(ask, scope, size, BOUND)
        here = await Scan(bank.copies[1], ask).head(ask, scope, size, BOUND)
        assert exact(there, ask, size) == exact(here, ask, size)
    assert bank.counts.searches >= 60
    assert bank.counts.failures == 0


async def test_all_of_many_equal_rows_are_taken(card: Card):
    """More of them than are taken at first lie within the margin of the last."""
    rows = ResidentRows(FIELDS)
    vector = to_stored_precision(np.full(WIDTH, WIDTH**-0.5))
    for number in range(1, 2_000):
        one = {"lesson": vector if number % 3 else -vector}
        rows.put(LoadedRow("*", a_row(number, 1, NOON, "solver"), one))
    on_card = CardRows(rows, card, CardCounts())
    asked = np.stack([vector, np.zeros_like(vector), -vector])
    seen = rows.mask("lesson", SCOPE)
    found = await on_card.nearest([Probe(one, "lesson") for one in asked], seen, 3, BOUND)

    alike = np.array([number % 3 > 0 for number in range(1, 2_000)])
    assert [set(slots.tolist()) for slots in found] == [
        set(np.flatnonzero(alike).tolist()),
        set(range(1_999)),
        set(np.flatnonzero(~alike).tolist()),
    ]


@pytest.mark.parametrize("blocks", [0, 10_000])
async def test_the_best_of_many_blocks_are_the_best_of_all(
    card: Card, monkeypatch: pytest.MonkeyPatch, blocks: int
):
    monkeypatch.setattr(segments, "MANY_BLOCKS", blocks)
    numbers = np.random.default_rng(3)
    vectors = to_stored_precision(numbers.standard_normal((40_000, WIDTH)) / WIDTH**0.5)
    vectors[::7] = vectors[5]
    scales = scales_of(vectors)
    seen = numbers.random(len(vectors)) < 0.4
    segment = await card.run(card.open)
    await card.run(segment.write, 0, vectors.astype("f4"), scales)
    asked = vectors[[5, 6, 11]]
    cosines = (asked.astype("f8") @ vectors.astype("f8").T) * scales * scales_of(asked)[:, None]
    for size in (1, 20, 200):
        found = await card.run(segment.nearest, asked, seen, size, BOUND)
        for slots, known in zip(found, np.where(seen, cosines, -1.0), strict=True):
            last = np.sort(known)[-size]
            assert set(np.flatnonzero(known >= last)) <= set(slots.tolist())
            assert (known[slots] >= last - 2 * BOUND).all()


@pytest.fixture
def stack() -> Generator[ExitStack]:
    with ExitStack() as opened:
        yield opened


async def test_without_room_the_processor_searches_until_there_is_some(
    stack: ExitStack, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    room = [0]
    now = [1_000.0]
    monkeypatch.setattr(card_rows, "monotonic", lambda: now[0])
    bank = Bank(stack.enter_context(a_card("cpu", lambda: room[0])), 2)

    async def agree() -> None:
        bank.step()
        ask = bank.ask()
        heads = [await Scan(copy, ask).head(ask, SCOPE, 4, BOUND) for copy in bank.copies]
        assert exact(heads[0], ask, 4) == exact(heads[1], ask, 4)

    for _ in range(3):
        await agree()
    assert (bank.counts.searches, bank.counts.failures) == (0, 1)
    [said] = [one.message for one in caplog.records]
    assert said.endswith("128 rows take 12800 bytes, for which it has no room")

    room[0] = 2**20
    now[0] += card_rows.REST
    await agree()
    on_card = bank.copies[0].on_card
    assert on_card is not None
    assert (bank.counts.searches, bank.counts.failures) == (1, 1)
    assert len(on_card) == bank.rows.size
    assert on_card.bytes > 2 * 4 * bank.rows.size * (WIDTH + 1)


async def test_many_calls_that_fail_at_once_are_said_once(
    stack: ExitStack, caplog: pytest.LogCaptureFixture
):
    bank = Bank(stack.enter_context(a_card("cpu", lambda: 0)), 6)
    bank.step()
    asks = [bank.ask() for _ in range(20)]
    there, here = [
        await asyncio.gather(*(Scan(copy, ask).head(ask, SCOPE, 4, BOUND) for ask in asks))
        for copy in bank.copies
    ]
    assert [exact(head, ask, 4) for head, ask in zip(there, asks, strict=True)] == [
        exact(head, ask, 4) for head, ask in zip(here, asks, strict=True)
    ]
    assert len(caplog.records) == bank.counts.failures == 1


async def test_whatever_fails_on_the_card_is_no_fault_of_the_caller(card: Card):
    bank = Bank(card, 3)
    bank.step()

    def broken() -> DeviceSegment:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    on_card = CardRows(bank.rows, replace(card, open=broken), bank.counts)
    ask = bank.ask()
    with pytest.raises(NoCard):
        await on_card.nearest(ask, bank.rows.mask(ask[0].field, SCOPE), 4, BOUND)
    copy = replace(
        bank.copies[0], on_card=CardRows(bank.rows, replace(card, open=broken), bank.counts)
    )
    there = await Scan(copy, ask).head(ask, SCOPE, 4, BOUND)
    here = await Scan(bank.copies[1], ask).head(ask, SCOPE, 4, BOUND)
    assert exact(there, ask, 4) == exact(here, ask, 4)
    assert bank.counts.failures == 2


async def test_products_in_less_than_single_precision_are_not_used(card: Card):
    bank = Bank(card, 4)
    bank.step()
    ask = bank.ask()
    torch.set_float32_matmul_precision("high")
    try:
        await Scan(bank.copies[0], ask).head(ask, SCOPE, 4, BOUND)
    finally:
        torch.set_float32_matmul_precision("highest")
    assert (bank.counts.searches, bank.counts.failures) == (0, 1)


async def test_rows_that_are_dropped_here_leave_the_card_of_the_owner(tmp_path: Path):
    model = CardModel()
    place = Path(tmp_path) / "model.sock"

    async def searched(bank: Bank) -> None:
        bank.step()
        ask = bank.ask()
        heads = [await Scan(copy, ask).head(ask, SCOPE, 4, BOUND) for copy in bank.copies]
        assert exact(heads[0], ask, 4) == exact(heads[1], ask, 4)

    async with an_owner(place, model), its_card(place) as card:
        await searched(first := Bank(card, 1))
        assert first.counts.searches >= 1
        there = [weakref.ref(one) for one in model.opened]
        model.opened.clear()
        del first
        await searched(second := Bank(card, 2))
        assert [one() for one in there] == [None, None]
        assert second.counts.failures == 0


async def test_an_owner_that_began_anew_is_sent_the_rows_again(tmp_path: Path):
    place = Path(tmp_path) / "model.sock"
    async with AsyncExitStack() as stack:
        card = None
        bank: Bank | None = None
        for turn in range(2):
            async with an_owner(place, CardModel()):
                if card is None:
                    card = await stack.enter_async_context(its_card(place))
                    bank = Bank(card, 1)
                assert bank is not None
                bank.step()
                for _ in range(2):
                    ask = bank.ask()
                    heads = [
                        await Scan(copy, ask).head(ask, SCOPE, 4, BOUND) for copy in bank.copies
                    ]
                    assert exact(heads[0], ask, 4) == exact(heads[1], ask, 4)
                # The first search after that is by the processor.
                assert (bank.counts.searches, bank.counts.failures) == (2 + turn, turn)
