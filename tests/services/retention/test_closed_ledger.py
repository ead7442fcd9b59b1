"""What was folded stays true, bit for bit, when what it was folded from has gone."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from memory.erasure.rollback import roll_back
from memory.insight.entities import Rollback
from memory.insight.history import compare_moments, list_past_weights, what_if
from memory.insight.service import get_weight
from memory.insight.what_if_entities import WhatIf
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, NotFound, Rejected
from memory.kernel.paging import Page
from memory.memories.browse_entities import BankMoment
from memory.outcomes.applying import apply_now
from memory.outcomes.policy_change import change_namespace
from memory.outcomes.service import get_outcome
from memory.tenancy.entities import Key, NamespaceChange, PolicyName
from memory.transfer.entities import ImportRequest, OnConflict
from memory.transfer.service import ExportRequest, export_namespace, import_namespace
from tests.fixtures.engine import DAY, NOON, OPEN, Caller, a_namespace
from tests.services.retention.retention_steps import (
    LongPast,
    count,
    in_ledger,
    run_retention,
    without,
)
from tests.storage.steps import a_call, live_and_rebuilt

PAGE = Page(200)


@pytest.mark.parametrize("seed", range(2))
async def test_a_rebuild_after_retention_gives_the_beliefs_before_it(
    engine: Engine, operator: Key, calls: Caller, seed: int
):
    kept = replace(OPEN, retention_days=200)
    slug = await a_namespace(engine, operator, clock="replay", settings=kept)
    past = LongPast(engine, operator, slug, Random(seed))
    await past.begin()
    for _ in range(2):
        await past.go_on(12, 240)
        await apply_now(engine, await past.call())
        call = await past.call()
        before, folded = await live_and_rebuilt(engine, call)
        assert before == folded
        later = (await in_ledger(engine, call))[-6:]
        would_be = [await without(engine, call, one) for one in later]
        events = await count(engine, call, "weight_event")
        memories = sorted(before.memories)
        counted = [await get_weight(engine, call, one, None) for one in memories]

        # Receipts are open for 180 days: what is older is closed and goes.
        done = await run_retention(engine, operator, slug, past.now + 10 * DAY)

        call = await past.call()
        live, again = await live_and_rebuilt(engine, call)
        assert (live, again) == (before, before)
        assert [await get_weight(engine, call, one, None) for one in memories] == counted
        assert done["outcomes"] > 0
        assert await count(engine, call, "weight_event") < events
        for one, expected in zip(later, would_be, strict=True):
            assert await without(engine, call, one) == expected
    await past.go_on(4, 30)
    live, again = await live_and_rebuilt(engine, await past.call())
    assert live == again


async def test_what_a_dry_run_foresees_is_what_the_run_removes(
    engine: Engine, operator: Key, calls: Caller
):
    kept = replace(OPEN, retention_days=200)
    slug = await a_namespace(engine, operator, clock="replay", settings=kept)
    past = LongPast(engine, operator, slug, Random(11))
    await past.begin()
    await past.go_on(20, 300)
    call, now = await past.call(), past.now + 100 * DAY
    tables = ("weight_event", "outcome", "retrieval", "retrieval_item")
    before = {table: await count(engine, call, table) for table in tables}

    seen = await run_retention(engine, operator, slug, now, dry=True)
    assert {table: await count(engine, call, table) for table in tables} == before
    done = await run_retention(engine, operator, slug, now)

    assert seen["rows_to_remove"] > 0
    assert seen["bytes_to_free"] > 0
    assert (seen["rows_removed"], seen["complete"]) == (0, False)
    named = ("ledger_events", "outcomes", "receipts", "receipt_items", "rows_to_remove")
    assert [done[name] for name in named] == [seen[name] for name in named]
    assert done["rows_removed"] == seen["rows_to_remove"]
    assert done["complete"]
    assert await count(engine, call, "outcome") == before["outcome"] - done["outcomes"]
    assert await count(engine, call, "retrieval") == before["retrieval"] - done["receipts"]
    again = await run_retention(engine, operator, slug, now)
    assert (again["rows_to_remove"], again["complete"]) == (0, True)
    nothing = await run_retention(engine, operator, slug, now, dry=True)
    assert (nothing["rows_to_remove"], nothing["complete"]) == (0, True)


async def test_what_is_closed_is_refused_by_name(engine: Engine, operator: Key, calls: Caller):
    kept = replace(OPEN, retention_days=200)
    slug = await a_namespace(engine, operator, clock="replay", settings=kept)
    past = LongPast(engine, operator, slug, Random(5))
    await past.begin()
    await past.go_on(14, 300)
    old = past.told[0].outcome
    now = past.now + 100 * DAY

    await run_retention(engine, operator, slug, now)

    call = await past.call()
    with pytest.raises(Rejected, match="kept as its result alone") as early:
        await list_past_weights(engine, call, BankMoment(as_of=NOON + DAY), PAGE)
    assert (early.value.kind, early.value.field) == ("no_longer_kept", "as_of")
    with pytest.raises(Rejected) as first:
        await compare_moments(engine, call, BankMoment(bank_version=1), BankMoment())
    assert first.value.kind == "no_longer_kept"
    with pytest.raises(Conflict) as other:
        await what_if(engine, call, WhatIf("steps"))
    assert other.value.kind == "no_longer_kept"
    with pytest.raises(NotFound) as gone:
        await get_outcome(engine, call, old.id)
    assert gone.value.kind == "outcome_not_found"
    assert (await list_past_weights(engine, call, BankMoment(as_of=past.now), PAGE)).items


async def test_a_rollback_takes_back_what_is_kept_and_nothing_that_is_closed(
    engine: Engine, operator: Key, calls: Caller
):
    kept = replace(OPEN, retention_days=200)
    slug = await a_namespace(engine, operator, clock="replay", settings=kept)
    past = LongPast(engine, operator, slug, Random(9))
    await past.begin()
    await past.go_on(16, 320)
    await run_retention(engine, operator, slug, past.now)
    call = await past.call()
    left = {*await in_ledger(engine, call)}

    for agent in ("agent-0", "agent-1", "agent-2"):
        done = await roll_back(engine, await past.call(), Rollback(agent=agent, dry_run=False))
        assert {*done.outcomes} >= set()
    live, again = await live_and_rebuilt(engine, await past.call())

    assert left
    assert not await in_ledger(engine, call)
    assert live == again
    # What is closed still counts.
    assert live.cells


async def test_a_closed_ledger_leaves_in_a_file_and_folds_to_the_same_bits_elsewhere(
    engine: Engine, operator: Key, tmp_path: Path
):
    kept = replace(OPEN, retention_days=200)
    slug = await a_namespace(engine, operator, clock="replay", settings=kept)
    past = LongPast(engine, operator, slug, Random(4))
    await past.begin()
    await past.go_on(8, 300)
    await run_retention(engine, operator, slug, past.now)
    file = tmp_path / "closed.tar"
    with file.open("wb") as out:
        await export_namespace(engine.database, ExportRequest(slug, tmp_path), out, NOON)

    wanted = ImportRequest(namespace=f"{slug}-copy", on_conflict=OnConflict.NEW_IDS)
    await import_namespace(engine.database, file, wanted, 0x51A7, NOON, None)

    here, _ = await live_and_rebuilt(engine, await past.call())
    there, again = await live_and_rebuilt(engine, await a_call(engine, operator, f"{slug}-copy"))
    assert there == again
    assert {kind: len(found) for kind, found in there.by_kind.items()} == {
        kind: len(found) for kind, found in here.by_kind.items()
    }
    copy = await a_call(engine, operator, f"{slug}-copy")
    with pytest.raises(Rejected, match="kept as its result alone"):
        await list_past_weights(engine, copy, BankMoment(as_of=NOON + DAY), PAGE)


async def test_what_is_kept_for_ever_loses_nothing(engine: Engine, operator: Key, calls: Caller):
    kept = replace(OPEN, retention_days=None)
    slug = await a_namespace(engine, operator, clock="replay", settings=kept)
    past = LongPast(engine, operator, slug, Random(3))
    await past.begin()
    await past.go_on(5, 10)
    before = await count(engine, await past.call(), "outcome")

    done = await run_retention(engine, operator, slug, NOON + 5_000 * DAY)

    assert (done["kept_days"], done["rows_to_remove"], done["complete"]) == ("for ever", 0, True)
    assert await count(engine, await past.call(), "outcome") == before


async def change_policy(engine: Engine, past: LongPast, policy: PolicyName) -> None:
    call = await past.call()
    wanted = NamespaceChange(policy=policy)
    await change_namespace(engine, call, wanted, call.namespace.version)


@pytest.mark.parametrize("seed", range(2))
async def test_the_policy_of_a_long_past_changes_and_is_closed_later(
    engine: Engine, operator: Key, seed: int
):
    kept = replace(OPEN, retention_days=200)
    slug = await a_namespace(engine, operator, clock="replay", settings=kept)
    past = LongPast(engine, operator, slug, Random(seed))
    await past.begin()
    await past.go_on(12, 240)
    await apply_now(engine, await past.call())
    before, _ = await live_and_rebuilt(engine, await past.call())
    then = (await past.call()).namespace.bank_version

    await change_policy(engine, past, "steps")
    live, again = await live_and_rebuilt(engine, await past.call())
    assert live == again
    await change_policy(engine, past, "belief")
    assert await live_and_rebuilt(engine, await past.call()) == (before, before)

    await change_policy(engine, past, "paper")
    await past.go_on(8, 60)
    await apply_now(engine, await past.call())
    live, again = await live_and_rebuilt(engine, await past.call())
    assert live == again
    done = await run_retention(engine, operator, slug, past.now + 10 * DAY)
    assert done["outcomes"] > 0
    call = await past.call()
    assert await live_and_rebuilt(engine, call) == (live, live)
    with pytest.raises(Rejected) as gone:
        await list_past_weights(engine, call, BankMoment(bank_version=then), PAGE)
    assert gone.value.kind == "no_longer_kept"
    with pytest.raises(Conflict, match="kept as its result alone"):
        await change_policy(engine, past, "belief")
    await past.go_on(4, 30)
    live, again = await live_and_rebuilt(engine, await past.call())
    assert live == again
