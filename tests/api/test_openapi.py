"""The published contract is the one that the code has."""

from pathlib import Path

import pytest

from server.app import create_app
from server.contract import rendered
from server.settings import Settings

COMMITTED = Path(__file__).parents[2] / "docs" / "reference" / "openapi.json"


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    return create_app(Settings(data=tmp_path_factory.mktemp("data"))).openapi()


def operations(document):
    return [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]


def test_the_committed_contract_is_the_one_served(document):
    assert COMMITTED.read_text(encoding="utf-8") == rendered(document), (
        "run `python -m server.openapi --write` and note the change in the changelog"
    )


def test_operation_ids_are_unique(document):
    ids = [operation["operationId"] for _, _, operation in operations(document)]

    assert len(set(ids)) == len(ids)


def test_every_operation_on_memory_asks_for_a_key_and_declares_its_problems(document):
    for path, _, operation in operations(document):
        if path.startswith("/v1/"):
            assert operation["security"] == [{"key": []}], path
            assert {"401", "403", "422", "429", "503"} <= set(operation["responses"]), path


def test_everything_inside_a_namespace_stands_below_it(document):
    outside = {
        path for path, _, _ in operations(document) if not path.startswith("/v1/namespaces/{")
    }

    assert outside == {
        "/health/live",
        "/health/ready",
        "/metrics",
        "/v1/jobs",
        "/v1/keys",
        "/v1/keys/{key_id}",
        "/v1/me",
        "/v1/namespaces",
    }


def test_every_post_takes_an_idempotency_key(document):
    for path, method, operation in operations(document):
        if method == "post":
            assert {"$ref": "#/components/parameters/IdempotencyKey"} in operation["parameters"], (
                path
            )


def test_every_shape_that_comes_in_refuses_unknown_fields(document):
    for name, schema in document["components"]["schemas"].items():
        if name.endswith(("In", "Patch", "Post", "Batch")) and name != "RememberedBatch":
            assert schema["additionalProperties"] is False, name
