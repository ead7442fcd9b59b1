"""The Python client, waiting and awaiting, against a scripted server."""

import json
from datetime import datetime, timedelta, timezone
from types import ModuleType

import httpx
import memlift_client
import pytest
from memlift_client import (
    AsyncMemLift,
    ConnectionFailed,
    MemLift,
    MemLiftProblem,
    Namespace,
    OutcomeTaken,
    OutcomeWarning,
    Task,
    UnexpectedAnswer,
)
from scripted_server import QUICK, REMEMBERED, Script, a_page, a_problem, an_answer

from tests.fixtures.answers import a_document

URL = "http://memlift.test"
CURSORS = ((0, "c1"), (2, "c2"), (4, None))
TASK = a_document(Task, text="T")
NAMESPACE = a_document(Namespace, version=7)


def a_client(script: Script, namespace: str = "acme") -> MemLift:
    return MemLift(URL, "ml_k", namespace, retry_policy=QUICK, transport=script.transport())


def remembered(script: Script) -> object:
    with a_client(script) as memory:
        return memory.remember(agent="bot", situation="S", lesson="L")


def test_a_call_carries_the_key_and_the_namespace():
    script = Script(an_answer(201, REMEMBERED))

    remembered(script)

    [request] = script.requests
    assert request.url.path == "/v1/namespaces/acme/experiences"
    assert request.headers["authorization"] == "Bearer ml_k"
    assert script.bodies() == [{"agent": "bot", "situation": "S", "lesson": "L"}]


@pytest.mark.parametrize(
    "first",
    [
        a_problem(503, "unavailable"),
        a_problem(429, "overloaded"),
        a_problem(409, "idempotency_running"),
        httpx.ConnectError("refused"),
        httpx.ReadTimeout("slow"),
    ],
    ids=["503", "429", "still running", "refused", "timed out"],
)
def test_a_retried_post_keeps_its_idempotency_key(first):
    script = Script(first, an_answer(201, REMEMBERED))

    remembered(script)

    first_key, second_key = script.heads("idempotency-key")
    assert first_key
    assert first_key == second_key


def test_two_calls_have_two_idempotency_keys():
    script = Script(an_answer(201, REMEMBERED))

    remembered(script)
    remembered(script)

    first_key, second_key = script.heads("idempotency-key")
    assert first_key != second_key


def test_retries_end_with_the_last_problem():
    script = Script(a_problem(503, "unavailable"))

    with pytest.raises(MemLiftProblem) as raised:
        remembered(script)

    assert raised.value.code == "unavailable"
    assert len(script.requests) == QUICK.attempts


def test_no_answer_after_every_retry_is_unreachable():
    script = Script(httpx.ConnectError("refused"))

    with pytest.raises(ConnectionFailed, match="refused"):
        remembered(script)

    assert len(script.requests) == QUICK.attempts


def test_a_refusal_is_not_asked_again():
    script = Script(a_problem(422, "rejected"))

    with pytest.raises(MemLiftProblem):
        remembered(script)

    assert len(script.requests) == 1


def test_a_conflict_is_not_asked_again():
    script = Script(a_problem(409, "outcome_conflict"))

    with a_client(script) as memory, pytest.raises(MemLiftProblem):
        memory.report("r-1", reward=1.0)

    assert len(script.requests) == 1


def test_an_edit_whose_answer_was_lost_is_not_repeated():
    script = Script(httpx.ReadTimeout("slow"), an_answer(200, NAMESPACE))

    with a_client(script) as memory, pytest.raises(ConnectionFailed):
        memory.change_namespace(7, learning="frozen")

    assert len(script.requests) == 1


def test_what_is_null_within_a_body_is_sent_and_what_was_not_given_is_left_out():
    script = Script(an_answer(200, NAMESPACE))

    with a_client(script) as memory:
        memory.change_namespace(7, settings={"raw_gate": None, "retention_days": None})

    assert script.bodies() == [{"settings": {"raw_gate": None, "retention_days": None}}]


async def test_the_async_client_sends_a_null_within_a_body_too():
    script = Script(an_answer(200, NAMESPACE))

    async with AsyncMemLift(URL, "ml_k", "acme", transport=script.transport()) as memory:
        await memory.change_namespace(7, settings={"raw_gate": None})

    assert script.bodies() == [{"settings": {"raw_gate": None}}]


def test_who_reaches_no_server_is_told_at_which_address():
    script = Script(httpx.ConnectError("refused"))

    with pytest.raises(ConnectionFailed) as raised:
        remembered(script)

    assert raised.value.unreached == URL


def test_an_edit_names_the_version_it_saw():
    script = Script(an_answer(200, NAMESPACE))

    with a_client(script) as memory:
        memory.change_namespace(7, learning="frozen")

    assert script.heads("if-match") == ['"7"']
    assert script.requests[0].method == "PATCH"


def test_a_problem_says_which_field_and_which_limit():
    script = Script(
        a_problem(
            422,
            "too_large",
            field="lesson",
            limit=4000,
            errors=[{"field": "lesson", "detail": "too long"}],
            request_id="req-9",
        )
    )

    with pytest.raises(MemLiftProblem) as raised:
        remembered(script)

    problem = raised.value
    assert (problem.status, problem.code, problem.field) == (422, "too_large", "lesson")
    assert (problem.limit, problem.request_id) == (4000, "req-9")
    assert problem.errors[0].detail == "too long"


def test_a_problem_without_a_document_still_has_its_status_and_request_id():
    script = Script(httpx.Response(502, text="bad gateway", headers={"x-request-id": "req-3"}))

    with pytest.raises(MemLiftProblem) as raised:
        remembered(script)

    assert (raised.value.status, raised.value.code) == (502, "unknown")
    assert (raised.value.detail, raised.value.request_id) == ("bad gateway", "req-3")


def test_every_page_is_walked_once_and_in_order():
    rows = [{**TASK, "id": f"t-{n}"} for n in range(5)]
    script = Script(
        a_page(rows[:2], 5, "c1"), a_page(rows[2:4], 5, "c2"), a_page(rows[4:], 5, None)
    )

    with a_client(script) as memory:
        ids = [task.id for task in memory.each_task(limit=2)]

    assert ids == ["t-0", "t-1", "t-2", "t-3", "t-4"]
    assert [dict(r.url.params) for r in script.requests] == [
        {"limit": "2"},
        {"limit": "2", "cursor": "c1"},
        {"limit": "2", "cursor": "c2"},
    ]


def test_one_page_tells_the_total():
    script = Script(a_page([TASK], 41, "c1"))

    with a_client(script) as memory:
        page = memory.list_tasks(limit=1)

    assert (page.total, page.next_cursor, page.items[0].text) == (41, "c1", "T")


def test_a_batch_keeps_the_problem_of_its_one_bad_item():
    document = {"code": "rejected", "detail": "lesson is blank", "status": 422}
    items = [
        {"index": 0, "status": 201, **REMEMBERED},
        {"index": 1, "status": 422, "problem": document},
    ]
    script = Script(an_answer(207, {"items": items}))

    with a_client(script) as memory:
        good, bad = memory.remember_all([])

    assert good.unwrap().id == "m-1"
    with pytest.raises(MemLiftProblem, match="lesson is blank"):
        bad.unwrap()


def test_not_ready_is_an_answer():
    checks = {"model": {"ok": False, "detail": "loading"}}
    answer = {"status": "not_ready", "degraded": ["no leader"], "checks": checks}
    script = Script(an_answer(503, answer))

    with a_client(script) as memory:
        readiness = memory.ready()

    assert not readiness.ready
    assert readiness.degraded == ("no leader",)
    assert readiness.checks["model"].detail == "loading"
    assert len(script.requests) == 1


def test_times_are_sent_in_utc_and_read_with_their_zone():
    script = Script(an_answer(201, TASK))
    noon_in_paris = datetime(2026, 1, 2, 12, tzinfo=timezone(timedelta(hours=1)))

    with a_client(script) as memory:
        task = memory.add_task(text="T", known_at=noon_in_paris)

    assert script.bodies() == [{"text": "T", "known_at": "2026-01-02T11:00:00Z"}]
    assert task.known_at.utcoffset() == timedelta(0)


def test_a_time_without_zone_is_refused_before_it_is_sent():
    script = Script(an_answer(201, TASK))

    with a_client(script) as memory, pytest.raises(ValueError, match="zone"):
        memory.add_task(text="T", known_at=datetime(2026, 1, 2, 12))  # noqa: DTZ001 - the point

    assert script.requests == []


def test_metadata_filters_travel_as_json():
    script = Script(a_page([], 0, None))

    with a_client(script) as memory:
        memory.list_experiences(metadata={"outcome": 1}, status="active")

    parameters = dict(script.requests[0].url.params)
    assert json.loads(parameters["metadata"]) == {"outcome": 1}
    assert parameters["status"] == "active"


def test_a_name_with_a_slash_stays_one_part_of_the_path():
    agent = {"id": "a", "name": "x/y", "model": None, "family": None, "size_class": None}
    times = {"own_information": False, "version": 1, "created_at": "2026-01-02T00:00:00Z"}
    script = Script(an_answer(200, {**agent, **times}))

    with a_client(script) as memory:
        memory.get_agent("x/y")

    assert script.requests[0].url.raw_path == b"/v1/namespaces/acme/agents/x%2Fy"


def test_a_newer_server_may_answer_with_more_members():
    script = Script(an_answer(201, {**REMEMBERED, "colour": "blue"}))

    assert remembered(script) == memlift_client.Remembered(
        id="m-1",
        version=1,
        deduplicated=False,
        bank_version=4,
        memory_status="active",
        echo=False,
        echoes=(),
        contradicts=(),
        warnings=(),
    )


def test_an_answer_that_lacks_a_member_is_unexpected():
    script = Script(an_answer(201, {"id": "m-1"}))

    with pytest.raises(UnexpectedAnswer, match="version"):
        remembered(script)


def test_another_namespace_shares_the_connection():
    script = Script(an_answer(200, NAMESPACE))

    with a_client(script) as memory:
        memory.within("globex").get_namespace()

    assert script.requests[0].url.path == "/v1/namespaces/globex"


async def test_awaiting_sends_what_waiting_sends():
    answers = [httpx.ConnectError("refused"), an_answer(201, REMEMBERED)]
    waited, awaited = Script(*answers), Script(*answers)

    result = remembered(waited)
    async with AsyncMemLift(
        URL, "ml_k", "acme", retry_policy=QUICK, transport=awaited.transport()
    ) as memory:
        other = await memory.remember(agent="bot", situation="S", lesson="L")

    assert result == other
    assert waited.bodies() == awaited.bodies()
    assert [r.url for r in waited.requests] == [r.url for r in awaited.requests]
    assert len(set(awaited.heads("idempotency-key"))) == 1


async def test_awaiting_walks_the_same_pages():
    rows = [{**TASK, "id": f"t-{n}"} for n in range(3)]
    script = Script(a_page(rows[:2], 3, "c1"), a_page(rows[2:], 3, None))

    async with AsyncMemLift(
        URL, "ml_k", retry_policy=QUICK, transport=script.transport()
    ) as memory:
        ids = [task.id async for task in memory.each_task()]

    assert ids == ["t-0", "t-1", "t-2"]


def test_both_clients_have_the_same_methods():
    def methods(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert methods(MemLift) == methods(AsyncMemLift)


def test_the_public_list_is_complete():
    names = set(memlift_client.__all__)

    assert names == {
        name
        for name, value in vars(memlift_client).items()
        if not name.startswith("_") and not isinstance(value, ModuleType)
    }


HALF = OutcomeWarning(code="half_missing", detail="this moves nothing yet")


def taken(**changes: object) -> dict[str, object]:
    return a_document(OutcomeTaken, status="accepted", reason=None) | changes


def test_what_the_server_warns_of_is_in_the_answer_and_logged_once_a_call(caplog):
    caplog.set_level("DEBUG", "memlift_client")
    warned = taken(warnings=[{"code": HALF.code, "detail": HALF.detail}])
    items = [{"index": n, "status": 202, "outcome": warned} for n in range(3)]
    script = Script(an_answer(202, warned), an_answer(207, {"items": items}))

    with a_client(script) as memory:
        one = memory.report("r-1", reward=1.0)
        many = memory.report_all([{"retrieval_id": f"r-{n}", "reward": 1.0} for n in range(3)])

    assert one.warnings == (HALF,)
    assert [item.unwrap().warnings for item in many] == [(HALF,)] * 3
    assert [(entry.name, entry.levelname) for entry in caplog.records] == [
        ("memlift_client", "WARNING"),
        ("memlift_client", "DEBUG"),
    ]
    assert "half_missing: this moves nothing yet (3 times)" in caplog.messages[1]


def test_a_warning_is_loud_once_for_each_code_client_and_namespace(caplog):
    caplog.set_level("DEBUG", "memlift_client")
    half = taken(warnings=[{"code": HALF.code, "detail": HALF.detail}])
    own = taken(warnings=[{"code": "own_memory", "detail": "You wrote it."}])
    script = Script(*(an_answer(202, one) for one in (half, half, own, half, half)))

    with a_client(script) as memory:
        for n in range(3):
            memory.report(f"r-{n}", reward=1.0)
        other = memory.within("other")
        for n in range(2):
            other.report(f"r-{n}", reward=1.0)

    levels = [entry.levelname for entry in caplog.records if entry.name == "memlift_client"]
    assert levels == ["WARNING", "DEBUG", "WARNING", "WARNING", "DEBUG"]


def test_nothing_is_logged_of_an_outcome_that_counts(caplog):
    caplog.set_level("DEBUG", "memlift_client")
    script = Script(an_answer(202, taken(warnings=[])))

    with a_client(script) as memory:
        memory.report("r-1", reward=1.0)

    assert not caplog.records


async def test_a_lesson_is_the_clients_agents_where_the_call_names_none():
    script = Script(an_answer(201, REMEMBERED))
    with MemLift(URL, agent="bot", transport=script.transport()) as memory:
        memory.remember(situation="S", lesson="L")
        memory.remember(agent="other", situation="S", lesson="L")
    async with AsyncMemLift(URL, agent="bot", transport=httpx.MockTransport(script)) as awaited:
        await awaited.remember(situation="S", lesson="L")
        await awaited.remember(agent="other", situation="S", lesson="L")

    assert [body["agent"] for body in script.bodies()] == ["bot", "other", "bot", "other"]
