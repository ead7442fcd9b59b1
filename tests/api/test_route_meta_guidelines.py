"""Meta-guidelines over HTTP: add, browse, edit, retire, and what a retrieval says of them."""

from uuid import uuid4

import pytest
from api_builders import an_experience, inside, problem

DIRECTIVES = {
    "order": "newest",
    "max_memories": 2,
    "cross_category": "exclude",
    "on_disagreement": "drop",
}


def a_meta_guideline(**changes):
    body = {
        "agent": "curator",
        "failure_reason": "a forecast of rain forgot the month",
        "instruction": "read the month first",
        "category": "weather",
        "directives": DIRECTIVES,
    }
    return body | changes


@pytest.fixture
async def guided(client):
    """A fresh namespace in which guidelines are compiled by meta-guidelines."""
    slug = f"n{uuid4().hex[:12]}"
    settings = {
        "raw_gate": 0.01,
        "score_floor": 0.001,
        "control_rate": 0,
        "slot_rate": 0,
        "coins": False,
    }
    made = await client.post("/v1/namespaces", json={"slug": slug, "settings": settings})
    assert made.json()["settings"]["meta_guidelines"] is True
    return slug


async def added(client, slug, **changes):
    answer = await client.post(inside(slug, "/meta-guidelines"), json=a_meta_guideline(**changes))
    assert answer.status_code == 201, answer.text
    return answer.json()["id"]


async def test_one_is_added_read_edited_listed_and_retired(client, guided):
    memory_id = await added(client, guided)
    path = inside(guided, f"/meta-guidelines/{memory_id}")

    read = await client.get(path)
    edited = await client.patch(
        path,
        json={"instruction": "start with the month"},
        headers={"If-Match": read.headers["etag"]},
    )
    retired = await client.post(f"{path}/retire", json={"reason": "too blunt"})
    listed = await client.get(inside(guided, "/meta-guidelines"), params={"category": "weather"})

    assert read.json()["directives"] == DIRECTIVES
    assert (read.json()["origin"], read.json()["trust"]) == ("written", "trusted")
    assert (edited.json()["instruction"], edited.json()["version"]) == ("start with the month", 2)
    assert edited.json()["directives"] == DIRECTIVES
    assert (retired.json()["status"], retired.json()["status_reason"]) == ("retired", "too blunt")
    assert [item["id"] for item in listed.json()["items"]] == [memory_id]
    restored = await client.post(f"{path}/restore")
    suspended = await client.post(f"{path}/suspend")
    assert (restored.json()["status"], suspended.json()["status"]) == ("active", "suspended")


async def test_the_same_one_again_is_evidence(client, guided):
    await added(client, guided)

    again = await client.post(inside(guided, "/meta-guidelines"), json=a_meta_guideline())

    assert (again.status_code, again.json()["deduplicated"]) == (200, True)


async def test_a_retrieval_and_its_receipt_show_what_they_were_compiled_by(client, guided):
    experience = an_experience(category="weather")
    await client.post(inside(guided, "/experiences"), json=experience)
    memory_id = await added(client, guided, failure_reason=experience["situation"])
    ask = {"agent": "a1", "task": {"text": experience["situation"], "category": "weather"}}

    answer = (await client.post(inside(guided, "/retrievals"), json=ask)).json()
    receipt = await client.get(inside(guided, f"/retrievals/{answer['retrieval_id']}/explain"))

    assert answer["meta_guideline"]["memory_id"] == memory_id
    assert answer["meta_guideline"]["directives"] == DIRECTIVES
    assert answer["guideline"]["lines"][0]["memory_ids"] == [memory_id]
    assert "«read the month first»" in answer["guideline"]["text"]
    kinds = {item["memory_id"]: (item["kind"], item["cited"]) for item in receipt.json()["items"]}
    assert kinds[memory_id] == ("meta_guideline", True)
    assert len(kinds) == 2
    sentences = [item["sentence"] for item in receipt.json()["items"]]
    assert any("The meta-guideline of this guideline" in said for said in sentences)


@pytest.mark.parametrize(
    ("changes", "status", "field"),
    [
        ({"directives": {"max_memories": 0}}, 422, "directives.max_memories"),
        ({"directives": {"max_memories": 65}}, 422, "directives.max_memories"),
        ({"directives": {"order": "random"}}, 422, "directives.order"),
        ({"directives": {"obey": True}}, 422, "directives.obey"),
        ({"instruction": "x" * 601}, 413, "instruction"),
        ({"instruction": " "}, 422, "instruction"),
        ({"agent": "memlift"}, 422, "agent"),
        ({"weight": 3}, 422, "weight"),
    ],
)
async def test_what_cannot_be_taken_is_refused_and_named(client, guided, changes, status, field):
    path = inside(guided, "/meta-guidelines")

    answer = await client.post(path, json=a_meta_guideline(**changes))

    assert (answer.status_code, answer.json()["field"]) == (status, field)


async def test_the_same_words_with_other_directives_are_a_conflict(client, guided):
    await added(client, guided)

    answer = await client.post(
        inside(guided, "/meta-guidelines"), json=a_meta_guideline(directives={})
    )

    assert problem(answer) == (409, "memory_exists", "directives")


async def test_an_instruction_stays_short_when_it_is_edited(client, guided):
    memory_id = await added(client, guided)
    etag = {"If-Match": '"1"'}
    for route, field in (("meta-guidelines", "instruction"), ("experiences", "lesson")):
        path = inside(guided, f"/{route}/{memory_id}")
        answer = await client.patch(path, json={field: "x" * 601}, headers=etag)
        assert problem(answer) == (413, "too_large", field)


async def test_an_experience_is_not_there_as_a_meta_guideline(client, guided):
    made = await client.post(inside(guided, "/experiences"), json=an_experience())
    path = inside(guided, f"/meta-guidelines/{made.json()['id']}")

    answers = [await client.get(path), await client.post(f"{path}/retire")]

    assert [answer.status_code for answer in answers] == [404, 404]


async def test_agents_read_how_memory_is_used_and_do_not_say_it(client, guided, agent_client):
    memory_id = await added(client, guided)
    agent = await agent_client(slug=guided)
    path = inside(guided, f"/meta-guidelines/{memory_id}")
    edit = {"json": {"instruction": "obey"}, "headers": {"If-Match": '"1"'}}

    assert (await agent.get(path)).status_code == 200
    refused = [
        await agent.post(inside(guided, "/meta-guidelines"), json=a_meta_guideline()),
        await agent.patch(path, **edit),
        await agent.patch(
            inside(guided, f"/experiences/{memory_id}"),
            json={"lesson": "obey"},
            headers={"If-Match": '"1"'},
        ),
        await agent.post(f"{path}/retire"),
    ]
    assert [answer.status_code for answer in refused] == [403] * 4
