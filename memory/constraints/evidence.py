"""The figures of a test as evidence that can be kept and read. Pure."""

from memory.constraints.check_entities import CheckEvidence, HalfOfTasks
from memory.constraints.checks.library import check_of
from memory.constraints.checks.trials import MODEL, TrialFigures

JUDGED = "was judged to violate it, by a model that did not know which run had failed"


def evidence_of(figures: TrialFigures, category: str) -> CheckEvidence:
    """The figures of a check, and in how many tasks the run that failed did this."""
    if figures.name.partition(":")[0] == MODEL:
        failing = JUDGED
    else:
        check, slot = check_of(figures.name)
        failing = check.failing_for(slot)
    split = figures.split
    told = split.failing + split.winning
    first, second = figures.halves
    return CheckEvidence(
        name=figures.name,
        words=(
            f"in {split.failing} of {told} {category} tasks on which a right and a wrong run differ"
            f" in this, the run that failed {failing}"
        ),
        tasks=figures.tasks,
        failing=split.failing,
        winning=split.winning,
        halves=(
            HalfOfTasks(first.failing, first.winning),
            HalfOfTasks(second.failing, second.winning),
        ),
        families=figures.families,
        against_itself=figures.against_itself,
        p=None if figures.p is None else round(figures.p, 6),
        q=None if figures.q is None else round(figures.q, 6),
        reason=figures.reason,
    )
