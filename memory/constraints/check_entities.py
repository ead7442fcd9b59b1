"""What recorded runs of a category say of a constraint."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, cast

from pydantic import Field

from memory.kernel.fields import OUTPUT

CHECK = "check"
"""Under this name in the detail of a constraint: its `CheckEvidence`."""


@dataclass(frozen=True, slots=True)
class HalfOfTasks:
    """The tasks of one half that tell something, by the side that they speak for."""

    __pydantic_config__ = OUTPUT

    failing: int
    """On how many the failing run alone violates it."""
    winning: int
    """On how many the winning run alone violates it."""


@dataclass(frozen=True, slots=True)
class CheckEvidence:
    """What recorded runs of a category say of a constraint: right and wrong runs of one task are
    compared, with what agents differ in anyway taken out.
    """

    __pydantic_config__ = OUTPUT

    name: str
    """The observable check, with the tool that it is about behind a colon where there is one."""
    words: str
    """The evidence in a sentence."""
    tasks: int
    """Tasks with a right and a wrong run to which it applies."""
    failing: int
    """On how many of them the failing run alone violates it."""
    winning: int
    """On how many the winning run alone violates it."""
    halves: tuple[HalfOfTasks, ...]
    """The same by halves of the tasks; the sign has to hold in both."""
    families: int
    """Families of models among the runs that tell something."""
    against_itself: bool
    """Whether runs of one agent against itself are among them."""
    p: float | None
    """The chance of as much where nothing is behind it; null: too few tasks to be tried."""
    q: float | None
    """The rate of false discoveries over all that was tried in the category; at most .1 is let in.
    """
    reason: Annotated[
        str | None, Field(description="Why it is not let in; null where the test lets it in.")
    ]


def evidence_in(detail: Mapping[str, object]) -> CheckEvidence | None:
    """As it stands in a memory's detail; None where there is none, or it was erased."""
    stored = detail.get(CHECK)
    if not isinstance(stored, dict):
        return None
    values = dict(cast("dict[str, object]", stored))
    halves = cast("list[dict[str, int]]", values.pop("halves"))
    first, second = (HalfOfTasks(**one) for one in halves)
    return CheckEvidence(halves=(first, second), **values)  # pyright: ignore[reportArgumentType] - as it was written
