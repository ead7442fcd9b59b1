"""What nobody should have to say in a review. A new rule enters with the incident behind it."""

import ast
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CODE = ("memory", "server", "clients", "benchmarks")
MODULE_LINES = 500
FUNCTION_LINES = 60
HOMELESS = {"utils", "util", "helpers", "common", "misc"}
# A waiver and its reason, or a promise and its issue.
WAIVER = re.compile(r"noqa|pyright: ignore|type: ignore")
REASONED = re.compile(r"(noqa: [A-Z0-9, ]+|pyright: ignore\[[\w, ]+\]) - \S+")
PROMISE = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
KEPT_PROMISE = re.compile(r"TODO\(#\d+\): \S+")
Function = ast.FunctionDef | ast.AsyncFunctionDef


def modules(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in found if ".venv" not in path.parts and "build" not in path.parts]


def by_hand(*folders: str) -> list[Path]:
    """Without what a command writes: nobody has to read that from top to bottom."""
    texts = {path: path.read_text(encoding="utf-8") for path in modules(*folders)}
    return [path for path, text in texts.items() if not text.startswith("# Generated ")]


def named(path: Path, line: int = 1) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def functions(path: Path) -> Iterator[Function]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, Function):
            yield node


def comments(path: Path) -> Iterator[tuple[int, str]]:
    with tokenize.open(path) as file:
        for token in tokenize.generate_tokens(file.readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string


def test_a_module_fits_in_one_sitting() -> None:
    lengths = {
        named(path): len(path.read_text(encoding="utf-8").splitlines()) for path in by_hand(*CODE)
    }
    assert {name: lines for name, lines in lengths.items() if lines > MODULE_LINES} == {}


def test_a_function_fits_on_a_screen() -> None:
    long = [
        f"{named(path, node.lineno)} {node.name}"
        for path in by_hand(*CODE)
        for node in functions(path)
        if (node.end_lineno or node.lineno) - node.lineno + 1 > FUNCTION_LINES
    ]
    assert long == []


def test_only_the_database_commits() -> None:
    committing = [
        named(path)
        for path in modules(*CODE)
        if ".commit(" in path.read_text(encoding="utf-8")
        and path.relative_to(ROOT).as_posix() != "memory/kernel/postgres/database.py"
    ]
    assert committing == []


# Where SQL and its drivers may be named; everything else asks a store.
SQL = {"sqlalchemy", "psycopg", "pgvector"}
# What a pure rule may not reach for: the clock and chance are handed in.
IMPURE = {"asyncio", "random", "time", "sqlalchemy", "psycopg", "litellm", "torch"}


def imported(path: Path) -> set[str]:
    """The top-level packages that a module imports, and its own stores by name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module.split(".")[0])
            found |= {"store"} & set(node.module.split("."))
    return found


def test_sql_stands_in_stores_and_tables_alone() -> None:
    elsewhere = [
        named(path)
        for path in modules("memory", "server")
        if SQL & imported(path)
        and not {"store", "postgres"} & set(path.parts)
        and path.stem not in {"store", "tables", "schema"}
    ]
    assert elsewhere == []


def test_rules_reach_for_no_store_no_clock_and_no_chance() -> None:
    impure = [
        f"{named(path)} {sorted(reached)}"
        for path in modules("memory")
        if path.stem in {"rules", "entities"} or path.parent.name == "rules"
        if (reached := (IMPURE | {"store"}) & imported(path))
    ]
    assert impure == []


def test_no_module_is_a_drawer_for_odds_and_ends() -> None:
    drawers = [
        named(path)
        for path in modules(*CODE, "tests", "migrations")
        if {path.stem, *path.relative_to(ROOT).parent.parts} & HOMELESS
    ]
    assert drawers == []


def test_a_waiver_says_why() -> None:
    silent = [
        f"{named(path, line)} {comment}"
        for path in modules(*CODE, "tests")
        for line, comment in comments(path)
        if WAIVER.search(comment) and not REASONED.search(comment)
    ]
    assert silent == []


def test_a_promise_names_its_issue() -> None:
    loose = [
        f"{named(path, line)} {comment}"
        for path in modules(*CODE, "tests", "migrations")
        for line, comment in comments(path)
        if PROMISE.search(comment) and not KEPT_PROMISE.search(comment)
    ]
    assert loose == []


def test_imports_stand_at_the_top() -> None:
    hidden = [
        f"{named(path, inner.lineno)} in {node.name}"
        for path in modules(*CODE)
        for node in functions(path)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    ]
    assert hidden == []


def test_every_module_says_what_it_is() -> None:
    mute = [
        named(path)
        for path in modules(*CODE, "migrations")
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert mute == []


@pytest.mark.parametrize(
    ("comment", "says_why"),
    [
        ("# noqa: BLE001 - the waiters own this error", True),
        ("# pyright: ignore[reportAny] - the vendor is untyped", True),
        ("# noqa: BLE001", False),
        ("# noqa", False),
        ("# type: ignore", False),
    ],
)
def test_the_rule_about_waivers_tells_a_reason_from_none(comment: str, *, says_why: bool) -> None:
    assert bool(REASONED.search(comment)) == says_why
