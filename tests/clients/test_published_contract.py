"""The client against the published contract: every operation, every argument, every member."""

import inspect
import json
import re
import types
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, Required, Union, get_args, get_origin, get_type_hints

import memlift_client
import pytest
from memlift_client import MemLift, _models, _operations
from memlift_client._answers import BatchItem, Page
from memlift_client._asking import ask, keep
from memlift_client._wire import Call

from clients.generation.__main__ import CLIENT, main
from tests.fixtures.answers import made

CONTRACT: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "docs" / "reference" / "openapi.json").read_text()
)
FILLED = {"version": 1, "items": [], "ids": []}
# Answers in the text format of Prometheus, which is no matter of this client.
NO_METHOD = {"metrics"}
BATCH_ITEM = {"index", "status", "problem"}


def calls() -> Iterator[tuple[str, Any]]:
    for name, build in vars(_operations).items():
        if inspect.isfunction(build) and build.__module__ == _operations.__name__:
            yield name, build


CALLS = dict(calls())
BY_AGENT = {ask: "create_retrieval", keep: "add_experience"}
"""What takes the client's agent has a function of its own."""
BUILT = {*BY_AGENT, *CALLS.values()}


def example(build: Any) -> Call[object]:
    """The call with a stand-in for every argument that has no default."""
    needed = {
        name: FILLED.get(name, "x")
        for name, parameter in inspect.signature(build).parameters.items()
        if parameter.default is parameter.empty
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


def body_of(published: Mapping[str, Any]) -> Mapping[str, Any]:
    body = resolved(published.get("requestBody", {})).get("content", {})
    return resolved(body.get("application/json", {}).get("schema", {})).get("properties", {})


def operations() -> Iterator[Mapping[str, Any]]:
    for item in CONTRACT["paths"].values():
        yield from (described for method, described in item.items() if method != "parameters")


def test_the_generated_modules_are_what_the_contract_makes_of_them(tmp_path):
    main(["--out", str(tmp_path)])

    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert written == {name: (CLIENT / name).read_text() for name in written}
    assert written.keys() == {"_models.py", "_fields.py", "_operations.py"}


def test_every_operation_has_a_method():
    wrapped = {getattr(method, "__wrapped__", None) for method in vars(MemLift).values()}
    used = {BY_AGENT.get(one, one.__name__) for one in wrapped if one in BUILT}

    assert used == {described["operationId"] for described in operations()} - NO_METHOD


@pytest.mark.parametrize(("build", "name"), BY_AGENT.items())
def test_what_takes_the_clients_agent_takes_all_that_its_operation_takes(build, name):
    own = {"text"} if build is ask else set()

    assert {*inspect.signature(build).parameters} - own == {
        *inspect.signature(CALLS[name]).parameters
    }


def test_no_generated_name_hides_another():
    names = memlift_client.__all__

    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", sorted(CALLS))
def test_every_call_is_in_the_contract(name):
    assert operation(example(CALLS[name]))["operationId"] == name


@pytest.mark.parametrize("name", sorted(CALLS))
def test_every_argument_is_of_the_contract_and_the_other_way_round(name):
    published = operation(example(CALLS[name]))
    parameters = [resolved(part) for part in published.get("parameters", ())]
    named = {part["name"].lower() for part in parameters if part["in"] != "header"} - {"namespace"}
    if any(part["name"].lower() == "if-match" for part in parameters):
        named.add("version")

    assert set(inspect.signature(CALLS[name]).parameters) == named | set(body_of(published))


@pytest.mark.parametrize(
    "name", sorted(n for n in CALLS if "items" in inspect.signature(CALLS[n]).parameters)
)
def test_an_item_of_a_batch_has_the_fields_of_the_contract(name):
    [item] = get_args(get_type_hints(CALLS[name])["items"])
    [schema] = body_of(operation(example(CALLS[name]))).values()
    published = resolved(schema["items"])

    hints = get_type_hints(item, include_extras=True)
    required = {member for member, hint in hints.items() if get_origin(hint) is Required}

    assert set(hints) == set(published["properties"])
    assert required == set(published.get("required", ()))


@pytest.mark.parametrize("name", sorted(CALLS))
def test_nothing_of_an_answer_is_dropped_and_nothing_else_is_asked_of_it(name):
    published = operation(example(CALLS[name]))
    [kind] = get_args(get_type_hints(CALLS[name])["return"])
    answers = [
        content["application/json"]["schema"]
        for code, answer in published["responses"].items()
        if code.startswith("2") and (content := resolved(answer).get("content"))
    ]
    assert bool(answers) == (kind is not type(None))

    for schema in answers:
        assert not list(unlike(kind, schema, name))


def something(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The schema of what may also be null."""
    arms = [arm for arm in resolved(schema).get("anyOf", [schema]) if arm != {"type": "null"}]
    return resolved(arms[0])


def unlike(kind: Any, schema: Mapping[str, Any], place: str) -> Iterator[str]:
    """Members that only the client's type or only the contract has, at any depth."""
    if get_origin(kind) in (Union, types.UnionType):
        [kind] = [arm for arm in get_args(kind) if arm is not type(None)]
    schema = something(schema)
    members = schema.get("properties", {})
    if get_origin(kind) is Page:
        assert members.keys() == {"items", "total", "next_cursor"}
        yield from unlike(get_args(kind)[0], members["items"]["items"], place)
    elif get_origin(kind) is tuple:
        [row, _] = get_args(kind)
        if "items" in members:
            assert members.keys() == {"items"}
            schema = members["items"]
        item = item_unlike if get_origin(row) is BatchItem else unlike
        yield from item(row, resolved(schema["items"]), f"{place}[]")
    elif get_origin(kind) is Mapping:
        if isinstance(schema.get("additionalProperties"), Mapping):
            yield from unlike(get_args(kind)[1], schema["additionalProperties"], f"{place}{{}}")
    else:
        yield from members_unlike(kind, members, place)


def item_unlike(kind: Any, schema: Mapping[str, Any], place: str) -> Iterator[str]:
    """As for its value, which stands under a member of its own or in the item itself."""
    [value] = get_args(kind)
    assert schema["properties"].keys() >= BATCH_ITEM
    members = {n: part for n, part in schema["properties"].items() if n not in BATCH_ITEM}
    if len(members) == 1:
        yield from unlike(value, next(iter(members.values())), place)
    else:
        yield from members_unlike(value, members, place)


def members_unlike(kind: Any, members: Mapping[str, Any], place: str) -> Iterator[str]:
    if not is_dataclass(kind):
        yield from (f"{place}.{name}" for name in members)
        return
    hints = get_type_hints(kind)
    own = {member.name for member in fields(kind)}
    yield from (f"{place}.{name}" for name in own ^ members.keys())
    for name in own & members.keys():
        yield from unlike(hints[name], members[name], f"{place}.{name}")


def test_an_answer_with_a_member_too_few_or_too_many_is_told():
    kind = memlift_client.Live
    several = {"properties": {"status": {"type": "string"}, "since": {"type": "string"}}}

    assert list(unlike(kind, several, "live")) == ["live.since"]
    assert list(unlike(kind, {"properties": {}}, "live")) == ["live.status"]
    assert list(unlike(str, several, "live")) == ["live.status", "live.since"]


@pytest.mark.parametrize("name", _models.__all__)
def test_every_member_of_an_answer_is_read_as_what_its_type_says(name):
    model = getattr(_models, name)
    hints = get_type_hints(model)

    assert [n for n, hint in hints.items() if not fits(getattr(made(model), n), hint)] == []


def fits(value: object, kind: Any) -> bool:
    if get_origin(kind) in (Union, types.UnionType):
        return any(fits(value, arm) for arm in get_args(kind))
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    return type(value) is kind or isinstance(value, get_origin(kind) or kind)
