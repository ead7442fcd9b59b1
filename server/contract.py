"""The published contract: what FastAPI derives, plus what holds for every route."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from server.deprecation import DEPRECATED, mark
from server.errors import MEDIA_TYPE
from server.examples import body_of, example_of
from server.idempotency import HEADER, MAX_KEY
from server.schemas.problems import Problem

TITLE = "MemLift"
# Of the contract, not of the distribution: it changes when a client would have to.
VERSION = "1"
ABOUT = "A memory server for agents that measures whether its memories help."
TEMPLATE = "#/components/schemas/{model}"
# What any route under /v1 may answer, by who asks and how.
COMMON = {
    "401": "No valid key",
    "403": "The key may not do this",
    "404": "Not there, or in another namespace",
    "413": "Larger than the limit it names",
    "422": "The input cannot be taken; `field` and `limit` say why",
    "429": "Too much is asked at once; come back after Retry-After",
    "431": "Request line and headers together are larger than 16 kB",
    "500": "A fault of the server",
    "503": "A part is not ready; come back after Retry-After",
}
WITH_BODY = {
    "408": "The body did not arrive in time",
    "409": "What is there does not admit this",
    "415": "The body is not application/json",
}
WITH_VERSION = {"412": "Another edit came first", "428": "If-Match is missing"}
WITH_PLACE = {"410": "What came after that place is kept no longer"}
WITH_NAMESPACE = {"421": "The namespace has moved: `Location` says where it is served"}
HEALTH = {"500": COMMON["500"]}
TAGS: Mapping[str, str] = {
    "health": "Whether the server lives, can serve, and what it counted.",
    "me": "Who the shown key is.",
    "namespaces": "The boundary that no data crosses: its clock, policy and settings.",
    "keys": "Who may call, in which role, for which agents.",
    "jobs": "What happens by the clock, or by hand; every job has a dry run.",
    "agents": "The callers that attempt tasks.",
    "categories": "The kinds of task, in two levels.",
    "taxonomy": "The categories a namespace knows, in versions that never change.",
    "tasks": "What agents attempt; the same key is the same task.",
    "trajectories": "Runs of tasks, step by step, with their result.",
    "experiences": "What a task taught: when it applies, and what to do.",
    "memories": "Memories of all kinds: browse, explain, change in bulk.",
    "meta-guidelines": "How memory is to be used when a guideline is compiled.",
    "contrasts": "Pairs of runs of one task, and their results.",
    "constraints": "What separates success from failure, whoever ran the task.",
    "contradictions": "Constraints that cannot both hold; decided by evidence or a person.",
    "erasures": "Texts and vectors go, wherever they are kept; numbers stay.",
    "weights": "What each memory has earned, and the events that moved it.",
    "retrievals": "Ask for a guideline before acting; each answer is a receipt.",
    "outcomes": "Say how the attempt went; outcomes move weights.",
    "predictions": "What agents say will happen, tied to receipts.",
    "settlements": "What did happen; a settlement scores every prediction of its event.",
    "tickets": "Candidates are tried before they are served.",
    "effect": "What memory did for each agent and category, with its interval.",
    "changes": "What was written in a namespace, by pages or as server-sent events.",
    "history": "The bank at a moment, the difference of two, what if, and undo.",
    "learning health": "Whether learning is fed, moves, and carries a signal.",
    "llm-calls": "What a language model was asked and what it answered.",
    "audit": "Who changed what, and when.",
    "webhooks": "Addresses outside that hear of what happens.",
}
"""What each group of operations is about."""
PARAMETERS: Mapping[str, str] = {
    "namespace": "Slug of the namespace.",
    "after": "The place after which changes are wanted, from an answer before.",
    "agent": "Only what concerns the agent of this name.",
    "arm": "Only retrievals of this arm.",
    "as_of": "The moment that is asked about, with a zone.",
    "bank_version": "The version of the bank that is asked about, in place of a moment.",
    "claims": "Only what counts and claims more than its key verifies today.",
    "category": "Only what lies in this category.",
    "category_id": "Names the category.",
    "confirmation": "What the first step of the deletion answered with.",
    "changeset_id": "Names the changeset.",
    "contradiction_id": "Names the contradiction.",
    "contrast_id": "Names the contrast.",
    "cursor": "Where the next page begins: `next_cursor` of the page before.",
    "event": "Only windows of this event.",
    "from_as_of": "The earlier moment.",
    "from_bank_version": "The earlier version of the bank, in place of a moment.",
    "if-match": 'The ETag last seen, such as "3".',
    "job": "Name of the job.",
    "key": "Only the task with this caller's key.",
    "key_id": "Names the key; it is the part of the token after `ml_`.",
    "kind": "Only memories of this kind.",
    "limit": "How many rows a page has at most.",
    "max_weight": "Only memories whose effective weight is at most this.",
    "memory_id": "Names the memory.",
    "metadata": "Only memories whose metadata holds this JSON object.",
    "min_weight": "Only memories whose effective weight is at least this.",
    "name": "Name of the agent.",
    "order": "Ascending or descending.",
    "origin": "Only what came from here.",
    "outcome_id": "Names the outcome.",
    "pair_class": "Only pairs of this class.",
    "prediction_id": "Names the prediction.",
    "retrieval_id": "Names the retrieval: its receipt.",
    "role": "Only calls in this role.",
    "rollback_id": "Names the rollback.",
    "run_id": "Names the run.",
    "settlement_id": "Names the settlement.",
    "sort": "What the list is ordered by.",
    "state": "Only what is in this state.",
    "status": "Only what has this status.",
    "task_id": "Names the task.",
    "text": "Only memories with these words in their texts.",
    "ticket_id": "Names the ticket.",
    "to_as_of": "The later moment; now where it is left out.",
    "to_bank_version": "The later version of the bank, in place of a moment.",
    "trajectory_id": "Names the trajectory.",
    "trust": "Only memories of this trust.",
    "webhook_id": "Names the webhook.",
    "verifier": "Only runs with this verifier.",
    "task_key": "Only what is about the task that its caller calls so.",
    "trace_id": "Only what belongs to this trace.",
}
"""What a parameter of a name means, unless its own declaration says it."""

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
    components["responses"] = {}
    for path, method, operation in _operations(document):
        _add_problems(path, method, operation, components["responses"])
        _add_words(operation)
        if (known := DEPRECATED.get(operation["operationId"])) is not None:
            mark(operation, known)
        _add_example(operation, schemas)
        if method == "post":
            operation.setdefault("parameters", []).append(
                {"$ref": "#/components/parameters/IdempotencyKey"}
            )
    used = {tag for _, _, operation in _operations(document) for tag in operation["tags"]}
    document["tags"] = [
        {"name": name, "description": about} for name, about in TAGS.items() if name in used
    ]
    for schema in (*schemas.values(), document["paths"]):
        _drop_titles(schema)
    _describe_alike(schemas)
    return document


def _describe_alike(schemas: Document) -> None:
    """A shape that differs from a noun says of what they share what the noun says; a reference
    without words of its own says what it refers to.
    """
    for schema in schemas.values():
        nouns = re.findall(r"`(\w+)`", schema.get("description", ""))
        own = [schemas[noun].get("properties", {}) for noun in nouns if noun in schemas]
        for name, part in schema.get("properties", {}).items():
            target = schemas.get(str(part.get("$ref", "")).rpartition("/")[2], {})
            words = [noun[name].get("description") for noun in own if name in noun]
            found = (part.get("description"), *words, target.get("description"))
            if (text := next(filter(None, found), None)) is not None:
                part["description"] = text


def _add_words(operation: Document) -> None:
    """A summary in words, and what each parameter means."""
    sentence, _, rest = operation.get("description", "").partition(". ")
    operation["summary"] = " ".join(sentence.split()).removesuffix(".")
    operation["description"] = " ".join(rest.split()) or f"{operation['summary']}."
    for parameter in operation.get("parameters", ()):
        if "name" in parameter:
            parameter.setdefault("description", PARAMETERS.get(parameter["name"], ""))


def _add_example(operation: Document, schemas: Document) -> None:
    """The body to send, or where there is none, the answer."""
    sent = _media(operation.get("requestBody", {}))
    if sent is not None:
        sent["example"] = body_of(operation["operationId"], sent["schema"], schemas)
        return
    for response in _good(operation):
        answered = _media(response)
        if answered is not None and answered.get("schema"):
            answered["example"] = example_of(answered["schema"], schemas)
            return


def _media(part: Document) -> Document | None:
    return part.get("content", {}).get("application/json")


def _good(operation: Document) -> Iterator[Document]:
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            yield response


def _drop_titles(part: object) -> None:
    """Titles that FastAPI derives from names say nothing that the names do not."""
    if isinstance(part, dict):
        held = cast("Document", part)
        if isinstance(held.get("title"), str) and "example" not in held:
            del held["title"]
        for name, inner in held.items():
            if name != "example":
                _drop_titles(inner)
    elif isinstance(part, list):
        for inner in cast("list[object]", part):
            _drop_titles(inner)


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


def _add_problems(path: str, method: str, operation: Document, shared: Document) -> None:
    """Problems are the same wherever they come from, and stand in the document once."""
    responses: Document = operation["responses"]
    if "application/json" in responses.get("422", {}).get("content", {}):
        del responses["422"]
    for status, description in _problems(path, method, operation).items():
        if status in responses:
            continue
        name = f"Problem{status}"
        shared[name] = {
            "description": description,
            "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        responses[status] = {"$ref": f"#/components/responses/{name}"}


def _problems(path: str, method: str, operation: Document) -> dict[str, str]:
    if path.startswith("/health"):
        return HEALTH
    problems = dict(COMMON)
    if method != "get":
        problems |= WITH_BODY
    parameters = {parameter["name"] for parameter in operation.get("parameters", [])}
    if "if-match" in parameters:
        problems |= WITH_VERSION
    if "after" in parameters:
        problems |= WITH_PLACE
    if "{namespace}" in path:
        problems |= WITH_NAMESPACE
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
