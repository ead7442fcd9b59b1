"""The one outcome to blame is found, whichever it is; none is blamed for what is no outcome's."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from memory.outcomes.set_aside import find_culprit

IDS = [UUID(int=number) for number in range(1, 129)]


@given(st.integers(1, 128).flatmap(lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1)))))
def test_the_first_that_fails_is_to_blame(lot: tuple[int, set[int]]) -> None:
    waiting = IDS[: lot[0]]
    bad = {waiting[number] for number in lot[1]}
    tries: list[int] = []

    async def attempt(ids: Sequence[UUID]) -> Exception | None:
        tries.append(len(ids))
        return next((ValueError(one) for one in ids if one in bad), None)

    found = asyncio.run(find_culprit(waiting, attempt))

    if not bad:
        assert found is None
        return
    assert found is not None
    assert found.outcome_id == next(one for one in waiting if one in bad)
    assert found.fault.args == (found.outcome_id,)
    assert len(tries) <= 10


def test_no_outcome_is_to_blame_for_what_fails_without_any() -> None:
    async def attempt(_: Sequence[UUID]) -> Exception | None:
        return ValueError("always")

    assert asyncio.run(find_culprit(IDS, attempt)) is None
    assert asyncio.run(find_culprit([], attempt)) is None
