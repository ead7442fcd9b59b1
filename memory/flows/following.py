"""How far memory is to be followed for one retrieval, and which ranker serves: strength and guard.

Pure, over what was found. The paper's rule has neither: it ranks by weight and is followed whole.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from memory.flows.finding import Found
from memory.learning.fold import others
from memory.learning.guard import feedback_dates, initial_record, probabilities
from memory.learning.policy import Policy
from memory.learning.strength import initial_strength, is_suspended, strength_of
from memory.retrieval.rankers import RANKERS, draw_ranker, prior

UNGUARDED = "weighted/none"
"""What a policy without a guard ranks by."""


@dataclass(frozen=True, slots=True)
class Followed:
    """The cell's strength in [0, 1], and whether it is suspended."""

    strength: float = 1.0
    suspended: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """The ranker that orders, and each ranker's probability: of being drawn, or its share of the
    caller's answer where the caller answers from all of them.
    """

    ranker: str
    rankers: Mapping[str, float]


def followed(found: Found, policy: Policy) -> Followed:
    """The strength of the agent's cell at the time of the retrieval."""
    if not policy.guarded:
        return Followed()
    agent, category = found.agent, found.category_ids[0]
    strengths = found.following.strengths
    state = strengths.get((agent.id, category)) or initial_strength()
    strength = strength_of(
        state,
        others(strengths, agent.id, category),
        own_information=agent.own_information,
        now=found.asked.as_of,
    )
    return Followed(strength, is_suspended(state))


def choose_ranker(found: Found, policy: Policy, chance: random.Random, *, signal: bool) -> Choice:
    """The ranker by its record; drawn, unless the caller answers from each."""
    if not policy.guarded:
        return Choice(UNGUARDED, MappingProxyType({UNGUARDED: 1.0}))
    shares = _shares(found, signal=signal)
    if found.asked.ask.rivals:
        return Choice(max(RANKERS, key=lambda ranker: shares[ranker]), shares)
    drawn = draw_ranker(shares, chance)
    return Choice(drawn.ranker, drawn.shares)


def _shares(found: Found, *, signal: bool) -> Mapping[str, float]:
    records = found.following.records
    fresh = initial_record(len(RANKERS))
    cell = records.get(found.category_ids[0]) or fresh
    believed = prior(feedback_dates(cell), signal=signal)
    shares = probabilities(
        [believed[ranker] for ranker in RANKERS],
        cell,
        records.get(None) or fresh,
        found.asked.as_of,
    )
    return MappingProxyType(dict(zip(RANKERS, shares, strict=True)))
