"""Constraints come in, merge with what says the same, wait for support, and contradict."""

import asyncio
from dataclasses import replace
from uuid import UUID

import pytest
from sqlalchemy import select, text

from memory.constraints.admission import NewConstraint
from memory.constraints.contrast_entities import PairClass
from memory.constraints.entities import SupportCounts, Wording
from memory.constraints.store.constraints import ConstraintStore
from memory.constraints.store.support import SupportStore
from memory.constraints.tables import contradiction, task_embedding
from memory.curation.entities import StatusChange
from memory.curation.service import change_status
from memory.erasure.entities import Erasure
from memory.erasure.service import erase
from memory.jobs.service import JobRequest, run_job
from memory.kernel.engine import Engine
from memory.kernel.errors import Rejected
from memory.kernel.paging import Page
from memory.memories.entities import Kind, Memory, MemoryFilter, Status, Trust, Visibility
from memory.memories.service import get_memory, list_memories
from memory.tenancy.entities import Call, Key
from tests.fixtures.constraint_builders import (
    AVOID,
    ENFORCE,
    TRIGGER,
    WORDING,
    Pair,
    a_task,
    admitted,
    contrasted,
    proven,
)
from tests.fixtures.engine import DAY, NOON, OPEN, a_namespace
from tests.storage.steps import a_call, live_and_rebuilt

pytestmark = pytest.mark.usefixtures("proof_alone")

PAGE = Page(200)
OPPOSITE = Wording(TRIGGER, AVOID, ENFORCE)


@pytest.fixture
async def call(engine: Engine, operator: Key) -> Call:
    return await a_call(engine, operator, await a_namespace(engine, operator))


async def constraints(engine: Engine, call: Call) -> list[Memory]:
    found = await list_memories(engine, call, MemoryFilter(kind=Kind.CONSTRAINT), PAGE)
    return list(found.items)


async def counts(engine: Engine, call: Call, memory_id: UUID) -> SupportCounts:
    async with engine.database.transaction(call.namespace.id) as connection:
        found = await SupportStore(connection, call.namespace.id).counts([memory_id])
    return found.get(memory_id, SupportCounts())


async def test_a_proven_constraint_is_active_and_its_history_begins(
    engine: Engine, call: Call
) -> None:
    one = await proven(engine, call)

    stored = await get_memory(engine, call, one.memory_id)
    assert (one.outcome, one.reason) == ("merged", None)
    assert (stored.kind, stored.status, stored.agent) == (
        Kind.CONSTRAINT,
        Status.ACTIVE,
        "memlift-contrast",
    )
    assert (stored.situation, stored.lesson) == (WORDING.situation, WORDING.lesson)
    assert await counts(engine, call, one.memory_id) == SupportCounts(2, 2, 2, 4, 4, 4)
    live, again = await live_and_rebuilt(engine, call)
    assert one.memory_id in live.memories
    assert live == again
    fresh = await a_call(engine, call.key, call.namespace.slug)
    assert fresh.namespace.n_memories == 1
    assert fresh.namespace.bank_version > call.namespace.bank_version


async def test_the_source_task_has_a_vector_once(engine: Engine, call: Call) -> None:
    task = await a_task(engine, call, "how long do they ride in all")
    for _ in range(2):
        await admitted(engine, call, await contrasted(engine, call, task))

    async with engine.database.transaction(call.namespace.id) as connection:
        rows = await connection.execute(select(task_embedding.c.task_id))
        assert rows.scalars().all() == [task.id]
        store = ConstraintStore(connection, call.namespace.id)
        assert await store.tasks_without_vector([task.id], engine.model.id) == {}


async def test_the_same_from_another_task_merges_its_support(engine: Engine, call: Call) -> None:
    first, second = [await a_task(engine, call, f"task {name}") for name in ("one", "two")]
    other = Pair(agents=("large", "third"), families=("north", "west"))
    reworded = replace(WORDING, avoid=AVOID.capitalize())
    [one] = await admitted(engine, call, await contrasted(engine, call, first))

    [two] = await admitted(
        engine, call, await contrasted(engine, call, second, other, wording=reworded)
    )

    assert (two.outcome, two.memory_id) == ("merged", one.memory_id)
    [stored] = await constraints(engine, call)
    assert stored.evidence == 2
    assert await counts(engine, call, one.memory_id) == SupportCounts(2, 2, 2, 3, 4, 4)
    assert (await counts(engine, call, one.memory_id)).agnostic_score == pytest.approx(0.75)


async def test_the_same_contrast_again_is_no_more_support(engine: Engine, call: Call) -> None:
    new = await contrasted(engine, call, await a_task(engine, call, "task one"))
    await admitted(engine, call, new)

    [again] = await admitted(engine, call, new)

    assert (again.outcome, again.reason) == ("merged", "known")
    [stored] = await constraints(engine, call)
    assert stored.evidence == 1


@pytest.mark.parametrize(
    "wording",
    [
        Wording(TRIGGER, None, AVOID),
        replace(WORDING, trigger=f"{TRIGGER} at 3 places"),
        replace(WORDING, enforce=f"never {ENFORCE}"),
        replace(WORDING, enforce="reading the question once more"),
    ],
    ids=["polarity", "number", "negation", "obligation"],
)
async def test_what_differs_in_more_than_words_stays_two(
    engine: Engine, call: Call, wording: Wording
) -> None:
    task = await a_task(engine, call, "task one")
    await admitted(engine, call, await contrasted(engine, call, task))

    [two] = await admitted(engine, call, await contrasted(engine, call, task, wording=wording))

    assert (two.outcome, two.reason) == ("proposed", "one_task")
    assert len(await constraints(engine, call)) == 2


async def test_buckets_are_apart(engine: Engine, call: Call) -> None:
    sums = await a_task(engine, call, "task one")
    ratios = await a_task(
        engine, call, "task two", category="mathematics", subcategory="percentages"
    )
    first = await contrasted(engine, call, sums)
    second = await contrasted(engine, call, ratios, wording=replace(WORDING, avoid=f"{AVOID} now"))

    outcomes = [one.outcome for one in await admitted(engine, call, first, second)]

    assert outcomes == ["proposed", "proposed"]


async def test_the_same_text_stands_once_in_a_category(engine: Engine, call: Call) -> None:
    sums = await a_task(engine, call, "task one")
    ratios = await a_task(
        engine, call, "task two", category="mathematics", subcategory="percentages"
    )

    waiting = await contrasted(engine, call, sums, counts=False)
    one, two = await admitted(engine, call, waiting, await contrasted(engine, call, ratios))

    assert (one.outcome, two.outcome) == ("proposed", "merged")
    [stored] = await constraints(engine, call)
    assert (stored.status, stored.subcategory) == (Status.PROPOSED, "sums")
    assert (await counts(engine, call, one.memory_id)).tasks == 1
    await proven(engine, call)
    [used] = await constraints(engine, call)
    assert (used.status, used.subcategory) == (Status.ACTIVE, "sums")


async def test_the_same_text_cut_otherwise_is_support_and_no_second_memory(
    engine: Engine, call: Call
) -> None:
    task = await a_task(engine, call, "task one")
    [one] = await admitted(engine, call, await contrasted(engine, call, task))
    joined = Wording(TRIGGER, WORDING.lesson.removeprefix("enforce "))

    [two] = await admitted(engine, call, await contrasted(engine, call, task, wording=joined))

    assert (two.outcome, two.memory_id) == ("merged", one.memory_id)


async def test_what_fails_its_lint_is_kept_as_rejected_with_the_reason(
    engine: Engine, call: Call
) -> None:
    task = await a_task(engine, call, "task one")
    new = await contrasted(engine, call, task, lint=("literal", "agent_name"))

    [one] = await admitted(engine, call, new)
    [again] = await admitted(engine, call, await contrasted(engine, call, task, lint=("literal",)))

    assert (one.outcome, one.reason) == ("rejected", "lint: literal, agent_name")
    assert again.memory_id == one.memory_id
    [stored] = await constraints(engine, call)
    assert (stored.status, stored.status_reason) == (Status.REJECTED, "lint: literal, agent_name")
    assert stored.detail["lint"] == ["literal", "agent_name"]
    assert await counts(engine, call, one.memory_id) == SupportCounts(contrasts=2)
    fresh = await a_call(engine, call.key, call.namespace.slug)
    assert fresh.namespace.n_memories == 0


async def test_it_waits_until_its_support_proves_it_and_says_what_it_lacks(
    engine: Engine, call: Call
) -> None:
    task = await a_task(engine, call, "task one")
    [one] = await admitted(engine, call, await contrasted(engine, call, task, counts=False))
    waiting = await get_memory(engine, call, one.memory_id)

    await admitted(engine, call, await contrasted(engine, call, task))
    lacking = await get_memory(engine, call, one.memory_id)
    two = await proven(engine, call)

    assert (one.outcome, one.reason) == ("proposed", "no_support")
    assert (waiting.status, waiting.status_reason) == (Status.PROPOSED, "no_support")
    assert (lacking.status, lacking.status_reason) == (Status.PROPOSED, "one_task")
    assert (two.outcome, two.memory_id) == ("merged", one.memory_id)
    promoted = await get_memory(engine, call, one.memory_id)
    assert (promoted.status, promoted.status_reason) == (Status.ACTIVE, None)


async def test_a_verdict_counts_for_as_much_as_the_key_that_gave_it_may_claim(
    engine: Engine, call: Call
) -> None:
    tasks = [await a_task(engine, call, f"task {name}") for name in ("one", "two")]
    pairs = (Pair(verifier="human"), Pair(("third", "fourth"), verifier="human"))
    news = [
        await contrasted(engine, call, task, pair) for task, pair in zip(tasks, pairs, strict=True)
    ]
    async with engine.database.transaction(call.namespace.id) as connection:
        lowered = text("UPDATE api_key SET verifies = 'self' WHERE id = :id")
        await connection.execute(lowered, {"id": pairs[1].keys[0]})

    [_, one] = await admitted(engine, call, *news)

    stored = await get_memory(engine, call, one.memory_id)
    assert (stored.status, stored.status_reason) == (Status.PROPOSED, "one_task")


async def test_two_wrong_runs_say_only_what_to_avoid_in_quarantine(
    engine: Engine, call: Call
) -> None:
    task = await a_task(engine, call, "task one")
    wrong = Pair(pair_class=PairClass.BOTH_WRONG)

    [one] = await admitted(engine, call, await contrasted(engine, call, task, wrong))

    stored = await get_memory(engine, call, one.memory_id)
    assert (one.outcome, one.reason) == ("proposed", "both_wrong")
    assert (stored.trust, stored.status) == (Trust.QUARANTINED, Status.PROPOSED)
    assert (stored.detail["enforce"], stored.detail["avoid"]) == (None, AVOID)
    avoiding = await contrasted(engine, call, task, wording=Wording(TRIGGER, None, AVOID))
    await admitted(engine, call, avoiding)
    kept = await get_memory(engine, call, one.memory_id)
    assert (kept.trust, kept.status) == (Trust.QUARANTINED, Status.PROPOSED)
    two = await proven(engine, call, wording=Wording(TRIGGER, None, AVOID))
    assert two.memory_id == one.memory_id
    freed = await get_memory(engine, call, one.memory_id)
    assert (freed.trust, freed.status) == (Trust.UNVERIFIED, Status.ACTIVE)


async def test_two_wrong_runs_with_nothing_to_avoid_are_rejected(
    engine: Engine, call: Call
) -> None:
    task = await a_task(engine, call, "task one")
    wrong = Pair(pair_class=PairClass.BOTH_WRONG)
    enforcing = Wording(TRIGGER, ENFORCE)

    [one] = await admitted(
        engine, call, await contrasted(engine, call, task, wrong, wording=enforcing)
    )

    assert (one.outcome, one.reason) == ("rejected", "lint: enforces_what_failed")


async def test_two_right_runs_start_at_half_weight(engine: Engine, call: Call) -> None:
    task = await a_task(engine, call, "task one")
    right = Pair(pair_class=PairClass.BOTH_RIGHT)

    [one] = await admitted(engine, call, await contrasted(engine, call, task, right))

    stored = await get_memory(engine, call, one.memory_id)
    assert stored.effective_weight == pytest.approx(0.5)


async def quarrels(engine: Engine, call: Call) -> list[tuple[str, str | None, str | None]]:
    async with engine.database.transaction(call.namespace.id) as connection:
        columns = contradiction.c
        rows = await connection.execute(
            select(columns.state, columns.resolution, columns.resolution_reason)
        )
        return [tuple(row) for row in rows]


async def test_equal_sides_of_a_contradiction_stay_in_use_and_it_stays_open(
    engine: Engine, call: Call
) -> None:
    for said in (WORDING, OPPOSITE):
        await proven(engine, call, wording=said)

    assert {memory.status for memory in await constraints(engine, call)} == {Status.ACTIVE}
    assert await quarrels(engine, call) == [("open", None, None)]


async def test_the_side_with_more_support_stays_and_evidence_may_turn_it(
    engine: Engine, call: Call
) -> None:
    names = ("one", "two", "three", "four")
    tasks = [await a_task(engine, call, f"task {name}") for name in names]
    one = await proven(engine, call)
    await admitted(engine, call, await contrasted(engine, call, tasks[0]))

    async def against(index: int) -> UUID:
        new = await contrasted(engine, call, tasks[index], wording=OPPOSITE)
        [answer] = await admitted(engine, call, new, now=NOON + DAY)
        return answer.memory_id

    other = (await proven(engine, call, wording=OPPOSITE)).memory_id
    loser = await get_memory(engine, call, other)
    assert (loser.status, loser.status_reason) == (Status.SUSPENDED, "contradicted")
    [(state, _, why)] = await quarrels(engine, call)
    assert (state, why) == ("resolved", "evidence")

    await against(2)
    tied = await get_memory(engine, call, other)
    assert tied.status is Status.SUSPENDED

    await against(3)
    turned = [await get_memory(engine, call, memory_id) for memory_id in (one.memory_id, other)]
    assert [m.status for m in turned] == [Status.SUSPENDED, Status.ACTIVE]
    assert turned[1].status_reason is None


async def test_a_proposed_side_is_no_match_and_contends_once_it_is_supported(
    engine: Engine, call: Call
) -> None:
    await proven(engine, call)
    tasks = [await a_task(engine, call, f"more {n}") for n in range(4)]
    waiting = await contrasted(engine, call, tasks[0], wording=OPPOSITE, counts=False)
    [one] = await admitted(engine, call, waiting)
    # One liar beside honest runs, on more tasks than the other side has.
    lies = [await contrasted(engine, call, task, wording=OPPOSITE) for task in tasks]
    await admitted(engine, call, *lies)
    assert [state for state, _, _ in await quarrels(engine, call)] == ["resolved"]
    assert (await get_memory(engine, call, one.memory_id)).status is Status.PROPOSED
    statuses = {memory.status for memory in await constraints(engine, call)}
    assert statuses == {Status.PROPOSED, Status.ACTIVE}
    for task in tasks[1:]:
        await erase(engine, call, Erasure(task_id=task.id))

    last = await a_task(engine, call, "the last")
    pair = Pair(("third", "fourth"), ("west", "east"))
    await admitted(engine, call, await contrasted(engine, call, last, pair, wording=OPPOSITE))

    assert {memory.status for memory in await constraints(engine, call)} == {Status.ACTIVE}
    assert await quarrels(engine, call) == [("open", None, None)]


async def test_an_obligation_and_its_negation_contradict(engine: Engine, call: Call) -> None:
    task = await a_task(engine, call, "task one")
    said = [Wording(TRIGGER, ENFORCE), Wording(TRIGGER, f"not {ENFORCE}")]
    news = [await contrasted(engine, call, task, wording=wording) for wording in said]

    await admitted(engine, call, *news)

    assert len(await quarrels(engine, call)) == 1


def own_word(new: NewConstraint, agent: str) -> NewConstraint:
    """The same as an agent's own word."""
    word = replace(new, contrast=None, pair=None, origin="written", agent=agent, counts=False)
    return replace(word, visibility=Visibility.AGENT)


async def test_what_is_an_authors_alone_opens_up_with_a_managers_word_for_it(
    engine: Engine, call: Call
) -> None:
    task = await a_task(engine, call, "task one")
    own = own_word(await contrasted(engine, call, task), "small")
    [one] = await admitted(engine, call, own)
    assert await constraints(engine, call) == []

    word = replace(own, counts=True, visibility=Visibility.NAMESPACE, key_id=call.key.id)
    [two] = await admitted(engine, call, word)

    assert (one.outcome, two.outcome, two.memory_id) == ("created", "merged", one.memory_id)
    [stored] = await constraints(engine, call)
    assert (stored.visibility, stored.status, stored.agent) == (
        Visibility.NAMESPACE,
        Status.ACTIVE,
        "small",
    )


async def test_what_is_an_authors_alone_takes_no_support_from_what_contrasts_say(
    engine: Engine, call: Call
) -> None:
    task = await a_task(engine, call, "task one")
    own = own_word(await contrasted(engine, call, task), "small")
    [one] = await admitted(engine, call, own)

    two = await proven(engine, call)

    assert two.memory_id != one.memory_id
    [shared] = await constraints(engine, call)
    assert (shared.id, shared.agent, shared.status) == (
        two.memory_id,
        "memlift-contrast",
        Status.ACTIVE,
    )
    assert await counts(engine, call, one.memory_id) == SupportCounts(contrasts=1)


async def test_what_is_an_authors_alone_does_not_tell_another_author(
    engine: Engine, call: Call
) -> None:
    task = await a_task(engine, call, "task one")
    news = [own_word(await contrasted(engine, call, task), who) for who in ("small", "large")]

    outcomes = [one.outcome for one in await admitted(engine, call, *news)]

    assert outcomes == ["created", "created"]


async def test_two_that_admit_the_same_at_once_make_one_memory_with_two_supports(
    engine: Engine, call: Call
) -> None:
    tasks = [await a_task(engine, call, f"task {index}") for index in range(4)]
    news = [await contrasted(engine, call, task) for task in tasks]

    answers = await asyncio.gather(*(admitted(engine, call, new) for new in news))

    assert sorted(one.outcome for [one] in answers) == ["merged", "merged", "merged", "proposed"]
    [stored] = await constraints(engine, call)
    assert stored.evidence == 4
    assert (await counts(engine, call, stored.id)).tasks == 4
    fresh = await a_call(engine, call.key, call.namespace.slug)
    assert fresh.namespace.n_memories == 1


async def test_caches_hear_of_each_change(engine: Engine, call: Call) -> None:
    task = await a_task(engine, call, "task one")
    await admitted(engine, call, await contrasted(engine, call, task, counts=False))
    await proven(engine, call)

    async with engine.database.transaction(call.namespace.id) as connection:
        rows = await connection.execute(text("SELECT kind FROM change ORDER BY bank_version"))
        assert rows.scalars().all() == ["added", "supported", "proposed", "supported", "active"]


@pytest.mark.parametrize("whose", ["agent", "key", "task"])
async def test_erasing_whose_run_it_was_takes_that_support(
    engine: Engine, call: Call, whose: str
) -> None:
    task, pair = await a_task(engine, call, "task one"), Pair(("fifth", "sixth"))
    one = await proven(engine, call)
    await admitted(engine, call, await contrasted(engine, call, task, pair))
    erasure = {
        "agent": Erasure(agent="sixth"),
        "key": Erasure(key_id=pair.keys[0]),
        "task": Erasure(task_id=task.id),
    }[whose]

    await erase(engine, call, erasure)

    left = await get_memory(engine, call, one.memory_id)
    assert (left.status, left.lesson) == (Status.ACTIVE, WORDING.lesson)
    found = await counts(engine, call, one.memory_id)
    assert (found.contrasts, found.tasks, found.agent_pairs) == (3, 2, 2)


async def test_losing_what_proves_it_sends_it_back_to_wait(engine: Engine, call: Call) -> None:
    one = await proven(engine, call)

    await erase(engine, call, Erasure(agent="large"))

    weakened = await get_memory(engine, call, one.memory_id)
    assert (weakened.status, weakened.status_reason) == (Status.PROPOSED, "one_task")
    await erase(engine, call, Erasure(agent="third"))
    left = await get_memory(engine, call, one.memory_id)
    assert (left.status, left.status_reason) == (Status.PROPOSED, "no_support")
    live, again = await live_and_rebuilt(engine, call)
    assert live == again
    fresh = await a_call(engine, call.key, call.namespace.slug)
    assert fresh.namespace.n_memories == 1


async def test_erasure_may_turn_a_contradiction(engine: Engine, call: Call) -> None:
    tasks = [await a_task(engine, call, f"task {name}") for name in ("one", "two", "three")]
    one = await proven(engine, call)
    pairs = (Pair(("fifth", "sixth")), Pair(("seventh", "eighth")), Pair(("seventh", "eighth")))
    news = [
        await contrasted(engine, call, task, pair, wording=OPPOSITE)
        for task, pair in zip(tasks, pairs, strict=True)
    ]
    [two, *_] = await admitted(engine, call, *news)
    assert (await get_memory(engine, call, one.memory_id)).status is Status.SUSPENDED

    await erase(engine, call, Erasure(agent="fifth"))

    kept = [
        await get_memory(engine, call, memory_id) for memory_id in (one.memory_id, two.memory_id)
    ]
    assert [memory.status for memory in kept] == [Status.ACTIVE, Status.PROPOSED]


async def test_what_was_retired_comes_back_to_wait_where_it_is_not_proven(
    engine: Engine, call: Call
) -> None:
    one = await proven(engine, call)
    await change_status(engine, call, one.memory_id, StatusChange("retire"))
    await erase(engine, call, Erasure(agent="large"))

    restored = await change_status(engine, call, one.memory_id, StatusChange("restore"))

    assert restored.status is Status.PROPOSED


async def test_the_merge_job_leaves_constraints_to_their_support(
    engine: Engine, call: Call
) -> None:
    task = await a_task(engine, call, "task one")
    mirrored = [await contrasted(engine, call, task, wording=w) for w in (WORDING, OPPOSITE)]
    await admitted(engine, call, *mirrored)

    run = await run_job(engine, call, "merge", JobRequest(None))

    assert run.result is not None
    assert (run.result["examined"], run.result["changes"]) == (0, [])


async def test_the_quota_of_memories_holds(engine: Engine, operator: Key) -> None:
    slug = await a_namespace(engine, operator, settings=replace(OPEN, max_memories=1))
    call = await a_call(engine, operator, slug)
    task = await a_task(engine, call, "task one")
    await admitted(engine, call, await contrasted(engine, call, task))
    more = await contrasted(engine, call, task, wording=OPPOSITE)

    again = await admitted(engine, call, await contrasted(engine, call, task))
    with pytest.raises(Rejected) as refused:
        await admitted(engine, call, more)

    assert [one.outcome for one in again] == ["merged"]
    assert refused.value.kind == "quota_exceeded"
