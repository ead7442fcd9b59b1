"""How many lines of an example are there for MemLift's sake: the user's own do not count.

In Python a line is a statement, or the head of a block, that names something of MemLift: what is
imported from it, and what is made by it (`memory = MemLift(…)`, `with memory.task(…) as t`). In
other files it is a line that says its name, or the name of what such a line made; in JSON each
line but brackets. What fills the bank or shows a weight (`remember`, `get_experience`) is no part
of the loop.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

OURS = ("memlift", "mcp")
"""How modules begin, and fixtures, that a user has for MemLift's sake."""
_MADE = re.compile(r"(?:const|let|var)?\s*\{?\s*(\w+)\s*\}?\s*=")
_HANDED = re.compile(r"\((\w+)\)\s*=>")


def count_lines(path: Path) -> int:
    """Of an example."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return _of_python(ast.parse(text))
    if path.suffix == ".json":
        return sum('"' in line for line in text.splitlines())
    return _of_text(text)


def _of_python(tree: ast.Module) -> int:
    names: set[str] = set()
    count = 0
    for statement in _statements(tree):
        heads = list(_heads(statement))
        if any(map(_is_shown, heads)) or not any(_says(head, names) for head in heads):
            continue
        count += _decorators(statement, names) or 1
        names.update(_makes(statement, names))
    return count


def _statements(tree: ast.AST) -> Iterator[ast.stmt]:
    """In the order of the file."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.stmt):
            yield child
        yield from _statements(child)


def _heads(statement: ast.stmt) -> Iterator[ast.AST]:
    """The statement without the block below it."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        yield statement
        return
    for name, value in ast.iter_fields(statement):
        if name not in ("body", "orelse", "finalbody", "handlers"):
            yield from (
                one
                for one in (value if isinstance(value, list) else [value])
                if isinstance(one, ast.AST)
            )


def _says(head: ast.AST, names: set[str]) -> bool:
    if isinstance(head, ast.ImportFrom):
        return _is_ours(head.module or "")
    if isinstance(head, ast.Import):
        return any(_is_ours(one.name) for one in head.names)
    for node in ast.walk(head):
        if isinstance(node, ast.Name) and node.id in names:
            return True
        if isinstance(node, ast.arg) and _is_ours(node.arg):
            return True
        if isinstance(node, ast.Constant) and str(node.value).startswith(tuple(KEYS)):
            return True
    return False


def _is_shown(head: ast.AST) -> bool:
    calls = (node for node in ast.walk(head) if isinstance(node, ast.Attribute))
    return any(one.attr in BESIDE for one in calls)


BESIDE = frozenset({"remember", "apply_outcomes", "get_experience"})
"""Methods that an example calls for its reader's sake."""


KEYS = ("MEMLIFT_", "memlift-", "Bearer ")
"""How texts begin that are there for its sake: settings and headers."""


def _is_ours(name: str) -> bool:
    return name.split(".", maxsplit=1)[0].startswith(OURS)


def _decorators(statement: ast.stmt, names: set[str]) -> int:
    """Lines above a function that name it; the function itself is the user's own."""
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
        return 0
    return sum(_says(one, names) for one in statement.decorator_list)


def _makes(statement: ast.stmt, names: set[str]) -> set[str]:
    """What it gives a name to that is MemLift's from then on."""
    match statement:
        case ast.Import() | ast.ImportFrom():
            return {(one.asname or one.name).split(".")[0] for one in statement.names}
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_made(value, names):
            return {name}
        case ast.With() | ast.AsyncWith():
            bound = [i.optional_vars for i in statement.items if _is_made(i.context_expr, names)]
            return {one.id for one in bound if isinstance(one, ast.Name)}
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return {one.arg for one in statement.args.args if _is_ours(one.arg)}
        case _:
            return set()


def _is_made(value: ast.expr, names: set[str]) -> bool:
    """A call of something that is MemLift's: not one that is only handed it."""
    if isinstance(value, ast.Await):
        return _is_made(value.value, names)
    if isinstance(value, ast.BoolOp):
        return _is_made(value.values[0], names)
    if isinstance(value, ast.Call | ast.Attribute):
        return _is_made(value.func if isinstance(value, ast.Call) else value.value, names)
    return isinstance(value, ast.Name) and value.id in names


def _of_text(text: str) -> int:
    names = {"memlift"}
    count = 0
    for line in text.splitlines():
        bare = line.strip()
        comment = bare.startswith(("#", "//", "*", "/*"))
        if comment or not any(re.search(rf"\b{name}", bare, re.IGNORECASE) for name in names):
            continue
        count += 1
        made = (_MADE.match(bare), _HANDED.search(bare))
        names.update(one.group(1) for one in made if one)
    return count
