"""One typed function an operation: from arguments to a Call that knows how its answer is read."""

import json
from collections.abc import Iterator

from clients.generation.contract import (
    REFERENCE,
    Answer,
    Contract,
    Operation,
    Parameter,
    Schema,
    has_members,
)
from clients.generation.schemas import BY_PLACE, REASON, fields_name, heading, model_name

# Query parameters that carry an object as JSON; the contract can only say that they are text.
AS_JSON = {"metadata"}
IMPORTS = """
from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Literal

from memlift_client import _fields as f
from memlift_client import _models as m
from memlift_client._answers import BatchItem, Page, batch, nothing, one, page, rows
from memlift_client._wire import Call, call, part

"""
PLAIN = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
}
TIMES = {"date-time": "datetime", "date": "date"}


def operations(contract: Contract) -> str:
    """The module of all operations, in the contract's order."""
    unknown = BY_PLACE.keys() - {operation.name for operation in contract.operations}
    if unknown:
        raise ValueError(f"no operation is called {', '.join(sorted(unknown))}: see BY_PLACE")
    head = heading("The operations of the contract, each as a call to be made.")
    return head + IMPORTS + "\n\n".join(_function(contract, o) for o in contract.operations)


def _function(contract: Contract, operation: Operation) -> str:
    signature = ", ".join(_signature(contract, operation))
    result, reader = _result(operation.answer)
    text = operation.description.replace("\\", "\\\\").replace('"""', "'''")
    arguments = ", ".join([*_arguments(operation, reader)])
    return (
        f"def {operation.name}({signature}) -> Call[{result}]:\n"
        f'    """{text}"""\n'
        f"    return call({arguments})\n"
    )


def _signature(contract: Contract, operation: Operation) -> Iterator[str]:
    yield from (f"{name}: str" for name in operation.path_names)
    if operation.versioned:
        optional = operation.method == "PUT"  # the first of its kind follows no version
        yield "version: int | None = None" if optional else "version: int"
    if operation.items:
        yield f"items: Sequence[f.{fields_name(operation.items)}]"
    parts = {part.name: part for part in (*operation.query, *operation.body)}
    places = [n for n in BY_PLACE.get(operation.name, REASON) if n in parts]
    by_name = [name for name in parts if name not in places]
    yield from (_argument(contract, operation, parts[name]) for name in places)
    if by_name:
        yield "*"
    yield from (_argument(contract, operation, parts[name]) for name in by_name)


def _argument(contract: Contract, operation: Operation, part: Parameter) -> str:
    if not part.name.isidentifier():
        raise ValueError(f"{operation.name}: {part.name} is no name for an argument")
    if part in operation.query and part.name in AS_JSON:
        return f"{part.name}: Mapping[str, object] | None = None"
    kinds = list(dict.fromkeys(_kinds(contract, part.schema)))
    if part.required:
        return f"{part.name}: {' | '.join(kinds)}"
    return f"{part.name}: {' | '.join([k for k in kinds if k != 'None'])} | None = None"


def _kinds(contract: Contract, schema: Schema) -> Iterator[str]:
    """The arms of a schema's type, as they are written."""
    if "$ref" in schema and has_members(contract.resolved(schema)):
        yield f"f.{fields_name(schema['$ref'].removeprefix(REFERENCE))}"
        return
    schema = contract.resolved(schema)
    arms = schema.get("anyOf") or schema.get("oneOf")
    if arms:
        for arm in arms:
            yield from _kinds(contract, arm)
    elif "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        yield f"Literal[{', '.join(json.dumps(value) for value in values)}]"
    elif schema.get("type") == "array":
        yield f"Sequence[{_kind(contract, schema.get('items', {}))}]"
    elif schema.get("type") == "object":
        inner = schema.get("additionalProperties")
        value = _kind(contract, inner) if isinstance(inner, dict) else "object"
        yield f"Mapping[str, {value}]"
    else:
        yield TIMES.get(schema.get("format", ""), PLAIN.get(schema.get("type", ""), "object"))


def _kind(contract: Contract, schema: Schema) -> str:
    return " | ".join(dict.fromkeys(_kinds(contract, schema)))


def _result(answer: Answer) -> tuple[str, str]:
    """The type of the result, and the reader that makes it."""
    if answer.schema is None:
        return "None", answer.reader
    model = f"m.{model_name(answer.schema)}"
    types = {
        "one": model,
        "page": f"Page[{model}]",
        "rows": f"tuple[{model}, ...]",
        "batch": f"tuple[BatchItem[{model}], ...]",
    }
    member = f', "{answer.member}"' if answer.member else ""
    return types[answer.reader], f"{answer.reader}({model}{member})"


def _arguments(operation: Operation, reader: str) -> Iterator[str]:
    """What `call` is given."""
    path = operation.path
    for name in operation.path_names:
        path = path.replace(f"{{{name}}}", f"{{part({name})}}")
    yield f'"{operation.method}"'
    yield ("f" if operation.path_names else "") + f'"{path}"'
    yield reader
    yield from (f"{name}={value}" for name, value in _options(operation).items() if value)


def _options(operation: Operation) -> dict[str, str | None]:
    """What `call` is given by name; None where its default will do."""
    body = _mapping(operation.body) if operation.body or operation.method == "POST" else None
    return {
        "query": _mapping(operation.query) if operation.query else None,
        "body": '{"items": items}' if operation.items else body,
        "version": "version" if operation.versioned else None,
        "scoped": None if operation.scoped else "False",
        "accepted": f"frozenset({set(operation.accepted)})" if operation.accepted else None,
    }


def _mapping(parts: tuple[Parameter, ...]) -> str:
    return "{" + ", ".join(f'"{part.name}": {part.name}' for part in parts) + "}"
