"""Selects from the head, or from a whole bank, what one retrieval serves, and whether it does.

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

At most one memory on probation is served at a time, by the ranker or by the slot: an unverified one
may cost a run, but several of them would cost its meaning, for nobody could say which one it was.

The arm says who is served, who is the comparison, and how likely that was. Where several rules
could apply, the first match wins:

1. The caller wants memory off: `forced_off`, eligible or not. It may be the off-run of a pair, and
   the receipt stores eligibility apart.
2. Nothing passes the gates: `empty`, also for those who wanted memory on. There is nothing to
   serve, so the retrieval says nothing about memory whatever it is called.
3. The caller promises both runs: `paired`, also when it wants memory on. Never control, because
   the caller makes the comparison itself.
4. The caller wants memory on: `forced_on`.
5. A preview is never control: it stores nothing and shows what would be served.
6. In a suspended cell chance decides between `suspended` and, at the control rate, `retest`.
7. Otherwise chance decides between `control` and `on`.

So who promises a pair or wants memory on is served in a suspended cell as well: such a run can
show that memory helps again.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from operator import itemgetter
from typing import Literal
from uuid import UUID

import numpy as np
import numpy.typing as npt

from memory.belief.rankers import FLAT_AGELESS, RANKERS, Candidate, displayed_score, order_scores
from memory.kernel.errors import Rejected
from memory.receipts.entities import Arm, Fate, Gates, Purpose, Reason

MAX_K = 64


SLOT_PROBABILITY = 0.03


CONTROL_RATE = 0.05


YOUNG_CONTROL_RATE = 0.2


YOUNG_BELOW = 30


@dataclass(frozen=True, slots=True)
class Selection:
    """How one retrieval selects."""

    k: int
    gates: Gates
    as_of: datetime
    ranker: str = FLAT_AGELESS
    slot_probability: float = SLOT_PROBABILITY

    def __post_init__(self) -> None:
        if not 1 <= self.k <= MAX_K:
            raise Rejected(f"k is between 1 and {MAX_K}.", field="k", limit=MAX_K)
        if self.ranker not in RANKERS:
            raise Rejected("There is no such ranker.", field="ranker", limit=sorted(RANKERS))


@dataclass(frozen=True, slots=True)
class SelectedCandidate:
    """A candidate that is served: `rank` from 1, and the `propensity` it had of being served."""

    candidate: Candidate
    rank: int
    score: float
    propensity: float
    exploration_slot: bool


@dataclass(frozen=True, slots=True)
class Selected:
    """What is served, best first; the slot's memory, when drawn, is the last."""

    items: tuple[SelectedCandidate, ...]
    slot_drawn: bool


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
    served = _fill_places(candidates, selection)
    if not slot_pool(candidates, selection, served):
        return Selected(_number(served), slot_drawn=False)
    kept = _keep_places(served, selection)
    place = len(kept) + 1
    if chance.random() < selection.slot_probability:
        pool = slot_pool(candidates if everyone is None else everyone(), selection, served)
        drawn = pool[chance.randrange(len(pool))]
        drawn_with = selection.slot_probability / len(pool)
        slot = _select_one(drawn, place, drawn_with, slot=True)
        return Selected((*_number(kept), slot), slot_drawn=True)
    undisplaced = (
        _select_one(c, place, 1 - selection.slot_probability) for c in served[len(kept) :]
    )
    return Selected((*_number(kept), *undisplaced), slot_drawn=False)


def fates(
    candidates: Sequence[Candidate], selection: Selection
) -> Iterator[tuple[Candidate, Fate]]:
    """In the ranker's order, each candidate with its place (`SERVED`) or what keeps it from one.

    The first of each group that passes the gates has a place, the first on probation the one place
    there is for such, until k places are taken. The slot is not looked at.
    """
    groups, weighted, probation = set[str](), RANKERS[selection.ranker].weighted, False
    for candidate in _sort_candidates(candidates, selection):
        fate = selection.gates.bar(candidate, weighted=weighted)
        if fate is None and candidate.group in groups:
            fate = Fate.GROUP
        if fate is None and probation and candidate.probation:
            fate = Fate.PROBATION
        if fate is None and len(groups) == selection.k:
            fate = Fate.BEYOND_K
        if fate is None:
            groups.add(candidate.group)
            probation = probation or candidate.probation
        yield candidate, fate or Fate.SERVED


def slot_pool(
    candidates: Sequence[Candidate], selection: Selection, served: Sequence[Candidate]
) -> list[Candidate]:
    """Those from whom the slot is drawn, by id; nobody where this retrieval has none."""
    slotted = selection.slot_probability > 0 and (bool(served) or eligible(candidates, selection))
    return _least_credited(candidates, selection, served) if slotted else []


def eligible(candidates: Sequence[Candidate], selection: Selection) -> bool:
    """Whether the flat ranker without ageing would serve at least one memory."""
    return any(selection.gates.admit(candidate, weighted=False) for candidate in candidates)


def select_by_all(candidates: Sequence[Candidate], selection: Selection) -> tuple[RankedByAll, ...]:
    """The union of what the ten rankers would serve, without a slot, in `selection`'s order."""
    served = {
        ranker: {c.id for c in _fill_places(candidates, replace(selection, ranker=ranker))}
        for ranker in RANKERS
    }

    def score(ranker: str, candidate: Candidate) -> float | None:
        if candidate.id not in served[ranker]:
            return None
        return displayed_score(ranker, candidate, selection.as_of)

    union = set[UUID]().union(*served.values())
    return tuple(
        RankedByAll(candidate, {ranker: score(ranker, candidate) for ranker in RANKERS})
        for candidate in _sort_candidates(candidates, selection)
        if candidate.id in union
    )


def _sort_candidates(candidates: Sequence[Candidate], selection: Selection) -> list[Candidate]:
    scores = order_scores(selection.ranker, candidates, selection.as_of)
    keyed = [(-score, c.id, c) for score, c in zip(scores, candidates, strict=True)]
    return [candidate for *_, candidate in sorted(keyed, key=itemgetter(0, 1))]


def _fill_places(candidates: Sequence[Candidate], selection: Selection) -> list[Candidate]:
    """Those with a place, best first; the walk ends with the last place."""
    placed = (c for c, fate in fates(candidates, selection) if fate is Fate.SERVED)
    return list(islice(placed, selection.k))


def _keep_places(served: Sequence[Candidate], selection: Selection) -> Sequence[Candidate]:
    """Those whose place the slot leaves alone."""
    return served[:-1] if len(served) == selection.k else served


def _least_credited(
    candidates: Sequence[Candidate], selection: Selection, served: Sequence[Candidate]
) -> list[Candidate]:
    kept = _keep_places(served, selection)
    ids = {c.id for c in served}
    groups = {c.group for c in kept}
    taken = any(c.probation for c in kept)
    near = [
        c
        for c in candidates
        if c.similarity >= selection.gates.raw
        and c.id not in ids
        and c.group not in groups
        and not (taken and c.probation)
    ]
    fewest = min((c.credited for c in near), default=0)
    return sorted((c for c in near if c.credited == fewest), key=lambda c: c.id.int)


def _number(served: Sequence[Candidate]) -> tuple[SelectedCandidate, ...]:
    return tuple(_select_one(c, rank, 1.0) for rank, c in enumerate(served, start=1))


def _select_one(
    candidate: Candidate, rank: int, propensity: float, *, slot: bool = False
) -> SelectedCandidate:
    return SelectedCandidate(candidate, rank, candidate.score, propensity, slot)


Double = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class BankColumns:
    """What selecting looks at, by column; memories in the order of their ids."""

    effective: Double
    ranking: Double
    groups: Sequence[str]
    probation: Sequence[bool]


def shortlist(bank: BankColumns, similarity: Double, selection: Selection) -> list[int]:
    """Places in the bank, where relevance is similarity; all of them where knowledge ages."""
    rule, gates = RANKERS[selection.ranker], selection.gates
    if rule.half_life is not None or not len(similarity):
        return list(range(len(similarity)))
    score = bank.ranking * similarity if rule.weighted else similarity
    shown = bank.effective * similarity if rule.weighted else similarity
    # Stable: equals stay in the order of their ids.
    order = np.argsort(-score, kind="stable")
    near = order[similarity[order] >= gates.raw]
    admitted = near[shown[near] >= gates.score]
    some = {int(np.argmax(similarity))}
    some.update(_take_until(bank, admitted.tolist(), selection.k))
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


@dataclass(frozen=True, slots=True)
class ArmRequest:
    """What the assignment depends on.

    `control_outcomes` counts the outcomes of the cell's control arm so far: a young cell is given
    more control. `control_rate` in [0, 1] replaces both built-in rates; 0 is no control arm.
    """

    arm: Literal["auto", "on", "off"]
    purpose: Purpose
    eligible: bool
    control_outcomes: int
    control_rate: float | None = None
    suspended: bool = False


@dataclass(frozen=True, slots=True)
class Assignment:
    """The arm, the probability it had, and why."""

    arm: Arm
    propensity: float
    reason: Reason


def assign_arm(request: ArmRequest, chance: random.Random) -> Assignment:
    """The arm of one retrieval; chance is asked only where the arm is randomised."""
    certain = _certain_arm(request)
    if certain is not None:
        return certain
    rate = control_rate(request)
    if request.suspended:
        if chance.random() < rate:
            return Assignment(Arm.RETEST, rate, Reason.RETESTED)
        return Assignment(Arm.SUSPENDED, 1 - rate, Reason.SUSPENDED)
    if chance.random() < rate:
        return Assignment(Arm.CONTROL, rate, Reason.RANDOMISED)
    return Assignment(Arm.ON, 1 - rate, Reason.RANDOMISED)


def control_rate(request: ArmRequest) -> float:
    """The share of randomised retrievals that go without memory."""
    if request.control_rate is not None:
        return request.control_rate
    return YOUNG_CONTROL_RATE if request.control_outcomes < YOUNG_BELOW else CONTROL_RATE


def _certain_arm(request: ArmRequest) -> Assignment | None:
    rules = (
        (request.arm == "off", Arm.FORCED_OFF, Reason.CALLER_WANTS_OFF),
        (not request.eligible, Arm.EMPTY, Reason.NOTHING_TO_SERVE),
        (request.purpose is Purpose.PAIRED, Arm.PAIRED, Reason.CALLER_PAIRS),
        (request.arm == "on", Arm.FORCED_ON, Reason.CALLER_WANTS_ON),
        (request.purpose is Purpose.PREVIEW, Arm.ON, Reason.PREVIEW),
    )
    found = (Assignment(arm, 1.0, reason) for applies, arm, reason in rules if applies)
    return next(found, None)
