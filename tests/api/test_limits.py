"""A key may ask so often, and no other key suffers for it."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.kernel.errors import Overloaded
from server import limits
from server.limits import Limits

ONE, OTHER = UUID(int=1), UUID(int=2)


def test_a_burst_is_served_and_the_next_request_waits_for_a_token():
    bucket = Limits(rate=2.0, burst=3)
    for _ in range(3):
        bucket.take(ONE, now=0.0)

    with pytest.raises(Overloaded) as refusal:
        bucket.take(ONE, now=0.0)

    assert refusal.value.retry_after == pytest.approx(0.5)
    assert refusal.value.kind == "rate_limited"


def test_waiting_as_long_as_told_is_enough():
    bucket = Limits(rate=2.0, burst=1)
    bucket.take(ONE, now=0.0)

    bucket.take(ONE, now=0.5)

    with pytest.raises(Overloaded):
        bucket.take(ONE, now=0.5)


def test_one_key_does_not_use_up_anothers_tokens():
    bucket = Limits(rate=1.0, burst=1)
    bucket.take(ONE, now=0.0)

    bucket.take(OTHER, now=0.0)

    with pytest.raises(Overloaded):
        bucket.take(ONE, now=0.0)


def test_a_clock_that_steps_back_gives_no_tokens():
    bucket = Limits(rate=1.0, burst=1)
    bucket.take(ONE, now=10.0)

    with pytest.raises(Overloaded):
        bucket.take(ONE, now=5.0)


@given(st.lists(st.floats(0, 5), min_size=1, max_size=80))
def test_no_key_gets_more_than_its_burst_and_its_rate(waits):
    bucket, now, served = Limits(rate=3.0, burst=4), 0.0, 0
    for wait in waits:
        now += wait
        try:
            bucket.take(ONE, now)
        except Overloaded:
            continue
        served += 1

    assert served <= 4 + 3.0 * now + 1e-6


def test_no_more_buckets_are_kept_than_allowed():
    bucket = Limits(rate=1.0, burst=1)

    for number in range(limits.MAX_CALLERS + 5):
        bucket.take(UUID(int=number), now=0.0)

    assert len(bucket) == limits.MAX_CALLERS
