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
    """Another policy under which the recorded outcomes are refolded; the bank is not touched.

    Which memories were served is taken as it was: another policy would have served others, and
    what would have come of that nobody knows.
    """

    __pydantic_config__ = INPUT

    policy: PolicyName
    """Name of the other policy; not that in force."""
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
    below_floor: int
    """How many fall below the score floor, so that no task is near enough for them."""
    returning: int
    """How many were below the score floor, and are not any more."""
    floor: FloorChange
    """The score floor."""


@dataclass(frozen=True, slots=True)
class Foresight:
    """How often weights said beforehand which way an outcome would go, by either policy.

    Asked of each outcome, just before it moves a weight: do the memories that were served weigh
    more than 1 on average, and was the reward larger than without memory (of a single outcome: than
    the agent's mean in that category until then)? An average of exactly 1 counts half.
    """

    __pydantic_config__ = OUTPUT

    outcomes: int
    """Outcomes that were better or worse than without, and so could be foreseen."""
    dates: int
    """Days (UTC) on which these outcomes became known."""
    before: float | None = None
    """Share that the policy of the namespace foresaw, from 0 to 1; null without such an outcome."""
    after: float | None = None
    """Share that the other policy foresaw."""
    low: float | None = None
    """Lower end of the 95 % interval of `after` less `before`; null below ten dates, and where no
    two dates differ.
    """
    high: float | None = None
    """Upper end of that interval, which may be looked at as often as one likes."""
    needed: int | None = None
    """About how many such outcomes would tell a difference of this size from none; null where it is
    told already, or cannot be reckoned yet.
    """


@dataclass(frozen=True, slots=True)
class WhatIfResult:
    """What the bank would be under the other policy."""

    __pydantic_config__ = OUTPUT

    policy: PolicyName
    """The policy that was tried."""
    instead_of: str
    """The policy of the namespace."""
    outcomes: int
    """How many recorded outcomes were refolded."""
    moves: WeightMoves
    """How many living memories would rise, fall, or fall below the score floor."""
    foresight: Foresight
    """Whose weights told better beforehand how outcomes would be."""
    difference: BankDifference
    """From the bank as it is to the bank as it would be."""
    held_fixed: str = (
        "the memories served, the evidence that each outcome was ruled to be, and how far each"
        " memory could have acted; where the policy then did not record this, fully"
    )
    """What another policy would have changed, and this cannot."""
