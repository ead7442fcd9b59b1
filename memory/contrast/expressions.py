"""Tells what an expression of a program is, without its names and constants."""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memory.contrast.library import CALLS, OF_ARGUMENT, PATTERNS

MAX_DEPTH = 4

_BINARY: Mapping[type[ast.operator], str] = {
    ast.Add: "the sum of {} and {}",
    ast.Sub: "the difference between {} and {}",
    ast.Mult: "the product of {} and {}",
    ast.Div: "the quotient of {} and {}",
    ast.FloorDiv: "the whole quotient of {} and {}",
    ast.Mod: "the remainder of {} divided by {}",
    ast.Pow: "{} to the power of {}",
    ast.BitAnd: "what {} and {} have in common",
    ast.BitOr: "the union of {} and {}",
    ast.BitXor: "the bits in which {} and {} differ",
    ast.LShift: "{} shifted left by {}",
    ast.RShift: "{} shifted right by {}",
}
_PLAIN: Mapping[type[ast.expr], str] = {
    ast.Lambda: "a small function",
    ast.JoinedStr: "formatted text",
}
_COMPARED: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "equals",
    ast.NotEq: "differs from",
    ast.Lt: "is below",
    ast.LtE: "is at most",
    ast.Gt: "is above",
    ast.GtE: "is at least",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "is in",
    ast.NotIn: "is not in",
}
# What makes a text a regular expression.
_SPECIAL = re.compile(r"^\^|\$$|\\[a-zA-Z]|\[[^\]]+\]|[\w)][+*](?:[\w(]|$)")


@dataclass(frozen=True, slots=True)
class Scope:
    """What the names of a program stand for."""

    roles: Mapping[str, str]

    def name(self, name: str) -> str:
        return self.roles.get(name, "a value")


def told(node: ast.expr | None, scope: Scope, depth: int = 0) -> str:
    """An expression as a noun phrase."""
    if node is None:
        return "nothing"
    if depth > MAX_DEPTH:
        return "a value"
    return _simple(node, scope) or _composed(node, scope, depth + 1) or "a value"


def _simple(node: ast.expr, scope: Scope) -> str | None:
    match node:
        case ast.Constant(value):
            return _constant(value)
        case ast.Name(name):
            return scope.name(name)
        case ast.List(parts) | ast.Tuple(parts) | ast.Set(parts):
            return _filled(type(node).__name__.lower(), parts)
        case ast.Dict(keys):
            return _filled("mapping", keys)
        case _:
            return _PLAIN.get(type(node))


def _filled(kind: str, parts: Sequence[object]) -> str:
    if not parts:
        return f"an empty {kind}"
    return f"a {kind} of {len(parts)} values" if len(parts) in {1, 2} else f"a {kind} of values"


def _constant(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "nothing"
        case int() | float():
            return f"{value:g}" if value in {0, 1, 2} else "a fixed number"
        case str():
            return _written(value)
        case _:
            return "a fixed value"


def _written(value: str) -> str:
    if _SPECIAL.search(value):
        return _pattern(value)
    return "a fixed text" if value else "empty text"


def _composed(node: ast.expr, scope: Scope, depth: int) -> str | None:
    match node:
        case ast.BinOp(left, operator, right) if type(operator) in _BINARY:
            pair = told(left, scope, depth), told(right, scope, depth)
            return _BINARY[type(operator)].format(*pair)
        case ast.Subscript(value, index):
            return _indexed(told(value, scope, depth), index, told(index, scope, depth))
        case ast.Call():
            return _called(node, scope, depth)
        case ast.ListComp(element, loops) | ast.SetComp(element, loops):
            return _collected(element, loops[0], scope, depth)
        case ast.GeneratorExp(element, loops):
            return _collected(element, loops[0], scope, depth)
        case _:
            return _chosen(node, scope, depth)


def _chosen(node: ast.expr, scope: Scope, depth: int) -> str | None:
    match node:
        case ast.UnaryOp(ast.USub(), operand):
            return f"minus {told(operand, scope, depth)}"
        case ast.IfExp(test, body, otherwise):
            chosen, rest = told(body, scope, depth), told(otherwise, scope, depth)
            return f"{chosen} if {condition(test, scope, depth)} and otherwise {rest}"
        case ast.Compare() | ast.BoolOp() | ast.UnaryOp():
            return f"whether {condition(node, scope, depth)}"
        case _:
            return None


def _indexed(value: str, index: ast.expr, place: str) -> str:
    match index:
        case ast.Slice():
            return _sliced(value, index)
        case ast.Constant(0):
            return f"the first element of {value}"
        case ast.UnaryOp(ast.USub(), ast.Constant(1)):
            return f"the last element of {value}"
        case _:
            return f"the element of {value} at {place}"


def _sliced(value: str, part: ast.Slice) -> str:
    match part:
        case ast.Slice(None, None, ast.UnaryOp(ast.USub(), ast.Constant(1))):
            return f"{value} in reverse"
        case ast.Slice(None, None, ast.Constant()):
            return f"every other element of {value}"
        case ast.Slice(None):
            return f"the start of {value}"
        case ast.Slice(_, None):
            return f"the end of {value}"
        case _:
            return f"a slice of {value}"


def _called(node: ast.Call, scope: Scope, depth: int) -> str:
    match node.func:
        case ast.Name(name):
            subject = node.args[0] if node.args else None
        case ast.Attribute(value, name):
            subject = node.args[0] if name in OF_ARGUMENT and node.args else value
        case _:
            return "a value"
    shape = CALLS.get(name.casefold())
    if name in PATTERNS and isinstance(subject, ast.Constant):
        text = _pattern(subject.value)
    else:
        text = told(subject, scope, depth)
    if name == "range" and len(node.args) > 1:
        return f"a range from {text} up to {told(node.args[1], scope, depth)}"
    if shape is None:
        return f"a function applied to {text}" if subject is not None else "what a function gives"
    return shape.format(text)


def _pattern(value: object) -> str:
    """A regular expression by where it is anchored: there patterns go wrong unseen."""
    text = value if isinstance(value, str) else ""
    match text.startswith("^"), text.endswith("$"):
        case True, True:
            return "a pattern anchored at both ends"
        case True, False:
            return "a pattern anchored at its start"
        case False, True:
            return "a pattern anchored at its end"
        case _:
            return "a pattern without anchors"


def _collected(element: ast.expr, loop: ast.comprehension, scope: Scope, depth: int) -> str:
    what = f"{told(element, scope, depth)} for each of {told(loop.iter, scope, depth)}"
    if loop.ifs:
        return f"{what} where {condition(loop.ifs[0], scope, depth)}"
    return what


def condition(node: ast.expr, scope: Scope, depth: int = 0) -> str:
    """An expression as a clause that holds or does not."""
    match node:
        case ast.Compare(left, [operator], [right]) if depth <= MAX_DEPTH:
            if isinstance(operator, ast.Eq) and (measured := _measured(left, right)) is not None:
                return f"{told(measured, scope, depth + 1)} is empty"
            compared = _COMPARED[type(operator)]
            return f"{told(left, scope, depth + 1)} {compared} {told(right, scope, depth + 1)}"
        case ast.Compare(left, [_, _], [middle, right]) if depth <= MAX_DEPTH:
            ends = f"{told(left, scope, depth + 1)} and {told(right, scope, depth + 1)}"
            return f"{told(middle, scope, depth + 1)} lies between {ends}"
        case ast.BoolOp(operator, values) if depth <= MAX_DEPTH:
            word = " and " if isinstance(operator, ast.And) else " or "
            return word.join(condition(value, scope, depth + 1) for value in values[:3])
        case ast.UnaryOp(ast.Not(), operand):
            return f"{told(operand, scope, depth + 1)} is empty or false"
        case _:
            return f"{told(node, scope, depth + 1)} holds"


def _measured(left: ast.expr, right: ast.expr) -> ast.expr | None:
    """What is empty where its length equals 0."""
    match left, right:
        case ast.Call(ast.Name("len"), [measured]), ast.Constant(0):
            return measured
        case _:
            return None
