"""Reads a program, statement by statement, as steps told without its names and constants.

A program that does not parse is read line by line: each line that is a statement is a step.
"""

import ast
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from memory.contrast.expressions import Scope, condition, told
from memory.contrast.steps import Step

_FENCED = re.compile(r"```\w*\n(.*?)(?:```|\Z)", re.DOTALL)
_STATEMENT = re.compile(
    r"^[ \t]*(?:def |class |return\b|for .+ in .+:|while .+:|if .+:|elif .+:|else:|try:|import "
    r"|from \w+|[\w\[\].]+ (?:[-+*/]|//|\*\*)?= )",
    re.MULTILINE,
)
# So many lines that look like statements make a text a program.
ENOUGH_STATEMENTS = 2
_UPDATING = "updating a value by {}"
_UPDATES: Mapping[type[ast.operator], str] = {
    ast.Add: "accumulating {}",
    ast.Sub: "subtracting {} step by step",
    ast.Mult: "multiplying a value by {} step by step",
}
_BARE: Mapping[type[ast.stmt], str] = {
    ast.Try: "catching errors",
    ast.Raise: "raising an error",
    ast.Break: "leaving the loop early",
    ast.Continue: "skipping an item",
}
# Said of nearly every program: no step to learn from.
_VAGUE = frozenset(
    [f"starting from {what}" for what in ("0", "1", "empty text", "an empty list")]
    + [
        f"{act} {what}"
        for act in ("working out", "returning", "accumulating", "collecting", "starting from")
        for what in (
            "a value",
            "a fixed number",
            "a fixed text",
            "what a function gives",
            "an item",
        )
    ]
)
_UNNAMED = re.compile(
    r"(?:distinguishing the case that|repeating while) (?:a value|an item)"
    r"(?: holds| (?:[a-z]+ )+(?:a value|an item|a fixed number|a fixed text))"
)
# The fields that hold a statement's own statements.
_INNER = ("body", "orelse", "handlers", "finalbody")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def is_program(text: str) -> bool:
    """Whether a text is code rather than prose."""
    code = _bare(text)
    return len(_STATEMENT.findall(code)) >= ENOUGH_STATEMENTS or _parsed(code) is not None


def steps_of(text: str, task: str) -> list[Step]:
    """The statements of a program; `task` is where a body without a head got its arguments."""
    code = _bare(text)
    body = _parsed(code) or _by_lines(code)
    scope = Scope(_roles(body, task))
    return [step for node in _statements(body) if (step := _step(node, scope)) is not None]


def _bare(text: str) -> str:
    fenced = _FENCED.search(text)
    return textwrap.dedent(fenced[1] if fenced else text).strip("\n")


def _parsed(code: str) -> list[ast.stmt] | None:
    """The statements of a program with a function, or of the body of one."""
    for source in (code, "def body():\n" + textwrap.indent(code, "    ")):
        body = _parse(source)
        if body and any(isinstance(node, _Function | ast.ClassDef) for node in body):
            returns = any(isinstance(node, ast.Return) for top in body for node in ast.walk(top))
            return body if returns else None
    return None


def _parse(source: str) -> list[ast.stmt] | None:
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _by_lines(code: str) -> list[ast.stmt]:
    found: list[ast.stmt] = []
    for line in code.splitlines():
        head = line.strip()
        whole = f"{head} pass" if head.endswith(":") else head
        found += _parse(whole) or []
    return found


def _roles(body: Sequence[ast.stmt], task: str) -> dict[str, str]:
    """What each name stands for: an input, an item that a loop takes, or a value."""
    roles: dict[str, str] = {}
    nodes = [node for statement in body for node in ast.walk(statement)]
    for node in nodes:
        if isinstance(node, ast.For | ast.comprehension):
            names = [name.id for name in ast.walk(node.target) if isinstance(name, ast.Name)]
            roles |= dict.fromkeys(names, "an item")
    return roles | _inputs(body, task)


def _inputs(body: Sequence[ast.stmt], task: str) -> dict[str, str]:
    """The arguments of the outermost function, by their place."""
    heads = [node for node in body if isinstance(node, _Function)]
    if not heads or heads[0].name == "body":
        heads = _heads(task)
    if not heads:
        return {}
    names = [argument.arg for argument in heads[-1].args.args if argument.arg != "self"]
    if len(names) == 1:
        return {names[0]: "the input"}
    places = ("the first input", "the second input", "the third input")
    return {
        name: places[at] if at < len(places) else "a later input" for at, name in enumerate(names)
    }


def _heads(task: str) -> list[_Function]:
    lines = [line for line in task.splitlines() if line.startswith(("def ", "async def "))]
    parsed = [_parse(f"{line.rstrip()} pass") or [] for line in lines]
    return [node for body in parsed for node in body if isinstance(node, _Function)]


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement, in the order of its line, without documentation."""
    waiting: list[ast.AST] = [*reversed(body)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.stmt):
            yield node
        if not _returns_early(node):
            inner = [part for name in _INNER for part in getattr(node, name, [])]
            waiting += reversed(inner)


def _returns_early(node: ast.AST) -> bool:
    """Whether a branch does nothing but return: condition and value are one step."""
    match node:
        case ast.If(_, [ast.Return()], []):
            return True
        case _:
            return False


def _step(node: ast.stmt, scope: Scope) -> Step | None:
    phrase = _loop(node, scope) or _value(node, scope) or _BARE.get(type(node))
    return (
        None if phrase is None or _says_little(phrase) else Step(f"{phrase} {_shape(node)}", phrase)
    )


def _says_little(phrase: str) -> bool:
    return phrase in _VAGUE or _UNNAMED.fullmatch(phrase) is not None


def _loop(node: ast.stmt, scope: Scope) -> str | None:
    match node:
        case ast.For(_, iterated):
            return f"iterating over {told(iterated, scope)}"
        case ast.While(test):
            return f"repeating while {condition(test, scope)}"
        case ast.If(test, [ast.Return(value)], []):
            return f"returning {told(value, scope)} early when {condition(test, scope)}"
        case ast.If(test):
            return f"distinguishing the case that {condition(test, scope)}"
        case _:
            return None


def _value(node: ast.stmt, scope: Scope) -> str | None:
    match node:
        case ast.Return(value):
            return f"returning {told(value, scope)}"
        case ast.Assign(_, ast.Constant() | ast.List() | ast.Dict() | ast.Tuple() as value):
            return f"starting from {told(value, scope)}"
        case ast.Assign(_, value) | ast.AnnAssign(_, _, ast.expr() as value):
            return f"working out {told(value, scope)}"
        case ast.AugAssign(_, operator, value):
            return _UPDATES.get(type(operator), _UPDATING).format(told(value, scope))
        case ast.Expr(ast.Call(ast.Attribute(_, "append" | "add"), [value])):
            return f"collecting {told(value, scope)}"
        case _:
            return None


def _shape(node: ast.stmt) -> str:
    """The statement's own code without names of its making, as part of its key."""
    return str(sorted(_constants(node)))


def _constants(node: ast.stmt) -> Iterator[str]:
    """The constants of a statement's head."""
    for name, part in ast.iter_fields(node):
        if name in _INNER:
            continue
        for head in part if isinstance(part, list) else [part]:
            if isinstance(head, ast.AST):
                found = ast.walk(head)
                yield from (repr(leaf.value) for leaf in found if isinstance(leaf, ast.Constant))
