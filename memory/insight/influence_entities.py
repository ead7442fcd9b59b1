"""Who moved what: parties, keys and the memories of others that they moved, in weight."""

from dataclasses import dataclass
from uuid import UUID

from memory.kernel.fields import OUTPUT
from memory.tenancy.entities import Role


@dataclass(frozen=True, slots=True)
class PartyInfluence:
    """How far one party has moved a memory by its own word, and how far that counts for others."""

    __pydantic_config__ = OUTPUT

    party: UUID
    """The first key of the party: keys that may speak for the same agent."""
    agents: tuple[str, ...] | None
    """The agents that this key speaks for; null where it is bound to none."""
    effect: float
    """Its net effect, in weight; the party itself feels it whole."""
    counted: float
    """What of it counts for everybody, in weight."""
    clipped: float
    """What does not, in weight: one party counts within a bound of .2."""


@dataclass(frozen=True, slots=True)
class KeyInfluence:
    """A key that reported here, and how far its party moved memories that others wrote."""

    __pydantic_config__ = OUTPUT

    key_id: UUID
    """The key; `POST …/rollbacks` with it and `dry_run` false withdraws all that it said."""
    name: str
    """Its name among people."""
    role: Role
    """What it is for."""
    agents: tuple[str, ...] | None
    """The agents that it speaks for; null where it is bound to none."""
    party: UUID | None
    """The first key of its party; null for a key that judges others, whose word is not bounded."""
    outcomes: int
    """Its outcomes that are applied."""
    memories: int
    """Memories of others that its party moved plainly: by .2 of weight or more."""
    raised: int
    """Those of them that it raised."""
    lowered: int
    """Those of them that it lowered."""
    alone: int
    """Those of them that no other party moved the same way."""
    effect: float
    """The sum of its effects, whichever way, in weight."""
    alert: bool
    """Whether it moved three or more memories of others alone, and further than counts."""


@dataclass(frozen=True, slots=True)
class MovedMemory:
    """A memory of others that a party moved, in weight."""

    __pydantic_config__ = OUTPUT

    memory_id: UUID
    """Names the memory."""
    effect: float
    """How far the party's word alone moved it."""
    counted: float
    """What of that counts for everybody."""
    clipped: float
    """What does not."""
    alone: bool
    """Whether no other party moved it the same way."""
