"""Whatever callers do, and whatever is killed: nothing acknowledged is lost, all states fold."""

import pytest

from benchmarks.soak.run import NAMESPACES, Plan, soak


@pytest.mark.nightly
# A process that is killed in mid-answer leaves pipes and sockets to the collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_short_soak_with_a_kill_ends_with_an_exact_rebuild() -> None:
    soaked = soak(Plan(operations=2_000, callers=4, kills=1, seed=3, rounds=0), lambda _: None)

    assert soaked.tally.complaints() == []
    assert soaked.kills == 1
    assert soaked.tally.done >= 2_000
    assert len(soaked.rebuilds) == len(NAMESPACES)
    assert all("'exact': True" in line for line in soaked.rebuilds)
