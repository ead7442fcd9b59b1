"""What is said of a field of the wrong shape: in words of JSON, whatever type it has in Python."""

from collections.abc import Iterator, Mapping
from typing import cast, get_args
from uuid import UUID

import pytest
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from pydantic_core import core_schema

from memory.constraints.taxonomy_entities import TaxonomyDraft
from memory.outcomes.entities import Report
from memory.retrieval.entities import RetrievalRequest
from server.routes import ROUTERS
from server.schemas.retrieval import ReceiptQuery, RetrievalBatch
from server.shape_words import field_types, items_at, words_of


def said(kind: type[object], body: Mapping[str, object]) -> dict[str, str]:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(body)
    found: dict[str, str] = {}
    for error in caught.value.errors():
        told = cast("dict[str, object]", error) | {"loc": ("body", *error["loc"])}
        found[".".join(map(str, error["loc"]))] = words_of(told, kind)
    return found


def test_a_list_of_ids_a_text_and_an_object_are_called_so():
    found = said(
        Report,
        {"reward": 0.5, "used": "m1", "helpful": ["m1"], "answers": [1], "without": 3},
    )

    assert found == {
        "used": "must be a list of ids",
        "helpful.0": "must be an id, a UUID",
        "answers": "must be an object",
        "without": "must be an object",
    }


def test_a_list_below_a_field_is_found_too():
    request = {"agent": "a", "task": {"text": "b"}, "queries": "c", "k": "d"}

    assert said(RetrievalRequest, request) == {
        "queries": "must be a list of objects",
        "k": "must be a whole number",
    }
    assert items_at(RetrievalRequest, ("task", "nothing")) is None
    assert items_at(None, ("used",)) is None
    assert items_at(tuple[tuple[UUID, ...], ...], (0,)) == "ids"


def bodies() -> Iterator[object]:
    """The type of every request body."""
    for router in ROUTERS:
        for route in router.routes:
            if isinstance(route, APIRoute) and route.body_field is not None:
                yield route.body_field.field_info.annotation


def test_the_items_of_every_list_that_a_request_may_have_are_named():
    """The whole kind: a new list of a new type of items needs a word."""
    lists = [
        (path, items_at(body, path))
        for body in bodies()
        for path, is_list in field_types(body)
        if is_list
    ]

    assert len(lists) > 20
    assert [path for path, items in lists if items is None] == []


ID = str(UUID(int=0))
WRONG: list[tuple[type[object], object, str]] = [
    (Report, {"reward": 2}, "reward: must be at most 1.0"),
    (Report, {"reward": -1}, "reward: must be at least 0.0"),
    (Report, {"reward": float("nan")}, "reward: must be a finite number"),
    (Report, {"reward": "1"}, "reward: must be a number"),
    (Report, {"reward": 1, "verifier": "oracle"}, "verifier: must be 'human', 'test', "),
    (Report, {"reward": 1, "keep": 1}, "keep: must be true or false"),
    (Report, {"reward": 1, "known_at": 3}, "known_at: must be a time as in RFC 3339, with a zone"),
    (Report, {"reward": 1, "used": [ID] * 65}, "used: must not have more than 64 entries; it has "),
    (Report, {"reward": 1, "score": 1}, "score: is no field here; expected are answers, "),
    (Report, {"reward": 1, "lesson": {}}, "lesson.lesson: is missing"),
    (Report, {"reward": 1, "without": {}}, "without: give either reward or value"),
    (Report, {"reward": 1, "evaluator": 7}, "evaluator: must be a text"),
    (RetrievalRequest, {"task": {"text": "b"}}, "agent: is missing"),
    (RetrievalRequest, {"agent": "a", "k": 1.5}, "k: must be a whole number"),
    (RetrievalRequest, {"agent": "a", "expires_in": "P9D"}, "expires_in: must be a number of seco"),
    (RetrievalRequest, {"queries": [{"text": "a"}] * 9}, "queries: must not have more than "),
    (ReceiptQuery, {"limit": 0}, "limit: must be at least 1"),
    (ReceiptQuery, {"limit": 10**5}, "limit: must be at most 200"),
    (ReceiptQuery, {"limit": "ten"}, "limit: must be a whole number"),
    (ReceiptQuery, {"cursor": "x" * 2001}, "cursor: must have at most 2000 characters"),
    (ReceiptQuery, {"state": "open"}, "state: must be 'pending', 'answered', "),
    (ReceiptQuery, {"colour": "red"}, "colour: is no field here"),
    (TaxonomyDraft, {"categories": [{"name": "x"}]}, "categories.0.description: is missing"),
    (RetrievalBatch, {"items": []}, "items: must not be empty"),
]


@pytest.mark.parametrize(("kind", "body", "words"), WRONG)
def test_what_is_wrong_is_said_in_words_of_ours(kind, body, words):
    told = [f"{field}: {detail}" for field, detail in said(kind, body).items()]

    assert any(one.startswith(words) for one in told), told


@pytest.mark.parametrize("kind", get_args(core_schema.ErrorType))
def test_no_kind_of_error_is_told_in_the_words_of_a_library(kind):
    told = words_of({"type": kind, "msg": "Input should be a Python thing, told", "loc": ()}, None)

    assert told
    assert "Input" not in told
    assert "Python" not in told
    assert "{" not in told
