"""Whose weights told outcomes better beforehand, with a bound, and in which words that is said."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from memory.belief.fold import Learn, fold
from memory.belief.policy import POLICIES
from memory.belief.states import Evidence, Observation
from memory.insight.entities import BankDifference, WeightChange
from memory.insight.foresight import WeightRecorder, compare_foresight
from memory.insight.what_if_entities import FloorChange, Foresight, WeightMoves, WhatIfResult
from memory.insight.what_if_wording import judge_what_if

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
GOOD, BAD = UUID(int=1), UUID(int=2)
AGENT, CATEGORY = UUID(int=10), UUID(int=20)
MINUS = "\N{MINUS SIGN}"


def outcome(day: int, memory: UUID, reward: float | None, without: float | None = None) -> Learn:
    shapes = {(True, True): Evidence.PAIRED, (True, False): Evidence.SINGLE}
    evidence = shapes.get((reward is not None, without is not None), Evidence.CONTROL)
    seen = Observation(
        evidence, reward, without, (memory,), frozenset(), (), (), NOON + timedelta(days=day)
    )
    return Learn(AGENT, CATEGORY, "continuous", seen)


def foreseen(entries: list[Learn], before: str, after: str) -> Foresight:
    here, there = WeightRecorder(POLICIES[before]), WeightRecorder(POLICIES[after])
    for one in (here, there):
        fold(one.policy, entries, watch=one.note)
    return compare_foresight(entries, here, there)


def alternating(days: int, every: int = 6) -> list[Learn]:
    """One good memory and one bad one; every so many days the other way round."""
    entries = list[Learn]()
    for day in range(days):
        turned = day % every == every - 1
        entries += [
            outcome(day, GOOD, 0.1 if turned else 0.9),
            outcome(day, BAD, 0.9 if turned else 0.1),
        ]
    return entries


def test_a_policy_that_learns_of_single_outcomes_foresees_more_than_one_that_does_not() -> None:
    found = foreseen(alternating(60), "paper", "belief")

    assert found.before == 0.5
    assert found.after is not None
    assert found.after > 0.6
    assert found.low is not None
    assert 0.0 < found.low < found.after - found.before < (found.high or 0.0)
    # The first outcome of all has none before it to be compared with.
    assert (found.outcomes, found.dates, found.needed) == (119, 60, None)


def test_the_other_way_round_it_is_as_much_less() -> None:
    there, back = (
        foreseen(alternating(60), *names) for names in (("paper", "belief"), ("belief", "paper"))
    )

    assert (back.before, back.after) == (there.after, there.before)
    assert there.low is not None
    assert back.high == pytest.approx(-there.low)


def test_below_ten_days_there_is_no_bound_and_without_outcomes_no_share() -> None:
    early = foreseen(alternating(9), "paper", "belief")
    controls = foreseen([outcome(0, GOOD, None, 0.4)], "paper", "belief")

    assert (early.dates, early.low, early.needed) == (9, None, None)
    assert controls == Foresight(0, 0)


def test_pairs_are_compared_with_their_own_run_without_memory() -> None:
    entries = [outcome(day, GOOD, 0.4, 0.2) for day in range(3)]

    # Before the first its weight is 1 and says nothing; then it says what it learned.
    assert foreseen(entries, "belief", "paper").before == pytest.approx((0.5 + 2) / 3)


def result(seen: Foresight, changed: int = 1, outcomes: int = 300) -> WhatIfResult:
    weights = (WeightChange(GOOD, 1.0, 1.5),) * changed
    return WhatIfResult(
        policy="steps",
        instead_of="belief",
        outcomes=outcomes,
        moves=WeightMoves(changed, 0, 0, 0, FloorChange(0.1, 0.1)),
        foresight=seen,
        difference=BankDifference(changed, weights, ()),
    )


KNOWN = Foresight(200, 20, 0.50, 0.58, 0.02, 0.14)


@pytest.mark.parametrize(
    ("found", "told", "said"),
    [
        (
            result(KNOWN),
            "better",
            (
                "Yes, by its weights: the weights of steps foresaw 58 % of 200 outcomes, those of"
                " belief 50 % (+8 ± 6 points)."
            ),
        ),
        (
            result(replace(KNOWN, after=0.42, low=-0.14, high=-0.02)),
            "worse",
            (
                "No, by its weights: the weights of steps foresaw 42 % of 200 outcomes, those of"
                f" belief 50 % ({MINUS}8 ± 6 points)."
            ),
        ),
        (
            result(replace(KNOWN, after=0.52, low=-0.04, high=0.08, needed=2400)),
            "same",
            (
                "No difference that can be told: the weights of steps foresaw 52 % of 200 outcomes,"
                " those of belief 50 % (+2 ± 6 points); about 2,400 such outcomes would tell."
            ),
        ),
        (
            result(Foresight(9, 3, 0.5, 0.58)),
            None,
            (
                "Not known yet: the weights of steps foresaw 58 % of 9 outcomes, those of belief"
                " 50 %, and 3 of the 10 days are there that a bound takes."
            ),
        ),
        (
            result(Foresight(0, 0)),
            None,
            (
                "Not known: of 300 recorded outcomes, none was better or worse than without memory,"
                " so none says whose weights are right."
            ),
        ),
        (
            result(KNOWN, changed=0),
            "same",
            "No: steps makes the same weights of 300 recorded outcomes.",
        ),
        (
            result(Foresight(0, 0), changed=0, outcomes=0),
            None,
            "Nothing to compare: no outcome has moved a weight here yet.",
        ),
    ],
)
def test_the_title_says_what_was_found_and_how_sure_that_is(
    found: WhatIfResult, told: str | None, said: str
) -> None:
    verdict = judge_what_if(found)

    assert (verdict.told, verdict.headline) == (told, said)


def test_of_a_difference_that_is_not_told_it_is_said_how_many_outcomes_would_tell() -> None:
    found = foreseen(alternating(60, every=3), "paper", "belief")

    assert found.low is not None
    assert found.needed is not None
    assert found.low < 0.0
    # The same again, until it is told.
    assert found.outcomes < found.needed < 2 * found.outcomes
    longer = foreseen(alternating(120, every=3), "paper", "belief")
    assert longer.low is not None
    assert longer.low > 0.0
