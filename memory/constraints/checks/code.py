"""Checks of a Python function that was handed in, by its syntax tree; nothing is run."""

import ast
import builtins
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache

from memory.constraints.checks.observations import CheckFinding, ObservableCheck, ObservedRun, only
from memory.constraints.entities import Wording

MOST = 20_000
"""Longer texts are not parsed."""


def _source(run: ObservedRun) -> str | None:
    """The function: what was handed in, or the body behind the task's own `def` line."""
    result = run.result
    if result is None or not ("def " in run.task or "def " in result):
        return None
    return result if "def " in result else f"{run.task.rstrip()}\n{result}"


@lru_cache(maxsize=64)
def _parsed(source: str) -> ast.Module | None:
    """The tree; None where it does not parse."""
    if len(source) > MOST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _function(run: ObservedRun) -> ast.FunctionDef | None:
    """The last function on the first level that the task names; else the last one."""
    source = _source(run)
    tree = _parsed(source) if source is not None else None
    if tree is None:
        return None
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    named = [node for node in found if f"def {node.name}(" in run.task]
    return (named or found or [None])[-1]


Seen = Callable[[ast.FunctionDef], bool]


def _shows(seen: Seen) -> Callable[[ObservedRun], Mapping[str, CheckFinding]]:
    """A check that is violated where the function shows this."""

    def judge(run: ObservedRun) -> Mapping[str, CheckFinding]:
        function = _function(run)
        return {} if function is None else only(applies=True, violated=seen(function))

    return judge


def _not_parsed(run: ObservedRun) -> Mapping[str, CheckFinding]:
    source = _source(run)
    return only(applies=source is not None, violated=source is not None and not _parsed(source))


def _misnamed(run: ObservedRun) -> Mapping[str, CheckFinding]:
    source = _source(run)
    tree = _parsed(source) if source is not None else None
    if tree is None or "def " not in run.task:
        return {}
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    return only(applies=True, violated=not any(f"def {name}(" in run.task for name in names))


def _of_kind(function: ast.FunctionDef, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    return (node for node in ast.walk(function) if isinstance(node, kinds))


def _parameters(function: ast.FunctionDef) -> list[str]:
    spec = function.args
    return [one.arg for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]


def _swallows(function: ast.FunctionDef) -> bool:
    handlers = [node for node in ast.walk(function) if isinstance(node, ast.ExceptHandler)]
    return any(
        all(isinstance(line, ast.Pass | ast.Continue) for line in one.body) or one.type is None
        for one in handlers
    )


def _guards(function: ast.FunctionDef) -> bool:
    """Whether an `if` in the first statements looks at a parameter."""
    names = set(_parameters(function))
    tests = [node.test for node in function.body[:3] if isinstance(node, ast.If)]
    used = {node.id for test in tests for node in ast.walk(test) if isinstance(node, ast.Name)}
    return bool(names & used)


def _unguarded(function: ast.FunctionDef) -> bool:
    return not _guards(function)


def _returns_nothing(function: ast.FunctionDef) -> bool:
    returned = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    yields = any(True for _ in _of_kind(function, ast.Yield, ast.YieldFrom))
    return not yields and not any(node.value is not None for node in returned)


def _ignores_parameter(function: ast.FunctionDef) -> bool:
    read = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    return any(name not in read for name in _parameters(function))


def _changes_parameter(function: ast.FunctionDef) -> bool:
    """A parameter is sorted, filled or emptied in place."""
    names = set(_parameters(function))
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    changed = {
        one.func.value.id
        for one in calls
        if isinstance(one.func, ast.Attribute)
        and isinstance(one.func.value, ast.Name)
        and one.func.attr in _IN_PLACE
    }
    return bool(names & changed)


_IN_PLACE = frozenset({"append", "extend", "insert", "remove", "pop", "sort", "reverse", "clear"})


def _prints(function: ast.FunctionDef) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"print", "input"}
        for node in ast.walk(function)
    )


def _returns_at_once(function: ast.FunctionDef) -> bool:
    """A loop that returns in its first round, whatever it meets."""
    loops = [node for node in ast.walk(function) if isinstance(node, ast.For | ast.While)]
    return any(_always_returns(loop.body) for loop in loops)


def _always_returns(body: list[ast.stmt]) -> bool:
    for line in body:
        if isinstance(line, ast.Return):
            return True
        branches = isinstance(line, ast.If) and _always_returns(line.body)
        if branches and isinstance(line, ast.If) and _always_returns(line.orelse):
            return True
    return False


def _stub(function: ast.FunctionDef) -> bool:
    lines = [line for line in function.body if not isinstance(line, ast.Pass)]
    said = [
        line
        for line in lines
        if not (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
    ]
    return not said


def _shadows(function: ast.FunctionDef) -> bool:
    bound = {
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    return bool(bound & set(dir(builtins)))


def _undefined(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """A name is read that neither the function, nor its module, nor the task defines."""
    source = _source(run)
    tree = _parsed(source) if source is not None else None
    if tree is None:
        return {}
    bound = set(dir(builtins))
    read: set[str] = set()
    for node in ast.walk(tree):
        bound |= _bound_by(node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            read.add(node.id)
    missing = {name for name in read - bound if name not in run.task}
    return only(applies=True, violated=bool(missing))


def _bound_by(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        return {node.id}
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.arg):
        return {node.arg}
    if isinstance(node, ast.alias):
        return {(node.asname or node.name).split(".")[0]}
    if isinstance(node, ast.ExceptHandler) and node.name:
        return {node.name}
    return set()


def _nested(function: ast.FunctionDef) -> bool:
    """A loop within a loop."""
    loops = [node for node in ast.walk(function) if isinstance(node, ast.For | ast.While)]
    return any(
        isinstance(inner, ast.For | ast.While)
        for loop in loops
        for inner in ast.walk(loop)
        if inner is not loop
    )


def _collapses(function: ast.FunctionDef) -> bool:
    """What was given goes through a set."""
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "set"
        for node in ast.walk(function)
    )


CODE = (
    ObservableCheck(
        "code_not_parsed",
        Wording(
            "a function is handed in",
            "the whole function and nothing else, so that it can be parsed",
            "text around the code, or code that breaks off",
        ),
        "handed in something that does not parse",
        _not_parsed,
    ),
    ObservableCheck(
        "function_misnamed",
        Wording(
            "a task gives the name of the function",
            "defining exactly that name on the first level",
            "another name, or a function inside a class",
        ),
        "did not define the function that was asked for",
        _misnamed,
    ),
    ObservableCheck(
        "name_undefined",
        Wording(
            "a function calls a module or a name of its own",
            "importing or defining it in what is handed in",
            "a name that is defined nowhere",
        ),
        "read a name that was defined nowhere",
        _undefined,
    ),
    ObservableCheck(
        "exception_swallowed",
        Wording(
            "a step may raise an exception",
            "catching the one kind that is expected and answering it",
            "catching everything and going on as if nothing had happened",
        ),
        "swallowed an exception",
        _shows(_swallows),
    ),
    ObservableCheck(
        "empty_input_unguarded",
        Wording(
            "a function takes a list, a text or a number",
            "treating the empty, zero or smallest input in a branch of its own first",
            "leaving that input to the main path",
        ),
        "had no branch for the empty or smallest input",
        _shows(_unguarded),
    ),
    ObservableCheck(
        "returns_nothing",
        Wording(
            "a function is to give a value",
            "returning it on every path",
            "a function without a return of a value",
        ),
        "returned no value",
        _shows(_returns_nothing),
    ),
    ObservableCheck(
        "parameter_ignored",
        Wording(
            "a function has several parameters",
            "letting each of them count in the result",
            "a parameter that is never read",
        ),
        "never read one of the parameters",
        _shows(_ignores_parameter),
    ),
    ObservableCheck(
        "parameter_changed",
        Wording(
            "a function is given a list",
            "working on a copy",
            "changing the caller's list in place",
        ),
        "changed its argument in place",
        _shows(_changes_parameter),
    ),
    ObservableCheck(
        "prints_result",
        Wording(
            "a function computes a value",
            "returning the value",
            "printing it, or asking for input",
        ),
        "printed or asked for input",
        _shows(_prints),
    ),
    ObservableCheck(
        "returns_in_first_round",
        Wording(
            "a loop looks for something",
            "deciding that it is absent only behind the loop",
            "returning on both branches in the first round",
        ),
        "returned in the first round of a loop",
        _shows(_returns_at_once),
    ),
    ObservableCheck(
        "body_missing",
        Wording(
            "a function is handed in",
            "a body that does the work",
            "a body that only passes",
        ),
        "left the body empty",
        _shows(_stub),
    ),
    ObservableCheck(
        "builtin_shadowed",
        Wording(
            "a variable needs a name",
            "a name of its own",
            "the name of a built-in function",
        ),
        "gave a variable the name of a built-in",
        _shows(_shadows),
    ),
    ObservableCheck(
        "set_loses_order",
        Wording(
            "repeated elements or their order may matter",
            "keeping to a list",
            "passing what was given through a set",
        ),
        "passed its input through a set",
        _shows(_collapses),
    ),
    ObservableCheck(
        "loops_nested",
        Wording(
            "each element is to be looked at once",
            "a single pass",
            "a loop inside a loop",
        ),
        "used a loop inside a loop",
        _shows(_nested),
    ),
)
