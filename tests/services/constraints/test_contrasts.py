"""Pairs of runs become constraints: each once, within the budget, and never from a wrong run."""

import asyncio
import json
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from memory.constraints.contrast_entities import ContrastRequest, ContrastState, PairClass
from memory.constraints.distillation_queue import CLAIM, NO_MODEL, PAUSE, distil_queue
from memory.constraints.service import (
    WITHOUT_MODEL,
    contrast_runs,
    distil_again,
    get_trajectory,
)
from memory.constraints.store.contrasts import MAX_CLAIMS
from memory.erasure.entities import Erasure
from memory.erasure.rollback import roll_back
from memory.erasure.service import erase
from memory.inference.stand_ins import HashEmbedder, ScriptedLlm
from memory.insight.entities import Rollback
from memory.kernel.engine import Engine
from memory.kernel.errors import Conflict, NotFound, Rejected, Unavailable
from memory.kernel.paging import Page
from memory.kernel.ports import Prompt, Reply
from memory.memories.entities import Kind, MemoryFilter, Status, Trust
from memory.memories.service import list_memories
from memory.tasks.entities import TaskDraft
from memory.tenancy.entities import Act, Call, Clock, Key, Role
from tests.fixtures.contrast_steps import (
    ENTRY,
    SAID,
    TASK,
    a_run,
    contrasted,
    contrasts,
    memories_of,
    ran,
)
from tests.fixtures.engine import DAY, NOON, OPEN, Caller, a_namespace
from tests.fixtures.llm_builders import on_record, spent, with_llm
from tests.fixtures.verification_steps import job
from tests.storage.steps import a_call

TASKS = tuple(replace(TASK, key=f"pens {number}") for number in range(3))


class Died(Exception):
    """What nobody foresaw ended the work."""


@dataclass(slots=True)
class DeadlyLlm:
    """The death of who asks it."""

    name: str = "deadly"

    async def complete(self, prompt: Prompt, seconds: float) -> Reply:
        raise Died


@dataclass(slots=True)
class ErasingLlm:
    """While it thinks, an agent's words are erased."""

    engine: Engine
    call: Call
    name: str = "slow"

    async def complete(self, prompt: Prompt, seconds: float) -> Reply:
        await erase(self.engine, self.call, Erasure(agent="beta"))
        return Reply(SAID, 10)


@dataclass(slots=True)
class WithdrawingLlm:
    """While it thinks, what an agent reported is rolled back."""

    engine: Engine
    call: Call
    name: str = "slow"

    async def complete(self, prompt: Prompt, seconds: float) -> Reply:
        await roll_back(self.engine, self.call, Rollback(agent="beta", dry_run=False))
        return Reply(SAID, 10)


async def two_runs(engine: Engine, calls: Caller, slug: str, **changes: Any) -> list[UUID]:
    """One right, one wrong, by two agents under a key each."""
    alpha = await calls(slug, role=Role.AGENT, agents=("alpha",), verifies="test")
    beta = await calls(slug, role=Role.AGENT, agents=("beta",), verifies="test")
    [right] = await ran(engine, alpha, a_run("alpha", **changes))
    [wrong] = await ran(engine, beta, a_run("beta", right=False, **changes))
    return [right, wrong]


async def queued(engine: Engine, calls: Caller, slug: str, operator: Key) -> Call:
    """Three pairs of runs, queued by the job; no model was asked."""
    for task in TASKS:
        await two_runs(engine, calls, slug, task=task)
    resting = with_llm(engine, ScriptedLlm([SAID]), tokens=0)
    await job(resting, operator, slug, "contrast", NOON)
    return await a_call(engine, operator, slug, NOON + PAUSE + timedelta(minutes=1))


async def test_a_pair_of_runs_becomes_a_constraint_in_a_models_words(
    engine: Engine, calls: Caller, wall: str
) -> None:
    writer = ScriptedLlm([SAID])
    asking, call = with_llm(engine, writer), await calls(wall)
    right, wrong = await two_runs(engine, calls, wall)

    [made] = await contrasted(asking, call, right, wrong)

    assert (made.state, made.pair_class) == (ContrastState.DISTILLED, PairClass.DISCORDANT)
    assert (made.preferred_id, made.unpreferred_id) == (right, wrong)
    assert (made.distiller, made.tokens, made.supports) == ("scripted", 10, True)
    [memory] = await memories_of(engine, call, made)
    assert (memory.situation, memory.status) == (f"When {ENTRY['trigger']}", Status.PROPOSED)
    assert memory.status_reason == "one_task"
    assert memory.agent == "memlift-contrast"
    [prompt] = writer.asked
    assert "«" in prompt.material
    assert (await on_record(engine, call, role="distil"))[0].status == "done"


async def test_without_a_language_model_the_pair_is_stored_and_says_that_it_waits(
    engine: Engine, calls: Caller, wall: str
) -> None:
    call = await calls(wall)
    alone = with_llm(engine, None)

    [made] = await contrasted(alone, call, *await two_runs(engine, calls, wall))
    again = await distil_again(alone, call, made.id)

    assert (made.state, made.reason) == (ContrastState.QUEUED, NO_MODEL)
    assert (made.distiller, made.memory_ids, made.supports) == (None, (), True)
    assert (again.state, again.reason) == (ContrastState.QUEUED, NO_MODEL)
    assert await on_record(engine, call) == []


async def test_the_job_says_that_pairs_wait_and_a_model_that_comes_later_distils_them(
    engine: Engine, operator: Key, calls: Caller, wall: str
) -> None:
    alone, call = with_llm(engine, None), await calls(wall)
    await two_runs(engine, calls, wall)

    dry = await job(alone, operator, wall, "contrast", NOON, dry=True)
    run = await job(alone, operator, wall, "contrast", NOON)
    [waiting] = await contrasts(engine, call)
    writer = ScriptedLlm([SAID])
    await job(with_llm(engine, writer), operator, wall, "contrast", NOON + DAY)

    assert run.result == dry.result
    assert run.result is not None
    assert (run.result["distilled"], run.result["reason"]) == (False, WITHOUT_MODEL)
    assert (waiting.state, waiting.reason) == (ContrastState.QUEUED, NO_MODEL)
    [done] = await contrasts(engine, call)
    assert (done.id, done.state, done.reason) == (waiting.id, ContrastState.DISTILLED, None)
    assert len(writer.asked) == 1


async def test_storing_runs_asks_no_model_however_many_there_are(
    engine: Engine, calls: Caller, wall: str
) -> None:
    embedder, writer = HashEmbedder(), ScriptedLlm([SAID])
    counting = replace(with_llm(engine, writer), embedder=embedder)
    call = await calls(wall)

    for number in range(5):
        drafts = [a_run(f"agent {place}", right=place % 2 == 0) for place in range(4**number % 60)]
        await ran(counting, call, *drafts)

    assert (embedder.embedded, writer.asked) == (0, [])


async def test_the_job_forms_the_pairs_that_its_dry_run_names(
    engine: Engine, operator: Key, calls: Caller, wall: str
) -> None:
    asking = with_llm(engine, ScriptedLlm([SAID]))
    ids = await two_runs(engine, calls, wall)
    call = await calls(wall)

    dry = await job(asking, operator, wall, "contrast", NOON, dry=True)
    assert await contrasts(engine, call) == []
    run = await job(asking, operator, wall, "contrast", NOON)

    assert run.result == dry.result
    assert run.result is not None
    [change] = run.result["changes"]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType] - JSON
    assert (change["preferred_id"], change["pair_class"]) == (str(ids[0]), "discordant")
    [made] = await contrasts(engine, call)
    assert made.state is ContrastState.DISTILLED


async def test_a_pair_is_formed_once_whoever_forms_it_again(
    engine: Engine, operator: Key, calls: Caller, wall: str
) -> None:
    writer = ScriptedLlm([SAID])
    asking, call = with_llm(engine, writer), await calls(wall)
    ids = await two_runs(engine, calls, wall)
    await job(asking, operator, wall, "contrast", NOON)

    again = await job(asking, operator, wall, "contrast", NOON + DAY)
    answers = await asyncio.gather(*(contrasted(asking, call, *ids) for _ in range(3)))

    assert again.result == {"examined": 0, "changes": []}
    assert {answer[0].id for answer in answers} == {one.id for one in await contrasts(asking, call)}
    assert len(writer.asked) == 1


async def test_a_later_run_is_held_against_those_before_it(
    engine: Engine, operator: Key, calls: Caller, wall: str
) -> None:
    asking, call = with_llm(engine, ScriptedLlm([SAID])), await calls(wall)
    await two_runs(engine, calls, wall)
    await job(asking, operator, wall, "contrast", NOON)
    [late] = await ran(engine, call, a_run("gamma", right=False))

    run = await job(asking, operator, wall, "contrast", NOON + DAY)

    assert run.result is not None
    assert run.result["examined"] == 1
    assert [one.unpreferred_id for one in await contrasts(engine, call)][1:] == [late]


async def test_workers_at_once_distil_each_pair_once(
    engine: Engine, operator: Key, calls: Caller, wall: str
) -> None:
    call = await queued(engine, calls, wall, operator)
    writer = ScriptedLlm([SAID])
    asking = with_llm(engine, writer)

    await asyncio.gather(*(distil_queue(asking, call.namespace, call.now, None) for _ in range(4)))

    made = await contrasts(engine, call)
    assert [one.state for one in made] == [ContrastState.DISTILLED] * 3
    assert len(writer.asked) == 3
    assert len({memory_id for one in made for memory_id in one.memory_ids}) == 1


async def test_a_claim_whose_worker_died_is_taken_again_when_it_lapses(
    engine: Engine, operator: Key, calls: Caller, wall: str
) -> None:
    call = await queued(engine, calls, wall, operator)
    with pytest.raises(Died):
        await distil_queue(with_llm(engine, DeadlyLlm()), call.namespace, call.now, None)
    asking = with_llm(engine, ScriptedLlm([SAID]))

    await distil_queue(asking, call.namespace, call.now, None)
    before = {one.state for one in await contrasts(engine, call)}
    later = call.now + CLAIM + asking.settings.llm.timeout + timedelta(minutes=1)
    await distil_queue(asking, call.namespace, later, None)

    assert before == {ContrastState.DISTILLING, ContrastState.DISTILLED}
    assert {one.state for one in await contrasts(engine, call)} == {ContrastState.DISTILLED}


async def test_a_pair_over_which_every_worker_dies_has_failed_and_can_be_asked_again(
    engine: Engine, operator: Key, calls: Caller, wall: str
) -> None:
    ids = await two_runs(engine, calls, wall)
    deadly, call = with_llm(engine, DeadlyLlm()), await calls(wall)
    with pytest.raises(Died):
        await contrasted(deadly, call, *ids)
    now = NOON
    for _ in range(MAX_CLAIMS - 1):
        now += CLAIM + timedelta(minutes=2)
        with pytest.raises(Died):
            await distil_queue(deadly, call.namespace, now, None)
    now += CLAIM + timedelta(minutes=2)

    await distil_queue(deadly, call.namespace, now, None)
    [given_up] = await contrasts(engine, call)
    asking = with_llm(engine, ScriptedLlm([SAID]))
    again = await distil_again(asking, await a_call(engine, operator, wall, now), given_up.id)

    assert (given_up.state, given_up.reason) == (ContrastState.FAILED, "claims")
    assert (again.state, again.reason) == (ContrastState.DISTILLED, None)


async def test_a_spent_budget_leaves_the_pair_queued_and_the_stop_visible(
    engine: Engine, operator: Key, calls: Caller, wall: str
) -> None:
    writer = ScriptedLlm([SAID])
    poor, call = with_llm(engine, writer, tokens=10), await calls(wall)

    [stopped] = await contrasted(poor, call, *await two_runs(engine, calls, wall))
    await distil_queue(poor, call.namespace, NOON + timedelta(minutes=1), None)

    assert (stopped.state, stopped.reason) == (ContrastState.QUEUED, "budget")
    assert writer.asked == []
    assert (await spent(poor, call)).stopped == 1
    rich = with_llm(engine, writer)
    await job(rich, operator, wall, "contrast", NOON + DAY)
    [done] = await contrasts(engine, call)
    assert (done.state, done.reason) == (ContrastState.DISTILLED, None)


async def test_a_stopped_pair_is_asked_at_once_when_a_manager_says_so(
    engine: Engine, calls: Caller, wall: str
) -> None:
    writer, call = ScriptedLlm([SAID]), await calls(wall)
    ids = await two_runs(engine, calls, wall)
    [stopped] = await contrasted(with_llm(engine, writer, tokens=10), call, *ids)

    again = await distil_again(with_llm(engine, writer), call, stopped.id)

    assert again.state is ContrastState.DISTILLED


@pytest.mark.parametrize(
    ("script", "reason", "asked"),
    [
        (["no words of use"], "malformed", 3),
        ([""], "empty", 3),
        ([SAID[:30]], "truncated", 3),
        ([Unavailable("no", code="llm_denied")], "llm_denied", 1),
        ([Reply("", 5, "refused")], "llm_refused", 1),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_a_model_cannot_do_is_failed_with_the_raw_input_kept(
    *,
    engine: Engine,
    calls: Caller,
    wall: str,
    script: list[str],
    reason: str,
    asked: int,
) -> None:
    asking, call = with_llm(engine, ScriptedLlm(script)), await calls(wall)

    [failed] = await contrasted(asking, call, *await two_runs(engine, calls, wall))

    assert (failed.state, failed.reason) == (ContrastState.FAILED, reason)
    assert failed.memory_ids == ()
    kept = await on_record(asking, call, role="distil")
    assert [one.fault for one in kept] == [reason] * asked
    assert all("Multiply boxes" in one.prompt for one in kept)
    again = await distil_again(with_llm(engine, ScriptedLlm([SAID])), call, failed.id)
    assert (again.state, len(again.memory_ids)) == (ContrastState.DISTILLED, 1)
    with pytest.raises(Conflict):
        await distil_again(asking, call, failed.id)


async def test_good_entries_are_kept_and_bad_ones_named_with_the_pair(
    engine: Engine, calls: Caller, wall: str
) -> None:
    literal = ENTRY | {"enforce": "multiplying by 48"}
    said = f'{{"entries": [{SAID[13:-2]}, "mere words", {str(literal).replace(chr(39), chr(34))}]}}'
    asking, call = with_llm(engine, ScriptedLlm([said])), await calls(wall)

    [made] = await contrasted(asking, call, *await two_runs(engine, calls, wall))

    assert made.state is ContrastState.DISTILLED
    assert [one["reason"] for one in made.rejected] == ["no_object"]
    found = {memory.status for memory in await memories_of(engine, call, made)}
    assert found <= {Status.PROPOSED, Status.REJECTED}


async def test_an_answer_without_entries_leaves_the_pair_empty(
    engine: Engine, calls: Caller, wall: str
) -> None:
    asking, call = with_llm(engine, ScriptedLlm(['{"entries": []}'])), await calls(wall)

    [made] = await contrasted(asking, call, *await two_runs(engine, calls, wall))

    assert (made.state, made.memory_ids) == (ContrastState.EMPTY, ())


async def test_two_wrong_runs_yield_at_most_what_to_avoid_and_in_quarantine(
    engine: Engine, calls: Caller, wall: str
) -> None:
    asking, call = with_llm(engine, ScriptedLlm([SAID])), await calls(wall)
    ids: list[UUID] = []
    for name in ("alpha", "beta"):
        mine = await calls(wall, agents=(name,), verifies="test")
        ids += await ran(engine, mine, a_run(name, right=False))

    [made] = await contrasted(asking, call, *ids)

    assert made.pair_class is PairClass.BOTH_WRONG
    [memory] = await memories_of(engine, call, made)
    assert (memory.trust, memory.lesson) == (Trust.QUARANTINED, f"avoid {ENTRY['avoid']}")
    assert memory.status is not Status.ACTIVE


async def test_a_run_without_a_verdict_is_refused_and_no_model_asked(
    engine: Engine, calls: Caller, wall: str
) -> None:
    writer = ScriptedLlm([SAID])
    asking, call = with_llm(engine, writer), await calls(wall)
    ids = await ran(engine, call, a_run("alpha"), a_run("beta", right=None))

    [made] = await contrasted(asking, call, *ids)

    assert (made.state, made.pair_class) == (ContrastState.REFUSED, PairClass.UNKNOWN)
    assert (made.reason, writer.asked) == ("no_verdict", [])
    with pytest.raises(Conflict):
        await distil_again(asking, call, made.id)


async def test_a_run_without_words_is_on_record_and_never_distilled(
    engine: Engine, calls: Caller, wall: str
) -> None:
    writer = ScriptedLlm([SAID])
    asking, call = with_llm(engine, writer), await calls(wall)
    ids = await ran(engine, call, a_run("alpha"), a_run("beta", right=False, steps=()))

    [made] = await contrasted(asking, call, *ids)

    assert (made.state, writer.asked) == (ContrastState.NO_TEXT, [])


@pytest.mark.parametrize(
    ("agents", "verifier", "reason"),
    [(("alpha", "beta"), "test", "same_key"), (("alpha", "alpha"), "test", "same_key"),
     (("alpha", "beta"), "self", "self_verified")],
)  # fmt: skip
async def test_what_one_key_says_of_itself_supports_nothing(
    *,
    engine: Engine,
    calls: Caller,
    wall: str,
    agents: tuple[str, str],
    verifier: str,
    reason: str,
) -> None:
    asking = with_llm(engine, ScriptedLlm([SAID]))
    bound = await calls(wall, role=Role.AGENT, agents=tuple({*agents}), verifies="test")
    right, wrong = agents
    ids = await ran(
        engine,
        bound,
        a_run(right, verifier=verifier),
        a_run(wrong, right=False, verifier=verifier),
    )

    [made] = await contrasted(asking, bound, *ids)

    assert (made.supports, made.reason) == (False, reason)
    assert made.self_contrast == (right == wrong)
    [memory] = await memories_of(engine, bound, made)
    assert memory.status is Status.PROPOSED


async def test_a_run_that_is_rolled_back_while_a_model_thinks_supports_nothing(
    engine: Engine, calls: Caller, wall: str
) -> None:
    call = await calls(wall)
    asking = with_llm(engine, WithdrawingLlm(engine, call))

    [made] = await contrasted(asking, call, *await two_runs(engine, calls, wall))

    assert (made.state, made.supports) == (ContrastState.DISTILLED, False)
    assert made.reason == "no_verdict"
    [memory] = await memories_of(engine, call, made)
    assert (memory.status, memory.status_reason) == (Status.PROPOSED, "no_support")


async def test_an_evaluators_word_on_both_runs_supports(
    engine: Engine, operator: Key, calls: Caller, wall: str
) -> None:
    asking, call = with_llm(engine, ScriptedLlm([SAID])), await calls(wall)
    ids = await ran(engine, call, a_run("alpha"), a_run("beta", right=False))

    [made] = await contrasted(asking, call, *ids)

    assert operator.may(Act.MANAGE)
    assert (made.supports, made.reason) == (True, None)


async def test_right_runs_of_like_cost_make_no_pair(
    engine: Engine, calls: Caller, wall: str
) -> None:
    call = await calls(wall)
    ids = await ran(engine, call, a_run("alpha", cost=9.0), a_run("beta", cost=10.0))
    done = await contrast_runs(engine, call, ContrastRequest(tuple(ids)))

    assert (done.contrasts, done.new) == ([], False)


async def test_a_task_is_contrasted_as_a_whole_and_then_looked_at(
    engine: Engine, operator: Key, calls: Caller, wall: str
) -> None:
    asking, call = with_llm(engine, ScriptedLlm([SAID])), await calls(wall)
    drafts = [a_run("alpha"), *(a_run(name, right=False) for name in ("beta", "gamma"))]
    [first, *_] = await ran(engine, call, *drafts)
    task_id = (await get_trajectory(engine, call, first)).task_id

    done = await contrast_runs(asking, call, ContrastRequest(task_id=task_id))
    again = await contrast_runs(asking, call, ContrastRequest(task_id=task_id))
    run = await job(asking, operator, wall, "contrast", NOON)

    assert (len(done.contrasts), done.new, again.new) == (2, True, False)
    assert [one.id for one in again.contrasts] == [one.id for one in done.contrasts]
    assert run.result == {"examined": 0, "changes": []}


async def test_runs_of_different_tasks_and_runs_that_are_not_there_are_refused(
    engine: Engine, calls: Caller, wall: str
) -> None:
    call = await calls(wall)
    other = TaskDraft("another task", key="other")
    ids = await ran(engine, call, a_run("alpha"), a_run("beta", right=False, task=other))

    with pytest.raises(Rejected) as fault:
        await contrasted(engine, call, *ids)
    assert (fault.value.kind, fault.value.field) == ("other_task", "trajectory_ids")
    with pytest.raises(NotFound) as missing:
        await contrasted(engine, call, ids[0], uuid4())
    assert missing.value.kind == "trajectory_not_found"
    with pytest.raises(NotFound) as nowhere:
        await contrast_runs(engine, call, ContrastRequest(task_id=uuid4()))
    assert nowhere.value.kind == "task_not_found"


async def test_in_the_past_only_runs_that_were_known_are_paired(
    engine: Engine, operator: Key, past: str
) -> None:
    asking = with_llm(engine, ScriptedLlm([SAID]))
    call = await a_call(engine, operator, past)
    assert call.namespace.clock is Clock.REPLAY
    early, late = NOON - 9 * DAY, NOON - 2 * DAY
    await ran(engine, call, a_run("alpha", known_at=early))
    await ran(engine, call, a_run("beta", right=False, known_at=late))

    before = await job(asking, operator, past, "contrast", NOON - 5 * DAY)
    after = await job(asking, operator, past, "contrast", NOON - DAY)

    assert before.result == {"examined": 1, "changes": []}
    assert after.result is not None
    assert after.result["examined"] == 1
    [made] = await contrasts(engine, call)
    [memory] = await memories_of(engine, call, made)
    assert made.known_at == memory.learned_at == NOON - DAY


async def test_namespaces_do_not_pair_each_others_runs(
    engine: Engine, operator: Key, calls: Caller, wall: str
) -> None:
    ids = await two_runs(engine, calls, wall)
    other = await calls(await a_namespace(engine, operator))

    with pytest.raises(NotFound):
        await contrasted(engine, other, *ids)


async def test_erasing_an_agent_takes_its_words_out_of_what_distillers_were_asked(
    engine: Engine, calls: Caller, wall: str
) -> None:
    asking, call = with_llm(engine, ScriptedLlm([SAID])), await calls(wall)
    ids = await two_runs(engine, calls, wall)
    waiting = await two_runs(engine, calls, wall, task=replace(TASK, key="later"))
    await contrasted(asking, call, *ids)
    poor = with_llm(engine, ScriptedLlm([SAID]), tokens=10)
    [queued_one] = await contrasted(poor, call, *waiting)

    await erase(engine, call, Erasure(agent="beta"))
    ended = await distil_again(asking, call, queued_one.id)

    kept = await on_record(engine, call, role="distil", status="done")
    assert [(one.prompt, one.answer) for one in kept] == [("", "")]
    assert (ended.state, ended.reason) == (ContrastState.NO_TEXT, "erased")


async def test_words_erased_while_a_model_thinks_make_no_constraint(
    engine: Engine, calls: Caller, wall: str
) -> None:
    call = await calls(wall)
    ids = await two_runs(engine, calls, wall)
    writer = ErasingLlm(engine, call)

    [made] = await contrasted(with_llm(engine, writer), call, *ids)

    assert (made.state, made.reason, made.memory_ids) == (ContrastState.NO_TEXT, "erased", ())
    listed = await list_memories(engine, call, MemoryFilter(kind=Kind.CONSTRAINT), Page(10))
    assert listed.total == 0


async def test_a_full_bank_fails_the_pair_and_not_the_queue(
    engine: Engine, operator: Key, calls: Caller
) -> None:
    slug = await a_namespace(engine, operator, settings=replace(OPEN, max_memories=1))
    for number, task in enumerate(TASKS):
        await two_runs(engine, calls, slug, task=replace(task, key=f"full {number}"))
    words = ("north wind", "stale bread", "loose screws")
    said = [
        json.dumps({"entries": [{"trigger": f"there are {one}", "enforce": f"look at {one}"}]})
        for one in words
    ]
    asking = with_llm(engine, ScriptedLlm(said))

    await job(asking, operator, slug, "contrast", NOON)

    made = await contrasts(engine, await calls(slug))
    assert [one.state for one in made] == [
        ContrastState.DISTILLED,
        ContrastState.FAILED,
        ContrastState.FAILED,
    ]
    assert {one.reason for one in made} == {None, "quota_exceeded"}
