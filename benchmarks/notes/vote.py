"""The agent by arithmetic: what it is served votes, over how often each kind has come up."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal, Protocol

from benchmarks.notes.data import KINDS, Question

KAPPA = 1.0
"""How many votes of full strength the running rates count for."""

RewardKind = Literal["continuous", "binary"]

Shares = Mapping[str, float]
"""A probability for each of the six kinds; they sum to 1."""


@dataclass(frozen=True, slots=True)
class Voice:
    """A note in the agent's context: what it says of which question, and with what strength."""

    memory: str
    note: str
    text: str
    says: str
    strength: float


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the running rates of its day, and the notes in the order of the answer."""

    question: Question
    rates: Shares
    voices: Sequence[Voice] = ()


class Seat(Protocol):
    """Whoever answers. `heard` is how many notes it takes in; an answer that is right or wrong is
    worth a `binary` reward.
    """

    heard: int
    reward_kind: RewardKind

    def answer(self, asked: Sequence[Asked]) -> list[Shares]: ...


class Rates:
    """How often each kind was true so far, one of each kind having been seen before the first."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter(KINDS)

    def learn(self, kinds: Iterable[str]) -> None:
        self._seen.update(kinds)

    def shares(self) -> Shares:
        total = self._seen.total()
        return {kind: self._seen[kind] / total for kind in KINDS}


class Voter:
    """Every note votes weight times similarity for its kind."""

    heard = 10
    reward_kind: RewardKind = "continuous"

    def answer(self, asked: Sequence[Asked]) -> list[Shares]:
        return [vote(one.rates, one.voices) for one in asked]


def vote(rates: Shares, voices: Sequence[Voice]) -> Shares:
    """The rates count as κ votes; without a note they are the answer."""
    total = KAPPA + fsum(voice.strength for voice in voices)
    return {
        kind: (KAPPA * rates[kind] + fsum(v.strength for v in voices if v.says == kind)) / total
        for kind in KINDS
    }


def mix(answers: Mapping[str, Shares], by: Mapping[str, float]) -> Shares:
    """Several answers by their shares, which sum to 1."""
    return {kind: fsum(share * answers[name][kind] for name, share in by.items()) for kind in KINDS}


def loss(shares: Shares, truth: str) -> float:
    """Half the squared distance from what came true (Brier, Monthly Weather Review 78, 1950), from
    0 to 1. The reward is 1 less it: of a single answer, 1 where it is right and 0 where it is not.
    """
    return fsum((shares[kind] - (kind == truth)) ** 2 for kind in KINDS) / 2


def choose(shares: Shares) -> str:
    """The likeliest kind; of several, the first of the six."""
    return max(KINDS, key=lambda kind: shares[kind])
