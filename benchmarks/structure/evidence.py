"""What was read of a source: the raw artefacts, one file a kind, one row a line."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

from pydantic import TypeAdapter

from benchmarks.structure.budget import (
    Function,
    Size,
    TupleParameter,
    functions,
    sizes,
    tuple_parameters,
)
from benchmarks.structure.classes import Class, classes
from benchmarks.structure.field_cost import FieldFile, read_field
from benchmarks.structure.source import File, read_files, read_modules
from benchmarks.structure.walk_names import wrong_names
from benchmarks.structure.walks import Walk, read_walks

WALKS = "docs/explanation/three-walks.md"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that a walk says and the source does not."""

    line: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """Every row that a figure is computed from, by the name of its file."""

    files: list[File]
    modules: list[Size]
    functions: list[Function]
    tuple_parameters: list[TupleParameter]
    classes: list[Class]
    field_files: list[FieldFile]
    walks: list[Walk]
    walk_faults: list[Fault]


def gather(root: Path, diff: Path | None) -> Evidence:
    """Read the checkout at `root`; `diff` lists the files that a field of an experience touched."""
    modules = read_modules(root)
    page = root / WALKS
    walks = read_walks(page.read_text(encoding="utf-8")) if page.exists() else []
    return Evidence(
        files=read_files(root),
        modules=sizes(modules),
        functions=functions(modules),
        tuple_parameters=tuple_parameters(modules),
        classes=classes(modules),
        field_files=read_field(root, diff),
        walks=walks,
        walk_faults=[Fault(line) for walk in walks for line in wrong_names(walk, root)],
    )


def write(evidence: Evidence, out: Path) -> None:
    """OUT/NAME.jsonl for each kind of row."""
    for name, row in _row_types().items():
        lines = [row.dump_json(value).decode() + "\n" for value in getattr(evidence, name)]
        (out / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")


def read(out: Path) -> Evidence:
    """What `write` has written."""
    found: dict[str, list[Any]] = {}
    for name, row in _row_types().items():
        lines = (out / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        found[name] = [row.validate_json(line) for line in lines]
    return Evidence(**found)


def _row_types() -> dict[str, TypeAdapter[Any]]:
    hints = get_type_hints(Evidence)
    return {
        field.name: TypeAdapter[Any](get_args(hints[field.name])[0]) for field in fields(Evidence)
    }
