"""Which trials a candidate has to pass: its own task, another of the category, and anchors."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from memory.bank.admission import improvable
from memory.domain.verification import Run

ANCHORS = 2


class Purpose(StrEnum):
    """`source`: the task the candidate came from. `other`: another task of the category, for a
    lesson that holds only where it was learned is a copy. `anchor`: a task that went well before.
    """

    SOURCE = "source"
    OTHER = "other"
    ANCHOR = "anchor"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A run that is asked for; `reference` is the reward without the candidate, if known."""

    purpose: Purpose
    task: UUID
    reference: float | None


def plan(source: Wanted, group: str, runs: Sequence[Run], trials: int) -> list[Wanted]:
    """The trials to run; `runs` are earlier ones of the category, the newest first.

    One of the trials goes to another task, where there is one that left room for a gain.
    """
    foreign = _one_each(run for run in runs if run.group != group and run.task != source.task)
    others = [run for run in foreign if improvable(run.reward)][:1]
    own = max(1, trials - len(others))
    taken = {run.task for run in others}
    floor = source.reference or 0.0
    good = [run for run in foreign if run.task not in taken and run.reward > floor]
    best = sorted(good, key=lambda run: -run.reward)[:ANCHORS]
    return [
        *[source] * own,
        *(Wanted(Purpose.OTHER, run.task, run.reward) for run in others),
        *(Wanted(Purpose.ANCHOR, run.task, run.reward) for run in best),
    ]


def _one_each(runs: Iterable[Run]) -> list[Run]:
    """The newest run of each task."""
    newest: dict[UUID, Run] = {}
    for run in runs:
        newest.setdefault(run.task, run)
    return list(newest.values())
