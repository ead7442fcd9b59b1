"""The files of a checkout: which there are, which are written by hand, and their syntax trees.

A file counts as generated where its first line is a comment with the word "generated", or where
`GENERATED` lists it.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

MEMORY, SERVER, CLIENT = "memory", "server", "clients/python"
HOUSE = (MEMORY, SERVER, CLIENT)
FOLDERS = ("memory", "server", "clients", "migrations", "benchmarks", "tests", "docs")
KINDS = {".py": "python", ".html": "html", ".md": "markdown"}
# Written by a command; JSON has no room for a comment that says so.
GENERATED = frozenset({"docs/reference/openapi.json", "docs/reference/settings.md"})
MARKER = re.compile(r".*\bgenerated\b", re.IGNORECASE)
UNREAD = {"__pycache__", "build", "node_modules", "vendor"}


@dataclass(frozen=True, slots=True)
class File:
    """A text file; `lines` are all of its lines, blank ones and comments too."""

    path: str
    kind: str
    lines: int
    generated: bool

    @property
    def folder(self) -> str:
        """Its first two folders, such as `memory/retrieval`."""
        return "/".join(self.path.split("/")[:-1][:2])


@dataclass(frozen=True, slots=True)
class Module:
    """A Python file of `memory`, `server` or the client that is written by hand."""

    path: str
    lines: int
    tree: ast.Module

    @property
    def part(self) -> str:
        """Which of the three it belongs to."""
        return next(part for part in HOUSE if self.path.startswith(f"{part}/"))


def read_files(root: Path) -> list[File]:
    """Every Python, HTML and Markdown file of the project's folders."""
    return [
        File(path, KINDS[Path(path).suffix], len(text.splitlines()), is_generated(path, text))
        for path, text in _texts(root, FOLDERS)
    ]


def read_modules(root: Path) -> list[Module]:
    """The hand-written modules of `memory`, `server` and the client. Raises SyntaxError."""
    return [
        Module(path, len(text.splitlines()), ast.parse(text, path))
        for path, text in _texts(root, HOUSE)
        if path.endswith(".py") and not is_generated(path, text)
    ]


def is_generated(path: str, text: str) -> bool:
    first = text.partition("\n")[0]
    comment = "<!--" if path.endswith((".md", ".html")) else "#"
    return path in GENERATED or (first.startswith(comment) and MARKER.match(first) is not None)


def _texts(root: Path, folders: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Paths below the root, with what they hold."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root)
            if path.suffix in KINDS and path.is_file() and not _is_unread(name):
                yield name.as_posix(), path.read_text(encoding="utf-8")


def _is_unread(name: Path) -> bool:
    return any(
        part in UNREAD or part.startswith(".") or part.endswith(".egg-info") for part in name.parts
    )
