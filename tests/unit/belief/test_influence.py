"""One party alone moves what others believe of a memory within a bound, and feels itself whole."""

from dataclasses import replace
from datetime import timedelta
from math import fsum
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.belief.belief import Belief
from memory.belief.fold import Learn, Learned, Operation, Set, fold
from memory.belief.influence import BOUND, NO_INFLUENCE, PLAIN, feel, grant
from memory.belief.states import Evidence, Observation, State
from memory.kernel.ids import new_id
from tests.fixtures.engine import NOON

BELIEF = Belief()
ANNE, SPORT, LESSON = new_id(), new_id(), new_id()
LIAR, OTHER, THIRD = new_id(), new_id(), new_id()
HOUR = timedelta(hours=1)


def told(party: UUID | None, on: float, off: float | None = None, **more: object) -> Learn:
    """What a party says of the lesson: one run with it, or a pair."""
    observation = Observation(
        evidence=Evidence.SINGLE if off is None else Evidence.PAIRED,
        reward_on=on,
        reward_off=off,
        memories=(LESSON,),
        author_of=frozenset(),
        helpful=(),
        harmful=(),
        now=NOON,
        party=party,
    )
    return Learn(ANNE, SPORT, "continuous", replace(observation, **more))  # pyright: ignore[reportArgumentType] - fields by name


def mean(states: Learned) -> float:
    return states.memories[LESSON].values[0]


@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_one_party_moves_the_common_mean_within_the_bound_and_feels_the_whole(
    reward: float,
) -> None:
    states = fold(BELIEF, [told(LIAR, reward)] * 30)
    influence = states.influences[LESSON, LIAR]

    assert abs(mean(states)) == pytest.approx(BOUND)
    assert abs(influence.values[0]) > 2 * BOUND
    felt = feel(states.memories[LESSON], influence)
    assert felt.values[0] == pytest.approx(influence.values[0])


def test_what_is_clipped_tells_others_nothing() -> None:
    few = fold(BELIEF, [told(LIAR, 0.0)] * 10)
    many = fold(BELIEF, [told(LIAR, 0.0)] * 40)

    assert few.influences[LESSON, LIAR].values[1] == pytest.approx(-BOUND)
    assert many.memories[LESSON].values[1] == pytest.approx(few.memories[LESSON].values[1])


def test_what_parties_count_for_adds_up_and_none_takes_from_another() -> None:
    alone = fold(BELIEF, [told(LIAR, 1.0)] * 20)
    agreed = fold(BELIEF, [told(party, 1.0) for _ in range(20) for party in (LIAR, OTHER)])
    against = fold(
        BELIEF, [told(party, r) for _ in range(20) for party, r in ((LIAR, 1.0), (OTHER, 0.0))]
    )

    assert mean(alone) == pytest.approx(BOUND)
    assert mean(agreed) == pytest.approx(2 * BOUND)
    assert mean(against) == pytest.approx(0.0, abs=1e-9)
    assert against.influences[LESSON, LIAR].values[1] == pytest.approx(BOUND)


def test_a_word_of_nobody_bounded_counts_whole_and_grants_nothing_to_others() -> None:
    lies = [told(LIAR, 0.0)] * 20
    before = fold(BELIEF, lies)
    after = fold(BELIEF, [*lies, *[told(None, 1.0)] * 20])

    assert mean(after) > mean(before) + 2 * BOUND
    assert after.influences == before.influences


def test_of_its_own_memory_a_party_is_not_bounded() -> None:
    own = told(LIAR, 1.0, own=frozenset({LESSON}))

    assert fold(BELIEF, [own] * 20) == fold(BELIEF, [told(None, 1.0)] * 20)


def test_without_a_bounded_party_nothing_of_the_rule_is_left() -> None:
    states = fold(BELIEF, [told(None, 1.0, 0.2)] * 5)

    assert not states.influences


def test_a_verdict_is_bounded_as_the_reward_is() -> None:
    states = fold(BELIEF, [told(LIAR, 0.2, harmful=(LESSON,))] * 40)

    assert mean(states) == pytest.approx(-BOUND)
    assert states.influences[LESSON, LIAR].values[0] < -BOUND


def test_influence_ages_with_the_belief() -> None:
    lies = [told(LIAR, 0.0)] * 20
    later = NOON + timedelta(days=90)
    states = fold(BELIEF, [*lies, Set(LESSON, Operation.DECAY, later)])
    before = fold(BELIEF, lies)

    assert mean(states) == pytest.approx(mean(before) / 2)
    assert states.influences[LESSON, LIAR].values == pytest.approx(
        tuple(value / 2 for value in before.influences[LESSON, LIAR].values)
    )
    aged = BELIEF.age_influence(before.influences[LESSON, LIAR], later)
    assert states.influences[LESSON, LIAR] == aged, "when it is written down changes nothing"


def test_an_edit_halves_what_a_party_did_to_the_old_text() -> None:
    lies = [told(LIAR, 0.0)] * 20
    before = fold(BELIEF, lies)
    states = fold(BELIEF, [*lies, Set(LESSON, Operation.EDIT, NOON)])

    assert mean(states) == pytest.approx(mean(before) / 2)
    effect, counted = before.influences[LESSON, LIAR].values
    assert states.influences[LESSON, LIAR].values == (effect / 2, counted / 2)


def test_a_memory_made_anew_owes_nothing_to_what_was_there() -> None:
    states = fold(BELIEF, [told(LIAR, 0.0), Set(LESSON, Operation.CREATED, NOON)])

    assert not states.influences


def test_two_liars_raise_a_harmful_memory_little_while_one_honest_party_speaks() -> None:
    """Truth: -.2. The table of the second study has +.05 or less for everybody."""
    lies = [told(party, r) for party, r in ((LIAR, 0.9), (OTHER, 0.9), (THIRD, 0.3))]
    states = fold(BELIEF, lies * 130)

    assert mean(states) <= 0.05
    honest = feel(states.memories[LESSON], states.influences[LESSON, THIRD])
    assert honest.values[0] < mean(states) - 0.1


MOVES = st.lists(
    st.tuples(st.sampled_from([LIAR, OTHER, THIRD, None]), st.floats(0, 1), st.integers(0, 400)),
    max_size=40,
)


@given(MOVES)
def test_whatever_comes_no_party_counts_beyond_the_bound(
    moves: list[tuple[UUID | None, float, int]],
) -> None:
    now = NOON
    entries: list[Learn] = []
    for party, reward, hours in moves:
        now += hours * HOUR
        entries.append(told(party, reward, now=now))
    states = fold(BELIEF, entries)
    stepwise = Learned()
    for entry in entries:
        stepwise = fold(BELIEF, [entry], start=stepwise)

    assert stepwise == states, "a fold is the same in one go and step by step"
    aged = [BELIEF.age_influence(one, now) for one in states.influences.values()]
    for effect, counted in (one.values for one in aged):
        assert abs(counted) <= min(abs(effect), BOUND) + 1e-12
        assert counted * effect >= 0.0
    if entries and None not in {party for party, _, _ in moves}:
        common = BELIEF.age_memory(states.memories[LESSON], now).values[0]
        assert common == pytest.approx(fsum(one.values[1] for one in aged), abs=1e-9)


def test_a_step_within_the_bound_is_granted_whole() -> None:
    before, after = State((0.0, 0.01)), State((PLAIN / 2, 0.008), NOON)

    granted = grant(before, None, before=before, after=after)

    assert granted.common == after
    assert granted.influence == State((PLAIN / 2, PLAIN / 2), NOON)
    assert feel(after, NO_INFLUENCE) == after
