"""Which language model is asked: by role and namespace, among those that the server has."""

import pytest

from memory.jobs.checks import readiness
from memory.kernel.engine import NamedLlm
from memory.kernel.errors import Rejected
from memory.kernel.ports import Prompt, Reply
from memory.llm.client import noting_stops
from memory.llm.costs import get_model_costs
from memory.tenancy.entities import NamespaceChange, NamespaceDraft, Role
from memory.tenancy.namespace_settings import NamespaceSettings
from memory.tenancy.service import change_namespace, create_namespace
from tests.fixtures.engine import NOON
from tests.fixtures.llm_builders import a_reflection, a_summary, on_record, spent, with_llm

GOOD = {
    "summarise": '{"situation": "a forecast of rain", "lesson": "look at more than one day"}',
    "reflect": '{"failure_reason": "too much", "instruction": "less", "directives": {}}',
}


class Scripted:
    """Answers well in every role, and says in which it was asked."""

    def __init__(self, name: str) -> None:
        self.name, self.asked = name, list[str]()

    async def complete(self, prompt: Prompt, seconds: float) -> Reply:
        self.asked.append(prompt.role)
        return Reply(GOOD[prompt.role], 100, written=10)


def three(engine, **more):
    """An engine with models of its own, `small` and `local`, of which reflection has `small`."""
    models = {name: Scripted(f"someone/{name}") for name in ("own", "small", "local")}
    further = {name: NamedLlm(models[name], (0.0, 0.0)) for name in ("small", "local")}
    asking = with_llm(engine, models["own"], further=further, roles={"reflect": "small"}, **more)
    return asking, models


async def choose(engine, calls, slug, chosen):
    call = await calls(slug)
    change = NamespaceChange(settings={"llm_models": chosen})
    await change_namespace(engine, call, change, call.namespace.version)
    return await calls(slug)


async def test_a_role_has_the_servers_model_until_its_namespace_chooses_another(
    engine, calls, wall
):
    asking, models = three(engine)
    call = await calls(wall)
    await a_summary(asking, call)
    await a_reflection(asking, call)
    call = await choose(asking, calls, wall, {"summarise": "local", "reflect": "default"})
    made = await a_summary(asking, call)
    await a_reflection(asking, call)

    assert {name: one.asked for name, one in models.items()} == {
        "own": ["summarise", "reflect"],
        "small": ["reflect"],
        "local": ["summarise"],
    }
    assert made is not None
    assert made.model == "someone/local"
    kept = [(one.role, one.model) for one in await on_record(asking, call)]
    assert kept == [
        ("summarise", "someone/own"),
        ("reflect", "someone/small"),
        ("summarise", "someone/local"),
        ("reflect", "someone/own"),
    ]
    found = {one.name: one for one in (await spent(asking, call)).models}
    assert list(found) == ["default", "small", "local"]
    assert found["local"].roles == ("summarise",)
    assert found["small"].roles == ()
    assert "reflect" in found["default"].roles
    assert [found[name].price_known for name in found] == [False, True, True]
    costs = await get_model_costs(asking, call)
    assert {one.title for one in costs.roles} == {f"{role}, {model}" for role, model in kept}
    free = next(one for one in costs.roles if one.title == "summarise, someone/local")
    assert free.cost is not None
    assert free.cost.most == 0


async def test_a_namespace_chooses_only_among_what_the_operator_has_named(
    engine, calls, operator, wall
):
    asking, _ = three(engine)
    names = ["default", "small", "local"]

    for chosen, field, limit in (
        ({"compile": "http://elsewhere/v1"}, "settings.llm_models.compile", names),
        ({"compile": "small", "judge": "large"}, "settings.llm_models.judge", names),
    ):
        with pytest.raises(Rejected) as refused:
            await choose(asking, calls, wall, chosen)
        assert (refused.value.field, refused.value.limit) == (field, limit)
        draft = NamespaceDraft("never-made", settings=NamespaceSettings(llm_models=chosen))
        with pytest.raises(Rejected) as refused:
            await create_namespace(asking, operator, draft, NOON)
        assert refused.value.field == field
    with pytest.raises(Rejected) as refused:
        await choose(asking, calls, wall, {"poet": "small"})
    assert refused.value.field == "settings.llm_models.poet"
    without = with_llm(engine, None)
    with pytest.raises(Rejected, match="it has no language model"):
        await choose(without, calls, wall, {"compile": "default"})


async def test_where_the_server_has_the_chosen_model_no_longer_no_other_is_asked_instead(
    engine, calls, wall
):
    asking, models = three(engine)
    call = await choose(asking, calls, wall, {"summarise": "local"})
    later = with_llm(engine, models["own"])

    with noting_stops() as stops:
        assert await a_summary(later, call) is None

    assert not models["own"].asked
    [kept] = await on_record(later, call)
    assert (kept.status, kept.fault, kept.model) == ("stopped", "model_unknown", "local")
    assert [one.detail for one in stops] == [kept.detail]
    assert (
        "chosen the model local, which this server does not have; it has: default"
        in stops[0].detail
    )
    assert later.llm_counters.results["summarise", "model_unknown"] == 1
    [unknown] = (await spent(later, call)).unknown_models
    assert (unknown.role, unknown.name) == ("summarise", "local")
    # What else is set may be changed while the choice stands.
    change = NamespaceChange(settings={"coins": True})
    await change_namespace(later, call, change, call.namespace.version)
    assert await a_reflection(later, call) is not None
    await choose(later, calls, wall, {})
    assert await a_summary(later, await calls(wall)) is not None


async def test_a_model_that_fails_too_often_is_left_alone_and_others_are_asked(
    engine, calls, wall, writer, script
):
    other = Scripted("someone/other")
    further = {"stub": NamedLlm(writer, (0.0, 0.0))}
    asking = with_llm(engine, other, further=further)
    call = await choose(asking, calls, wall, {"summarise": "stub"})
    script.say("down", "down", "down")

    await a_summary(asking, call)

    assert await a_reflection(asking, call) is not None
    pauses = {one.name: one.pause for one in (await spent(asking, call)).models}
    assert pauses["default"] is None
    assert pauses["stub"] is not None
    assert pauses["stub"].reason.startswith("llm_failed")
    check = (await readiness(asking))["language_model"]
    assert not check.ok
    assert check.detail.startswith("openai/stub is left alone for")


async def test_a_reader_sees_which_models_there_are(engine, calls, wall):
    asking, _ = three(engine)
    reader = await calls(wall, role=Role.READER)

    assert [one.name for one in (await spent(asking, reader)).models] == [
        "default",
        "small",
        "local",
    ]
