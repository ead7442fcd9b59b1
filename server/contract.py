"""The published contract: what FastAPI derives, plus what holds for every route."""

import json
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from server.errors import MEDIA_TYPE
from server.idempotency import HEADER, MAX_KEY
from server.schemas.problems import Problem

TITLE = "MemLift"
# Of the contract, not of the distribution: it changes when a client would have to.
VERSION = "1"
ABOUT = "A memory server for agents that proves its lift."
TEMPLATE = "#/components/schemas/{model}"
# What any route under /v1 may answer, by who asks and how.
COMMON = {
    "401": "No valid key",
    "403": "The key may not do this",
    "404": "Not there, or in another namespace",
    "413": "Larger than the limit it names",
    "422": "The input cannot be taken; `field` and `limit` say why",
    "429": "Too much is asked at once; come back after Retry-After",
    "500": "A fault of the server",
    "503": "A part is not ready; come back after Retry-After",
}
WITH_BODY = {
    "409": "What is there does not admit this",
    "415": "The body is not application/json",
}
WITH_VERSION = {"412": "Another edit came first", "428": "If-Match is missing"}
HEALTH = {"500": COMMON["500"]}

Document = dict[str, Any]


def describe(app: FastAPI) -> None:
    """Makes `app.openapi()` the whole contract, built once."""

    def openapi() -> Document:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = openapi


def _document(app: FastAPI) -> Document:
    document = get_openapi(title=TITLE, version=VERSION, description=ABOUT, routes=app.routes)
    components: Document = document["components"]
    schemas: Document = components["schemas"]
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    _add_problem(schemas)
    components["parameters"] = {"IdempotencyKey": _idempotency_key()}
    for path, method, operation in _operations(document):
        _add_problems(path, method, operation)
        if method == "post":
            operation.setdefault("parameters", []).append(
                {"$ref": "#/components/parameters/IdempotencyKey"}
            )
    return document


def _operations(document: Document) -> Iterator[tuple[str, str, Document]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def _add_problem(schemas: Document) -> None:
    schema = Problem.model_json_schema(mode="serialization", ref_template=TEMPLATE)
    schemas.update(schema.pop("$defs", {}))
    # Parts that have nothing to say are left out of the document.
    schema["required"] = ["type", "title", "status", "code", "detail"]
    schemas["Problem"] = schema


def _add_problems(path: str, method: str, operation: Document) -> None:
    responses: Document = operation["responses"]
    if "application/json" in responses.get("422", {}).get("content", {}):
        del responses["422"]
    for status, description in _problems(path, method, operation).items():
        responses.setdefault(
            status,
            {
                "description": description,
                "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
            },
        )


def _problems(path: str, method: str, operation: Document) -> dict[str, str]:
    if path.startswith("/health"):
        return HEALTH
    problems = dict(COMMON)
    if method != "get":
        problems |= WITH_BODY
    if any(parameter["name"] == "if-match" for parameter in operation.get("parameters", [])):
        problems |= WITH_VERSION
    return problems


def _idempotency_key() -> Document:
    return {
        "name": HEADER,
        "in": "header",
        "required": False,
        "description": "A repeat with the same key and body gets the same answer, for 24 hours",
        "schema": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_KEY,
            "pattern": "^[ -~]+$",
        },
    }


def rendered(document: Document) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
