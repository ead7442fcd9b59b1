"""Inclusion: with which probability a memory is kept among what is served, so that memories that
are always found together are seen apart now and then.

Two memories that are never seen apart cannot be told apart by arithmetic. So a memory has a coin:
it is kept with the probability that it helps, as its belief has it, with some optimism (S2 3). A
coin is spent only where it tells something: while the memory was hardly ever absent from what was
served, where its score lies below the floor, so that a memory that fell is tried now and then, or
where it is believed to harm beside one that is believed to help. Where all that was found lies
below the floor, it is tried as often as its belief says: what little is served there tells most.

The coin is no draw of chance but a keyed hash of what the retrieval is about and of the memory: all
rankers and all retries get the same one, and nobody who lacks the key can foretell it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from math import erfc, sqrt
from uuid import UUID

ADDED = 1.25
"""Optimism: standard deviations that are added to mean / standard deviation."""


LOWEST = 0.05
"""The least probability; below the score floor, and beside a better one, the only one."""


UPPER = 1.0
"""The greatest probability."""


ALWAYS = False
"""Whether a coin is spent also on what was absent often enough."""


OUTSHINES = 1.0
"""Deviations above zero from which a memory outshines those that are believed to harm."""


APART = 0.5
"""The greatest probability while a memory is tried apart: absent every other time, it is told from
its companions in the fewest outcomes.
"""


ENOUGH_ABSENCES = 12
"""Absences after which a memory was seen apart, however often it was served."""


TRIAL = (0.1, 0.9)
"""The bounds for what directs the others, a meta-guideline: its absence goes on being seen."""


UNTOLD = 0.5
"""That of a meta-guideline by a policy that does not say how sure it is."""


_BITS = 53  # of a hash, so that the number is exact in double precision


@dataclass(frozen=True, slots=True)
class InclusionRule:
    """How the probability of being kept follows from a belief."""

    added: float = ADDED
    lowest: float = LOWEST
    upper: float = UPPER
    always: bool = ALWAYS
    all_below: bool = True
    """Whether what fell is tried by its belief where nothing stands above the floor."""
    outshines: float | None = OUTSHINES


DEFAULT_RULE = InclusionRule()


@dataclass(frozen=True, slots=True)
class Lift:
    """What a memory is believed to add to the reward."""

    mean: float
    sd: float


class Footing(StrEnum):
    """How a memory of the head stands beside the others."""

    ABOVE = "above"
    BELOW = "below"
    """Its weight took it below the score floor, and others stand above it."""
    ALL_BELOW = "all_below"
    """Its weight took it below the score floor, and nothing stands above it."""
    OUTSHONE = "outshone"
    """Above the floor, but believed to harm, beside one that is believed to help: rankers that
    ignore weights let it rest, the others put it last by themselves.
    """


@dataclass(frozen=True, slots=True)
class Coin:
    """The probability `p` of being kept, and whether the coin left the memory out."""

    p: float
    left_out: bool
    footing: Footing = Footing.ABOVE
    by_weight: "Coin | None" = None
    """The coin for rankers that order by weight, where theirs is another."""

    def seen_by(self, *, weighted: bool) -> "Coin":
        """The coin as a ranker has it that orders by weight, or does not."""
        return self.by_weight if weighted and self.by_weight is not None else self

    def tossed(self, u: float) -> "Coin":
        """How it fell: `u` is uniform in [0, 1), the same for all rankers."""
        other = None if self.by_weight is None else self.by_weight.tossed(u)
        return Coin(self.p, u >= self.p, self.footing, other)

    @property
    def below_floor(self) -> bool:
        """Whether weight took it below the score floor; the coin stands in for the floor."""
        return self.footing in (Footing.BELOW, Footing.ALL_BELOW)


KEPT = Coin(1.0, left_out=False)
"""No coin was spent."""


def inclusion_probability(
    lift: Lift,
    footing: Footing = Footing.ABOVE,
    *,
    served: int,
    absent: int,
    rule: InclusionRule = DEFAULT_RULE,
) -> float:
    """The probability that a memory is kept; 1 where a coin would tell nothing.

    `lift` is the belief, in reward. `served` and `absent` count the retrievals whose head held the
    memory past the raw gate: those that served it, and those that did not.
    """
    if footing in (Footing.BELOW, Footing.OUTSHONE):
        return rule.lowest
    if footing is Footing.ALL_BELOW and not rule.all_below:
        return rule.lowest
    untold = is_hardly_ever_absent(served=served, absent=absent)
    if footing is Footing.ABOVE and not (rule.always or untold):
        return 1.0
    return min(rule.upper, max(rule.lowest, _helps(lift, rule.added)))


def find_footing(
    lift: Lift, above: Sequence[Lift], *, below: bool, rule: InclusionRule = DEFAULT_RULE
) -> Footing:
    """How a memory stands; `above` are the lifts of all that stand above the floor."""
    if below:
        return Footing.BELOW if above else Footing.ALL_BELOW
    if rule.outshines is None or lift.mean >= 0.0:
        return Footing.ABOVE
    outshone = any(o.mean > 0.0 and o.mean >= rule.outshines * o.sd for o in above)
    return Footing.OUTSHONE if outshone else Footing.ABOVE


def trial_probability(lift: Lift | None, *, below_floor: bool) -> float:
    """The probability that a meta-guideline is followed: that it helps, without any optimism.

    It is never certain. What directs a guideline always stands beside the memories that it directs,
    so nothing but its own absence tells what it adds to them.
    """
    if below_floor:
        return LOWEST
    if lift is None:
        return UNTOLD
    low, high = TRIAL
    return min(high, max(low, _helps(lift, 0.0)))


def is_hardly_ever_absent(*, served: int, absent: int) -> bool:
    """Whether too few runs without the memory are known to compare those with it."""
    return absent < min(ENOUGH_ABSENCES, served / 2 + 1)


def toss(secret: bytes, about: str, memory_id: UUID) -> float:
    """The coin of a memory in a retrieval, uniform in [0, 1): the memory is kept where it is below
    the probability. `secret` is the namespace's, `about` names the task or the retrieval.
    """
    bits = _hash_bits(secret, about, memory_id)
    return (bits >> (64 - _BITS)) / (1 << _BITS)


def _hash_bits(secret: bytes, about: str, memory_id: UUID) -> int:
    """64 bits, keyed by the secret; the memory's id has a fixed length, so no two pairs meet."""
    said = memory_id.bytes + about.encode()
    return int.from_bytes(blake2b(said, digest_size=8, key=secret).digest(), "big")


def _helps(lift: Lift, added: float) -> float:
    """The probability that the memory's effect, made better by `added` deviations, is above 0."""
    if lift.sd <= 0.0:
        return 1.0 if lift.mean >= 0.0 else 0.0
    return 0.5 * erfc(-(lift.mean / lift.sd + added) / sqrt(2.0))
