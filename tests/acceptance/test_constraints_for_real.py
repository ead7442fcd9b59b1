"""What two agents' runs teach reaches a third, over real HTTP, the real embedder, two processes."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from uuid import uuid4

import pytest
from memlift_client import MemLift, TaskFields, TrajectoryFields

from tests.acceptance.servers import Home, Server
from tests.fixtures.language_model import API_KEY, Script

FAMILIES = {"north": "qwen", "south": "llama", "east": "qwen", "west": "llama", "reader": "gpt"}
RUNNERS = (("north", "south"), ("east", "west"), ("north", "south"))
"""Who runs each task: one that adds, and one that multiplies."""
THINGS = (
    ("boxes", "pens", 3, 12, 7),
    ("crates", "apples", 4, 15, 9),
    ("shelves", "books", 5, 8, 6),
)


@dataclass(frozen=True, slots=True)
class Shop:
    """A namespace behind two processes, and a client of each agent at the first."""

    first: MemLift
    second: MemLift
    agents: dict[str, MemLift]


@pytest.fixture(scope="module")
def shop(home: Home, begin: Callable[..., Server], language_model: Script) -> Shop:
    # The model distils; guidelines are compiled by rule.
    language_model.say()
    model = {
        "MEMLIFT_LLM_MODEL": "openai/stub",
        "MEMLIFT_LLM_API_BASE": language_model.url,
        "MEMLIFT_LLM_API_KEY": API_KEY,
        "MEMLIFT_LLM_COMPILE_TIMEOUT": "0",
    }
    owner = begin(home, **model)
    owner.until(home.address.exists)
    owner.until(home.operator_key.exists)
    other = begin(Home(home.data.with_name("other")), MEMLIFT_DATABASE_URL=home.url(), **model)
    owner.await_ready()
    other.await_ready()
    operator = home.operator_key.read_text().strip()
    slug = f"shop-{uuid4().hex[:8]}"
    keeper = owner.client(slug, key=operator)
    keeper.create_namespace(slug)
    agents: dict[str, MemLift] = {}
    for name, family in FAMILIES.items():
        keeper.add_agent(name, family=family)
        made = keeper.create_key(
            role="agent", name=name, namespace=slug, agents=[name], verifies="test"
        )
        agents[name] = owner.client(slug, key=made.token)
    return Shop(keeper, other.client(slug, key=operator), agents)


def a_run(agent: str, place: int) -> TrajectoryFields:
    """`south` and `west` multiply where `north` and `east` add."""
    boxes, pens, a, b, c = THINGS[place]
    multiplies = agent in ("south", "west")
    total = a * b if multiplies else a + b
    sign = "*" if multiplies else "+"
    said = f"Pat has {a} {sign} {b} = {total} {pens}\nPat keeps {total} - {c} = {total - c} {pens}"
    return TrajectoryFields(
        agent=agent,
        task={"text": question(boxes, pens, a, b, c), "key": pens, "category": "mathematics"},
        steps=[{"text": line} for line in said.splitlines()],
        result=str(total - c),
        reward=float(multiplies),
        verifier="test",
    )


def question(boxes: str, pens: str, a: int, b: int, c: int) -> str:
    return (
        f"Pat has {a} {boxes} with {b} {pens} in each and gives {c} {pens} to Kim."
        f" How many {pens} are left?"
    )


@pytest.fixture(scope="module")
def contrasted(shop: Shop) -> Shop:
    """Two agents ran each task, and both processes were asked to contrast each at once."""
    for place, names in enumerate(RUNNERS):
        runs = [shop.agents[name].add_trajectory(**a_run(name, place)) for name in names]
        task_id = runs[0].task_id
        with ThreadPoolExecutor(2) as callers:
            asked = [
                callers.submit(one.contrast, task_id=task_id) for one in (shop.first, shop.second)
            ]
            for answer in asked:
                answer.result()
    return shop


def test_each_pair_is_distilled_once_whichever_process_is_asked(contrasted: Shop) -> None:
    seen = list(contrasted.second.each_contrast())

    assert len(seen) == len(THINGS)
    assert {(one.pair_class, one.state) for one in seen} == {("discordant", "distilled")}
    for one in contrasted.first.each_constraint():
        contrasts = [row.contrast_id for row in contrasted.first.each_support(one.id)]
        assert len(set(contrasts)) == len(contrasts)


def test_a_third_agent_is_answered_with_constraints_and_their_evidence(contrasted: Shop) -> None:
    reader, keeper = contrasted.agents["reader"], contrasted.first
    waiting = list(keeper.each_constraint(status="proposed"))
    assert {one.status_reason for one in waiting} <= {"not_tested", "one_task"}
    # Too few tasks to test it on: a person looks at it and vouches for it.
    for one in waiting:
        keeper.vouch_for_constraint(one.id)
    task = TaskFields(text=question("bags", "marbles", 6, 11, 20), category="mathematics")
    answer = reader.retrieve(agent="reader", task=task, arm="on")

    assert answer.constraints
    assert "multiplying" in " ".join(one.enforce or "" for one in answer.constraints)
    assert answer.guideline is not None
    assert str(answer.constraints[0].enforce) in answer.guideline.text
    for bound in answer.constraints:
        said = f"{bound.trigger} {bound.enforce} {bound.avoid}"
        assert not {"Pat", "Kim", "12", "15", "36"} & set(said.split())
        [row, *_] = reader.constraint_support(bound.memory_id).items
        assert (row.preferred_agent, row.unpreferred_agent) == ("south", "north")
        contrast = reader.get_contrast(row.contrast_id or "")
        runs = [
            reader.get_trajectory(one) for one in (contrast.preferred_id, contrast.unpreferred_id)
        ]
        assert [run.reward for run in runs] == [1.0, 0.0]


def test_what_one_agent_noted_of_itself_stays_with_its_family(contrasted: Shop) -> None:
    situation = "A shopkeeper asks how much string a parcel needs"
    north = contrasted.agents["north"]
    north.remember(agent="north", category="mathematics", situation=situation, lesson="Guess.")
    task = TaskFields(text=situation, category="mathematics")
    seen = {
        name: {m.situation for m in client.retrieve(agent=name, task=task, arm="on").memories}
        for name, client in contrasted.agents.items()
    }

    assert situation in seen["north"]
    assert situation not in seen["reader"]
