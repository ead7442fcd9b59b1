"""The ten rankers, and a memory under consideration as they see it."""

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Candidate:
    """A memory of the head, with everything that ordering it depends on.

    `relevance` is in [0, 1] and equals `similarity` where no reranker is configured. `group` is
    what the memory's source task stands or falls with: the task's group key, else the task.
    `effective_weight` is what the memory has earned; `ranking_weight` is the same with some
    optimism for the untested, and only orders. `credited` counts the outcomes that moved it.
    `probation`: nobody verified it yet.
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

    @property
    def score(self) -> float:
        """Effective weight times relevance: what the floor is about and callers see."""
        return self.effective_weight * self.relevance


MODE_PRIOR = {"flat": 0.8, "weighted": 0.2}


NO_SIGNAL_PRIOR = {"flat": 0.95, "weighted": 0.05}


HALF_LIVES = {"none": None, **{f"{days}d": timedelta(days=days) for days in (180, 60, 30, 15)}}


FLAT_AGELESS = "flat/none"


# While few feedback dates are known, a half-life cannot have been told from chance.
YOUNG_BELOW = 10


YOUNG_AGELESS = 0.6


# A drawn ranker never has less than this chance, so that its loss can be weighed by it.
DRAW_FLOOR = 0.01


DRAW_SHARE = 0.90


@dataclass(frozen=True, slots=True)
class Ranker:
    """One way to order the head."""

    weighted: bool
    half_life: timedelta | None


@dataclass(frozen=True, slots=True)
class Draw:
    """Which ranker was drawn, and how likely each was."""

    ranker: str
    shares: Mapping[str, float]

    @property
    def propensity(self) -> float:
        return self.shares[self.ranker]


RANKERS: Mapping[str, Ranker] = MappingProxyType(
    {
        f"{mode}/{name}": Ranker(weighted=mode == "weighted", half_life=half_life)
        for mode in MODE_PRIOR
        for name, half_life in HALF_LIVES.items()
    }
)


def _prior(ageless: float) -> Mapping[str, float]:
    aged = (1 - ageless) / (len(HALF_LIVES) - 1)
    return MappingProxyType(
        {
            f"{mode}/{name}": chance * (ageless if half_life is None else aged)
            for mode, chance in MODE_PRIOR.items()
            for name, half_life in HALF_LIVES.items()
        }
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
    return MappingProxyType(
        {ranker: chance * factors[ranker.split("/")[0]] for ranker, chance in known.items()}
    )


def draw_ranker(probabilities: Mapping[str, float], chance: random.Random) -> Draw:
    """One of the ten, with probability .01 + .90 of its share; `probabilities` sum to 1."""
    shares = {ranker: DRAW_FLOOR + DRAW_SHARE * probabilities[ranker] for ranker in RANKERS}
    [ranker] = chance.choices(list(shares), list(shares.values()))
    return Draw(ranker, MappingProxyType(shares))


def all_rankers(shares: Collection[str]) -> tuple[str, ...]:
    """Who answers for a receipt of all rankers, of which these had a share: the rankers of its
    time; today's where its policy knows but one.
    """
    if len(shares) == 1:
        return tuple(RANKERS)
    known = tuple(ranker for ranker in RANKERS if ranker in shares)
    return (*known, *sorted(set(shares) - set(known)))


def order_scores(ranker: str, candidates: Sequence[Candidate], as_of: datetime) -> list[float]:
    """What this ranker sorts by: ranking weight (or 1) times relevance times knowledge age."""
    rule = RANKERS[ranker]
    if rule.weighted:
        scores = [c.ranking_weight * c.relevance for c in candidates]
    else:
        scores = [c.relevance for c in candidates]
    if rule.half_life is None:
        return scores
    ages = (knowledge_age(ranker, candidate, as_of) for candidate in candidates)
    return [score * age for score, age in zip(scores, ages, strict=True)]


def displayed_score(ranker: str, candidate: Candidate, as_of: datetime) -> float:
    """What callers see of this ranker: as it sorts, but by the effective weight.

    The optimism in a ranking weight gives the untested a turn; it is no reason to follow them.
    """
    rule = RANKERS[ranker]
    factor = candidate.effective_weight if rule.weighted else 1.0
    return factor * candidate.relevance * knowledge_age(ranker, candidate, as_of)


def knowledge_age(ranker: str, candidate: Candidate, as_of: datetime) -> float:
    """How much of a candidate this ranker leaves for the age of what it knows, in (0, 1]."""
    rule = RANKERS[ranker]
    if rule.half_life is None:
        return 1.0
    age = max(timedelta(0), as_of - candidate.learned_at)
    return 0.5 ** (age / rule.half_life)
