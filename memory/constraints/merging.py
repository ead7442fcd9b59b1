"""Which constraints are one, which contradict each other, and which of two has more behind it."""

from dataclasses import dataclass

from memory.constraints.entities import Wording
from memory.kernel.likeness import TWIN, says_the_same, signature

ENFORCED_AVOIDED, NEGATED = "enforced_avoided", "negated"
"""How two constraints contradict: one enforces what the other avoids; one says the other's
obligation with a negation.
"""


@dataclass(frozen=True, slots=True)
class Nearness:
    """Cosines between parts of two constraints; None where one of them has no such part.

    `crossed`: what the first enforces to what the second avoids, and the other way round.
    """

    trigger: float
    lesson: float
    enforce: float | None = None
    avoid: float | None = None
    crossed: tuple[float | None, float | None] = (None, None)


@dataclass(frozen=True, slots=True, order=True)
class Strength:
    """What stands behind a constraint, in the order in which it counts."""

    proven: bool
    tasks: int
    families: int
    effective_weight: float


def same(one: Wording, other: Wording, near: Nearness) -> bool:
    """Whether they say one thing, by the rule of all memories (decision 47), part by part: both
    enforce, both avoid, or both do both, and nothing says that any part differs.
    """
    parts = (
        (one.trigger, other.trigger, near.trigger),
        (one.enforce, other.enforce, near.enforce),
        (one.avoid, other.avoid, near.avoid),
    )
    return all(_says_the_same(*part) for part in parts)


def _says_the_same(one: str | None, other: str | None, cosine: float | None) -> bool:
    """Both are absent, or both are there and say the same."""
    if one is None or other is None:
        return one is other
    return says_the_same(one, other, -1.0 if cosine is None else cosine)


def opposed(one: Wording, other: Wording, near: Nearness) -> str | None:
    """How they contradict each other when the trigger is the same; None where they do not."""
    if near.trigger < TWIN or not _alike(one.trigger, other.trigger):
        return None
    if _crossed(one, other, near):
        return ENFORCED_AVOIDED
    obligations = ((one.enforce, other.enforce, near.enforce), (one.avoid, other.avoid, near.avoid))
    if any(_near(cosine) and _negated(first, second) for first, second, cosine in obligations):
        return NEGATED
    return None


def _crossed(one: Wording, other: Wording, near: Nearness) -> bool:
    """Whether one enforces what the other avoids, rather than what the other enforces."""
    straight = max((c for c in (near.enforce, near.avoid) if c is not None), default=-1.0)
    pairs = ((one.enforce, other.avoid), (one.avoid, other.enforce))
    return any(
        cosine is not None and cosine >= TWIN and cosine > straight and _equal(*texts)
        for texts, cosine in zip(pairs, near.crossed, strict=True)
    )


def stronger(one: Strength, other: Strength) -> str | None:
    """`first` or `second`; None where as much stands behind either, or neither is proven."""
    if one == other or not (one.proven or other.proven):
        return None
    return "first" if one > other else "second"


def _near(cosine: float | None) -> bool:
    return cosine is not None and cosine >= TWIN


def _alike(one: str | None, other: str | None) -> bool:
    """Both are absent, or both are there and equal in what vectors are blind to."""
    if one is None or other is None:
        return one is other
    return signature(one) == signature(other)


def _equal(one: str | None, other: str | None) -> bool:
    return one is not None and _alike(one, other)


def _negated(one: str | None, other: str | None) -> bool:
    """Equal but for a negation: an odd number of them turns a sentence round."""
    if one is None or other is None:
        return False
    *first, negations = signature(one)
    *second, others = signature(other)
    return first == second and (negations - others) % 2 == 1
