"""The digest of a report is what it was in the first release, whatever fields come later."""

from copy import copy
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from uuid import UUID

import pytest

from memory.outcomes.entities import Report
from memory.outcomes.rewards import DIGESTED, DIGESTED_IF_GIVEN, UNDIGESTED, digest
from memory.receipts.entities import RunResult
from memory.verification.entities import ReportedLesson

A, B = (UUID(f"01900000-0000-7000-8000-00000000000{n}") for n in (1, 2))
LESSON = ReportedLesson("ask twice", "a forecast of rain")

# Made by the code of the first release; stored outcomes carry such digests.
OF_THE_FIRST_RELEASE = {
    "03677abd9aa060c1202817bbf831db5b155f09e206d16ea8afb1bac0544359de": Report(reward=0.8),
    "ff311fd20801d3c37abf14b1047a5f1c2dcd035b8c2e3b67a3c6569abf2e89b5": Report(
        reward=1.0,
        reward_kind="binary",
        verifier="test",
        evaluator="judge",
        helpful=(A,),
        harmful=(B,),
        without=RunResult(0.25),
        known_at=datetime(2026, 3, 1, 12, tzinfo=UTC),
    ),
    "968e91078c22bf24305c7b48d3ef3f39ea2bcd5dd4f1647a9edaabc8ec926d78": Report(
        metric="brier",
        value={"p": [0.3, 0.7]},
        truth={"y": [0, 1]},
        without=RunResult(value={"p": [0.5, 0.5]}),
        full=RunResult(value={"p": [0.1, 0.9]}),
        answers={"flat/none": {"p": [0.5, 0.5]}},
        stances={str(A): {"p": [0.4, 0.6]}},
        verifier="human",
        supersedes=B,
    ),
    "4ebdbaaa5f63dfd291f3df8698e02cebc8d877a8a53375d97a0260fcf6fb6c4d": Report(
        reward=0.05, verifier="human", lesson=LESSON
    ),
    "c0b3d882ad851091055abe84f3996bb47ff125625025951a2f27c5e9e0ccde0c": Report(
        reward=0.05, lesson=ReportedLesson("ask twice")
    ),
}


@dataclass(frozen=True, slots=True)
class LaterLesson(ReportedLesson):
    """A lesson as a later release may know it."""

    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class LaterReport(Report):
    """A report as a later release may know it."""

    mood: str | None = None


def later(one: Report) -> LaterReport:
    parts = {field.name: getattr(one, field.name) for field in fields(Report)}
    if one.lesson is not None:
        parts["lesson"] = LaterLesson(one.lesson.lesson, one.lesson.situation)
    return LaterReport(**parts)


@pytest.mark.parametrize(("known", "one"), OF_THE_FIRST_RELEASE.items())
def test_a_report_of_the_first_release_keeps_its_digest(known: str, one: Report) -> None:
    assert digest(one).hex() == known


@pytest.mark.parametrize(("known", "one"), OF_THE_FIRST_RELEASE.items())
def test_an_optional_field_that_comes_later_changes_no_digest(known: str, one: Report) -> None:
    assert digest(later(one)).hex() == known


def test_what_a_report_says_is_in_its_digest_field_by_field() -> None:
    named = (*DIGESTED, *DIGESTED_IF_GIVEN)
    one = Report(reward=0.8)
    said = {
        "reward": 0.7,
        "known_at": datetime(2026, 3, 1, tzinfo=UTC),
        "supersedes": A,
        "helpful": (A,),
        "harmful": (A,),
        "lesson": LESSON,
        "metric": "x",
    }

    def other(name: str) -> Report:
        """Not what a report may be, so that each field is told apart by itself."""
        changed = copy(one)
        plain = "x" if isinstance(getattr(one, name), str) else {"p": [1]}
        object.__setattr__(changed, name, said.get(name, plain))
        return changed

    digests = {digest(other(name)) for name in named} | {digest(one)}

    assert digest(other(UNDIGESTED[0])) == digest(one)
    assert sorted((*named, *UNDIGESTED)) == sorted(field.name for field in fields(Report))
    assert len(digests) == len(named) + 1
