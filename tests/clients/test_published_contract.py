"""The client against the published contract: every call has a path, every field a place in it."""

import inspect
import json
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from memlift_client import (
    _calls_admin,
    _calls_constraints,
    _calls_contrasts,
    _calls_forecasts,
    _calls_loop,
    _calls_memories,
    _calls_meta,
    _calls_runs,
    _calls_tickets,
    _fields,
)
from memlift_client._wire import Call

CONTRACT: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "docs" / "reference" / "openapi.json").read_text()
)
FILLED = {
    "slug": "s",
    "version": 1,
    "confirmation": "c",
    "items": [],
    "action": "retire",
    "keep": "both",
}
WITHOUT_ANSWER = {"delete_namespace", "revoke_key"}
# Where the noun stands inside the answer, for what is neither a page nor the answer itself.
MEMBERS = {
    "erase": "erased",
    "erase_experience": "erased",
    "retrieve_all": "retrieval",
    "report_all": "outcome",
    "predict_all": "prediction",
    "settle_all": "settlement",
}

MODULES = (
    _calls_admin,
    _calls_constraints,
    _calls_contrasts,
    _calls_forecasts,
    _calls_loop,
    _calls_memories,
    _calls_meta,
    _calls_runs,
    _calls_tickets,
)


def calls() -> Iterator[tuple[str, Any]]:
    for module in MODULES:
        for name, build in vars(module).items():
            own = inspect.isfunction(build) and build.__module__ == module.__name__
            if own and not name.startswith("_"):
                yield name, build


CALLS = dict(calls())


def example(build: Any) -> Call[object]:
    """The call with a stand-in for every argument that has no default."""
    needed = {
        name: FILLED.get(name, "x")
        for name, parameter in inspect.signature(build).parameters.items()
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    }
    return build(**needed).within("acme", None)


def operation(call: Call[object]) -> Mapping[str, Any]:
    """The contract's operation for a request; the path with the fewest parameters wins."""
    fitting = sorted(
        (path.count("{"), path)
        for path in CONTRACT["paths"]
        if re.fullmatch(re.sub(r"\{[^}]+\}", "[^/]+", path), call.request.path)
        and call.request.method.lower() in CONTRACT["paths"][path]
    )
    assert fitting, f"{call.request.method} {call.request.path} is not in the contract"
    return CONTRACT["paths"][fitting[0][1]][call.request.method.lower()]


def resolved(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    while "$ref" in schema:
        *_, kind, name = schema["$ref"].split("/")
        schema = CONTRACT["components"][kind][name]
    return schema


def options(build: Any) -> type | None:
    """The typed dictionary of the keywords, if there is one."""
    hint = get_type_hints(build, vars(_fields)).get
    for name, parameter in inspect.signature(build).parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            return get_args(hint(name))[0]
        if name == "items":
            return get_args(hint(name))[0]
    return None


@pytest.mark.parametrize("name", sorted(CALLS))
def test_every_call_is_in_the_contract(name):
    assert operation(example(CALLS[name]))


@pytest.mark.parametrize("name", sorted(CALLS))
def test_every_keyword_is_a_field_or_a_parameter_of_the_contract(name):
    keywords = options(CALLS[name])
    published = operation(example(CALLS[name]))
    body = published.get("requestBody", {}).get("content", {}).get("application/json", {})
    schema = resolved(body.get("schema", {}))
    if "items" in schema.get("properties", {}):
        schema = resolved(schema["properties"]["items"]["items"])
    parameters = {resolved(p)["name"] for p in published.get("parameters", ())}
    known = set(schema.get("properties", {})) | parameters

    assert set(get_type_hints(keywords) if keywords else ()) <= known


@pytest.mark.parametrize("name", sorted(CALLS.keys() - WITHOUT_ANSWER))
def test_every_answer_has_what_the_client_needs(name):
    published = operation(example(CALLS[name]))
    good = next(answer for code, answer in published["responses"].items() if code.startswith("2"))
    schema = resolved(good["content"]["application/json"]["schema"])
    kind = get_args(get_type_hints(CALLS[name])["return"])[0]
    if get_args(kind):
        kind = get_args(kind)[0]
        schema = resolved(resolved(schema["properties"]["items"])["items"])
    if name in MEMBERS:
        schema = something(schema["properties"][MEMBERS[name]])

    assert not list(lacking((get_args(kind) or [kind])[0], schema, name))


def something(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of what may also be null."""
    arms = [arm for arm in resolved(schema).get("anyOf", [schema]) if arm != {"type": "null"}]
    return resolved(arms[0])


def lacking(kind: Any, schema: Mapping[str, Any], place: str) -> Iterator[str]:
    """Members the client needs and the contract does not have, at any depth."""
    if isinstance(kind, types.UnionType):
        kind = next(arm for arm in get_args(kind) if arm is not type(None))
    schema = something(schema)
    if get_origin(kind) is tuple:
        yield from lacking(get_args(kind)[0], schema["items"], f"{place}[]")
    if not is_dataclass(kind):
        return
    hints = get_type_hints(kind)
    for member in fields(kind):
        promised = schema.get("properties", {}).get(member.name)
        if promised is not None:
            yield from lacking(hints[member.name], promised, f"{place}.{member.name}")
        elif member.default is MISSING and member.default_factory is MISSING:
            yield f"{place}.{member.name}"
