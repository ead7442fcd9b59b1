"""Whether what a walk says is so: its functions exist, call each other and know its types."""

import ast
from collections.abc import Sequence
from pathlib import Path

from benchmarks.structure.walks import Step, Walk

Def = ast.FunctionDef | ast.AsyncFunctionDef


def wrong_names(walk: Walk, root: Path) -> list[str]:
    """What the source contradicts, a line each.

    Each step's file must hold its function; a step below another must be named in the function
    that calls it; each type must be named in one of the functions, or be the class of one.
    """
    bodies = [_function(root, step) for step in walk.steps]
    wrong = [
        f"{walk.title}: no {step.function} in {step.path}"
        for step, body in zip(walk.steps, bodies, strict=True)
        if body is None
    ]
    for step, body in zip(walk.steps, bodies, strict=True):
        caller = None if step.caller is None else bodies[step.caller]
        if body is not None and caller is not None and _called_as(step) not in _names(caller):
            wrong.append(f"{walk.title}: {caller.name} does not call {step.function}")
    return wrong + _unknown_types(walk, [body for body in bodies if body is not None])


def _unknown_types(walk: Walk, bodies: Sequence[Def]) -> list[str]:
    known = {name for body in bodies for name in _names(body)}
    known |= {step.function.partition(".")[0] for step in walk.steps}
    return [
        f"{walk.title}: no step names the type {name}" for name in walk.types if name not in known
    ]


def _function(root: Path, step: Step) -> Def | None:
    """The function or the `Class.method` of a step."""
    path = root / step.path
    if not path.is_file():
        return None
    body: Sequence[ast.stmt] = ast.parse(path.read_text(encoding="utf-8")).body
    *owners, name = step.function.split(".")
    for owner in owners:
        held = [n for n in body if isinstance(n, ast.ClassDef) and n.name == owner]
        body = held[0].body if held else []
    return next((n for n in body if isinstance(n, Def) and n.name == name), None)


def _called_as(step: Step) -> str:
    """A constructor is called by the name of its class."""
    owner, _, name = step.function.rpartition(".")
    return owner.rpartition(".")[2] if name == "__init__" else name


def _names(function: Def) -> set[str]:
    """Names and attributes that a function mentions, also in its signature."""
    found: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return found
