"""What the suites of the hot path make of their measurements, and how they fill a namespace."""

import json
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from benchmarks.metrics import Row, Target
from benchmarks.suites.hot_path import encode, filling, growth, retrieve, scan, waterfall, writes
from benchmarks.suites.hot_path.filling import Texts, fill, multiplied
from benchmarks.suites.hot_path.servers import COPY, FIRST, SQL, first_release
from benchmarks.texts import AREAS, experiences
from memory.experiences.service import remember
from memory.kernel.engine import Engine
from memory.tasks.entities import CategoryName, TaskDraft
from memory.tenancy.entities import Key
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import a_namespace
from tests.storage.steps import a_call, served


def timed(operation: str, *times: float, callers: int = 1) -> list[Row]:
    return [
        {"operation": operation, "concurrency": callers, "at": place, "ms": ms, "ok": True}
        for place, ms in enumerate(times)
    ]


def number(operation: str, value: float) -> Row:
    return {"operation": operation, "value": value, "unit": ""}


def by_name(targets: Sequence[Target]) -> dict[str, Target]:
    return {one.name: one for one in targets}


def test_a_retrieval_is_held_against_the_first_release_and_against_its_floor():
    rows = [
        number("gpu", 0.0),
        *timed(f"retrieve_{FIRST}", 60.0),
        *timed(f"retrieve_{COPY}", 15.0),
        *timed("device", 7.0),
        *timed("commit", 1.0),
        *timed("live", 0.5),
        *timed(f"batch_{COPY}", 150.0),
        *timed(f"single_{COPY}", 15.0),
    ]

    found = by_name(retrieve.targets(rows))

    assert found["p50 / first release, two cores"].measured == 0.25
    assert found["p50 / (device + commit + live)"].measured == 15.0 / 8.5
    assert found["p99 / p50, one caller"].status == "met"
    assert found["batch of 64 / one task"].measured == 10.0
    assert found["batch of 64 / one task"].status == "missed"
    assert found["p50 / first release, GPU"].reason == "(no card here)"


def test_throughput_is_that_of_both_rounds_together():
    rows = [number("gpu", 0.0)]
    for name, ms in ((FIRST, 4_000.0), (SQL, 2_000.0), (COPY, 500.0)):
        for part in range(retrieve.ROUNDS):
            # All begin at once; each round is over when its slowest is.
            rows += [
                {**row, "at": 0.0} for row in timed(f"retrieve_{name}_{part}", ms, ms, callers=16)
            ]

    found = by_name(retrieve.targets(rows))

    target = found["retrievals a second / first release, 16 callers"]
    assert target.measured == pytest.approx(8.0)
    assert target.parts[COPY] == pytest.approx(4.0)


@pytest.mark.parametrize("suite", [retrieve, growth, writes, scan, encode])
def test_what_was_not_measured_is_not_met(suite):
    assert {target.status for target in suite.targets([])} == {"not_run"}


def test_the_waterfall_holds_what_the_stages_leave_as_the_rest(tmp_path: Path):
    summary = {
        "figures": {f"retrieve_{COPY}@1": {"mean": 20.0}},
        "numbers": {f"stage_{COPY}_embed": 12.0, f"stage_{COPY}_commit": 3.0},
    }
    (tmp_path / "summary.json").write_text(json.dumps(summary))

    lines = waterfall.report(tmp_path)

    assert waterfall.waterfall(summary) == {COPY: {"embed": 12.0, "commit": 3.0, "rest": 5.0}}
    assert lines[2].endswith("| 3.0 | 5.0 | 20.0 |")
    assert b"<svg" in (tmp_path / "waterfall-dark.svg").read_bytes()


def test_growth_compares_what_was_asked_in_turn():
    rows = [
        *timed("retrieve_small", 10.0),
        *timed("retrieve_large", 30.0),
        *timed("retrieve_few_constraints", 12.0),
        *timed("retrieve_many_constraints", 18.0),
    ]

    found = {one.name.partition(",")[0]: one.measured for one in growth.targets(rows)}
    assert found["200,000 memories / 10,000".partition(",")[0]] == 3.0
    assert found["4,000 constraints / 4".partition(",")[0]] == 1.5


def test_a_copy_is_held_against_what_its_rows_must_take():
    least = 2 * 4 * 384 + 2 * 46 + 16
    rows = [number("filled", 50_000.0), number("taken", 2.0 * least)]

    rate, size = growth.targets(rows)[:2]

    assert (rate.measured, rate.status) == (50_000.0, "missed")
    assert (size.measured, size.status) == (2.0, "missed")


def test_batches_are_compared_by_memories_a_second():
    rows = [*timed(f"batch_create_{COPY}", 80.0), *timed(f"batch_create_{FIRST}", 320.0)]

    found = by_name(writes.targets(rows))["memories a second in batches / first release"]

    assert found.measured == pytest.approx(4.0)
    assert found.parts[COPY] == pytest.approx(400.0)


def test_a_scan_is_held_against_a_pass_over_as_many_bytes():
    rows = [
        number("bytes_1000", 1_536_000.0),
        *timed("scan_1000", 0.3),
        *timed("product_1000", 0.25),
        *timed("read_1000", 0.2),
    ]

    first = scan.targets(rows)[0]

    assert first.measured == pytest.approx(1.5)
    assert first.parts["GB/s"] == pytest.approx(7.68)


def test_a_search_on_a_card_is_held_against_a_pass_there():
    rows = [
        *timed("card_10000_1", 0.2),
        *timed("card_read_10000", 0.02),
        *timed("card_1000000_1", 0.5),
        *timed("card_read_1000000", 0.4),
    ]

    found = by_name(scan.targets(rows))

    assert found["1 M rows, one probe / bandwidth, GPU"].measured == pytest.approx(1.25)
    assert found["10 M rows, 16 probes / bandwidth, GPU"].reason.startswith("(the card has no room")
    assert found["a segment of 10,000 rows, ms, GPU"].status == "missed"


def test_several_cards_are_held_against_one_and_how_busy_they_are_is_stated():
    rows = [number("gpu", 1.0), number("busy_copy", 4.0), number("busy_workers", 20.0)]
    for name, ms in (("workers", 1_000.0), ("cards", 500.0)):
        for part in range(retrieve.ROUNDS):
            rows += timed(f"retrieve_{name}_{part}", ms, callers=128)

    found = by_name(retrieve.targets(rows))

    assert found["retrievals a second, 128 callers: several cards / one"].measured == 2.0
    busy = found["share of the time in which the card computed, %, many callers (stated)"]
    assert busy.parts == {"busy_copy": 4.0, "busy_workers": 20.0}


def test_beside_a_card_growth_is_to_be_less():
    rows = [number("gpu", 1.0), *timed("retrieve_small", 10.0), *timed("retrieve_large", 11.0)]

    [grown] = [one for one in growth.targets(rows) if one.name.startswith("200,000")]

    assert (grown.name[-3:], grown.target, grown.status) == ("GPU", 1.2, "met")


def test_the_first_release_is_taken_from_the_history(tmp_path: Path):
    place = first_release(tmp_path)

    assert place is not None
    assert (place / "memory" / "flows" / "retrieve.py").is_file()
    assert not (place / "memory" / "retrieval" / "resident").exists()


def some_texts(count: int) -> Texts:
    chance = np.random.default_rng(3)
    rows = {n: chance.standard_normal((count, 64)) for n in filling.FIELDS}
    vectors = {
        n: (one / np.linalg.norm(one, axis=1, keepdims=True)).astype(np.float16)
        for n, one in rows.items()
    }
    ids = {n: np.full((count, 4), 7, dtype=np.int32) for n in filling.FIELDS}
    return Texts(list(islice(experiences(count, 5), count)), vectors, ids)


def test_many_memories_are_copies_with_other_texts_and_near_vectors():
    few = some_texts(4)

    many = multiplied(few, 10, seed=1)

    assert len({str(item["situation"]) for item in many.items}) == 10
    one, other = (rows["lesson"][1].astype(float) for rows in (few.vectors, many.vectors))
    cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    assert 0.9 < cosine < 0.999
    assert many.token_ids["lesson"].shape == (10, 4)


async def test_copied_rows_are_memories_like_those_they_were_copied_from(
    engine: Engine, operator: Key, database_url: str
):
    slug = await a_namespace(engine, operator)
    call = await a_call(engine, operator, slug)
    patterns = [
        a_draft(
            agent=f"agent-{agent}",
            situation=f"pattern {agent} of {area}",
            lesson=f"do as {agent} did with {area}",
            category=CategoryName(area),
        )
        for area in AREAS
        for agent in range(8)
    ]
    await remember(engine, call, patterns)
    width = len((await engine.embedder.embed(["a"]))[0].vector)
    texts = some_texts(30)
    made = [await engine.embedder.embed([str(i[n]) for i in texts.items]) for n in filling.FIELDS]
    vectors = {
        name: np.stack([one.vector for one in some]).astype(np.float16)
        for name, some in zip(filling.FIELDS, made, strict=True)
    }
    assert vectors["lesson"].shape == (30, width)

    fill(database_url, call.namespace.id, Texts(texts.items, vectors, texts.token_ids))

    answer = await served(
        engine,
        await a_call(engine, operator, slug),
        agent="agent-1",
        task=TaskDraft(str(texts.items[3]["situation"])),
    )
    assert str(texts.items[3]["lesson"]) in {one.lesson for one in answer.memories}
    assert (await a_call(engine, operator, slug)).namespace.n_memories == len(patterns) + 30
