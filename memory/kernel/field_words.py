"""What the strings below a class's fields say of them: the descriptions of the API's shapes.

The library of the shapes would read them itself, once for each class and each use of it: that was
more than half of the time that a server took to start. Here a module is parsed once, when the first
contract is made of what stands in it.
"""

import ast
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

Words = Mapping[str, str]


def field_words(shape: type) -> dict[str, str]:
    """By name of the field, those of the classes that it builds on too; empty for what has no
    source.
    """
    words: dict[str, str] = {}
    for base in reversed(shape.__mro__):
        if not base.__module__.startswith(("builtins", "typing", "pydantic")):
            words |= _of_module(base.__module__).get(base.__qualname__, {})
    return words


def describe_fields(schema: dict[str, Any], shape: type) -> None:
    """Adds to a shape's JSON schema what its fields mean, where they do not say it otherwise."""
    for name, words in field_words(shape).items():
        if name in schema["properties"]:
            schema["properties"][name].setdefault("description", words)


@cache
def _of_module(name: str) -> Mapping[str, Words]:
    """The fields' words by qualified name of the class."""
    try:
        source = inspect.getsource(sys.modules[name])
    except (OSError, TypeError):
        return {}
    return dict(_classes(ast.parse(source).body, ""))


def _classes(body: Iterable[ast.stmt], above: str) -> Iterator[tuple[str, Words]]:
    for one in body:
        if isinstance(one, ast.ClassDef):
            yield above + one.name, dict(_fields(one.body))
            yield from _classes(one.body, f"{above}{one.name}.")


def _fields(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for one, below in pairwise(body):
        match one, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(words))),
            ):
                yield name, inspect.cleandoc(words)
            case _:
                pass
