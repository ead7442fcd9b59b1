"""What is made of a run that was advised by private memories is no way around their visibility."""

import json
from collections.abc import AsyncGenerator
from dataclasses import replace
from uuid import UUID

import httpx
import pytest
from private_bank import OWNER, TASK, Bank, sent, speaking

from memory.llm.entities import LlmCall
from memory.memories.entities import HIDDEN, PRIVATE
from memory.memories.masking import Mask, ids_in
from memory.receipts.guideline_entities import Guideline, Line
from memory.tenancy.entities import AuditEntry
from tests.fixtures.engine import NOON
from tests.fixtures.http import a_namespace

SECRET, SHARED = "a forecast of obsidianfern rain", "a forecast of base rates"
MINE, YOURS, NOBODYS = UUID(int=1), UUID(int=2), UUID(int=3)
MASK = Mask(readable=frozenset({MINE}), hidden=frozenset({YOURS}))


@pytest.fixture
async def namespace(client: httpx.AsyncClient) -> str:
    """One whose harm is reflected on."""
    return await a_namespace(client, "wall", meta_guidelines=True)


@pytest.fixture
async def small(
    database_url, operator_token, namespace, writer, tmp_path
) -> AsyncGenerator[dict[str, httpx.AsyncClient]]:
    """Clients of the operator, the owner of a private memory, and another agent."""
    async with speaking(database_url, writer, tmp_path) as app:
        bank = Bank(app, namespace, {"operator": operator_token})
        async with bank.client("operator") as operator:
            for name in (OWNER, "other"):
                draft = {"role": "agent", "name": name, "namespace": namespace, "agents": [name]}
                bank.tokens[name] = (await sent(operator, "/v1/keys", draft))["token"]
            async with bank.client(OWNER) as owner, bank.client("other") as other:
                yield {"operator": operator, OWNER: owner, "other": other}


async def advised(small, slug, reward: float, number: int, **more: object) -> str:
    """A run with a private and a shared memory; the id of its receipt."""
    inside = f"/v1/namespaces/{slug}"
    ask = {"agent": OWNER, "task": TASK | {"text": f"a forecast of rain {number}"}, "k": 8}
    asked = ask | ({"purpose": "paired"} if "without" in more else {"arm": "on"})
    receipt = await sent(small[OWNER], f"{inside}/retrievals", asked)
    assert "obsidianfern" in receipt["guideline"]["text"]
    place = f"{inside}/retrievals/{receipt['retrieval_id']}/outcome"
    await sent(small[OWNER], place, {"reward": reward, **more})
    return receipt["retrieval_id"]


async def both_memories(small, slug) -> None:
    place = f"/v1/namespaces/{slug}/experiences"
    body = {"agent": OWNER, "situation": "a forecast of rain", "category": "weather"}
    await sent(small[OWNER], place, body | {"lesson": SECRET, "visibility": "agent"})
    await sent(small[OWNER], place, body | {"lesson": SHARED})


def told(script, role: str) -> str:
    """What the model was told in this role."""
    asked = (
        body for body in script.asked if body["response_format"]["json_schema"]["name"] == role
    )
    return json.dumps([body["messages"] for body in asked])


RUN = {"steps": [{"role": "assistant", "text": "I go by the obsidianfern."}]}


async def test_what_a_model_makes_of_a_run_with_private_advice_is_its_agents_own(
    small, namespace, script
):
    inside = f"/v1/namespaces/{namespace}"
    await both_memories(small, namespace)
    for number, reward in enumerate((0.9, 0.2, 0.8, 0.85)):
        script.say("refusal", "refusal")
        await advised(small, namespace, reward, number, **({"run": RUN} if reward < 0.5 else {}))
    await sent(small["operator"], f"{inside}/outcomes/apply", {})
    script.say()

    await sent(small["operator"], f"{inside}/jobs/acquire/runs", {})

    prompts = told(script, "summarise")
    assert "base rates" in prompts
    assert PRIVATE in prompts
    assert "I go by the obsidianfern" in prompts
    assert SECRET not in prompts
    [made] = (await small[OWNER].get(f"{inside}/tickets")).json()["items"]
    assert made["author"] == OWNER
    assert (await small["other"].get(f"{inside}/tickets")).json()["total"] == 0


async def test_a_model_reflects_on_what_everyone_may_read(small, namespace, script):
    inside = f"/v1/namespaces/{namespace}"
    await both_memories(small, namespace)
    script.say("refusal", "refusal")
    await advised(small, namespace, 0.2, 1, without={"reward": 0.9}, run=RUN)
    await sent(small["operator"], f"{inside}/outcomes/apply", {})
    script.say()

    run = await sent(small["operator"], f"{inside}/jobs/reflect/runs", {})

    prompts = told(script, "reflect")
    assert run["result"]["changes"], run
    assert "base rates" in prompts
    assert PRIVATE in prompts
    assert "obsidianfern" not in prompts


async def test_a_lesson_of_a_run_with_private_advice_is_its_agents_own(small, namespace, script):
    inside = f"/v1/namespaces/{namespace}"
    await both_memories(small, namespace)
    for number, reward in enumerate((0.9, 0.2, 0.8, 0.85)):
        script.say("refusal", "refusal")
        lesson = {"lesson": "obsidianfern was wrong"} if reward < 0.5 else None
        await advised(small, namespace, reward, number, **({"lesson": lesson} if lesson else {}))
    await sent(small["operator"], f"{inside}/outcomes/apply", {})

    await sent(small["operator"], f"{inside}/jobs/acquire/runs", {})

    mine = (await small[OWNER].get(f"{inside}/candidates")).json()["items"]
    theirs = (await small["other"].get(f"{inside}/candidates")).json()["items"]
    [own] = [one for one in mine if one["memory_id"]]
    [seen] = [one for one in theirs if one["memory_id"]]
    memory = (await small[OWNER].get(f"{inside}/memories/{own['memory_id']}")).json()
    assert (memory["lesson"], memory["visibility"]) == ("obsidianfern was wrong", "agent")
    assert seen == own | {"memory_id": str(HIDDEN)}
    assert (await small["other"].get(f"{inside}/tickets")).json()["total"] == 0


def a_guideline() -> Guideline:
    lines = (Line("- mine [m:1]", (MINE,)), Line("- both [m:1] [m:2]", (MINE, YOURS)))
    text = "header\n- mine [m:1]\n- both [m:1] [m:2]"
    return Guideline(text, lines, 9, "words", ())


def test_a_line_goes_with_any_memory_that_it_cites_and_the_header_stays():
    shown = a_guideline().without(lambda line: MASK.hides(line.memory_ids))

    assert shown.text == f"header\n- mine [m:1]\n- {PRIVATE}"
    assert [line.text for line in shown.lines] == ["- mine [m:1]", f"- {PRIVATE}"]
    assert [line.memory_ids for line in MASK.apply(shown).lines] == [(MINE,), (MINE, HIDDEN)]


def test_a_text_that_does_not_follow_from_its_lines_is_made_of_them_alone():
    strange = replace(a_guideline(), text="obsidianfern, whatever the lines say")

    shown = strange.without(lambda line: MASK.hides(line.memory_ids))

    assert shown.text == f"- mine [m:1]\n- {PRIVATE}"


def test_what_nobody_knows_to_be_readable_is_hidden():
    assert MASK.hides([NOBODYS])
    assert not MASK.hides([MINE])
    assert not MASK.hides([])


def test_ids_are_found_and_hidden_wherever_they_stand_in_texts_too():
    record = {"changes": [{"memory_id": str(YOURS), str(YOURS): f"twin of {YOURS}, {MINE}"}]}

    shown = MASK.apply(record)

    assert set(ids_in(record)) == {MINE, YOURS}
    assert shown == {
        "changes": [{"memory_id": str(HIDDEN), str(HIDDEN): f"twin of {HIDDEN}, {MINE}"}]
    }


def test_why_something_was_done_to_a_private_memory_is_not_told():
    entry = AuditEntry(NOBODYS, None, "memory.suspend", str(YOURS), {"reason": "quartzibis"}, NOON)

    assert MASK.apply(entry) == replace(entry, subject=str(HIDDEN), detail={})
    assert MASK.apply(replace(entry, subject=str(MINE))).detail == {"reason": "quartzibis"}


def test_a_prompt_goes_whole_with_any_private_memory_in_it():
    call = LlmCall(
        id=NOBODYS,
        role="compile",
        model="m",
        attempt=1,
        status="done",
        fault=None,
        detail="said",
        prompt="asked",
        answer="said",
        tokens=1,
        duration_ms=1.0,
        retrieval_id=None,
        memory_id=None,
        ticket_id=None,
        task_id=None,
        agent=OWNER,
        memory_ids=(MINE, YOURS),
        recorded_at=NOON,
        erased_at=None,
        key_id=None,
    )

    hidden = MASK.apply(call)

    assert (hidden.prompt, hidden.answer, hidden.detail) == ("", "", None)
    assert hidden.memory_ids == (MINE, HIDDEN)
    assert MASK.apply(replace(call, memory_ids=(MINE,))).prompt == "asked"
