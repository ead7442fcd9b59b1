"""The policy of a living namespace changes: every belief is refolded, and there and back again
is where it was.
"""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import text

from memory.belief.store.states import StateStore
from memory.erasure.rollback import roll_back
from memory.erasure.undo import undo_rollback
from memory.insight.entities import Rollback
from memory.insight.history import compare_moments, list_past_weights, what_if
from memory.insight.service import get_weight
from memory.insight.what_if_entities import WhatIf
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, Forbidden, Overloaded, Rejected, StaleEdit
from memory.kernel.paging import Page
from memory.memories.browse_entities import BankMoment
from memory.outcomes.applying import apply_now
from memory.outcomes.policy_change import change_namespace
from memory.tasks.entities import TaskDraft
from memory.tenancy.entities import AuditFilter, Call, NamespaceChange, PolicyName, Role
from memory.tenancy.service import audit_trail
from memory.tenancy.store.namespaces import NamespaceStore
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import NOON, Caller
from tests.storage.steps import live_and_rebuilt, remembered, reported, served

HOUR = timedelta(hours=1)
PAGE = Page(200)
TASKS = [TaskDraft(f"a forecast of {one}", key=one, category="weather") for one in ("rain", "snow")]


async def learn(engine: Engine, calls: Caller, slug: str, rewards: list[float]) -> None:
    """A pair for each reward, one run without memory, and a lesson that nobody has tried."""
    for hours, reward in enumerate(rewards):
        call = await calls(slug)
        at = (call.namespace.newest_known_at or NOON) + HOUR
        run = await served(engine, call, as_of=at, task=TASKS[hours % 2])
        await reported(engine, call, run, reward=reward, without={"reward": 0.5}, known_at=at)
        await apply_now(engine, await calls(slug))
    call = await calls(slug)
    at = (call.namespace.newest_known_at or NOON) + HOUR
    alone = await served(engine, call, arm="off", as_of=at, task=TASKS[0])
    await reported(engine, call, alone, reward=0.4, known_at=at)
    await apply_now(engine, await calls(slug))


@pytest.fixture
async def taught(engine: Engine, calls: Caller, past: str) -> str:
    """A namespace in which two memories were followed, one of them to no good."""
    call = await calls(past)
    await remembered(
        engine, call, a_draft(learned_at=NOON), a_draft(lesson="Pack an umbrella", learned_at=NOON)
    )
    await learn(engine, calls, past, [0.9, 0.2, 0.1, 0.0])
    return past


async def change_to(engine: Engine, calls: Caller, slug: str, policy: PolicyName) -> Call:
    call = await calls(slug)
    wanted = NamespaceChange(policy=policy)
    await change_namespace(engine, call, wanted, call.namespace.version)
    return await calls(slug)


async def controls(engine: Engine, call: Call) -> list[int]:
    async with engine.database.transaction(call.namespace.id) as connection:
        rows = await connection.execute(
            text("SELECT n_control FROM cell WHERE namespace_id = :ns ORDER BY 1"),
            {"ns": call.namespace.id},
        )
        return list(rows.scalars())


@pytest.mark.parametrize("policy", ["paper", "paper-strict", "steps", "delta"])
async def test_there_and_back_gives_the_same_bits(
    engine: Engine, calls: Caller, taught: str, policy: PolicyName
):
    # A preset that settles them refuses what was chosen otherwise.
    free = {"raw_gate": None, "score_floor": None, "coins": True, "meta_guidelines": True}
    call = await calls(taught)
    opened = NamespaceChange(settings=free)
    await change_namespace(engine, call, opened, call.namespace.version)
    before, _ = await live_and_rebuilt(engine, await calls(taught))
    counted = await controls(engine, await calls(taught))
    settings = (await calls(taught)).namespace.settings

    there = await change_to(engine, calls, taught, policy)
    live, again = await live_and_rebuilt(engine, there)
    back = await change_to(engine, calls, taught, "belief")

    assert there.namespace.policy == policy
    assert live == again
    assert live.memories != before.memories
    assert (await live_and_rebuilt(engine, back)) == (before, before)
    assert await controls(engine, back) == counted
    assert back.namespace.settings == settings


async def test_what_was_foreseen_is_what_comes_of_it(engine: Engine, calls: Caller, taught: str):
    call = await calls(taught)
    foreseen = await what_if(engine, call, WhatIf("paper"))
    earlier = call.namespace.bank_version

    changed = await change_to(engine, calls, taught, "paper")

    happened = await compare_moments(
        engine, changed, BankMoment(bank_version=earlier), BankMoment()
    )
    weights = foreseen.difference.weights
    assert {one.memory_id: one.after for one in happened.weights} == {
        one.memory_id: one.after for one in weights
    }
    moves = foreseen.moves
    falling = [one for one in weights if (one.after or 0) < (one.before or 0)]
    assert (moves.rising, moves.falling) == (len(weights) - len(falling), len(falling))
    assert moves.falling
    trail = await audit_trail(engine, changed, AuditFilter(action="namespace.change"), PAGE)
    assert trail.items[-1].detail["before"] == "belief"


async def test_memories_that_fall_below_the_floor_are_counted(
    engine: Engine, calls: Caller, taught: str
):
    call = await calls(taught)
    floored = NamespaceChange(settings={"score_floor": 0.4})
    await change_namespace(engine, call, floored, call.namespace.version)

    paper = (await what_if(engine, await calls(taught), WhatIf("paper"))).moves

    # By the paper's rule the weights are .2 at most; beliefs fall more slowly.
    assert (paper.below_floor, paper.returning, paper.falling) == (2, 0, 2)
    assert (paper.floor.before, paper.floor.after) == (0.4, 0.4)
    await change_to(engine, calls, taught, "paper")
    belief = (await what_if(engine, await calls(taught), WhatIf("belief"))).moves
    assert (belief.below_floor, belief.returning, belief.rising) == (0, 2, 2)


async def test_learning_goes_on_under_the_new_policy(engine: Engine, calls: Caller, taught: str):
    await change_to(engine, calls, taught, "paper")

    await learn(engine, calls, taught, [0.9])

    live, again = await live_and_rebuilt(engine, await calls(taught))
    assert live == again
    await change_to(engine, calls, taught, "belief")
    live, again = await live_and_rebuilt(engine, await calls(taught))
    assert live == again
    assert live.cells


async def test_what_was_reported_before_the_change_is_taken_back_after_it(
    engine: Engine, calls: Caller, taught: str
):
    changed = await change_to(engine, calls, taught, "paper")
    before, _ = await live_and_rebuilt(engine, changed)

    done = await roll_back(engine, changed, Rollback(agent="solver", dry_run=False))

    call = await calls(taught)
    live, again = await live_and_rebuilt(engine, call)
    assert live == again
    assert all(state.values == (1.0,) for state in live.memories.values())
    assert done.rollback_id is not None
    await undo_rollback(engine, call, done.rollback_id)
    assert await live_and_rebuilt(engine, await calls(taught)) == (before, before)


async def test_a_moment_before_the_change_is_read_by_the_policy_of_its_time(
    engine: Engine, calls: Caller, taught: str
):
    call = await calls(taught)
    then = call.namespace.bank_version
    known = {
        one.memory_id: one.effective_weight
        for one in (
            await list_past_weights(engine, call, BankMoment(bank_version=then), PAGE)
        ).items
    }

    changed = await change_to(engine, calls, taught, "paper")

    again = await list_past_weights(engine, changed, BankMoment(bank_version=then), PAGE)
    now = await list_past_weights(engine, changed, BankMoment(), PAGE)
    assert {one.memory_id: one.effective_weight for one in again.items} == known
    assert {one.memory_id: one.effective_weight for one in now.items} != known
    for memory_id in known:
        await get_weight(engine, changed, memory_id, None)


async def test_a_writer_that_began_under_the_old_policy_writes_nothing(
    engine: Engine, calls: Caller, taught: str
):
    late = await calls(taught)
    changed = await change_to(engine, calls, taught, "paper")
    live, _ = await live_and_rebuilt(engine, changed)

    with pytest.raises(Overloaded) as refused:
        await remembered(engine, late, a_draft(lesson="Salt the steps", learned_at=NOON))
    with pytest.raises(Overloaded):
        await served(engine, late, as_of=NOON + 99 * HOUR, task=TASKS[0])

    assert refused.value.kind == "policy_changed"
    assert await live_and_rebuilt(engine, await calls(taught)) == (live, live)


@pytest.mark.parametrize("known", [True, False])
async def test_a_task_that_is_ranked_by_the_former_policy_gets_no_receipt(
    engine: Engine, calls: Caller, taught: str, *, known: bool
):
    # By length alone the states of the two cannot be told apart.
    await change_to(engine, calls, taught, "delta")
    late = await calls(taught)
    changed = await change_to(engine, calls, taught, "paper")
    task = TASKS[0] if known else TaskDraft("a forecast of hail", category="weather")

    with pytest.raises(Overloaded) as refused:
        await served(engine, late, as_of=NOON + 99 * HOUR, task=task)

    assert refused.value.kind == "policy_changed"
    assert (await served(engine, changed, as_of=NOON + 99 * HOUR, task=task)).receipt.items


async def test_a_memory_written_while_the_ledger_is_folded_is_part_of_it(
    engine: Engine, calls: Caller, taught: str
):
    call = await calls(taught)
    async with engine.database.transaction(call.namespace.id) as connection:
        # The change waits here, before it has read anything.
        await StateStore(connection, call.namespace.id).lock()
        wanted = NamespaceChange(policy="paper")
        changing = asyncio.create_task(
            change_namespace(engine, call, wanted, call.namespace.version)
        )
        await remembered(engine, call, a_draft(lesson="Salt the steps", learned_at=NOON))
    await changing

    live, again = await live_and_rebuilt(engine, await calls(taught))
    assert live == again
    assert len(live.memories) == 3


async def test_a_change_that_breaks_off_has_changed_nothing(
    engine: Engine, calls: Caller, taught: str, monkeypatch: pytest.MonkeyPatch
):
    before = await live_and_rebuilt(engine, await calls(taught))
    broken = RuntimeError("the process was killed")

    async def breaks(*_: object) -> None:
        raise broken

    with monkeypatch.context() as patched:
        patched.setattr(StateStore, "set_controls", breaks)
        with pytest.raises(RuntimeError):
            await change_to(engine, calls, taught, "paper")

    call = await calls(taught)
    assert call.namespace.policy == "belief"
    assert await live_and_rebuilt(engine, call) == before
    await change_to(engine, calls, taught, "paper")
    live, again = await live_and_rebuilt(engine, await calls(taught))
    assert live == again


async def test_who_may_not_and_what_cannot_be(engine: Engine, calls: Caller, taught: str):
    agent = await calls(taught, role=Role.AGENT)
    with pytest.raises(Forbidden):
        await change_namespace(engine, agent, NamespaceChange(policy="paper"), 1)
    call = await calls(taught)
    with pytest.raises(StaleEdit):
        await change_namespace(engine, call, NamespaceChange(policy="paper"), 99)
    with pytest.raises(Rejected) as unknown:
        NamespaceChange(policy="luck")  # pyright: ignore[reportArgumentType] - on purpose
    assert unknown.value.field == "policy"
    asked = NamespaceChange(policy="paper-strict", settings={"raw_gate": 0.5})
    with pytest.raises(Rejected) as settled:
        await change_namespace(engine, call, asked, call.namespace.version)
    assert settled.value.field == "settings.raw_gate"
    assert (await calls(taught)).namespace.version == call.namespace.version


async def test_a_setting_in_the_way_is_told_before_the_change(
    engine: Engine, calls: Caller, taught: str
):
    call = await calls(taught)
    fused = NamespaceChange(settings={"rerank": "fused"})
    await change_namespace(engine, call, fused, call.namespace.version)

    with pytest.raises(Rejected) as foreseen:
        await what_if(engine, await calls(taught), WhatIf("paper", 10))
    with pytest.raises(Rejected) as refused:
        await change_to(engine, calls, taught, "paper")

    assert foreseen.value.field == refused.value.field == "settings.rerank"


async def test_what_a_preset_settles_is_as_it_was_when_the_preset_is_left(
    engine: Engine, calls: Caller, taught: str
):
    before = (await calls(taught)).namespace.settings

    strict = (await change_to(engine, calls, taught, "paper-strict")).namespace.settings
    after = (await change_to(engine, calls, taught, "belief")).namespace.settings

    assert (before.raw_gate, strict.raw_gate) == (0.01, 0.0)
    assert after == before


async def test_the_policy_it_has_is_no_change(engine: Engine, calls: Caller, taught: str):
    before = (await calls(taught)).namespace

    after = (await change_to(engine, calls, taught, "belief")).namespace

    assert (after.policy, after.bank_version) == (before.policy, before.bank_version)


async def test_a_ledger_that_was_closed_cannot_be_folded_by_another_policy(
    engine: Engine, calls: Caller, taught: str
):
    call = await calls(taught)
    async with engine.database.transaction(call.namespace.id) as connection:
        await connection.execute(
            text("""INSERT INTO ledger_closing (namespace_id, bank_version, known_at, recorded_at)
                VALUES (:ns, 1, :at, :at)"""),
            {"ns": call.namespace.id, "at": NOON},
        )

    with pytest.raises(Conflict) as refused:
        await change_to(engine, calls, taught, "paper")

    assert refused.value.kind == "no_longer_kept"
    assert NOON.isoformat() in str(refused.value)
    async with engine.database.transaction(call.namespace.id) as connection:
        assert (await NamespaceStore(connection).get(call.namespace.id)).policy == "belief"
