"""The page of walks: its form, and whether the source holds what it names."""

from pathlib import Path

import pytest

from benchmarks.structure.walk_names import wrong_names
from benchmarks.structure.walks import Walk, read_walks

ROUTE = "1. `server/routes/a.py` `create`: reads."
SERVICE = "2. `memory/retrieval/service.py` `retrieve`: tells the story."
TYPES = "\nTypes: `Task`, `Guideline`."


def a_walk(*lines: str) -> Walk:
    [walk] = read_walks("\n".join(["# Walks", "", "## A walk", "", *lines, TYPES]))
    return walk


def a_step(path: str, depth: int = 0) -> str:
    return f"{'   ' * depth}1. `{path}` `act`: acts."


def returns(*steps: str) -> list[str]:
    return [step.path for step in a_walk(*steps).returns]


def test_a_walk_has_a_title_steps_and_types() -> None:
    walk = a_walk(ROUTE, SERVICE, "   It goes on in a second line.")

    assert walk.title == "A walk"
    assert [(step.path, step.function) for step in walk.steps] == [
        ("server/routes/a.py", "create"),
        ("memory/retrieval/service.py", "retrieve"),
    ]
    assert walk.types == ("Task", "Guideline")


def test_a_section_without_numbered_steps_is_prose() -> None:
    assert read_walks("# Walks\n\nSome text.\n\n## How to read them\n\nMore text.\n") == []


def test_what_is_fenced_is_no_walk() -> None:
    assert read_walks(f"# Walks\n\n```\n## A walk\n\n{ROUTE}\n```\n") == []


@pytest.mark.parametrize(
    "line",
    [
        "1. The route reads.",
        "1. `server/routes/a.py`: reads.",
        "1. `server/routes/a.py` `create`",
        "1. `server/routes` `create`: reads.",
    ],
)
def test_a_numbered_line_that_is_no_step_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="A walk: not"):
        a_walk(ROUTE, line)


@pytest.mark.parametrize(
    "types", ["", "Types: Task.", "Types: `Task`", "Types: `A`.\n\nTypes: `B`."]
)
def test_a_walk_names_its_types_once(types: str) -> None:
    with pytest.raises(ValueError, match="A walk: needs one line"):
        read_walks(f"## A walk\n\n{ROUTE}\n\n{types}\n")


def test_modules_of_memory_count_once_and_nouns_tables_stores_and_kernel_do_not() -> None:
    walk = a_walk(
        a_step("server/routes/a.py"),
        a_step("memory/retrieval/service.py"),
        a_step("memory/retrieval/entities.py"),
        a_step("memory/retrieval/tables.py"),
        a_step("memory/retrieval/store.py"),
        a_step("memory/memories/store/reading.py"),
        a_step("memory/memories/store_vectors.py"),
        a_step("memory/kernel/clock.py"),
        a_step("memory/retrieval/rules.py"),
        a_step("memory/retrieval/service.py"),
    )
    assert walk.modules == ["memory/retrieval/service.py", "memory/retrieval/rules.py"]


def test_a_step_is_called_by_the_one_that_it_stands_below() -> None:
    walk = a_walk(
        a_step("server/routes/a.py"),
        a_step("memory/a/service.py", 1),
        a_step("memory/a/rules.py", 2),
        a_step("memory/b/service.py", 1),
    )
    assert [step.caller for step in walk.steps] == [None, 0, 1, 0]


def test_the_next_step_in_the_same_room_does_not_return() -> None:
    assert returns(a_step("memory/a/service.py"), a_step("memory/a/rules.py")) == []


def test_a_step_into_a_room_that_was_left_returns() -> None:
    steps = (
        a_step("memory/a/service.py"),
        a_step("memory/b/service.py"),
        a_step("memory/a/rules.py"),
    )
    assert returns(*steps) == ["memory/a/rules.py"]


def test_the_room_of_the_caller_is_not_left_while_others_are_called() -> None:
    steps = (
        a_step("memory/a/service.py"),
        a_step("memory/b/service.py", 1),
        a_step("memory/a/rules.py", 1),
    )
    assert returns(*steps) == []


def test_one_that_is_called_and_climbs_into_the_room_above_it_returns() -> None:
    steps = (
        a_step("memory/a/service.py"),
        a_step("memory/b/service.py", 1),
        a_step("memory/a/rules.py", 2),
    )
    assert returns(*steps) == ["memory/a/rules.py"]


def test_a_second_call_into_a_room_that_was_left_returns() -> None:
    steps = (
        a_step("memory/a/service.py"),
        a_step("memory/b/service.py", 1),
        a_step("memory/c/service.py", 1),
        a_step("memory/b/rules.py", 1),
    )
    assert returns(*steps) == ["memory/b/rules.py"]


CODE = {
    "server/routes/a.py": "def create(body: Task) -> Guideline:\n    return retrieve(body)\n",
    "memory/retrieval/service.py": (
        "def retrieve(task: Task) -> Guideline:\n    return Bank(task).find()\n"
    ),
    "memory/retrieval/rules.py": (
        "class Bank:\n    def __init__(self): ...\n    def find(self): ...\n"
    ),
}
CALLED = "   1. `memory/retrieval/service.py` `retrieve`: tells the story."


@pytest.fixture
def source(tmp_path: Path) -> Path:
    for path, text in CODE.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_walk_of_functions_that_exist_and_call_each_other_is_right(source: Path) -> None:
    walk = a_walk(
        ROUTE,
        CALLED,
        "      1. `memory/retrieval/rules.py` `Bank.__init__`: opens.",
        "      2. `memory/retrieval/rules.py` `Bank.find`: finds.",
    )
    assert wrong_names(walk, source) == []


@pytest.mark.parametrize(
    ("step", "fault"),
    [
        ("`memory/retrieval/gone.py` `retrieve`: no file.", "no retrieve in memory/retrieval/gone"),
        ("`memory/retrieval/service.py` `gone`: no function.", "no gone in memory/retrieval/serv"),
        ("`memory/retrieval/rules.py` `Gone.find`: no class.", "no Gone.find in memory/retrieval"),
        ("`memory/retrieval/rules.py` `Bank.find`: uncalled.", "create does not call Bank.find"),
    ],
)
def test_what_the_source_does_not_hold_is_a_fault(source: Path, step: str, fault: str) -> None:
    [found] = wrong_names(a_walk(ROUTE, f"   1. {step}"), source)

    assert found.startswith(f"A walk: {fault}")


def test_a_type_that_no_step_names_is_a_fault(source: Path) -> None:
    [walk] = read_walks(f"## A walk\n\n{ROUTE}\n\nTypes: `Task`, `Gone`.\n")

    assert wrong_names(walk, source) == ["A walk: no step names the type Gone"]


PAGE = Path(__file__).parents[2] / "docs/explanation/three-walks.md"
MOST_MODULES, MOST_TYPES = 8, 4


def test_the_page_tells_three_walks() -> None:
    assert len(read_walks(PAGE.read_text(encoding="utf-8"))) == 3


@pytest.mark.parametrize("number", range(3))
def test_a_walk_of_the_page_is_short_and_true(number: int) -> None:
    walk = read_walks(PAGE.read_text(encoding="utf-8"))[number]

    assert wrong_names(walk, PAGE.parents[2]) == []
    assert len(walk.modules) <= MOST_MODULES
    assert len(walk.types) <= MOST_TYPES
    assert walk.returns == []
