"""The published contract, read for what a client needs: operations, and the schemas they reach."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]

SCOPE = "/v1/namespaces/{namespace}"
METHODS = ("get", "post", "put", "patch", "delete")
PAGE = {"items", "total", "next_cursor"}
BATCH_ITEM = {"index", "status", "problem"}
REFERENCE = "#/components/schemas/"
JSON = "application/json"
GOOD = range(200, 300)


@dataclass(frozen=True, slots=True)
class Answer:
    """How an answer is read: `reader` names the function, `schema` what it makes.

    `member` is where the value of a batch's item stands, None where the item is the value.
    """

    reader: str
    schema: str | None = None
    member: str | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    name: str
    schema: Schema
    required: bool


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation; `path` without the namespace's part where it is `scoped`.

    `versioned`: it may name the version that was seen. `items`: the body (`body_schema`) is a batch
    of that schema and has no members of its own. `accepted`: statuses that are answers as well.
    """

    name: str
    method: str
    path: str
    scoped: bool
    description: str
    path_names: tuple[str, ...]
    query: tuple[Parameter, ...]
    versioned: bool
    body_schema: str | None
    body: tuple[Parameter, ...]
    items: str | None
    answer: Answer
    accepted: tuple[int, ...]


class Contract:
    """An OpenAPI document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self.schemas: dict[str, Schema] = document["components"]["schemas"]
        self.operations = tuple(self._operations())

    def resolved(self, node: Schema) -> Schema:
        """What a node stands for, whatever part of the components it refers to."""
        while "$ref" in node:
            *_, kind, name = node["$ref"].split("/")
            node = self._document["components"][kind][name]
        return node

    def reached(self, names: Iterable[str], shape: Callable[[str], Schema]) -> set[str]:
        """The schemas with members that these schemas lead to, themselves included."""
        found: set[str] = set()
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += references(shape(name))
        return {name for name in found if has_members(self.schemas[name])}

    def bodies(self) -> set[str]:
        """The schemas of what is sent, whole bodies and items of batches."""
        return {name for o in self.operations if (name := o.items or o.body_schema) is not None}

    def answers(self) -> set[str]:
        """The schemas of what is answered, without the envelopes of pages and batches."""
        return {o.answer.schema for o in self.operations if o.answer.schema is not None}

    def answer_schema(self, name: str) -> Schema:
        """A schema of an answer, without what belongs to the envelope of a batch's item."""
        schema = self.schemas[name]
        enveloped = schema.get("properties", {}).keys() >= BATCH_ITEM
        return without(schema, BATCH_ITEM) if enveloped else schema

    def _described(self) -> Iterator[tuple[str, str, Schema]]:
        for path, item in self._document["paths"].items():
            for method in METHODS:
                if method in item:
                    yield path, method, item[method]

    def _operations(self) -> Iterator[Operation]:
        for path, method, described in self._described():
            answer, accepted = self._answer(described)
            if answer is not None:
                yield self._operation(path, method, described, answer, accepted)

    def _operation(
        self, path: str, method: str, described: Schema, answer: Answer, accepted: tuple[int, ...]
    ) -> Operation:
        scoped = path.startswith(SCOPE)
        parameters = [self.resolved(part) for part in described.get("parameters", ())]
        body = self._body_schema(described)
        name = _reference(body)
        items = self._batched(name) if name else None
        return Operation(
            name=described["operationId"],
            method=method.upper(),
            path=path.removeprefix(SCOPE) if scoped else path,
            scoped=scoped,
            description=described.get("description") or described.get("summary") or "",
            path_names=tuple(re.findall(r"\{(\w+)\}", path.removeprefix(SCOPE))),
            query=tuple(
                Parameter(part["name"], part["schema"], part.get("required", False))
                for part in parameters
                if part["in"] == "query"
            ),
            versioned=any(part["name"].lower() == "if-match" for part in parameters),
            body_schema=name,
            body=() if items else tuple(_members(self.resolved(body))),
            items=items,
            answer=answer,
            accepted=accepted,
        )

    def _body_schema(self, described: Schema) -> Schema:
        body = self.resolved(described.get("requestBody", {}))
        schema: Schema = body.get("content", {}).get(JSON, {}).get("schema", {})
        return next((arm for arm in schema.get("anyOf", ()) if "$ref" in arm), schema)

    def _batched(self, name: str) -> str | None:
        """The schema of the items, where a body is nothing but items."""
        properties = self.schemas[name].get("properties", {})
        if properties.keys() != {"items"}:
            return None
        return _reference(properties["items"]["items"])

    def _answer(self, described: Schema) -> tuple[Answer | None, tuple[int, ...]]:
        """How a good answer is read, and which other statuses have an answer of its kind; None
        where it is neither JSON nor empty.
        """
        schemas: dict[int, Schema] = {}
        empty = False
        for status, response in described["responses"].items():
            content = self.resolved(response).get("content", {})
            empty = empty or (status == "204" and not content)
            if status.isdigit() and "schema" in content.get(JSON, {}):
                schemas[int(status)] = content[JSON]["schema"]
        good = next((schema for status, schema in schemas.items() if status in GOOD), None)
        if good is None:
            return (Answer("nothing") if empty else None), ()
        name = _reference(good)
        if name is None:
            raise ValueError(f"{described['operationId']} answers with a schema that has no name")
        accepted = tuple(s for s, schema in schemas.items() if s not in GOOD and schema == good)
        return self._reader(name), accepted

    def _reader(self, name: str) -> Answer:
        properties = self.schemas[name].get("properties", {})
        if "items" not in properties or not properties.keys() <= PAGE:
            return Answer("one", name)
        item = _reference(properties["items"]["items"])
        if item is None:
            raise ValueError(f"the rows of {name} have no name")
        if "total" in properties:
            return Answer("page", item)
        members = self.schemas[item]["properties"]
        return self._batch(item, members) if members.keys() >= BATCH_ITEM else Answer("rows", item)

    def _batch(self, item: str, members: Mapping[str, Schema]) -> Answer:
        """The value of an item: under its one other member, or spread over the item itself."""
        others = members.keys() - BATCH_ITEM
        if len(others) == 1:
            (member,) = others
            value = next(iter(references(members[member])), None)
            if value is not None:
                return Answer("batch", value, member)
        same = (n for n, s in self.schemas.items() if s.get("properties", {}).keys() == others)
        return Answer("batch", next(same, item))


def without(schema: Schema, names: Collection[str]) -> Schema:
    """The schema without some of its members."""
    kept = {name: part for name, part in schema["properties"].items() if name not in names}
    required = [name for name in schema.get("required", ()) if name not in names]
    return schema | {"properties": kept, "required": required}


def has_members(schema: Schema) -> bool:
    return bool(schema.get("properties"))


def references(node: object) -> Iterator[str]:
    """The names of all schemas a node refers to, in its order."""
    if isinstance(node, dict):
        target = node.get("$ref")
        if isinstance(target, str):
            yield target.removeprefix(REFERENCE)
        for part in node.values():
            yield from references(part)
    elif isinstance(node, list):
        for part in node:
            yield from references(part)


def _reference(schema: Schema) -> str | None:
    target = schema.get("$ref")
    return None if target is None else target.removeprefix(REFERENCE)


def _members(schema: Schema) -> Iterator[Parameter]:
    """The members of a body, those that must be there first."""
    required = set(schema.get("required", ()))
    properties = schema.get("properties", {})
    for name in sorted(properties, key=lambda part: part not in required):
        yield Parameter(name, properties[name], name in required)
