"""Nothing is lost in silence, whatever its shape (cases P04, P06, P07)."""

import json

import pytest
from api_builders import (
    an_ask,
    an_experience,
    an_outcome,
    inside,
    problem,
    remembered,
    retrieved,
)

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "change",
    [
        {"lesson": ""},
        {"lesson": "   "},
        {"lesson": "\x00"},
        {"lesson": None},
        {"lesson": ["Start from the base rate"]},
        {"lesson": {"text": "x"}},
        {"lesson": 7},
        {"lesson": True},
        {"content": "another name for the same"},
        {"metadata": "text"},
        {"metadata": {"a": {"b": {"c": {"d": {"e": {"f": {"g": 1}}}}}}}},
        {"weight": 0.05},
        {"weight": 2.5},
        {"visibility": "everyone"},
        {"pinned": 1},
        {"task": "a text"},
        {"task": {"text": ""}},
        {"task_id": "x"},
    ],
)
async def test_what_cannot_be_stored_is_refused_by_field_and_nothing_is_kept(
    client, namespace, change
):
    answer = await client.post(inside(namespace, "/experiences"), json=an_experience(**change))

    status, _, field = problem(answer)
    assert (status, (field or "").split(".")[0]) == (422, next(iter(change)))
    assert (await client.get(inside(namespace, "/experiences"))).json()["total"] == 0


@pytest.mark.parametrize("number", [10**400, -(10**309)])
async def test_a_number_that_no_client_can_read_back_is_refused_where_it_stands(
    client, namespace, number
):
    answer = await client.post(
        inside(namespace, "/experiences"), json=an_experience(metadata={"a": [1, number]})
    )

    assert problem(answer) == (422, "rejected", "metadata.a.1")


async def test_the_router_names_the_path_and_the_methods_that_it_takes(client, namespace):
    path = inside(namespace, "")
    nothing = await client.get(f"{path}/nothing")
    method = await client.put(path)

    assert nothing.json()["detail"] == f"there is no {path}/nothing here"
    assert method.json()["detail"] == f"{path} does not take PUT, but GET, PATCH, DELETE"
    assert method.headers["allow"] == "GET, PATCH, DELETE"


@pytest.mark.parametrize("body", ["", "null", "[]", '"Start from the base rate"', "7", "{}"])
async def test_a_body_of_another_shape_is_refused(client, namespace, body):
    answer = await client.post(inside(namespace, "/experiences"), content=body, headers=JSON)

    assert problem(answer)[:2] == (422, "rejected")


async def test_nul_is_cleaned_on_every_path_alike(client, namespace):
    soiled, clean = "a\x00b", "ab"
    single = await remembered(client, namespace, lesson=soiled, metadata={soiled: soiled})
    items = [an_experience(situation=soiled, metadata={soiled: soiled})]
    batch = await client.post(inside(namespace, "/experiences/batch"), json={"items": items})

    first = (await client.get(inside(namespace, f"/experiences/{single}"))).json()
    second_id = batch.json()["items"][0]["id"]
    second = (await client.get(inside(namespace, f"/experiences/{second_id}"))).json()

    assert (first["lesson"], first["metadata"]) == (clean, {clean: clean})
    assert (second["situation"], second["metadata"]) == (clean, {clean: clean})


async def test_nul_in_a_report_is_no_fault_of_the_server(client, namespace):
    await remembered(client, namespace)
    receipt = await retrieved(client, namespace)

    answer = await client.post(
        inside(namespace, f"/retrievals/{receipt['retrieval_id']}/outcome"),
        json=an_outcome(stances={"m\x00": "s\x00"}),
    )

    assert answer.status_code == 202, answer.text


@pytest.mark.parametrize("field", ["agent", "category", "subcategory"])
async def test_a_name_with_nul_is_refused_as_with_any_control_character(client, namespace, field):
    for name in ("a\x00b", "a\x01b"):
        body = an_experience(category="c") | {field: name}
        answer = await client.post(inside(namespace, "/experiences"), json=body)
        assert problem(answer)[::2] == (422, field)


async def test_no_category_is_made_that_differs_from_general_by_case_alone(client, namespace):
    path = inside(namespace, "/experiences")

    refused = await client.post(path, json=an_experience(category="General"))
    below = an_experience(category="general", subcategory="General")

    assert problem(refused)[::2] == (422, "category")
    assert "no other may take the name" in refused.json()["detail"]
    assert (await client.post(path, json=below)).status_code == 201


@pytest.mark.parametrize("field", ["situation", "lesson", "agent", "category"])
async def test_a_lone_surrogate_is_refused_and_the_field_named(client, namespace, field):
    body = json.dumps(an_experience(**{field: "x\ud800"}))

    answer = await client.post(inside(namespace, "/experiences"), content=body, headers=JSON)

    assert problem(answer)[::2] == (422, field)


async def test_a_lone_surrogate_deep_inside_is_refused_too(client, namespace):
    for metadata in ({"a": ["\udfff"]}, {"\udfff": 1}):
        body = json.dumps(an_experience(metadata=metadata))
        answer = await client.post(inside(namespace, "/experiences"), content=body, headers=JSON)
        assert answer.status_code == 422, answer.text


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "1" + "0" * 400])
async def test_a_reward_that_is_no_number_is_refused(client, namespace, number):
    receipt = await retrieved(client, namespace)
    path = inside(namespace, f"/retrievals/{receipt['retrieval_id']}/outcome")

    plain = await client.post(path, content=f'{{"reward": {number}}}', headers=JSON)
    deep = await client.post(
        path,
        content=f'{{"metric": "brier", "value": {{"p": [{number}]}}, "truth": {{"y": [1]}}}}',
        headers=JSON,
    )

    assert problem(plain)[::2] == (422, "reward")
    assert problem(deep)[0] == 422
    pending = await client.get(inside(namespace, "/outcomes"))
    assert pending.json()["total"] == 0


async def test_two_megabytes_of_text_are_refused_with_the_limit(client, namespace):
    text = " ".join(str(number) for number in range(330_000))

    answer = await client.post(inside(namespace, "/experiences"), json=an_experience(lesson=text))

    assert problem(answer) == (413, "too_large", "body")
    assert answer.json()["limit"] == 2 * 1024**2


async def test_a_long_text_is_refused_with_its_own_limit(client, namespace):
    path = inside(namespace, "/experiences")

    for change, field, limit in (
        ({"lesson": "word " * 20_000}, "lesson", 4000),
        ({"situation": "é" * 4001}, "situation", 4000),
        ({"metadata": {"a": "x" * 9000}}, "metadata.a", 8192),
        ({"agent": "x" * 201}, "agent", 200),
    ):
        answer = await client.post(path, json=an_experience(**change))
        assert problem(answer) == (413, "too_large", field)
        assert answer.json()["limit"] == limit
    assert (await client.get(path)).json()["total"] == 0


async def test_a_question_as_long_as_a_book_is_refused(client, namespace):
    answer = await client.post(
        inside(namespace, "/retrievals"), json=an_ask(task={"text": "word " * 20_000})
    )

    assert problem(answer) == (413, "too_large", "task.text")


async def test_a_text_at_its_limit_is_kept_and_found(client, namespace):
    lesson = ("word " * 800).strip()[:4000]
    memory_id = await remembered(client, namespace, lesson=lesson)

    found = await retrieved(client, namespace, k=5, max_tokens=4000)

    assert memory_id in [memory["memory_id"] for memory in found["memories"]]


async def test_a_body_without_a_content_type_or_with_another_is_refused(client, namespace):
    body = json.dumps(an_experience())

    for headers in ({}, {"Content-Type": "text/plain"}):
        answer = await client.post(inside(namespace, "/experiences"), content=body, headers=headers)
        assert problem(answer)[0] == 415


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ("/retrievals", "task_key=a%00b", "task_key"),
        ("/retrievals", "task_key=%ED%A0%80", "task_key"),
        ("/retrievals", "task_key=e%CC%81", "task_key"),
        ("/retrievals", "task_key=+a", "task_key"),
        ("/retrievals", "state=all&trace_id=a%00", "trace_id"),
        ("/retrievals", "agent=a%00b", "agent"),
        ("/experiences", "agent=%ED%A0%80", "agent"),
        ("/experiences", "category=%FF", "category"),
        ("/experiences", 'metadata={"a":"b\\u0000"}', "metadata"),
        ("/memories", "text=%ED%A0%80", "text"),
        ("/tasks", "key=a%00b", "key"),
        ("/predictions", "event=a%00b", "event"),
        ("/settlements", "event=e%CC%81", "event"),
        ("/trajectories", "agent=%00", "agent"),
        ("/agents/a%00b", "", "name"),
    ],
)
async def test_what_is_sought_is_sought_as_it_is_or_refused_by_name(
    client, namespace, path, query, field
):
    answer = await client.get(inside(namespace, path) + (f"?{query}" if query else ""))

    assert problem(answer) == (422, "rejected", field)
    assert field in answer.json()["detail"]
    assert field == "metadata" or answer.json()["limit"]


@pytest.mark.parametrize("key", ["a\x00b", " ab", "ab\n", "e\u0301", "\ufb01\u0301e\u0301"])
async def test_a_key_that_cleaning_would_make_another_is_refused(client, namespace, key):
    for other in ("ab", "\u00e9"):
        task = {"text": "Refund", "key": other, "group_key": other}
        made = await client.post(inside(namespace, "/tasks"), json=task)
        assert made.status_code == 201
    refused = {
        "task_key": ("/outcomes", {"task_key": key, "reward": 1}),
        "trace_id": ("/outcomes", {"trace_id": key, "reward": 1}),
        "task.key": ("/retrievals", an_ask(task={"text": "Refund", "key": key})),
        "group_key": ("/tasks", {"text": "Refund", "group_key": key}),
        "event": ("/settlements", {"event": key, "resolutions": {"a": "yes"}}),
        "windows.1": (
            "/settlements",
            {"event": "ab", "windows": ["w", key], "resolutions": {"a": "yes"}},
        ),
    }
    for field, (path, body) in refused.items():
        answer = await client.post(inside(namespace, path), json=body)

        assert problem(answer) == (422, "rejected", field)
        assert answer.json()["limit"] == 200
        assert "a key is taken as it is: at most 200 characters" in answer.json()["detail"]
