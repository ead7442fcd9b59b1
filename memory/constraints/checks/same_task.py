"""Whether two runs are about the same things, as runs of one task must be. Pure.

A vendor's file of runs may carry wrong task ids; then a success of one task would be compared with
a failure of another. What counts are ids, words that contain a digit and a letter: among what the
task names, what its expected actions name where these are given, and what the runs asked tools for.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from memory.constraints.checks.observations import ObservedRun, ids_in

EXPECTED = "expected_actions"
"""Under this name in a task's metadata: a list of calls, `{tool, arguments}`."""


LEAST = 2
"""Of fewer ids nothing is concluded."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Why runs are not of one task: what the one is about, and what the other or the task is."""

    reason: str
    ours: tuple[str, ...]
    theirs: tuple[str, ...]

    @property
    def text(self) -> str:
        ours, theirs = (", ".join(some[:3]) or "nothing" for some in (self.ours, self.theirs))
        return f"{self.reason}: {ours} against {theirs}"


OTHER_TASK, OTHER_RUN = "other_task", "other_subject"


def names_in(text: str) -> frozenset[str]:
    """Ids with a letter and a digit: those of customers, orders and bookings, no numbers."""
    return frozenset(
        token for token in ids_in(text) if any(c.isalpha() for c in token) and "-" not in token
    )


def expected_ids(metadata: Mapping[str, object]) -> frozenset[str]:
    """What the expected actions of a task name; nothing where none are given."""
    actions = metadata.get(EXPECTED)
    if not isinstance(actions, list):
        return frozenset()
    found: set[str] = set()
    for action in cast("list[object]", actions):
        if isinstance(action, dict):
            found |= names_in(str(cast("dict[str, object]", action).get("arguments")))
    return frozenset(found)


def subjects_of(run: ObservedRun) -> frozenset[str]:
    """The ids that a run asked tools for."""
    return frozenset[str]().union(*(names_in(str(call.arguments)) for call in run.calls))


def find_stray(run: ObservedRun, expected: frozenset[str] = frozenset()) -> Mismatch | None:
    """Why a run is not of its task, if so: it came across none of what the task names."""
    ours, named = subjects_of(run), names_in(run.task) | expected
    if len(ours) < LEAST or len(named) < LEAST or named & (ours | names_in(run.observed)):
        return None
    return Mismatch(OTHER_TASK, tuple(sorted(ours)), tuple(sorted(named)))


def find_odd(runs: Sequence[frozenset[str]]) -> dict[int, Mismatch]:
    """Which of the runs of one task, by place, asked for nothing that any other asked for; the ids
    of each are given. Read once, so that one more run costs the same however many there are.
    """
    asked = Counter(one for ours in runs for one in ours)
    found: dict[int, Mismatch] = {}
    for place, ours in enumerate(runs):
        if len(ours) < LEAST or any(asked[one] > 1 for one in ours):
            continue
        if len(asked) - len(ours) >= LEAST:
            theirs = sorted(asked.keys() - ours)
            found[place] = Mismatch(OTHER_RUN, tuple(sorted(ours)), tuple(theirs))
    return found
