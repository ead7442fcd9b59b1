"""Selects from the head, or from a whole bank, what one retrieval serves.

A ranker orders; two gates and the one-per-group rule thin; the slot explores. The slot: with a
small probability the last place goes to a least-credited memory that passes the raw gate, whatever
its score, because a memory that is never served can never earn its place. Decisions about it:

* Memories already served, and those of a group already served, are not drawn. The displaced one
  leaves, so its group is free again.
* When fewer than k are served nothing is displaced: the slot adds one, and all others keep 1.
* When the retrieval is not eligible there is no slot: its arm is empty, and a draw would be a
  propensity for something never shown. A weighted ranker may serve nothing in an eligible one,
  having learned that nothing near is worth it; the slot may still try.
* When nobody can be drawn the last place is certain: propensity 1.

Of memories that look alike, because they say the same in other clothes, one is served: the trusted
one, else the one that has earned most, never the one that claims most. It stands where the first of
them would stand, and the next candidate takes the place that is free.

Of k places one author's memories that have earned nothing yet take all but the last while another
author's waits that could take it: whoever words one lesson in many ways does not push the others
out. An author is a party of agents' keys; what others wrote, or the server made, is never held
back. The slot does not undo it.

A coin may leave a memory out (`memory.belief.inclusion`), so that it is seen apart from what it is
always found with; the next in the order takes the place. Decisions about it:

* Whoever would have a place if its coin kept it is a *contender*, served or not: given that, it was
  kept with the probability of its coin and nothing else. The walk ends with the last place, so that
  who comes after it is none.
* Of a memory that is left out, the look-alikes are left out with it: they say the same.
* Where its weight took a memory below the score floor, the coin stands in for the floor of weighted
  rankers.
* Coins fall alike for all rankers; `plain` looks at none. What is outshone has a lesser chance with
  those that ignore weights: the others put it last by themselves. The slot draws nobody who was
  left out.

At most one memory on probation is served at a time, by the ranker or by the slot: an unverified one
may cost a run, but several of them would cost its meaning, for nobody could say which one it was.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from operator import attrgetter
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memory.belief.inclusion import KEPT, Coin
from memory.belief.rankers import (
    ASKED,
    FLAT_AGELESS,
    RANKERS,
    Candidate,
    Orders,
    displayed_score,
)
from memory.kernel.errors import Rejected
from memory.receipts.entities import Fate, Gates

MAX_K = 64


SLOT_PROBABILITY = 0.03


@dataclass(frozen=True, slots=True)
class Selection:
    """How one retrieval selects."""

    k: int
    gates: Gates
    as_of: datetime
    ranker: str = FLAT_AGELESS
    slot_probability: float = SLOT_PROBABILITY
    coins: Mapping[UUID, Coin] = field(default_factory=dict[UUID, Coin])

    def __post_init__(self) -> None:
        if not 1 <= self.k <= MAX_K:
            raise Rejected(f"k is between 1 and {MAX_K}.", field="k", limit=MAX_K)
        if self.ranker not in RANKERS:
            raise Rejected("There is no such ranker.", field="ranker", limit=sorted(RANKERS))

    @property
    def is_tossed(self) -> bool:
        """Whether its ranker looks at coins, and there are any."""
        return RANKERS[self.ranker].coins and bool(self.coins)

    def coin(self, candidate: Candidate) -> Coin:
        ranker = RANKERS[self.ranker]
        coin = self.coins.get(candidate.id, KEPT) if ranker.coins else KEPT
        return coin.seen_by(weighted=ranker.weighted)

    def bar(self, candidate: Candidate) -> Fate | None:
        """The gate that the candidate does not pass; None where it may have a place."""
        fate = self.gates.bar(candidate, weighted=RANKERS[self.ranker].weighted)
        lifted = fate is Fate.SCORE_FLOOR and self.coin(candidate).below_floor
        return None if lifted else fate


@dataclass(frozen=True, slots=True)
class SelectedCandidate:
    """A candidate that is served, or that its coin left out: `rank` from 1, and the `propensity` it
    had of being served. `coin`: that of a contender, where coins are looked at.
    """

    candidate: Candidate
    rank: int
    score: float
    propensity: float
    exploration_slot: bool
    coin: Coin | None = None


@dataclass(frozen=True, slots=True)
class Selected:
    """What is served, best first; the slot's memory, when drawn, is the last.

    `left_out`: what coins left out, each at the rank that it would have had.
    """

    items: tuple[SelectedCandidate, ...]
    slot_drawn: bool
    left_out: tuple[SelectedCandidate, ...] = ()


@dataclass(frozen=True, slots=True)
class RankedByAll:
    """A candidate that at least one ranker would serve, with the score each gives it.

    A ranker that would not serve it has None.
    """

    candidate: Candidate
    scores: Mapping[str, float | None]


def select(
    candidates: Sequence[Candidate],
    selection: Selection,
    chance: random.Random,
    everyone: Callable[[], Sequence[Candidate]] | None = None,
) -> Selected:
    """What the ranker of `selection` serves, at most k and one a group, now and then with a slot.

    Among those who could be served, the expected number of servings over chance is the propensity.
    `candidates` may be a shortlist; then `everyone` are those from whom the slot draws.
    """
    walk = walk_places(candidates, selection)
    served = walk.served
    if not slot_pool(candidates, selection, walk):
        left_out = _number_left_out(walk, selection, 1.0)
        return Selected(_number(served, selection), slot_drawn=False, left_out=left_out)
    left_out = _number_left_out(walk, selection, 1 - selection.slot_probability)
    kept = _keep_places(served, selection)
    place = len(kept) + 1
    if chance.random() < selection.slot_probability:
        pool = slot_pool(candidates if everyone is None else everyone(), selection, walk)
        drawn = pool[chance.randrange(len(pool))]
        drawn_with = selection.slot_probability / len(pool)
        slot = SelectedCandidate(drawn, place, drawn.score, drawn_with, exploration_slot=True)
        return Selected((*_number(kept, selection), slot), slot_drawn=True, left_out=left_out)
    undisplaced = (
        _select_one(c, place, selection, 1 - selection.slot_probability)
        for c in served[len(kept) :]
    )
    items = (*_number(kept, selection), *undisplaced)
    return Selected(items, slot_drawn=False, left_out=left_out)


@dataclass(frozen=True, slots=True)
class Walk:
    """Who has a place, best first, and the contenders that coins left out, each with the rank that
    it would have had.
    """

    served: tuple[Candidate, ...]
    left_out: tuple[tuple[Candidate, int], ...]

    @property
    def ids(self) -> frozenset[UUID]:
        return frozenset(c.id for c in self.served)


def walk_places(
    candidates: Sequence[Candidate], selection: Selection, orders: Orders | None = None
) -> Walk:
    """Down the ranker's order to the last place; `orders` are those of the candidates."""
    served: list[Candidate] = []
    left_out: list[tuple[Candidate, int]] = []
    for candidate, fate in fates(candidates, selection, orders):
        if fate is Fate.SERVED:
            served.append(candidate)
            if len(served) == selection.k:
                break
        elif fate is Fate.LEFT_OUT:
            left_out.append((candidate, len(served) + 1))
    return Walk(tuple(served), tuple(left_out))


def same_rankers(
    candidates: Sequence[Candidate], selection: Selection, rankers: Iterable[str]
) -> tuple[str, ...]:
    """The rankers that give places to the same memories as `selection`'s; the slot stands apart."""
    orders = Orders(candidates, selection.as_of)
    here = walk_places(candidates, selection, orders).ids
    return tuple(
        ranker
        for ranker in rankers
        if ranker == selection.ranker
        or walk_places(candidates, replace(selection, ranker=ranker), orders).ids == here
    )


def fates(
    candidates: Sequence[Candidate], selection: Selection, orders: Orders | None = None
) -> Iterator[tuple[Candidate, Fate]]:
    """In the ranker's order, each candidate with its place (`SERVED`) or what keeps it from one.

    The first of each group that passes the gates has a place, one of those that look alike, the
    first on probation the one place there is for such, until k places are taken; the last is kept
    for another author where one author has all before it. A coin leaves out who would have had a
    place. The slot is not looked at.
    """
    ordered = _sort_candidates(orders or Orders(candidates, selection.as_of), selection)
    taken, waits = _Taken(selection), False
    for place, candidate in enumerate(ordered, start=1):
        fate = taken.bar(candidate)
        if fate is None and taken.is_crowded_by(candidate):
            # Who waits goes on waiting until the last place is given, so one look is enough.
            waits = waits or taken.waits(islice(ordered, place, None), candidate.author)
            fate = Fate.AUTHOR_SHARE if waits else None
        if fate is None:
            fate = taken.add(candidate)
        yield candidate, fate


class _Taken:
    """The places that are taken, and what may have the next."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection
        self._k = selection.k
        self._placed: list[Candidate] = []
        self._groups, self._said = set[str](), set[str]()
        self._probation = False

    def bar(self, candidate: Candidate) -> Fate | None:
        """What keeps the candidate from the next place; None where it may have it."""
        fate = self._selection.bar(candidate)
        if fate is not None:
            return fate
        if candidate.look_alike in self._said:
            return Fate.LOOK_ALIKE
        if candidate.group in self._groups:
            return Fate.GROUP
        if self._probation and candidate.probation:
            return Fate.PROBATION
        return Fate.BEYOND_K if len(self._placed) == self._k else None

    def add(self, candidate: Candidate) -> Fate:
        """Give the next place to a contender, unless its coin leaves it out."""
        self._said |= {candidate.look_alike} - {""}
        if self._selection.coin(candidate).left_out:
            return Fate.LEFT_OUT
        self._placed.append(candidate)
        self._groups.add(candidate.group)
        self._probation = self._probation or candidate.probation
        return Fate.SERVED

    def is_crowded_by(self, candidate: Candidate) -> bool:
        """Whether its author would have every place, by memories that have earned nothing."""
        return len(self._placed) == self._k - 1 and _crowds(candidate, self._placed)

    def waits(self, later: Iterable[Candidate], author: UUID | None) -> bool:
        """Whether a memory of another author may have the next place."""
        return any(
            c.author != author and self.bar(c) is None and not self._selection.coin(c).left_out
            for c in later
        )


def _crowds(candidate: Candidate, placed: Sequence[Candidate]) -> bool:
    """Whether it and all these are one author's and have earned nothing."""
    author = candidate.unproven_author
    return bool(placed) and author is not None and {c.unproven_author for c in placed} == {author}


def slot_pool(candidates: Sequence[Candidate], selection: Selection, walk: Walk) -> list[Candidate]:
    """Those from whom the slot is drawn, by id; nobody where this retrieval has none."""
    slotted = selection.slot_probability > 0 and (
        bool(walk.served) or eligible(candidates, selection)
    )
    return _least_credited(candidates, selection, walk) if slotted else []


def eligible(candidates: Sequence[Candidate], selection: Selection) -> bool:
    """Whether the flat ranker without ageing would serve at least one memory, whatever its coin."""
    return any(selection.gates.admit(candidate, weighted=False) for candidate in candidates)


def select_by_all(candidates: Sequence[Candidate], selection: Selection) -> tuple[RankedByAll, ...]:
    """The union of what the rankers would serve, without a slot and coins, in `selection`'s order.

    Gates differ with the ranker, so two could serve different ones of those that look alike; the
    union has one, and the other counts as served by nobody.
    """
    orders = Orders(candidates, selection.as_of)
    served = {
        ranker: walk_places(candidates, replace(selection, ranker=ranker), orders).ids
        for ranker in ASKED
    }

    def score(ranker: str, candidate: Candidate) -> float | None:
        if candidate.id not in served[ranker]:
            return None
        return displayed_score(ranker, candidate, selection.as_of)

    union = set[UUID]().union(*served.values())
    union = {c.id for c in _speakers([c for c in candidates if c.id in union])}
    return tuple(
        RankedByAll(candidate, {ranker: score(ranker, candidate) for ranker in ASKED})
        for candidate in _sort_candidates(orders, selection)
        if candidate.id in union
    )


def _sort_candidates(orders: Orders, selection: Selection) -> list[Candidate]:
    ordered = orders.sort(selection.ranker)
    if len({c.look_alike for c in ordered}) == len(ordered):
        return ordered
    alike = _alike(c for c in ordered if selection.bar(c) is None)
    return _speakers_first(ordered, alike) if alike else ordered


def _alike(candidates: Iterable[Candidate]) -> dict[str, list[Candidate]]:
    """Those that look like another one, by what they have in common, who speaks for them first."""
    groups: dict[str, list[Candidate]] = {}
    for one in candidates:
        if one.look_alike:
            groups.setdefault(one.look_alike, []).append(one)
    return {
        name: sorted(some, key=attrgetter("standing"))
        for name, some in groups.items()
        if len(some) > 1
    }


def _speakers_first(
    ordered: Sequence[Candidate], alike: Mapping[str, Sequence[Candidate]]
) -> list[Candidate]:
    """The same order, but those that look alike stand together where the first of them stood."""
    moved = {one.id for some in alike.values() for one in some}
    placed: list[Candidate] = []
    opened = set[str]()
    for one in ordered:
        if one.id not in moved:
            placed.append(one)
        elif one.look_alike not in opened:
            opened.add(one.look_alike)
            placed.extend(alike[one.look_alike])
    return placed


def _speakers(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Without those for whom another one speaks."""
    silent = {one.id for some in _alike(candidates).values() for one in some[1:]}
    return [one for one in candidates if one.id not in silent]


def _keep_places(served: Sequence[Candidate], selection: Selection) -> Sequence[Candidate]:
    """Those whose place the slot leaves alone."""
    return served[:-1] if len(served) == selection.k else served


def _least_credited(
    candidates: Sequence[Candidate], selection: Selection, walk: Walk
) -> list[Candidate]:
    served, kept = walk.served, _keep_places(walk.served, selection)
    passed = (*served, *(c for c, _ in walk.left_out))
    ids = {c.id for c in passed}
    groups = {c.group for c in kept}
    taken = any(c.probation for c in kept)
    said = {c.look_alike for c in passed} - {""}
    # Where the last place was kept for another author, the draw keeps it so.
    shared = len(kept) < len(served) and not _crowds(served[-1], kept)
    near = [
        c
        for c in _speakers([c for c in candidates if c.is_near(selection.gates.raw)])
        if c.id not in ids
        and c.look_alike not in said
        and c.group not in groups
        and not (taken and c.probation)
        and not (shared and _crowds(c, kept))
    ]
    fewest = min((c.credited for c in near), default=0)
    return sorted((c for c in near if c.credited == fewest), key=lambda c: c.id.int)


def _number(served: Sequence[Candidate], selection: Selection) -> tuple[SelectedCandidate, ...]:
    return tuple(_select_one(c, rank, selection, 1.0) for rank, c in enumerate(served, start=1))


def _number_left_out(
    walk: Walk, selection: Selection, last: float
) -> tuple[SelectedCandidate, ...]:
    """Those that coins left out; `last` is the chance that the slot leaves the last place alone."""
    return tuple(
        _select_one(c, rank, selection, last if rank == selection.k else 1.0)
        for c, rank in walk.left_out
    )


def _select_one(
    candidate: Candidate, rank: int, selection: Selection, undisplaced: float
) -> SelectedCandidate:
    coin = selection.coin(candidate)
    return SelectedCandidate(
        candidate,
        rank,
        candidate.score,
        coin.p * undisplaced,
        exploration_slot=False,
        coin=coin if selection.is_tossed else None,
    )


Double = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BankColumns:
    """What selecting looks at, by column; memories in the order of their ids."""

    effective: Double
    ranking: Double
    groups: Sequence[str]
    probation: Sequence[bool]
    authors: Sequence[UUID | None]
    """Of each, the party that wrote it; None where no agent's key did."""
    alike: bool = False
    """Whether any two of them look alike."""

    def may_crowd(self, first: Sequence[int], k: int) -> bool:
        """Whether one author of several may have all of k places but the last, where these come
        first.
        """
        author = self.authors[first[0]] if first else None
        if k == 1 or author is None or len(set(self.authors)) == 1:
            return False
        seen = set[str]()
        for place in first:
            if self.groups[place] not in seen:
                seen.add(self.groups[place])
                if len(seen) == k:
                    break
                # Nothing keeps it from a place before the last.
                if not self.probation[place] and self.authors[place] != author:
                    return False
        return True


def shortlist(bank: BankColumns, similarity: Double, selection: Selection) -> list[int]:
    """Places in the bank, where relevance is similarity; all of them where knowledge ages, where
    one may have to speak for another, or where one author may have to leave another a place.
    """
    rule, gates = RANKERS[selection.ranker], selection.gates
    if rule.half_life is not None or bank.alike or not len(similarity):
        return list(range(len(similarity)))
    score = bank.ranking * similarity if rule.weighted else similarity
    shown = bank.effective * similarity if rule.weighted else similarity
    # Stable: equals stay in the order of their ids.
    order = np.argsort(-score, kind="stable")
    near = order[similarity[order] >= gates.raw]
    admitted = near[shown[near] >= gates.score]
    some = {int(np.argmax(similarity))}
    first = list(_take_until(bank, admitted.tolist(), selection.k))
    if bank.may_crowd(first, selection.k):
        return list(range(len(similarity)))
    some.update(first)
    some.update(_take_until(bank, near.tolist(), selection.k + 1))
    return sorted(some)


def _take_until(bank: BankColumns, places: Iterable[int], groups: int) -> Iterable[int]:
    """The first places, until so many groups have a memory that is not on probation."""
    certain: set[str] = set()
    for place in places:
        yield place
        if not bank.probation[place]:
            certain.add(bank.groups[place])
        if len(certain) == groups:
            return
