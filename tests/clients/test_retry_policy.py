"""When the client asks again and how long it waits, without a client."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memlift_client._retries import Event, NoAnswer, Pause, RetryPolicy, exchange
from memlift_client._wire import Reply, Request

POST = Request("POST", "/x", content=b"{}", key="k")


def pauses(*events: Event, retry_policy: RetryPolicy, chance: float = 0.0) -> list[float]:
    """How long each pause was while the events came in."""
    talk = exchange(POST, retry_policy, lambda: chance)
    waited: list[float] = []
    next(talk)
    with pytest.raises(StopIteration):  # noqa: PT012 - the end of the talk is what is waited for
        for event in events:
            step = talk.send(event)
            assert isinstance(step, Pause)
            waited.append(step.seconds)
            assert talk.send(None) == POST
    return waited


def test_the_wait_doubles_up_to_its_longest():
    retry_policy = RetryPolicy(attempts=5, first_delay=1.0, longest_delay=3.0)

    waited = pauses(
        *[NoAnswer("refused")] * 4, Reply(200, b"{}"), retry_policy=retry_policy, chance=0.0
    )

    assert waited == [0.5, 1.0, 1.5, 1.5]


def test_retry_after_is_kept_to():
    busy = Reply(429, b"{}", retry_after=7.0)

    assert pauses(busy, Reply(200, b"{}"), retry_policy=RetryPolicy()) == [7.0]


def test_retry_after_does_not_keep_a_client_for_ever():
    busy = Reply(503, b"{}", retry_after=86_400.0)

    assert pauses(busy, Reply(200, b"{}"), retry_policy=RetryPolicy(longest_wait=20.0)) == [20.0]


@given(st.integers(1, 40), st.floats(0, 1, exclude_max=True))
def test_jitter_stays_in_the_upper_half(attempt, chance):
    retry_policy = RetryPolicy()
    ceiling = min(retry_policy.longest_delay, retry_policy.first_delay * 2.0 ** (attempt - 1))

    assert ceiling / 2 <= retry_policy.delay(attempt, chance) <= ceiling
