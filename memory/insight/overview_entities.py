"""What an operator looks at first: whether memory helps, what needs a hand, what moved."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from memory.belief.effect import Estimate

Told = Literal["helps", "harms", "no_difference", "unclear", "unknown"]
"""`no_difference`: the interval contains 0. `unclear`: pairs and random outcomes contradict each
other. `unknown`: there is no interval yet.
"""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Rewards with memory against those without, over all agents: of a category, or of all
    categories that are measured alike.
    """

    paired: Estimate
    randomised: Estimate
    controls: int
    """Outcomes without memory that were drawn at random."""
    category: str | None = None
    """Name of the category; None for all together."""


@dataclass(frozen=True, slots=True)
class MeasuredEffect:
    """What memory did where rewards are measured alike, and in each category of these."""

    measure: str
    """Metric and kind of reward."""
    together: Comparison
    categories: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True)
class OverallVerdict:
    """What memory did where rewards are measured alike, in words with the numbers behind them."""

    told: Told
    """What can be said of all categories together."""
    headline: str
    """The same with its number, or what is missing."""
    detail: str
    """In which categories it helps, harms, or is not known; empty where there is one alone."""


@dataclass(frozen=True, slots=True)
class Mover:
    """A memory whose weight rose or fell, with ageing that was written down."""

    memory_id: UUID
    lesson: str
    before: float
    """Effective weight when the time began, or when the memory came."""
    after: float
    outcomes: int
    """Outcomes that moved it in that time and are not withdrawn."""


@dataclass(frozen=True, slots=True)
class Movers:
    """The memories that moved furthest, the largest change first."""

    day: tuple[Mover, ...]
    week: tuple[Mover, ...]


@dataclass(frozen=True, slots=True)
class FirstSteps:
    """What has been done at least once in a namespace, on the way to its first lift."""

    key_made: bool
    """A key of this namespace alone opens it."""
    asked: bool
    """An agent asked for a guideline."""
    remembered: bool
    """A memory is kept, or was."""
    reported: bool
    """An outcome was reported."""

    @property
    def are_done(self) -> bool:
        """Whoever comes so far with a key of all namespaces needs no other yet."""
        return self.asked and self.remembered and self.reported


@dataclass(frozen=True, slots=True)
class WeightClass:
    """Active memories whose effective weight lies from `lowest` to below `below`."""

    lowest: float
    below: float
    """The upper bound belongs to the last class."""
    memories: int


ConcernKind = Literal[
    "ignored",
    "muted",
    "llm_failed",
    "llm_stopped",
    "job_failed",
    "inexact",
    "set_aside",
    "quarantined",
    "webhook_disabled",
]


@dataclass(frozen=True, slots=True)
class Concern:
    """Something that may need a hand, with its cause as it is stored."""

    kind: ConcernKind
    cause: str
    """The reason of outcomes, the fault of calls, the job; empty where there is none."""
    n: int
    """How many: outcomes and calls of the last seven days, failed runs, states that the last
    rebuild found to differ from the ledger, memories, webhooks.
    """


@dataclass(frozen=True, slots=True)
class CategoryCount:
    """One category, or a subcategory of one; a category counts what its subcategories hold."""

    category: str
    subcategory: str | None
    tasks: int
    memories: int
    """Living memories that the viewer may see."""
    id: UUID
