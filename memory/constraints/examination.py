"""What checks say of each run of a category: examined once, read often. Pure.

A run is examined when it is new; what was found is kept with it, so that the test over a whole
category reads no run again. Runs that are not about what their task is about are left out of it,
with the evidence.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast
from uuid import UUID

from memory.constraints.checks.library import BY_NAME, examine
from memory.constraints.checks.observations import CheckFinding
from memory.constraints.checks.same_task import (
    expected_ids,
    find_odd,
    find_stray,
    subjects_of,
)
from memory.constraints.checks.trials import MODEL, TriedRun
from memory.constraints.observing import observe
from memory.constraints.store.examined import ExaminedRun, UnexaminedRun

ASKED = 50
"""So many ids that a run asked for are kept with it."""


@dataclass(frozen=True, slots=True)
class Examination:
    """What there is to know of a run without reading it again.

    `found`: what each check says, by name. `asked`: the ids that it asked tools for. `stray`: why
    it is not of its task, if so. `refused`: why it is compared with no run of its task, if so, as
    its category was tried last.
    """

    found: Mapping[str, CheckFinding]
    asked: frozenset[str] = frozenset()
    stray: str | None = None
    refused: str | None = None

    def stored(self) -> dict[str, object]:
        found = {name: finding.value for name, finding in self.found.items()}
        return {
            "found": found,
            "asked": sorted(self.asked)[:ASKED],
            "stray": self.stray,
            "refused": self.refused,
        }

    @classmethod
    def read(cls, stored: Mapping[str, object]) -> "Examination":
        """As it was kept; what a check said that is no more is left out."""
        found = cast("dict[str, str]", stored["found"])
        known = {
            name: CheckFinding(value)
            for name, value in found.items()
            if name.partition(":")[0] in (*BY_NAME, MODEL)
        }
        asked = frozenset(cast("list[str]", stored["asked"]))
        stray, refused = (cast("str | None", stored[name]) for name in ("stray", "refused"))
        return cls(known, asked, stray, refused)


def examine_runs(runs: Sequence[UnexaminedRun]) -> dict[UUID, Examination]:
    """What checks say of each run."""
    found: dict[UUID, Examination] = {}
    for run in runs:
        seen = observe(run.task, run.steps, run.result)
        stray = find_stray(seen, expected_ids(run.metadata))
        found[run.id] = Examination(
            examine(seen), subjects_of(seen), None if stray is None else stray.text
        )
    return found


@dataclass(frozen=True, slots=True)
class Lineup:
    """The runs of a category that can be compared, why each other one cannot, and what is known of
    all.
    """

    runs: tuple[TriedRun, ...]
    refused: Mapping[UUID, str]
    known: Mapping[UUID, Examination]

    @property
    def changed(self) -> dict[UUID, Examination]:
        """The runs that are refused now and were not, or were and are not."""
        return {
            run_id: replace(one, refused=self.refused.get(run_id))
            for run_id, one in self.known.items()
            if one.refused != self.refused.get(run_id)
        }

    def hear(self, judged: Mapping[UUID, Mapping[str, CheckFinding]]) -> "Lineup":
        """The same runs with what else was said of them."""
        known = {
            run_id: replace(one, found={**one.found, **judged.get(run_id, {})})
            for run_id, one in self.known.items()
        }
        runs = (replace(run, findings=known[UUID(run.id)].found) for run in self.runs)
        return Lineup(tuple(runs), self.refused, known)


def line_up(runs: Sequence[ExaminedRun], fresh: Mapping[UUID, Examination]) -> Lineup:
    """The runs with what was found in them; those that are not about their task are refused."""
    known: dict[UUID, Examination] = {}
    groups: dict[str, list[ExaminedRun]] = defaultdict(list)
    for run in runs:
        if run.id in fresh:
            known[run.id] = fresh[run.id]
        elif run.examined is not None:
            known[run.id] = Examination.read(run.examined)
        if run.id in known:
            groups[run.variant].append(run)
    refused: dict[UUID, str] = {}
    for group in groups.values():
        refused |= _refuse(group, known)
    tried = tuple(
        _to_tried(run, known[run.id])
        for group in groups.values()
        for run in group
        if run.id not in refused
    )
    return Lineup(tried, refused, known)


def _refuse(group: Sequence[ExaminedRun], known: Mapping[UUID, Examination]) -> dict[UUID, str]:
    """Which runs of one task are about something else, and why: first by what the task names, then
    by what the others asked for.
    """
    found = {run.id: stray for run in group if (stray := known[run.id].stray) is not None}
    left = [run.id for run in group if run.id not in found]
    odd = find_odd([known[run_id].asked for run_id in left])
    return found | {left[place]: mismatch.text for place, mismatch in odd.items()}


def _to_tried(run: ExaminedRun, examination: Examination) -> TriedRun:
    return TriedRun(
        id=str(run.id),
        task=run.cluster,
        variant=run.variant,
        agent=run.agent,
        family=run.family,
        right=run.right,
        findings=examination.found,
        word=run.word,
    )
