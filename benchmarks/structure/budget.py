"""The budget of modules and functions: lines, complexity, and parameters that are tuples."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.structure.source import Module

SMALL_MODULE, LARGE_MODULE = 60, 500
LONG_FUNCTION, MEDIAN_FUNCTION, COMPLEXITY = 60, 12, 10
Def = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Size:
    """A module's lines."""

    path: str
    lines: int

    @property
    def is_small(self) -> bool:
        """Whether it must be an idea of its own. An `__init__` may be short."""
        return self.lines < SMALL_MODULE and not self.path.endswith("__init__.py")

    @property
    def is_large(self) -> bool:
        return self.lines > LARGE_MODULE


@dataclass(frozen=True, slots=True)
class Function:
    """A function or method, nested ones too; from `def` to its last line, decorators not."""

    path: str
    line: int
    name: str
    lines: int
    complexity: int


@dataclass(frozen=True, slots=True)
class TupleParameter:
    """A parameter whose annotation holds a tuple of two elements or more.

    It is a bundle where the elements differ in type, as in `tuple[Found, Ranked]`, and a pair
    where they are alike, as in `tuple[UUID, UUID]`. A `tuple[X, ...]` is a sequence and neither.
    """

    path: str
    line: int
    function: str
    parameter: str
    annotation: str
    is_bundle: bool


def sizes(modules: Sequence[Module]) -> list[Size]:
    return [Size(module.path, module.lines) for module in modules]


def functions(modules: Sequence[Module]) -> list[Function]:
    return [
        Function(
            path=module.path,
            line=node.lineno,
            name=node.name,
            lines=(node.end_lineno or node.lineno) - node.lineno + 1,
            complexity=complexity(node),
        )
        for module in modules
        for node in _defs(module.tree)
    ]


def complexity(function: Def) -> int:
    """McCabe's number as the linter's C901 counts it: 1, and 1 for each way to branch.

    A branch is an if or elif, a loop, the else of a loop or try, an except, a case that is no
    wildcard, and a function inside.
    """
    return 1 + sum(_branches(node) for node in ast.walk(function) if node is not function)


def _branches(node: ast.AST) -> int:
    match node:
        case ast.If() | ast.ExceptHandler() | ast.FunctionDef() | ast.AsyncFunctionDef():
            return 1
        case ast.For() | ast.AsyncFor() | ast.While():
            return 1 + bool(node.orelse)
        case ast.Try() | ast.TryStar():
            return int(bool(node.orelse))
        case ast.match_case():
            return int(not _is_wildcard(node))
        case _:
            return 0


def _is_wildcard(case: ast.match_case) -> bool:
    return isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None


def tuple_parameters(modules: Sequence[Module]) -> list[TupleParameter]:
    """Every parameter with a tuple in its annotation, also under a name given to the tuple."""
    everywhere = _aliases(modules)
    found: list[TupleParameter] = []
    for module in modules:
        aliases = everywhere | _aliases([module])
        for node in _defs(module.tree):
            for argument in _arguments(node):
                bundles = [_differ(t) for t in _tuples(argument.annotation, aliases)]
                if bundles and argument.annotation is not None:
                    found.append(
                        TupleParameter(
                            path=module.path,
                            line=node.lineno,
                            function=node.name,
                            parameter=argument.arg,
                            annotation=ast.unparse(argument.annotation),
                            is_bundle=any(bundles),
                        )
                    )
    return found


def _aliases(modules: Sequence[Module]) -> dict[str, ast.expr]:
    """Names that stand for a type with a tuple in it; of two modules' same name, the later."""
    found: dict[str, ast.expr] = {}
    for module in modules:
        for node in module.tree.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() as value):
                    found[name] = value
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.Subscript() as value):
                    found[name] = value
                case _:
                    pass
    return {name: value for name, value in found.items() if any(_tuples(value, {}))}


def _tuples(
    annotation: ast.expr | None, aliases: Mapping[str, ast.expr]
) -> Iterator[Sequence[ast.expr]]:
    """The elements of each tuple of two or more that stands anywhere in an annotation."""
    if annotation is None:
        return
    for node in ast.walk(annotation):
        match node:
            case ast.Subscript(value=ast.Name(id="tuple"), slice=ast.Tuple(elts=elements)):
                if not any(_is_ellipsis(element) for element in elements):
                    yield elements
            case ast.Name(id=name) if name in aliases:
                yield from _tuples(aliases[name], {})
            case ast.Constant(value=str(text)):
                yield from _tuples(_parse(text), aliases)
            case _:
                pass


def _parse(text: str) -> ast.expr | None:
    """An annotation that is written as a string; None where the string is a value."""
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return None


def _differ(elements: Sequence[ast.expr]) -> bool:
    return len({ast.dump(element) for element in elements}) > 1


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _arguments(node: Def) -> list[ast.arg]:
    named = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return [*named, *(a for a in (node.args.vararg, node.args.kwarg) if a is not None)]


def _defs(tree: ast.Module) -> Iterator[Def]:
    for node in ast.walk(tree):
        if isinstance(node, Def):
            yield node
