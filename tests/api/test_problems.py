"""Every fault goes out as one kind of document, and says no more than it should."""

import pytest
from api_builders import a_fault, a_shared, a_tiny_app, answer_to

from memory.kernel import errors
from memory.kernel.errors import (
    Conflict,
    Forbidden,
    MemoryFault,
    NotFound,
    Overloaded,
    Rejected,
    StaleEdit,
    TooLarge,
    Unauthenticated,
    Unavailable,
)
from server.errors import (
    STATUS,
    MalformedBody,
    PreconditionRequired,
    UnsupportedMedia,
    fault_headers,
    problem_of,
    status_of,
)
from server.routing import parsed

TABLE = [
    (NotFound, 404),
    (Conflict, 409),
    (StaleEdit, 412),
    (Rejected, 422),
    (TooLarge, 413),
    (UnsupportedMedia, 415),
    (PreconditionRequired, 428),
    (Unauthenticated, 401),
    (Forbidden, 403),
    (Overloaded, 429),
    (Unavailable, 503),
]


@pytest.mark.parametrize(("kind", "status"), TABLE)
def test_each_fault_has_its_status(kind, status):
    assert status_of(a_fault(kind)) == status


def test_every_fault_of_the_memory_stands_in_the_table():
    faults = {
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, MemoryFault) and kind is not MemoryFault
    }

    assert faults <= set(STATUS)


def test_a_fault_that_stands_in_no_table_is_our_bug():
    assert status_of(MemoryFault("unplaced")) == 500


async def test_a_fault_becomes_a_problem_document(tmp_path):
    fault = Rejected("reward lies outside [0, 1]", field="reward", limit=[0, 1])

    answer = await answer_to(a_tiny_app(a_shared(tmp_path), fault), '{"name": "x"}')

    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {
        "type": "urn:memlift:rejected",
        "title": "Unprocessable Entity",
        "status": 422,
        "code": "rejected",
        "detail": "reward lies outside [0, 1]",
        "field": "reward",
        "limit": [0, 1],
        "request_id": answer.headers["x-request-id"],
    }


@pytest.mark.parametrize("kind", [Overloaded, Unavailable])
def test_who_is_told_to_come_back_is_told_when(kind):
    assert fault_headers(a_fault(kind, retry_after=1.2)) == {"Retry-After": "2"}
    assert fault_headers(a_fault(kind)) == {"Retry-After": "1"}


def test_a_conflict_that_passes_says_when():
    assert fault_headers(a_fault(Conflict, retry_after=0.1)) == {"Retry-After": "1"}
    assert fault_headers(a_fault(Conflict)) == {}


def test_who_shows_no_key_is_told_how_to():
    assert fault_headers(a_fault(Unauthenticated))["WWW-Authenticate"] == "Bearer"


def test_a_callers_lone_surrogate_does_not_keep_the_answer_from_being_written():
    problem = problem_of(Rejected("bad \ud800", field="\udfff"), None)

    assert problem.model_dump_json().encode()


async def test_a_bug_is_a_500_that_keeps_the_exceptions_text_to_itself(tmp_path, caplog):
    fault = RuntimeError("password=hunter2")

    answer = await answer_to(a_tiny_app(a_shared(tmp_path), fault), '{"name": "x"}')

    assert answer.status_code == 500
    assert answer.json()["code"] == "internal"
    assert "hunter2" not in answer.text
    assert answer.json()["request_id"] in caplog.text


async def test_every_field_of_the_wrong_shape_is_named(tmp_path):
    answer = await answer_to(a_tiny_app(a_shared(tmp_path)), '{"size": "1", "extra": 2}')

    assert answer.status_code == 422
    assert [error["field"] for error in answer.json()["errors"]] == ["name", "size", "extra"]
    assert answer.json()["field"] == "name"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ("", "body"),
        ("null", "body"),
        ("[]", "body"),
        ('"x"', "body"),
        ('{"name": 1}', "name"),
        ('{"name": "x", "size": NaN}', "size"),
        ('{"name": "x", "size": Infinity}', "size"),
        ('{"name": "x", "size": 1e999}', "size"),
        ('{"name": "x", "size": true}', "size"),
        ('{"name": "x", "size": "1"}', "size"),
        (f'{{"name": "x", "size": {"9" * 500}}}', "size"),
        ('{"name": {"\\ud800": 1}}', "name"),
        ('{"name": "x", "\\ud800": 1}', "body"),
    ],
)
async def test_a_bad_body_is_refused_and_the_field_named(tmp_path, body, field):
    answer = await answer_to(a_tiny_app(a_shared(tmp_path)), body)

    assert answer.status_code == 422
    assert (answer.json()["code"], answer.json()["field"]) == ("rejected", field)


@pytest.mark.parametrize("body", [b"{", b"\xff\xfe\xfd", b"[" * 100_000, b"9" * 5_000, b"{'a': 1}"])
def test_what_is_not_json_is_refused_as_such(body):
    with pytest.raises(MalformedBody) as refusal:
        parsed(body)

    assert (refusal.value.kind, refusal.value.field) == ("malformed_json", "body")


async def test_who_shows_no_key_hears_of_that_before_any_mistake_in_the_body(tmp_path):
    answer = await answer_to(a_tiny_app(a_shared(tmp_path)), "{")

    assert answer.status_code == 401
