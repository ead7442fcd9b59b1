"""The house keeps to its budget: names, parameters, repeated nouns, sizes."""

from pathlib import Path
from statistics import median

import pytest

from benchmarks.structure.budget import MEDIAN_FUNCTION
from benchmarks.structure.evidence import Evidence, gather
from benchmarks.structure.figures import lists

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def source() -> Evidence:
    return gather(ROOT, None)


@pytest.mark.parametrize(
    "beyond",
    [
        "class names with several homes",
        "classes equal to a noun, no reason given",
        "tuple bundles",
        "modules over 500 lines",
        "functions over 60 lines",
        "functions over complexity 10",
    ],
)
def test_the_source_has_no(source: Evidence, beyond: str) -> None:
    assert lists(source)[beyond] == []


def test_the_median_function_is_short(source: Evidence) -> None:
    assert median(function.lines for function in source.functions) <= MEDIAN_FUNCTION
