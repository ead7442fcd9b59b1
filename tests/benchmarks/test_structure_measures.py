"""What the suite `structure` counts in source of which the answer is known."""

from pathlib import Path

import pytest
from structure_builders import a_module

from benchmarks.structure.budget import Size, functions, tuple_parameters
from benchmarks.structure.classes import classes, server_mirrors, several_homes
from benchmarks.structure.field_cost import hand_written, read_field, touched
from benchmarks.structure.source import is_generated

NOUN = """
from dataclasses import dataclass
from typing import ClassVar

@dataclass
class Named:
    name: str

@dataclass
class Task(Named):
    text: str
    LIMIT: ClassVar[int] = 3
"""


def complexity(text: str) -> int:
    [function] = functions([a_module(text)])
    return function.complexity


def bundles(text: str) -> list[tuple[str, bool]]:
    return [(found.parameter, found.is_bundle) for found in tuple_parameters([a_module(text)])]


def test_a_function_is_as_long_as_its_lines_without_decorators() -> None:
    [function] = functions([a_module("@a\n@b\ndef f(\n    x\n):\n    return x\n")])

    assert (function.name, function.line, function.lines) == ("f", 3, 4)


def test_a_function_without_a_branch_has_complexity_one() -> None:
    assert complexity("def f():\n    return [x for x in y if x and z]\n") == 1


def test_each_way_to_branch_adds_one() -> None:
    text = """
    def f(x):
        if x: pass
        elif y: pass
        else: pass
        for a in b: pass
        while c: pass
        try: pass
        except A: pass
        except B: pass
        match x:
            case 1: pass
            case _: pass
    """
    assert complexity(text) == 1 + 2 + 1 + 1 + 2 + 1


def test_the_else_of_a_loop_and_of_a_try_is_a_branch() -> None:
    text = """
    def f(x):
        for a in b: pass
        else: pass
        try: pass
        except A: pass
        else: pass
    """
    assert complexity(text) == 5


def test_a_tuple_of_different_types_is_a_bundle_and_one_of_equal_types_a_pair() -> None:
    text = "def f(a: tuple[int, str], b: tuple[int, int], c: tuple[int, ...], d: int): ..."

    assert bundles(text) == [("a", True), ("b", False)]


def test_a_tuple_counts_inside_another_type_and_under_a_name() -> None:
    text = """
    Part = tuple[Found, Ranked]
    def f(*, a: Sequence[Part] | None, b: "tuple[int, str]", **c: Mapping[tuple[int, str], int]):
        ...
    """
    assert bundles(text) == [("a", True), ("b", True), ("c", True)]


def test_a_return_type_may_be_a_tuple() -> None:
    assert bundles("def f() -> tuple[int, str]: ...") == []


def test_a_short_module_is_small_but_for_an_init() -> None:
    assert Size("memory/a.py", 59).is_small
    assert not Size("memory/a.py", 60).is_small
    assert not Size("memory/__init__.py", 1).is_small


def test_a_module_is_large_from_501_lines() -> None:
    assert not Size("memory/a.py", 500).is_large
    assert Size("memory/a.py", 501).is_large


def test_a_class_name_of_two_modules_has_several_homes() -> None:
    found = classes(
        [
            a_module("class Desk: ...\nclass Other: ...", "memory/a.py"),
            a_module("class Desk: ...", "server/b.py"),
            a_module("class Other: ...", "clients/python/memlift_client/c.py"),
        ]
    )
    assert several_homes(found) == {"Desk": ["memory/a.py", "server/b.py"]}


@pytest.mark.parametrize(
    ("schema", "nouns"),
    [
        ("class TaskIn(BaseModel):\n    text: str\n    name: int", ["Task"]),
        ("class TaskIn(BaseModel):\n    text: str\n    name: str\n    more: str", []),
        ("class TaskIn:\n    text: str\n    name: str", []),
        ("class NamedIn(BaseModel):\n    name: str", []),
    ],
    ids=["same names", "one more", "no record", "one field"],
)
def test_a_record_with_the_field_names_of_a_noun_repeats_it(schema: str, nouns: list[str]) -> None:
    found = classes([a_module(NOUN, "memory/tasks.py"), a_module(schema, "server/schemas.py")])

    assert [noun for mirror in server_mirrors(found) for noun in mirror.nouns] == nouns


def test_fields_are_inherited_from_a_base_in_another_module() -> None:
    base = "class Out(BaseModel):\n    name: str"
    schema = "from server.base import Out\nclass TaskOut(Out):\n    text: str"
    found = classes(
        [
            a_module(NOUN, "memory/tasks.py"),
            a_module(base, "server/base.py"),
            a_module(schema, "server/schemas.py"),
        ]
    )
    assert [mirror.name for mirror in server_mirrors(found)] == ["TaskOut"]


@pytest.mark.parametrize(
    ("docstring", "has_reason"),
    [
        ("A task. Differs from `Task`: the text may be missing.", True),
        ("A task. Differs from\n    `Task`: the text may be missing.", True),
        ("A task. Differs from `Named`: the text may be missing.", False),
        ("A task. Differs from `Task`:", False),
    ],
)
def test_a_reason_names_the_noun_and_says_something(docstring: str, *, has_reason: bool) -> None:
    schema = f'class TaskIn(BaseModel):\n    """{docstring}"""\n    text: str\n    name: str'
    found = classes([a_module(NOUN, "memory/tasks.py"), a_module(schema, "server/schemas.py")])

    assert [mirror.has_reason for mirror in server_mirrors(found)] == [has_reason]


@pytest.mark.parametrize(
    ("path", "first_line", "generated"),
    [
        ("server/a.py", "# generated by datamodel-codegen:", True),
        ("docs/a.md", "<!-- Generated from the contract -->", True),
        ("docs/a.md", "# What is generated", False),
        ("server/a.py", '"""Tables that are generated."""', False),
        ("server/a.py", "# Settings", False),
        ("docs/reference/openapi.json", "{", True),
    ],
)
def test_a_generated_file_says_so_in_a_comment_in_its_first_line(
    path: str, first_line: str, *, generated: bool
) -> None:
    assert is_generated(path, f"{first_line}\n# generated\n") == generated


def test_a_diff_is_read_in_both_forms_and_by_new_names() -> None:
    numstat = "3\t1\tmemory/a.py\n-\t-\tdocs/images/a.png\n1\t0\tmemory/{old => new}/b.py\n"
    numstat += "1\t0\ta.py => memory/c.py\n"
    stat = " memory/a.py       | 4 +++-\n docs/images/a.png | Bin 0 -> 1 bytes\n 2 files changed\n"

    assert touched(numstat) == [
        "memory/a.py",
        "docs/images/a.png",
        "memory/new/b.py",
        "memory/c.py",
    ]
    assert touched(stat) == ["memory/a.py", "docs/images/a.png"]


@pytest.mark.parametrize("text", ["", " .../retrieval/entities.py | 4 +++-\n"])
def test_a_diff_that_names_no_whole_path_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="numstat"):
        touched(text)


def test_files_written_by_a_command_cost_no_hand(tmp_path: Path) -> None:
    (tmp_path / "models.py").write_text("# generated by a tool\n", encoding="utf-8")
    diff = tmp_path / "diff"
    diff.write_text("1\t0\tmodels.py\n1\t0\tdocs/reference/openapi.json\n1\t0\tmemory/a.py\n")

    assert hand_written(read_field(tmp_path, diff)) == ["memory/a.py"]


def test_a_checkout_may_carry_the_recorded_list(tmp_path: Path) -> None:
    recorded = tmp_path / "benchmarks/structure/note_field.json"
    assert read_field(tmp_path, None) == []

    recorded.parent.mkdir(parents=True)
    recorded.write_text('{"files": ["memory/a.py"], "generated": ["models.py"]}')

    assert hand_written(read_field(tmp_path, None)) == ["memory/a.py"]
