"""Models and typed dictionaries: what datamodel-codegen is given, and what is set right after it.

Names follow the contract: an answer's schema without `Out`, a sent one without `In` or `Draft`
and with `Fields`, so that both can stand side by side.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from clients.generation.contract import REFERENCE, Contract, Schema, has_members, without

HEADER = "# Generated from docs/reference/openapi.json by `make client-models`; do not edit."
ANSWERS = "memlift_client._answers"
# Members of a body or query that are given by place as well as by name, in this order; `reason` is
# wherever nothing else is said.
BY_PLACE = {
    "add_agent": ("name",),
    "add_category": ("name", "subcategory"),
    "change_memories": ("ids", "action"),
    "change_trust": ("trust", "reason"),
    "claim_tickets": ("agent",),
    "create_namespace": ("slug",),
    "delete_namespace": ("confirmation",),
    "get_weight": ("agent",),
    "report_by_key": ("task_key",),
    "resolve_contradiction": ("keep", "reason"),
    "what_if": ("policy", "limit"),
}
REASON = ("reason",)
# What an answer with these members can do beside carrying them, by hand in `_answers.py`.
ABILITIES = {
    "HasReceipt": {"retrieval_id", "guideline"},
    "HasReadiness": {"status", "checks"},
}
# A member that is never printed.
SECRET = re.compile(r"^(    token: str)$", re.MULTILINE)
NESTED = re.compile(r"\bSequence\[((?:[^\[\]]|\[(?:[^\[\]]|\[[^\[\]]*\])*\])*)\]")
KEPT = ("type", "format", "enum", "const", "required", "description", "default")
COMMON = (
    *("--input-file-type", "openapi", "--target-python-version", "3.11"),
    *("--enum-field-as-literal", "all", "--output-datetime-class", "datetime"),
    *("--type-mappings", "string+uuid=string"),
    *("--use-generic-container-types", "--use-object-type", "--strict-nullable"),
    *("--use-schema-description", "--use-field-description", "--disable-timestamp"),
    "--use-single-line-docstring",
    *("--formatters", "builtin"),
)


def model_name(schema: str) -> str:
    return _plain_name(schema, "Out")


def fields_name(schema: str) -> str:
    return (
        _plain_name(schema, "In")
        .removesuffix("Draft")
        .removesuffix("Request")
        .removesuffix("Fields")
        + "Fields"
    )


def _plain_name(schema: str, suffix: str) -> str:
    name = re.sub(r"-(In|Out)put$", "", schema)
    bare = name.removesuffix(suffix)
    return re.sub(r"\W", "", bare if bare[:1].isupper() else name)


def models(contract: Contract) -> str:
    """A frozen dataclass for every schema that an answer leads to."""
    document = _document(contract, contract.answers(), model_name, contract.answer_schema)
    for schema in document["components"]["schemas"].values():
        _fill_defaults(schema)
    classes = document["components"]["schemas"]
    text = _generate(
        document,
        "What the server answers, by the names of the contract.",
        *("--output-model-type", "dataclasses.dataclass", "--dataclass-arguments"),
        json.dumps({"frozen": True, "slots": True, "kw_only": True}),
        *("--base-class-map", json.dumps(_abilities(classes))),
    )
    text = _with_tuples(text)
    text, hidden = SECRET.subn(r"\1 = field(repr=False)", text)
    if not hidden:
        raise ValueError("no answer carries a token any more: see SECRET")
    text = text.replace("import dataclass\n", "import dataclass, field\n", 1)
    return text + _exports(classes)


def typed_dictionaries(contract: Contract) -> str:
    """A typed dictionary for every schema that a body leads to: the keywords of its call."""
    given = {o.body_schema: BY_PLACE[o.name] for o in contract.operations if o.name in BY_PLACE}

    def by_name(name: str) -> Schema:
        schema = contract.schemas[name]
        return without(schema, given[name]) if name in given else schema

    document = _document(contract, contract.bodies(), fields_name, by_name)
    text = _generate(
        document,
        "What is sent, as typed dictionaries by the names of the contract.",
        *("--output-model-type", "typing.TypedDict", "--use-total-false-for-typed-dict"),
        "--no-use-closed-typed-dict",
    )
    return text + _exports(document["components"]["schemas"].keys())


def _document(
    contract: Contract,
    roots: Iterable[str],
    named: Callable[[str], str],
    shape: Callable[[str], Schema],
) -> dict[str, Any]:
    """A document of the schemas that the roots lead to, under the client's names."""
    schemas: dict[str, Schema] = {}
    for name in sorted(contract.reached(roots, shape)):
        typed = _typed(contract, shape(name), named)
        # A noun and the shape by which a batch reads it are one to the client.
        known = schemas.setdefault(named(name), typed)
        if known["properties"].keys() != typed["properties"].keys():
            raise ValueError(f"two schemas would be called {named(name)}")
    info = {"title": "MemLift", "version": "1"}
    return {"openapi": "3.1.0", "info": info, "paths": {}, "components": {"schemas": schemas}}


def _typed(contract: Contract, schema: Schema, named: Callable[[str], str]) -> Schema:
    """What a schema says of types: limits left out, what has no members written in place."""

    def typed(part: Schema) -> Schema:
        return _typed(contract, part, named)

    kept: Schema = {key: schema[key] for key in KEPT if key in schema}
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(REFERENCE)
        if has_members(contract.schemas[name]):
            return kept | {"$ref": REFERENCE + named(name)}
        return typed(contract.schemas[name]) | {"description": ""} | kept
    if "properties" in schema:
        kept["properties"] = {name: typed(part) for name, part in schema["properties"].items()}
    elif isinstance(schema.get("additionalProperties"), dict):
        kept["additionalProperties"] = typed(schema["additionalProperties"])
    if "items" in schema:
        kept["items"] = typed(schema["items"])
    arms = schema.get("anyOf") or schema.get("oneOf")
    return kept | ({"anyOf": [typed(part) for part in arms]} if arms else {})


def _fill_defaults(schema: Schema) -> None:
    """A list or a map that may be left out is empty then, not None."""
    for name, part in schema.get("properties", {}).items():
        if name not in schema.get("required", ()) and part.get("type") in ("array", "object"):
            part.setdefault("default", [] if part["type"] == "array" else {})


def _abilities(classes: Mapping[str, Schema]) -> dict[str, str]:
    """The class that an answer's own derives from, where it can do something."""
    able = {
        name: ability
        for name, schema in classes.items()
        for ability, members in ABILITIES.items()
        if members <= schema["properties"].keys()
    }
    if set(able.values()) != ABILITIES.keys():
        raise ValueError("an ability has no answer any more: see ABILITIES")
    return {name: f"{ANSWERS}.{ability}" for name, ability in able.items()}


def _with_tuples(text: str) -> str:
    """Lists of an answer are tuples, as its values do not change."""
    while NESTED.search(text):
        text = NESTED.sub(r"tuple[\1, ...]", text)
    return re.sub(r"= field\(default_factory=list\)", "= ()", text)


def _exports(names: Iterable[str]) -> str:
    return f"\n\n__all__ = {sorted(names)}\n"


def heading(docstring: str) -> str:
    return f'{HEADER}\n"""{docstring}"""\n'


def _generate(document: Mapping[str, Any], docstring: str, *options: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "contract.json"), Path(folder, "generated.py")
        source.write_text(json.dumps(document), encoding="utf-8")
        command = [sys.executable, "-m", "datamodel_code_generator"]
        command += ["--input", str(source), "--output", str(target), *COMMON, *options]
        command += ["--custom-file-header", heading(docstring)]
        subprocess.run(command, check=True, cwd=folder)  # noqa: S603 - with arguments of our own
        return target.read_text(encoding="utf-8")
