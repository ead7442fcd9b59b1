"""Which scores are rewards, and by which names a trace is looked for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memlift_client._scores import RewardScale, Score, ScoreRefused

HEX = "4bf92f3577b34da6a3ce929d0e0e4736"
DASHED = "4bf92f35-77b3-4da6-a3ce-929d0e0e4736"


@pytest.mark.parametrize(
    ("value", "scale", "reward"),
    [
        (0.25, RewardScale(), 0.25),
        (1, RewardScale(), 1.0),
        (True, RewardScale(1, 5), 1.0),
        (False, RewardScale(), 0.0),
        (2, RewardScale(1, 5), 0.25),
        (2, RewardScale(5, 1), 0.75),
        ("yes", RewardScale(labels={"yes": 1.0}), 1.0),
    ],
)
def test_a_score_on_its_scale_is_a_reward(value, scale, reward):
    assert scale.reward(value) == reward


@pytest.mark.parametrize(
    ("value", "scale", "words"),
    [
        (1.5, RewardScale(), "1.5 must lie in 0…1 (--scale MIN MAX)"),
        (0, RewardScale(5, 1), "0 must lie in 5…1 (--scale MIN MAX)"),
        (float("nan"), RewardScale(), "nan must lie in 0…1 (--scale MIN MAX)"),
        ("no", RewardScale(labels={"yes": 1.0}), "'no' is no number; labels that are known: yes"),
        (None, RewardScale(), "None is no number; labels that are known: none (--label)"),
    ],
)
def test_what_is_no_reward_is_refused_by_name_and_limit(value, scale, words):
    with pytest.raises(ScoreRefused) as refused:
        scale.reward(value)
    assert str(refused.value).startswith(words)


@pytest.mark.parametrize("given_scale", [(1.0, 1.0), (0.0, float("inf")), (float("nan"), 1.0)])
def test_a_scale_that_is_none_is_refused(given_scale):
    with pytest.raises(ScoreRefused, match="--scale"):
        RewardScale(*given_scale)


def test_a_label_is_worth_a_reward():
    with pytest.raises(ScoreRefused, match=r"yes=2 must lie in 0…1"):
        RewardScale(labels={"yes": 2.0})


@given(low=st.floats(-1e6, 1e6), span=st.floats(1e-3, 1e6), share=st.floats(0, 1))
def test_a_scale_and_its_reverse_share_out_the_whole(low, span, share):
    value = min(low + span * share, low + span)
    up, down = RewardScale(low, low + span), RewardScale(low + span, low)

    assert 0 <= up.reward(value) <= 1
    assert up.reward(value) + down.reward(value) == pytest.approx(1)


@pytest.mark.parametrize(
    ("trace", "names"),
    [
        (None, ()),
        ("order-17", ("order-17",)),
        (HEX, (HEX,)),
        (DASHED, (DASHED, HEX)),
        (f"tr-{HEX}", (f"tr-{HEX}", HEX)),
    ],
)
def test_a_trace_is_looked_for_by_its_own_name_then_by_that_of_opentelemetry(trace, names):
    assert Score("s", "n", 1, trace).traces() == names
