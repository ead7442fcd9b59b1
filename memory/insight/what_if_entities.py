"""What another policy would make of the recorded outcomes: what is asked, and the answer."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from memory.insight.entities import MAX_CHANGES, BankDifference
from memory.kernel.errors import Rejected
from memory.kernel.fields import INPUT, OUTPUT, Whole
from memory.tenancy.entities import PolicyName


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Another policy under which the recorded outcomes are folded; the bank is not touched.

    Which memories were served is taken as it was: another policy would have served others, and
    what would have come of that nobody knows.
    """

    __pydantic_config__ = INPUT

    policy: PolicyName
    """Name of the other policy."""
    limit: Annotated[Whole, Field(ge=1, le=MAX_CHANGES)] = 100
    """How many changes of each kind are listed at most."""

    def __post_init__(self) -> None:
        if not 1 <= self.limit <= MAX_CHANGES:
            raise Rejected(f"limit lies in 1…{MAX_CHANGES}", field="limit", limit=[1, MAX_CHANGES])


@dataclass(frozen=True, slots=True)
class FloorChange:
    """The least score at which a memory is served, which its weight alone must reach."""

    __pydantic_config__ = OUTPUT

    before: float
    """Under the policy of the namespace."""
    after: float
    """Under the other policy, which may settle it."""


@dataclass(frozen=True, slots=True)
class WeightMoves:
    """Of the living memories that the caller may see, how many a change moves."""

    __pydantic_config__ = OUTPUT

    rising: int
    """How many weigh more."""
    falling: int
    """How many weigh less."""
    left_out: int
    """How many fall below the score floor, so that no task is near enough for them."""
    returning: int
    """How many were below the score floor, and are not any more."""
    floor: FloorChange
    """The score floor."""


@dataclass(frozen=True, slots=True)
class WhatIfResult:
    """What the bank would be under the other policy."""

    __pydantic_config__ = OUTPUT

    policy: PolicyName
    """The policy that was tried."""
    instead_of: str
    """The policy of the namespace."""
    outcomes: int
    """How many recorded outcomes were folded."""
    moves: WeightMoves
    """How many living memories would rise, fall, or be left out."""
    difference: BankDifference
    """From the bank as it is to the bank as it would be."""
    held_fixed: str = (
        "the memories served, the evidence that each outcome was ruled to be, and how far each"
        " memory could have acted, which is all the way where the policy of that time did not ask"
    )
    """What another policy would have changed, and this cannot."""
