"""Changesets: what a language model would change about the notes, after several failures alike."""

from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Literal
from uuid import UUID

from memory.kernel.fields import OUTPUT
from memory.memories.masking import Mask


class ChangesetState(StrEnum):
    """`waiting`: nothing is proposed yet. `proposed`: it is tried. `applied`, `rejected`: what the
    trials decided, or a manager. `nothing`: the model proposed nothing that could be tried.
    `quarantined`: work on it failed too often. `undone`: it was applied, and later undone.
    """

    WAITING = "waiting"
    PROPOSED = "proposed"
    APPLIED = "applied"
    REJECTED = "rejected"
    NOTHING = "nothing"
    QUARANTINED = "quarantined"
    UNDONE = "undone"


@dataclass(frozen=True, slots=True)
class Change:
    """One change of a set. An edit puts a new memory in the place of an old one."""

    __pydantic_config__ = OUTPUT

    change: Literal["create", "edit", "retire"]
    """What is done."""
    memory_id: UUID | None
    """The new memory, a candidate until the set is applied; null where one is only retired."""
    replaces: UUID | None
    """The memory that retires; null where one is only created."""
    situation: str | None = None
    """When the new memory applies; null once erased, or where the key may not read it."""
    lesson: str | None = None
    """What it says to do."""
    old_situation: str | None = None
    """When the memory that retires applies."""
    old_lesson: str | None = None
    """What that says to do."""

    def hide(self, mask: Mask) -> "Change":
        ids = [one for one in (self.memory_id, self.replaces) if one is not None]
        if not mask.hides(ids):
            return self
        return replace(self, situation=None, lesson=None, old_situation=None, old_lesson=None)


@dataclass(frozen=True, slots=True)
class Changeset:
    """Changes that are tried together, and are applied together or not at all."""

    __pydantic_config__ = OUTPUT

    id: UUID
    """Names the set for ever."""
    state: ChangesetState
    """Where it stands."""
    reason: str | None
    """Why it has this state."""
    category: str
    """The category of the failures."""
    family: str
    """The family of the agents that failed, or `agent NAME` where none is declared."""
    outcome_ids: tuple[UUID, ...]
    """The failures it was made from."""
    similarity: float
    """The least cosine between the tasks of the failures and the one in their midst."""
    changes: tuple[Change, ...]
    """What it changes; empty while it waits."""
    ticket_id: UUID | None
    """The ticket under which it is tried."""
    claims: int
    """How often it was worked on."""
    recorded_at: datetime
    """When the failures were found to be alike."""
    finished_at: datetime | None
    """When it had its end."""
