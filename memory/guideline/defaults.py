"""The meta-guidelines every namespace begins with. They compete under weights like all others."""

from memory.domain.guidance import (
    OWN_AGENT,
    CrossCategory,
    Directives,
    MetaGuidelineDraft,
    OnDisagreement,
    Order,
)


def _default(failure_reason: str, instruction: str, directives: Directives) -> MetaGuidelineDraft:
    return MetaGuidelineDraft(OWN_AGENT, failure_reason, instruction, directives)


DEFAULTS: tuple[MetaGuidelineDraft, ...] = (
    _default(
        "A note was followed although its situation was not that of the task.",
        "Before using a note, say what its situation and this task have in common."
        " Where that is little, decide as if the note were not there.",
        Directives(),
    ),
    _default(
        "A note was believed over what the task itself shows, and the world had changed since.",
        "What you can see now counts for more than any note."
        " Between notes that differ, prefer the newer one.",
        Directives(order=Order.NEWEST),
    ),
    _default(
        "The conclusion of an earlier task was copied into another that only looked alike.",
        "Take from a note the way of working, the checks and the order of steps,"
        " not the answer it came to.",
        Directives(on_disagreement=OnDisagreement.SHOW_BOTH),
    ),
    _default(
        "Advice from another kind of task was applied where other rules hold.",
        "Rely on notes from this kind of task alone, and on few of them.",
        Directives(max_memories=8, cross_category=CrossCategory.EXCLUDE),
    ),
)
