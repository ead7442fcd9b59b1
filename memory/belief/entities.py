"""A change of a belief, as the ledger holds it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from memory.kernel.fields import OUTPUT
from memory.tenancy.entities import PolicyName


@dataclass(frozen=True, slots=True)
class WeightEvent:
    """One entry of the ledger: what moved a memory's belief, an agent's deviation from it or a
    party's influence on it.
    """

    __pydantic_config__ = OUTPUT

    bank_version: int
    """The version of the bank that it made."""
    position: int
    """Its place within that version, from 0."""
    subject: Literal["memory", "deviation", "influence"]
    """Whether the memory's own state moved, an agent's deviation from it, or how far one party
    alone has moved it: its net effect and what of that counts, in added reward.
    """
    kind: Literal["learn", "set"]
    """Whether an outcome moved it, or something else set it."""
    reason: str
    """The kind of evidence, or the operation: created, edit, decay, correction."""
    policy: PolicyName
    """The policy by which it moved."""
    weight_before: float | None
    """Effective weight before, of a memory's own state only."""
    weight_after: float | None
    """Effective weight after, of a memory's own state only."""
    state_before: Sequence[float] | None
    """The policy's numbers before; null at its start."""
    state_after: Sequence[float]
    """The policy's numbers after; empty where it is at its start again."""
    agent: str | None
    """Name of the agent that deviates."""
    outcome_id: UUID | None
    """The outcome that moved it."""
    known_at: datetime
    """When its cause was known."""
    recorded_at: datetime
    """When the server wrote it down."""
    superseded_by: int | None
    """The version of the bank in which a correction took it back."""
    retrieval_id: UUID | None = None
    """The receipt of the outcome."""
    party: UUID | None = None
    """The first key of the party whose influence moved."""
