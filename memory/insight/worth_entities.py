"""Worth of its place, as people read it: of one memory, and of all by their weight."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from memory.belief.worth import PlaceEffect
from memory.kernel.fields import OUTPUT

Verdict = Literal["unknown", "helps", "harms", "no_difference"]
"""`unknown`: too few coins to tell. `no_difference`: the interval contains 0."""


@dataclass(frozen=True, slots=True)
class Companion:
    """A memory that comes up with this one, and is hardly ever served without it or it without."""

    __pydantic_config__ = OUTPUT

    memory_id: UUID
    """Names the memory; the nil UUID for a private one."""
    lesson: str | None
    """Its lesson; null for a private one."""
    together: int
    """Retrievals with memory in which both came up, served or left out."""
    apart: int
    """Retrievals with memory that served one of the two without the other."""


@dataclass(frozen=True, slots=True)
class BelievedEffect:
    """What a memory is believed to add to the reward against an empty place."""

    __pydantic_config__ = OUTPUT

    mean: float
    """Mean of the belief, in reward."""
    standard_deviation: float
    """Its standard deviation."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What serving one memory added, against what took its place: what suspending it would cost.

    An audit beside the belief, whose question is what the memory adds against an empty place. It
    moves, ranks and retires nothing.
    """

    __pydantic_config__ = OUTPUT

    memory_id: UUID
    """Names the memory."""
    verdict: Verdict
    """What can be said of it."""
    summary: str
    """The same in sentences, with the numbers that it rests on."""
    place: PlaceEffect
    """The comparison, over the text as it stands now."""
    came_up: int
    """The newest retrievals with memory in which it was served or left out; 1,000 at most."""
    served: int
    """Those of them that served it."""
    believed: BelievedEffect | None
    """What its belief says; null under a policy that does not say how sure it is."""
    companions: tuple[Companion, ...]
    """Memories that it cannot be told apart from by what was served, the closest first; at most
    eight, and none once an effect is told.
    """


@dataclass(frozen=True, slots=True)
class WorthByWeight:
    """What serving memories of one class of weight added, against what took their places."""

    __pydantic_config__ = OUTPUT

    lowest: float
    """The least effective weight of the class, as it was at the retrieval."""
    below: float | None
    """The weights of the class are less than this; null for the class up to the upper bound."""
    verdict: Verdict
    """What can be said of the class."""
    summary: str
    """The same in a sentence."""
    memories: int
    """Memories that had a coin at such a weight."""
    place: PlaceEffect
    """The comparison."""
