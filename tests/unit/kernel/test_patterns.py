"""No text of a caller makes a pattern work more than its length: each is tried on the texts that
make patterns go back and forth, and the steps are counted.
"""

import ast
import importlib
import pkgutil
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pattern_steps import MOST, steps_of

import memory
import server
from memory.constraints import lint

SHORT, LONG = 16, 32
SINGLE = 2
"""A piece of one character is repeated so many times as often."""
# Twice the length, twice the steps; something is left for how the ends meet.
GROWTH = 2.6
FEW_STEPS = 600
# Asked about the last two hundred characters before a word, never about a text.
WINDOWED = {
    ("memory.constraints.lint", "_SENTENCE_START"),
    ("memory.constraints.lint", "_ABBREVIATED"),
}
PIECES = (
    *("a", "A", "1", "_", ".", ",", " ", "\n", "\t", '"', "'", '\\"', "\\", "<", "<a", "[", "`"),
    *("for x in ", "x in ", "://a", "://a:", "a:", "use a ", "ignore a ", "1,", "1.1.", ". "),
    *(".\n", ") ", "\n-", "\n1", "# ", "-", "a-", "=", "“", "{", ",", "token=", "token=a"),
    *("password is a", "password=", "bearer ", "eyJ-", "eyJaaaaaaaa.", "a.", "m:", "[m:"),
    *("-----BEGIN PRIVATE KEY-----", "use the tools ", "A. ", "ml_0", "system", "sk-", "/", ": "),
)
FUNCTIONS = frozenset(
    {"search", "match", "fullmatch", "findall", "finditer", "split", "sub", "subn"}
)
# What no caller has a part in.
OWN_TEXT = {"server/contract.py", "memory/inference/stand_ins.py"}
ROOT = Path(memory.__file__).parents[1]


def patterns() -> dict[tuple[str, str], list[re.Pattern[str]]]:
    """Every compiled pattern of the product, by module and name."""
    found: dict[tuple[str, str], list[re.Pattern[str]]] = {}
    for package in (memory, server):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if module.name == "memory.llm.litellm_door":
                continue
            for name, value in vars(importlib.import_module(module.name)).items():
                if some := list(compiled(value)):
                    found[module.name, name] = some
    return found


def compiled(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple):
        for one in value:
            yield from compiled(one)


def texts(times: int) -> dict[str, str]:
    """By the piece that is repeated; at the end stands what hardly any pattern takes."""
    return {
        piece: piece * (times * SINGLE if len(piece) == 1 else times) + "\x00" for piece in PIECES
    }


def excess(pattern: re.Pattern[str]) -> list[str]:
    """The texts whose second half costs more than their first."""
    short, long = texts(SHORT), texts(LONG)
    found: list[str] = []
    for name, text in long.items():
        most = steps_of(pattern, text)
        grows = most > FEW_STEPS and most > GROWTH * steps_of(pattern, short[name])
        if grows or most == MOST:
            found.append(name)
    return found


@pytest.fixture(autouse=True, scope="module")
def deep():
    """A match is as deep as its text is long."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    yield
    sys.setrecursionlimit(before)


def test_no_pattern_does_more_than_its_text_is_long(subtests):
    every = patterns()
    assert len(every) > 20
    seen: set[re.Pattern[str]] = set()
    for (module, name), some in every.items():
        for pattern in some:
            if pattern in seen or (module, name) in WINDOWED:
                continue
            seen.add(pattern)
            with subtests.test(f"{module}.{name}"):
                assert excess(pattern) == []


@pytest.mark.parametrize(
    "pattern",
    [
        r"<\w+[^>]*>",
        r"(?:a|a)*b",
        r"(?:a+a+)+y",
        r'"(?:\\.|[^"\\])*"',
        r"\beyJ[\w-]{8,}\.",
        r"token=(?=\S*\d)x",
        r"\n\s*\n\w",
    ],
)
def test_the_count_finds_a_pattern_that_does(pattern):
    assert excess(re.compile(pattern))


@pytest.mark.parametrize("pattern", [r"\w+", r"a{1,200}b", r'"[^"]*+(?:"|\Z)', r"\w++\W"])
def test_the_count_grows_with_the_text_for_a_plain_pattern(pattern):
    assert excess(re.compile(pattern)) == []


def test_a_sentence_is_looked_for_in_a_window():
    text = "." * 10_000 + "\n" * 10_000 + " Word"
    word = next(lint.TOKEN.finditer(text))
    looked: list[int] = []

    class Watched:
        def search(self, near: str) -> None:
            looked.append(len(near))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lint, "_SENTENCE_START", Watched())
        patched.setattr(lint, "_ABBREVIATED", Watched())
        lint.opens_sentence(word)

    assert looked
    assert max(looked) <= lint._NEAR + 1


def test_no_pattern_is_made_of_a_callers_text():
    """A pattern stands in its module, where it is seen and tried here."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for package in ("memory", "server")
        for path in sorted((ROOT / package).rglob("*.py"))
        if path.relative_to(ROOT).as_posix() not in OWN_TEXT
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "re"
        and node.func.attr in FUNCTIONS
    ]

    assert found == []
