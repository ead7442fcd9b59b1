"""How far memory is to be followed for one retrieval, and which ranker serves: strength and guard.

Pure, over what was found. The paper's rule has neither: it ranks by weight and is followed whole.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from uuid import UUID

from memory.belief.fold import Cell, Learned, others
from memory.belief.guard import feedback_dates, initial_record, probabilities
from memory.belief.policy import Policy
from memory.belief.rankers import RANKERS, draw_ranker, prior
from memory.belief.states import State
from memory.belief.strength import initial_strength, is_suspended, strength_of
from memory.retrieval.context import Found

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
    cell = (found.agent.id, found.category_ids.category)
    return followed_in(found.following, cell, found.asked.as_of, own=found.agent.own_information)


def followed_in(states: Learned, cell: Cell, now: datetime, *, own: bool) -> Followed:
    """How far memory is followed in a cell; `own`: its agent brings information of its own."""
    state = states.strengths.get(cell) or initial_strength()
    beside = others(states.strengths, *cell)
    strength = strength_of(state, beside, own_information=own, now=now)
    return Followed(strength, is_suspended(state))


def choose_ranker(found: Found, policy: Policy, chance: random.Random, *, signal: bool) -> Choice:
    """The ranker by its record; drawn, unless the caller answers from each."""
    if not policy.guarded:
        return Choice(UNGUARDED, MappingProxyType({UNGUARDED: 1.0}))
    records, now = found.following.records, found.asked.as_of
    shares = ranker_shares(records, found.category_ids.category, now, signal=signal)
    if found.asked.ask.all_rankers:
        return Choice(max(RANKERS, key=lambda ranker: shares[ranker]), shares)
    drawn = draw_ranker(shares, chance)
    return Choice(drawn.ranker, drawn.shares)


def ranker_shares(
    records: Mapping[UUID | None, State], category: UUID | None, now: datetime, *, signal: bool
) -> Mapping[str, float]:
    """How far each ranker is believed in a category (None: by the whole namespace's record)."""
    fresh = initial_record(RANKERS)
    record = records.get(category) or fresh
    believed = prior(feedback_dates(record), signal=signal)
    shares = probabilities(
        {ranker: believed[ranker] for ranker in RANKERS},
        fresh if category is None else record,
        records.get(None) or fresh,
        now,
    )
    return MappingProxyType(shares)
