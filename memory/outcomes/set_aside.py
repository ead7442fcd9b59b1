"""Of outcomes that cannot be applied together: which one is to blame."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

Try = Callable[[Sequence[UUID]], Awaitable[Exception | None]]
"""Applies these outcomes and takes it back; what went wrong, if anything did."""


@dataclass(frozen=True, slots=True)
class Culprit:
    """An outcome that cannot be applied after those before it, which can; and why."""

    outcome_id: UUID
    fault: Exception


async def find_culprit(ids: Sequence[UUID], attempt: Try) -> Culprit | None:
    """The last of the shortest beginning that fails, by halving; `ids` in the order of application.
    None where all can be applied, or it fails with none: then no outcome is to blame.
    """
    fault = await attempt(ids)
    if fault is None or not ids or await attempt(()) is not None:
        return None
    passes, fails = 0, len(ids)
    while fails - passes > 1:
        middle = (passes + fails) // 2
        found = await attempt(ids[:middle])
        if found is None:
            passes = middle
        else:
            fails, fault = middle, found
    return Culprit(ids[fails - 1], fault)
