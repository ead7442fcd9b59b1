"""The published contract is the one that the code has."""

import re
from pathlib import Path
from uuid import uuid4

import pytest
from jsonschema import Draft202012Validator

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


def test_every_operation_says_what_it_does_under_a_tag_that_is_explained(document):
    explained = {tag["name"] for tag in document["tags"] if tag["description"]}
    for path, method, operation in operations(document):
        assert set(operation["tags"]) <= explained, path
        assert operation["summary"].strip(), f"{method} {path}"
        assert operation["description"].strip(), f"{method} {path}"


def test_every_parameter_is_described(document):
    silent = [
        f"{method} {path} {parameter['name']}"
        for path, method, operation in operations(document)
        for parameter in operation.get("parameters", ())
        if "$ref" not in parameter and not parameter.get("description")
    ]

    assert silent == []


def test_every_property_is_described(document):
    silent = [
        f"{name}.{part}"
        for name, schema in document["components"]["schemas"].items()
        for part, property_ in schema.get("properties", {}).items()
        if not property_.get("description")
    ]

    assert silent == []


def test_what_is_enumerated_lists_its_values(document):
    """`arm`, `purpose`, `policy`, `status` and their like are no plain strings."""
    schemas = document["components"]["schemas"]
    plain = [
        f"{name}.{part}"
        for name, schema in schemas.items()
        for part, property_ in schema.get("properties", {}).items()
        if part in {"arm", "purpose", "policy", "kind", "trust", "visibility", "role", "clock"}
        # An episode is a noun of memories, which stand below receipts and their arms.
        and name not in {"Step", "Episode"}
        and property_.get("type") == "string"
        and "enum" not in property_
    ]

    assert plain == []


def test_problems_stand_in_the_document_once(document):
    for path, method, operation in operations(document):
        for status, response in operation["responses"].items():
            if status.startswith(("4", "5")) and not path.startswith("/health"):
                assert response["$ref"].startswith("#/components/responses/"), f"{method} {path}"


def test_every_operation_with_a_body_has_an_example_that_fits_it(document):
    shown = 0
    for path, method, operation in operations(document):
        bodies = [operation.get("requestBody", {})]
        bodies += [r for s, r in operation["responses"].items() if s.startswith("2")]
        media = [
            b["content"]["application/json"]
            for b in bodies
            if "application/json" in b.get("content", {})
        ]
        media = [one for one in media if one.get("schema")]
        if not media:
            continue
        [example] = [one for one in media if "example" in one]
        schema = {**example["schema"], "components": document["components"]}
        validator = Draft202012Validator(schema)
        faults = [fault.message for fault in validator.iter_errors(example["example"])]
        assert faults == [], f"{method} {path}"
        shown += 1
    assert shown > len(operations(document)) * 0.9


async def test_no_example_is_refused_for_what_it_says(client, namespace, document):
    """Ids of the examples name nothing; all else about them is what the server takes."""
    places = {"namespace": namespace, "job": "decay", "name": "bot"}
    refused = []
    for path, method, operation in operations(document):
        sent = operation.get("requestBody", {}).get("content", {}).get("application/json")
        if sent is None:
            continue
        ids = {part: str(uuid4()) for part in re.findall(r"{(\w+)}", path)}
        answer = await client.request(
            method,
            path.format(**(ids | places)),
            json=sent["example"],
            headers={"If-Match": '"1"'},
        )
        if answer.status_code in (400, 415, 422, 500):
            refused.append(f"{method} {path}: {answer.text}")

    assert refused == []
