"""Spends coins on a head: who may be left out of a retrieval, with which probability, and who is.

A coin is spent only where it tells something. None is: where nothing is learned from the answer (a
preview, a replay, a frozen namespace), where the caller or the namespace wants none (`explore`,
`gates`, `coins`), where all rankers answer or a whole bank is ranked, and by a policy that does not
say how sure it is of a memory. Certain of their place are also pinned memories, a memory that alone
passes the gates, because the control arm is its trial, and in a cell whose outcomes name what was
used all above the floor, because such an outcome tells memories apart by itself.

A memory that an admin asked to be tried apart is kept every other time at most, until enough
outcomes without it are known. Its probability stands in the receipt like any other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from uuid import UUID

from memory.belief.inclusion import (
    APART,
    KEPT,
    Coin,
    Footing,
    Lift,
    find_footing,
    inclusion_probability,
    toss,
)
from memory.belief.rankers import Candidate
from memory.belief.weight_view import PROBATION
from memory.receipts.entities import Gates, Purpose
from memory.retrieval.entities import RetrievalRequest
from memory.tenancy.entities import Learning, Namespace


@dataclass(frozen=True, slots=True)
class Stake:
    """A candidate, and what its coin depends on: what it is believed to add, in how many outcomes
    whose head held it past the raw gate it was absent, and whether it shall be tried apart.
    """

    candidate: Candidate
    lift: Lift
    absent: int
    pinned: bool
    apart: bool = False

    def is_below(self, gates: Gates) -> bool:
        """Whether its weight took it below the floor; that nobody verified it yet is no reason."""
        score = self.candidate.floor_score / (PROBATION if self.candidate.probation else 1.0)
        return score < gates.score <= self.candidate.nearness


@dataclass(frozen=True, slots=True)
class Tossing:
    """Whether one retrieval has coins, and what they are tossed about.

    `spent`: whether an agent that acts leaves anything to coins; `falls`: whether they fall, which
    they do not in a preview. `about` names the task, or else the retrieval.
    """

    spent: bool
    falls: bool
    secret: bytes
    about: str

    def toss(self, memory_id: UUID, coin: Coin) -> Coin:
        """The coin of a memory as it falls."""
        return coin.tossed(toss(self.secret, self.about, memory_id)) if self.falls else coin


def is_tossed(namespace: Namespace, request: RetrievalRequest, *, whole_bank: bool) -> bool:
    """Whether the retrieval leaves anything to coins."""
    return (
        namespace.settings.coins
        and namespace.learning is Learning.ON
        and request.explore
        and request.gates == "on"
        and request.purpose in (Purpose.ACT, Purpose.PAIRED)
        and not request.all_rankers
        and not whole_bank
    )


def inclusions(stakes: Sequence[Stake], gates: Gates) -> Mapping[UUID, Coin]:
    """For each that passes the raw gate, a coin that is not tossed yet."""
    near = [one for one in stakes if one.candidate.is_near(gates.raw)]
    above = [one for one in near if one.candidate.nearness >= gates.score]
    above = [one for one in above if not one.is_below(gates)]
    texts = {one.candidate.look_alike or one.candidate.id for one in above}
    certain, lifts = len(texts) == 1, [one.lift for one in above]
    return MappingProxyType(
        {one.candidate.id: _spend(one, gates, lifts, certain=certain) for one in near}
    )


def toss_all(coins: Mapping[UUID, Coin], tossing: Tossing) -> Mapping[UUID, Coin]:
    """Each with how it fell."""
    return MappingProxyType(
        {memory_id: tossing.toss(memory_id, coin) for memory_id, coin in coins.items()}
    )


def _spend(stake: Stake, gates: Gates, above: Sequence[Lift], *, certain: bool) -> Coin:
    """`above`: the lifts of those that no weight took below the floor."""
    below = stake.is_below(gates)
    if stake.pinned or (certain and not below):
        return KEPT
    footing = find_footing(stake.lift, above, below=below)
    served = stake.candidate.credited
    most = APART if stake.apart else 1.0
    one = partial(inclusion_probability, stake.lift, served=served, absent=stake.absent)
    by_weight = None
    if footing is Footing.OUTSHONE:
        by_weight = Coin(min(most, one(Footing.ABOVE)), left_out=False)
    return Coin(min(most, one(footing)), left_out=False, footing=footing, by_weight=by_weight)
