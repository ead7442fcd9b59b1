"""What a word rests on, and how much of it each role may claim: self < judge < test < human."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, get_args

from memory.kernel.errors import Rejected

Verifier = Literal["human", "test", "judge", "self"]
VERIFIERS: tuple[Verifier, ...] = tuple(reversed(get_args(Verifier)))
"""From the least to the most believed."""

CLAIMS: Mapping[str, Verifier] = MappingProxyType(
    {
        "agent": "self",
        "evaluator": "test",
        "reader": "self",
        "admin": "human",
        "operator": "human",
    }
)
"""What a key of each role may claim at most, unless it was made for more or less."""

HIGHEST: Mapping[str, Verifier] = MappingProxyType(
    {
        "agent": "test",
        "evaluator": "human",
        "reader": "self",
        "admin": "human",
        "operator": "human",
    }
)
"""The most that a key of each role can be made for."""


def verifier_rank(verifier: str, field: str = "verifier") -> int:
    """How far a verifier is believed: human > test > judge > self. Raises Rejected."""
    for rank, name in enumerate(VERIFIERS):
        if name == verifier:
            return rank
    raise Rejected(
        f"There is no verifier {verifier!r}; there are {', '.join(VERIFIERS)}.",
        field=field,
        limit=list(VERIFIERS),
    )


def lower_verifier(one: Verifier, other: Verifier) -> Verifier:
    """Which of two is believed less: a pair is worth what its weaker half is."""
    return min(one, other, key=verifier_rank)
