"""Classes: the homes of a name, and those that repeat the fields of a noun."""

import ast
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.structure.source import CLIENT, MEMORY, SERVER, Module

FEWEST_FIELDS = 2
RECORDS = {"BaseModel", "NamedTuple", "TypedDict"}
# The one way to say why a class has a noun's fields and is written all the same.
REASON = re.compile(r"Differs from `(\w+)`: \S")


@dataclass(frozen=True, slots=True)
class Class:
    """A class at the top level of a module, private ones too.

    A record is a dataclass, a pydantic model, a named tuple or a typed dictionary; `fields` are
    its own and the inherited ones. `reasons` are the nouns that its docstring differs from.
    """

    path: str
    line: int
    name: str
    is_record: bool
    fields: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mirror:
    """A class of the server or the client with exactly the field names of nouns of `memory`."""

    path: str
    name: str
    nouns: tuple[str, ...]
    has_reason: bool


def classes(modules: Sequence[Module]) -> list[Class]:
    """Every top-level class of the modules."""
    bases = _Bases(modules)
    return [
        Class(
            path=module.path,
            line=node.lineno,
            name=node.name,
            is_record=bases.is_record(module.path, node),
            fields=tuple(bases.fields(module.path, node)),
            reasons=tuple(REASON.findall(" ".join((ast.get_docstring(node) or "").split()))),
        )
        for module in modules
        for node in module.tree.body
        if isinstance(node, ast.ClassDef)
    ]


def several_homes(found: Iterable[Class]) -> dict[str, list[str]]:
    """The names of `memory` and `server` that more than one class has, with their modules."""
    homes: dict[str, list[str]] = {}
    for one in found:
        if _is_of(one.path, MEMORY) or _is_of(one.path, SERVER):
            homes.setdefault(one.name, []).append(one.path)
    return {name: paths for name, paths in sorted(homes.items()) if len(paths) > 1}


def mirrors(found: Sequence[Class], part: str) -> list[Mirror]:
    """The records of `part` (the server or the client) that have a noun's field names."""
    nouns: dict[frozenset[str], list[str]] = {}
    for one in _wide_records(found, MEMORY):
        nouns.setdefault(frozenset(one.fields), []).append(one.name)
    return [
        Mirror(one.path, one.name, tuple(same), has_reason=bool(set(same) & set(one.reasons)))
        for one in _wide_records(found, part)
        if (same := nouns.get(frozenset(one.fields)))
    ]


def server_mirrors(found: Sequence[Class]) -> list[Mirror]:
    return mirrors(found, SERVER)


def client_mirrors(found: Sequence[Class]) -> list[Mirror]:
    return mirrors(found, CLIENT)


def _wide_records(found: Iterable[Class], part: str) -> list[Class]:
    return [
        one
        for one in found
        if _is_of(one.path, part) and one.is_record and len(one.fields) >= FEWEST_FIELDS
    ]


def _is_of(path: str, part: str) -> bool:
    return path.startswith(f"{part}/")


class _Bases:
    """Classes by module and name, so that a base is found where it was imported from."""

    def __init__(self, modules: Sequence[Module]) -> None:
        self._classes: dict[str, dict[str, ast.ClassDef]] = {}
        self._imports: dict[str, Mapping[str, tuple[str, str]]] = {}
        for module in modules:
            nodes = [node for node in module.tree.body if isinstance(node, ast.ClassDef)]
            self._classes[module.path] = {node.name: node for node in nodes}
            self._imports[module.path] = _imports(module.tree)

    def fields(self, path: str, node: ast.ClassDef) -> list[str]:
        """Annotated names without class variables, those of the bases first."""
        names: list[str] = []
        for where, base in self._parents(path, node):
            names += self.fields(where, base)
        return list(dict.fromkeys([*names, *_own_fields(node)]))

    def is_record(self, path: str, node: ast.ClassDef) -> bool:
        if any(_last_name(d) == "dataclass" for d in node.decorator_list):
            return True
        if any(_last_name(base) in RECORDS for base in node.bases):
            return True
        return any(self.is_record(where, base) for where, base in self._parents(path, node))

    def _parents(self, path: str, node: ast.ClassDef) -> list[tuple[str, ast.ClassDef]]:
        found = [self._find(path, _last_name(base)) for base in node.bases]
        return [place for place in found if place is not None and place[1] is not node]

    def _find(self, path: str, name: str) -> tuple[str, ast.ClassDef] | None:
        if name in self._classes.get(path, {}):
            return path, self._classes[path][name]
        if name not in self._imports.get(path, {}):
            return None
        dotted, original = self._imports[path][name]
        stem = dotted.replace(".", "/")
        for place in (f"{stem}.py", f"{stem}/__init__.py", f"{CLIENT}/{stem}.py"):
            if place != path and place in self._classes:
                return self._find(place, original)
        return None


def _imports(tree: ast.Module) -> dict[str, tuple[str, str]]:
    """Imported names, with the module and the name they have there."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def _own_fields(node: ast.ClassDef) -> list[str]:
    return [
        line.target.id
        for line in node.body
        if isinstance(line, ast.AnnAssign)
        and isinstance(line.target, ast.Name)
        and _last_name(line.annotation) != "ClassVar"
    ]


def _last_name(node: ast.expr) -> str:
    """`X` of `X`, `a.X`, `X[T]` and `X(...)`."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(value=inner) | ast.Call(func=inner):
            return _last_name(inner)
        case _:
            return ""
