"""All observable checks, and a run through them."""

from collections.abc import Mapping

from memory.constraints.checks.arithmetic import ARITHMETIC
from memory.constraints.checks.code import CODE
from memory.constraints.checks.observations import CheckFinding, ObservableCheck, ObservedRun
from memory.constraints.checks.questions import QUESTIONS
from memory.constraints.checks.tools import TOOLS

LIBRARY: tuple[ObservableCheck, ...] = (*TOOLS, *QUESTIONS, *ARITHMETIC, *CODE)


BY_NAME: Mapping[str, ObservableCheck] = {check.name: check for check in LIBRARY}


SLOTS = 60
"""A check keeps at most so many slots of a run: the first ones."""


def examine(run: ObservedRun) -> dict[str, CheckFinding]:
    """What each check says of a run: by its name, with `:slot` where it has one. What does not
    apply is left out.
    """
    found: dict[str, CheckFinding] = {}
    for check in LIBRARY:
        for slot, finding in list(check.judge(run).items())[:SLOTS]:
            found[f"{check.name}:{slot}" if slot else check.name] = finding
    return found


def check_of(trial: str) -> tuple[ObservableCheck, str]:
    """The check and the slot of a name as `examine` gives it."""
    name, _, slot = trial.partition(":")
    return BY_NAME[name], slot
