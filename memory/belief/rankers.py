"""The rankers, and a memory under consideration as they see it."""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import fsum
from types import MappingProxyType
from typing import Protocol
from uuid import UUID

from memory.belief.weights import NEUTRAL

Standing = tuple[bool, float, int, datetime, UUID]


class Provable(Protocol):
    """What may speak for those that say the same."""

    @property
    def id(self) -> UUID: ...
    @property
    def earned(self) -> float: ...
    @property
    def credited(self) -> int: ...
    @property
    def learned_at(self) -> datetime: ...


def standing(one: Provable, *, trusted: bool) -> Standing:
    """Order among memories that say the same: the trusted first, then what has earned most, never
    what claims most; then the most credited, the older.
    """
    return (not trusted, -one.earned, -one.credited, one.learned_at, one.id)


def earned(effective_weight: float, start_weight: float, credited: int) -> float:
    """What outcomes have made of a memory beyond the weight that it was written with. A claim above
    neutral is no evidence, and one below is not held against it.
    """
    return effective_weight - max(NEUTRAL, start_weight) if credited else 0.0


def nearness(relevance: float, *, is_exact: bool) -> float:
    """Relevance; half-way from there to 1 for what holds an identifier that the task names. So it
    stands before what is only somewhat like the task and behind what says the same, and of several
    the more relevant comes first; its weight counts as that of any other.
    """
    return (1.0 + relevance) / 2 if is_exact else relevance


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory of the head, with everything that ordering it depends on.

    `relevance` is in [0, 1] and equals `similarity` where no reranker is configured. `group` is
    what the memory's source task stands or falls with: the task's group key, else the task.
    `effective_weight` is what the memory has earned; `ranking_weight` is the same with some
    optimism for the untested, and only orders. `credited` counts the outcomes that moved it.
    `probation`: nobody verified it yet. `look_alike` is equal for memories that say the same in
    other clothes; `trusted` and `earned` decide which of them speaks. `author` is the party whose
    key wrote it, None where that key judges others or the server made it. `is_exact`: it holds an
    identifier that the task names. `fused`: its relevance with the words that it shares with the
    task, where those count; it orders and does nothing else.
    """

    id: UUID
    version: int
    group: str
    kind: str
    similarity: float
    relevance: float
    effective_weight: float
    ranking_weight: float
    learned_at: datetime
    credited: int
    probation: bool = False
    look_alike: str = ""
    trusted: bool = False
    earned: float = 0.0
    author: UUID | None = None
    is_exact: bool = False
    fused: float | None = None

    @property
    def unproven_author(self) -> UUID | None:
        """The party that wrote it, while it has earned nothing."""
        return self.author if self.earned <= 0 else None

    @property
    def standing(self) -> Standing:
        """Of look-alikes, the smallest speaks for all."""
        return standing(self, trusted=self.trusted)

    @property
    def score(self) -> float:
        """Effective weight times relevance, as callers see it."""
        return self.effective_weight * self.relevance

    def is_near(self, raw_gate: float) -> bool:
        """Whether it passes the raw gate: by its cosine, or by an identifier."""
        return self.is_exact or self.similarity >= raw_gate

    @property
    def nearness(self) -> float:
        """How near it is, in [0, 1]: what the floor is about."""
        return nearness(self.relevance, is_exact=self.is_exact)

    @property
    def order_nearness(self) -> float:
        """How near it is to whoever orders, in [0, 1]: with shared words, where they count."""
        relevance = self.relevance if self.fused is None else self.fused
        return nearness(relevance, is_exact=self.is_exact)

    @property
    def floor_score(self) -> float:
        """Effective weight times nearness: what the floor of weighted rankers is about."""
        return self.effective_weight * self.nearness


MODE_PRIOR = {"flat": 0.8, "weighted": 0.2}


NO_SIGNAL_PRIOR = {"flat": 0.95, "weighted": 0.05}


HALF_LIVES = {"none": None, **{f"{days}d": timedelta(days=days) for days in (180, 60, 30, 15)}}


FLAT_AGELESS = "flat/none"


PLAIN = "plain"
"""Flat, ageless and without coins: it shows what the coins of all others cost."""


PLAIN_PRIOR = 0.02
"""Taken from all others alike."""


# While few feedback dates are known, a half-life cannot have been told from chance.
YOUNG_BELOW = 10


YOUNG_AGELESS = 0.6


# A drawn ranker never has less than this chance, so that its loss can be weighed by it.
DRAW_FLOOR = 0.01


@dataclass(frozen=True, slots=True)
class Ranker:
    """One way to order the head."""

    weighted: bool
    half_life: timedelta | None
    coins: bool = True
    """Whether it leaves out what a coin leaves out."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Which ranker was drawn, and how likely each was.

    `same`: those that would have served the same memories, itself among them where any is named.
    """

    ranker: str
    shares: Mapping[str, float]
    same: frozenset[str] = frozenset()

    @property
    def scored(self) -> frozenset[str]:
        """Whose loss an outcome shows."""
        return self.same | {self.ranker}

    @property
    def propensity(self) -> float:
        """How likely it was that what was served would be served."""
        return fsum(self.shares[ranker] for ranker in self.scored)


RANKERS: Mapping[str, Ranker] = MappingProxyType(
    {
        f"{mode}/{name}": Ranker(weighted=mode == "weighted", half_life=half_life)
        for mode in MODE_PRIOR
        for name, half_life in HALF_LIVES.items()
    }
    | {PLAIN: Ranker(weighted=False, half_life=None, coins=False)}
)


DRAW_SHARE = 1.0 - DRAW_FLOOR * len(RANKERS)


ASKED: tuple[str, ...] = tuple(name for name in RANKERS if name != PLAIN)
"""Who answers where all rankers do: there are no coins there, so `plain` would say nothing new."""


def _prior(ageless: float) -> Mapping[str, float]:
    aged = (1 - ageless) / (len(HALF_LIVES) - 1)
    return MappingProxyType(
        {
            f"{mode}/{name}": (1 - PLAIN_PRIOR) * chance * (ageless if half_life is None else aged)
            for mode, chance in MODE_PRIOR.items()
            for name, half_life in HALF_LIVES.items()
        }
        | {PLAIN: PLAIN_PRIOR}
    )


PRIOR: Mapping[str, float] = _prior(ageless=1 / len(HALF_LIVES))


YOUNG_PRIOR: Mapping[str, float] = _prior(ageless=YOUNG_AGELESS)


def prior(feedback_dates: int, *, signal: bool = True) -> Mapping[str, float]:
    """What is believed of the rankers before their record: .8 flat; ageless rather, while young.

    Without `signal`, where residuals of one memory on different dates do not agree, .95 flat.
    """
    known = YOUNG_PRIOR if feedback_dates < YOUNG_BELOW else PRIOR
    if signal:
        return known
    factors = {mode: chance / MODE_PRIOR[mode] for mode, chance in NO_SIGNAL_PRIOR.items()}
    factors[PLAIN] = 1.0
    return MappingProxyType(
        {ranker: chance * factors[ranker.split("/")[0]] for ranker, chance in known.items()}
    )


def draw_ranker(probabilities: Mapping[str, float], chance: random.Random) -> Draw:
    """One of them, with probability .01 and the rest by its share; `probabilities` sum to 1."""
    shares = {ranker: DRAW_FLOOR + DRAW_SHARE * probabilities[ranker] for ranker in RANKERS}
    [ranker] = chance.choices(list(shares), list(shares.values()))
    return Draw(ranker, MappingProxyType(shares))


def all_rankers(shares: Collection[str]) -> tuple[str, ...]:
    """Who answers for a receipt of all rankers, of which these had a share: the rankers of its
    time; today's where its policy knows but one.
    """
    if len(shares) == 1:
        return ASKED
    known = tuple(ranker for ranker in RANKERS if ranker in shares)
    return (*known, *sorted(set(shares) - set(known)))


class Orders:
    """What rankers sort some candidates by; what several of them go by is computed once."""

    def __init__(self, candidates: Sequence[Candidate], as_of: datetime) -> None:
        self.candidates = candidates
        self._as_of = as_of
        self._flat = [c.order_nearness for c in candidates]
        self._weighted = [
            c.ranking_weight * near for c, near in zip(candidates, self._flat, strict=True)
        ]
        self._ages: dict[timedelta, list[float]] = {}
        self._by_id = sorted(range(len(candidates)), key=lambda place: candidates[place].id.int)

    def scores(self, ranker: str) -> list[float]:
        """What this ranker sorts by: ranking weight (or 1) times nearness times knowledge age."""
        rule = RANKERS[ranker]
        scores = self._weighted if rule.weighted else self._flat
        if rule.half_life is None:
            return scores
        ages = self._ages.get(rule.half_life)
        if ages is None:
            ages = [knowledge_age(ranker, candidate, self._as_of) for candidate in self.candidates]
            self._ages[rule.half_life] = ages
        return [score * age for score, age in zip(scores, ages, strict=True)]

    def sort(self, ranker: str) -> list[Candidate]:
        """By score falling, then by id."""
        places = sorted(self._by_id, key=self.scores(ranker).__getitem__, reverse=True)
        return [self.candidates[place] for place in places]


def order_scores(ranker: str, candidates: Sequence[Candidate], as_of: datetime) -> list[float]:
    """What this ranker sorts by."""
    return Orders(candidates, as_of).scores(ranker)


def displayed_score(ranker: str, candidate: Candidate, as_of: datetime) -> float:
    """What callers see of this ranker: as it sorts, but by the effective weight.

    The optimism in a ranking weight gives the untested a turn; it is no reason to follow them.
    """
    rule = RANKERS[ranker]
    factor = candidate.effective_weight if rule.weighted else 1.0
    return factor * candidate.order_nearness * knowledge_age(ranker, candidate, as_of)


def knowledge_age(ranker: str, candidate: Candidate, as_of: datetime) -> float:
    """How much of a candidate this ranker leaves for the age of what it knows, in (0, 1]."""
    rule = RANKERS[ranker]
    if rule.half_life is None:
        return 1.0
    age = max(timedelta(0), as_of - candidate.learned_at)
    return 0.5 ** (age / rule.half_life)
