"""Retrievals over HTTP: a guideline before acting, and its receipt."""

from uuid import uuid4

import pytest
from api_builders import (
    LATER,
    NOON,
    a_task,
    an_ask,
    an_experience,
    inside,
    problem,
    remembered,
    retrieved,
)


async def test_a_guideline_cites_the_memories_it_says(client, namespace):
    memory_id = await remembered(client, namespace)

    body = await retrieved(client, namespace)

    assert body["arm"] == "forced_on"
    assert [memory["memory_id"] for memory in body["memories"]] == [memory_id]
    assert body["guideline"]["lines"][0]["memory_ids"] == [memory_id]
    assert an_experience()["lesson"] in body["guideline"]["text"]
    assert body["guideline"]["tokens"] <= 1000
    assert set(body["timings"]) == {"embed_ms", "search_ms", "rank_ms"}


async def test_each_citation_leads_to_its_memory(client, namespace):
    memory_id = await remembered(client, namespace)
    other = await remembered(client, namespace, lesson="look at the wind")

    body = await retrieved(client, namespace)

    assert set(body["guideline"]["citations"]) == {"m1", "m2"}
    assert set(body["guideline"]["citations"].values()) == {memory_id, other}
    for line in body["guideline"]["lines"]:
        [cited] = [name for name in ("m1", "m2") if f"[{name}]" in line["text"]]
        assert line["memory_ids"] == [body["guideline"]["citations"][cited]]


@pytest.mark.parametrize("form", ["brief", "full"])
async def test_a_receipt_shows_both_formats_of_prose(client, namespace, form):
    await remembered(client, namespace)
    served = await retrieved(client, namespace, format=form)
    path = inside(namespace, f"/retrievals/{served['retrieval_id']}")

    receipt = (await client.get(path)).json()

    assert receipt["formats"][form] == served["guideline"]["text"]
    assert set(receipt["formats"]) == {"brief", "full"}
    assert "weight 1.00, unverified" in receipt["formats"]["full"]
    assert "weight" not in receipt["formats"]["brief"]
    for text in receipt["formats"].values():
        assert text.endswith(f"«{an_experience()['lesson']}» [m1]")


async def test_what_was_erased_is_gone_from_both_formats(client, namespace):
    memory_id = await remembered(client, namespace)
    served = await retrieved(client, namespace)
    erased = await client.post(inside(namespace, "/erasures"), json={"memory_id": memory_id})

    path = inside(namespace, f"/retrievals/{served['retrieval_id']}")
    answer = await client.get(path)

    assert erased.status_code < 300
    assert an_experience()["lesson"] not in answer.text
    assert answer.json()["guideline"]["lines"][0]["memory_ids"] == [memory_id]


async def test_data_and_an_empty_guideline_have_no_formats(client, namespace):
    await remembered(client, namespace)
    for ask in ({"format": "memories"}, {"arm": "off"}):
        served = await retrieved(client, namespace, **ask)
        path = inside(namespace, f"/retrievals/{served['retrieval_id']}")

        assert (await client.get(path)).json()["formats"] is None


async def test_the_format_of_the_first_release_is_refused_by_name(client, namespace):
    answer = await client.post(inside(namespace, "/retrievals"), json=an_ask(format="guideline"))

    assert answer.status_code == 422
    assert "format" in answer.text


async def test_words_order_where_they_are_asked_to(client, namespace):
    await remembered(client, namespace)
    fused = await retrieved(client, namespace, rerank="fused")
    plain = await retrieved(client, namespace, rerank="none")
    refused = await client.post(inside(namespace, "/retrievals"), json=an_ask(rerank="best"))

    path = inside(namespace, f"/retrievals/{fused['retrieval_id']}")
    [item] = (await client.get(path)).json()["items"]
    assert item["fused"] == fused["memories"][0]["fused"]
    assert plain["memories"][0]["fused"] is None
    assert fused["search"]["rerank"] == "fused"
    assert fused["search"]["ordered_by"] == ["relevance", "word_pieces", "raw_terms"]
    assert plain["search"]["ordered_by"] == ["relevance"]
    assert refused.status_code == 422
    assert refused.json()["field"] == "rerank"


async def test_the_receipt_says_what_was_served_and_by_which_numbers(client, namespace):
    await remembered(client, namespace)
    served = await retrieved(client, namespace)

    answer = await client.get(inside(namespace, f"/retrievals/{served['retrieval_id']}"))

    receipt = answer.json()
    assert receipt["guideline"] == served["guideline"]
    for name in ("score", "similarity", "effective_weight", "ranking_weight", "rank"):
        assert receipt["items"][0][name] == served["memories"][0][name]
    assert receipt["items"][0]["served"] is True


async def test_memory_kept_back_by_its_caller_leaves_an_empty_guideline(client, namespace):
    await remembered(client, namespace)

    body = await retrieved(client, namespace, arm="off")

    assert (body["arm"], body["guideline"]["text"], body["memories"]) == ("forced_off", "", [])
    receipt = await client.get(inside(namespace, f"/retrievals/{body['retrieval_id']}"))
    assert [item["served"] for item in receipt.json()["items"]] == [False]


async def test_an_empty_bank_says_that_it_is_empty(client, namespace):
    body = await retrieved(client, namespace, arm="auto")

    assert (body["arm"], body["memories"], body["guideline"]["text"]) == ("empty", [], "")
    assert body["reason"]


async def test_a_preview_leaves_no_receipt(client, namespace):
    await remembered(client, namespace)

    answer = await client.post(inside(namespace, "/retrievals"), json=an_ask(purpose="preview"))

    assert answer.status_code == 200
    assert answer.json()["retrieval_id"] is None
    assert len(answer.json()["memories"]) == 1
    assert (await client.get(inside(namespace, "/retrievals"))).json()["total"] == 0


async def test_each_memory_is_explained_in_a_sentence(client, namespace):
    memory_id = await remembered(client, namespace)

    body = await retrieved(client, namespace, explain=True)

    told = await client.get(inside(namespace, f"/retrievals/{body['retrieval_id']}/explain"))
    assert told.json()["items"][0]["sentence"] == body["sentences"][memory_id]


async def test_memories_as_data_need_no_prose(client, namespace):
    await remembered(client, namespace)

    body = await retrieved(client, namespace, format="memories", all_rankers=True)

    assert body["memories"][0]["cited"] is True
    assert sum(body["rankers"].values()) == pytest.approx(1)
    assert set(body["memories"][0]["scores"]) == set(body["rankers"])


async def test_in_a_batch_each_ask_is_answered_by_itself(client, namespace):
    await remembered(client, namespace)
    items = [
        an_ask(),
        an_ask(task=None),
        an_ask(task=None, task_id=str(uuid4())),
        an_ask(purpose="preview"),
    ]

    answer = await client.post(inside(namespace, "/retrievals/batch"), json={"items": items})

    results = answer.json()["items"]
    assert answer.status_code == 207
    assert [item["status"] for item in results] == [201, 422, 404, 200]
    assert results[0]["retrieval"]["memories"]
    assert results[1]["problem"]["field"] == "task"


async def test_a_filter_narrows_alone_and_in_a_batch_and_the_receipt_says_so(client, namespace):
    one = await remembered(client, namespace, lesson="one", metadata={"tags": ["eu"]})
    two = await remembered(client, namespace, lesson="two", agent="helper")
    by_tag, by_author = {"tags": ["eu"]}, {"authors": ["helper"]}

    body = await retrieved(client, namespace, filter=by_tag)
    items = [an_ask(filter=by_author), an_ask(filter={"authors": [" "]})]
    batch = await client.post(inside(namespace, "/retrievals/batch"), json={"items": items})
    receipt = await client.get(inside(namespace, f"/retrievals/{body['retrieval_id']}"))

    assert [memory["memory_id"] for memory in body["memories"]] == [one]
    narrowed, refused = batch.json()["items"]
    assert [memory["memory_id"] for memory in narrowed["retrieval"]["memories"]] == [two]
    assert (refused["status"], refused["problem"]["field"]) == (422, "filter.authors.0")
    rest = {"category": None, "subcategory": None, "authors": None, "kinds": None}
    assert body["search"]["filter"] == rest | by_tag
    assert receipt.json()["search"] == body["search"]


async def test_receipts_that_await_an_outcome_are_pending(client, namespace):
    first = await retrieved(client, namespace)
    second = await retrieved(client, namespace)
    await client.post(
        inside(namespace, f"/retrievals/{first['retrieval_id']}/outcome"), json={"reward": 1}
    )

    path = inside(namespace, "/retrievals")
    pending = (await client.get(path, params={"state": "pending"})).json()
    every = (await client.get(path)).json()

    assert [item["retrieval_id"] for item in pending["items"]] == [second["retrieval_id"]]
    assert (pending["total"], every["total"]) == (1, 2)


async def test_a_task_is_asked_about_by_its_id(client, namespace):
    task = (await client.post(inside(namespace, "/tasks"), json=a_task())).json()

    body = await retrieved(client, namespace, task=None, task_id=task["id"])

    assert (body["task_id"], body["category"]) == (task["id"], "weather")


async def test_in_replay_a_retrieval_says_when_and_sees_only_what_was_known(client, replay):
    await remembered(client, replay, learned_at=LATER)

    without = await client.post(inside(replay, "/retrievals"), json=an_ask())
    before = await retrieved(client, replay, as_of=NOON)
    after = await retrieved(client, replay, as_of="2026-03-03T14:00:00+02:00")

    assert problem(without) == (422, "rejected", "as_of")
    assert (len(before["memories"]), len(after["memories"])) == (0, 1)
    assert after["as_of"] == "2026-03-03T12:00:00Z"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"k": 0}, "k"),
        ({"k": 65}, "k"),
        ({"k": 3.0}, "k"),
        ({"k": True}, "k"),
        ({"max_tokens": 32_001}, "max_tokens"),
        ({"max_tokens": -1}, "max_tokens"),
        ({"arm": "left"}, "arm"),
        ({"purpose": "fun"}, "purpose"),
        ({"all_rankers": True}, "all_rankers"),
        ({"queries": [{"text": "a"}] * 4}, "queries"),
        ({"queries": [{"text": "a", "target": "x"}]}, "queries.0.target"),
        ({"expires_in": 1}, "expires_in"),
        ({"expires_in": 0}, "expires_in"),
        ({"expires_in": "P9D"}, "expires_in"),
        ({"expires_in": 1e300}, "expires_in"),
        ({"as_of": "2026-03-01"}, "as_of"),
        ({"as_of": "9999-12-31T23:59:59-14:00"}, "as_of"),
        ({"task_id": str(uuid4())}, "task"),
        ({"explain": True, "purpose": "paired"}, "explain"),
        ({"colour": "red"}, "colour"),
        ({"format": "poem"}, "format"),
        ({"filter": {"tags": ["x"] * 17}}, "filter.tags"),
        ({"filter": {"authors": [" "]}}, "filter.authors.0"),
        ({"filter": {"tags": []}}, "filter.tags"),
        ({"filter": {"authors": []}}, "filter.authors"),
        ({"filter": {"kinds": []}}, "filter.kinds"),
        ({"filter": {"category": ""}}, "filter.category"),
        ({"filter": {"kinds": ["dream"]}}, "filter.kinds.0"),
        ({"filter": {"subcategory": "late"}}, "filter.category"),
        ({"filter": {"tag": ["x"]}}, "filter.tag"),
    ],
)
async def test_an_ask_that_cannot_be_answered_is_refused_by_field(client, namespace, change, field):
    answer = await client.post(inside(namespace, "/retrievals"), json=an_ask(**change))

    assert problem(answer) == (422, "rejected", field)


async def test_a_receipt_that_is_not_there_is_not_found(client, namespace):
    path = inside(namespace, f"/retrievals/{uuid4()}")

    assert (await client.get(path)).status_code == 404
    assert (await client.get(f"{path}/explain")).status_code == 404


async def test_a_preview_shows_its_workings(client, namespace):
    memory_id = await remembered(client, namespace)
    ask = an_ask(purpose="preview", explain=True)

    answer = await client.post(inside(namespace, "/retrievals"), json=ask)

    explanation = answer.json()["explanation"]
    [one] = explanation["considered"]
    assert (one["memory_id"], one["fate"], one["served"]) == (memory_id, "served", True)
    assert one["lesson"] == an_experience()["lesson"]
    assert one["score"] == answer.json()["memories"][0]["score"]
    assert set(one["rankers"]) == set(explanation["shares"]) == set(answer.json()["rankers"])
    assert explanation["routing"]["by"] == "caller"
    assert [near["category"] for near in explanation["routing"]["near"]] == ["general"]
    assert set(explanation["timings"]) == {"embed_ms", "search_ms", "rank_ms"}


async def test_an_agent_that_acts_is_shown_numbers_without_texts(client, namespace):
    await remembered(client, namespace)

    body = await retrieved(client, namespace, explain=True, arm="off")

    [one] = body["explanation"]["considered"]
    assert (one["served"], one["situation"], one["lesson"]) == (False, None, None)
    assert "the arm was forced_off" in one["why"]
    assert body["sentences"]


async def test_workings_are_shown_only_when_asked_for(client, namespace):
    await remembered(client, namespace)

    assert (await retrieved(client, namespace))["explanation"] is None


async def a_coined_namespace(client) -> str:
    slug = f"n{uuid4().hex[:12]}"
    settings = {"raw_gate": 0.01, "score_floor": 0.001, "control_rate": 0, "slot_rate": 0}
    made = await client.post("/v1/namespaces", json={"slug": slug, "settings": settings})
    assert made.status_code == 201, made.text
    assert made.json()["settings"]["coins"] is True
    assert "secret" not in made.text
    return slug


async def test_a_memory_that_its_coin_left_out_is_in_the_receipt_alone(client):
    slug = await a_coined_namespace(client)
    both = {
        await remembered(client, slug),
        await remembered(client, slug, lesson="look at the wind"),
    }

    for n in range(200):
        body = await retrieved(client, slug, task=a_task(key=f"task {n}"))
        if len(body["memories"]) == 1:
            break
    receipt = (await client.get(inside(slug, f"/retrievals/{body['retrieval_id']}"))).json()
    explained = await client.get(inside(slug, f"/retrievals/{body['retrieval_id']}/explain"))

    [served] = (memory["memory_id"] for memory in body["memories"])
    first, last = receipt["items"]
    assert (first["memory_id"], first["served"], first["left_out"]) == (served, True, False)
    assert ({last["memory_id"]}, last["served"], last["left_out"]) == (both - {served}, False, True)
    assert first["contender"]
    assert last["contender"]
    assert last["inclusion"] == pytest.approx(0.8944, abs=1e-4)
    assert "left out by its coin" in explained.json()["items"][1]["sentence"]
    assert body["ranker"] in receipt["same_rankers"]
    assert "plain" not in receipt["same_rankers"]


@pytest.mark.parametrize("changes", [{"explore": False}, {"gates": "off"}])
async def test_who_wants_no_coins_is_served_all_that_is_near(client, changes):
    slug = await a_coined_namespace(client)
    for lesson in ("look at the wind", "look at the sky"):
        await remembered(client, slug, lesson=lesson)

    bodies = [await retrieved(client, slug, **changes) for _ in range(20)]

    assert {len(body["memories"]) for body in bodies} == {2}


async def test_gates_are_on_or_off(client, namespace):
    answer = await client.post(inside(namespace, "/retrievals"), json=an_ask(gates="ajar"))

    assert answer.status_code == 422
    assert "gates" in answer.text
