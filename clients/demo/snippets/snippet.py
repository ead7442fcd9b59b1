"""Snippets as text: finding them in a note, and telling whether one fits a task.

Only an expression, a one-line function or a single query counts, and only of names on a list: what
comes out of a memory is other people's text.
"""

import ast
import re
import sqlite3
from contextlib import closing
from typing import Literal

from clients.demo.snippets import worker
from clients.demo.snippets.topic import Task

Form = Literal["expression", "function", "query"]

QUOTED = re.compile(r"`([^`]+)`")
NAMED = re.compile(r"(?<![:\w]):([a-z_]+)")
STRING = re.compile(r"'[^']*'")
# What the worker provides.
KNOWN = frozenset((*worker.SAFE, *worker.LIBRARY))
# By these one climbs from a value to the interpreter.
INSPECTING = re.compile(r"_|(?:ag|co|cr|f|gi|tb)_|format|mro$")
REFUSED = (ast.Import, ast.ImportFrom, ast.Global, ast.Nonlocal, ast.Await, ast.NamedExpr)


def find_snippets(lesson: str) -> list[str]:
    """What stands between backticks, in order."""
    return QUOTED.findall(lesson)


def fits(snippet: str, task: Task) -> Form | None:
    """The form in which this snippet can be tried on the task; None where it cannot.

    It fits if it takes just what the task gives. A query must compile on the tables of the task.
    """
    if task.language == "sql":
        return "query" if _compiles(snippet, task) else None
    if snippet.startswith("def "):
        return "function" if _defines(snippet, task.parameters) else None
    try:
        tree = ast.parse(snippet, mode="eval")
    except (SyntaxError, ValueError):
        return None
    harmless = _is_harmless(tree)
    return "expression" if harmless and _free_names(tree) == set(task.parameters) else None


def _compiles(snippet: str, task: Task) -> bool:
    if not snippet.upper().startswith("SELECT "):
        return False
    if set(NAMED.findall(STRING.sub("", snippet))) != set(task.parameters):
        return False
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(task.schema)
        try:
            database.execute(f"EXPLAIN {snippet}", dict.fromkeys(task.parameters))
        except sqlite3.Error:
            return False
    return True


def _defines(snippet: str, parameters: tuple[str, ...]) -> bool:
    """Whether it is a single function of these parameters."""
    try:
        tree = ast.parse(snippet)
    except (SyntaxError, ValueError):
        return False
    if len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        return False
    given = tree.body[0].args
    names = tuple(parameter.arg for parameter in given.args)
    plain = given.vararg is None and given.kwarg is None and not tree.body[0].decorator_list
    return plain and names == parameters and _is_harmless(tree) and not _free_names(tree)


def _is_harmless(tree: ast.AST) -> bool:
    """No statement or attribute that could reach beyond the values at hand."""
    for node in ast.walk(tree):
        if isinstance(node, REFUSED):
            return False
        if isinstance(node, ast.Attribute) and INSPECTING.match(node.attr):
            return False
        if isinstance(node, ast.Name) and node.id.startswith("__"):
            return False
    return True


def _free_names(tree: ast.AST) -> set[str]:
    """Names that are read and come neither from the snippet itself nor from the worker."""
    bound: set[str] = set()
    read: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.Name):
            read.add(node.id)
    return read - bound - KNOWN
