"""The suite `soak`: what its counts amount to."""

from benchmarks.soak import suite
from benchmarks.soak.run import NAMESPACES, Plan, Soaked
from benchmarks.soak.tally import LOST, Tally


def soaked(*rebuilds: str) -> Soaked:
    tally = Tally()
    tally.count("retrieve", 201, frozenset({201}))
    tally.count("retrieve", LOST, frozenset({201}))
    return Soaked(tally, 1, 2.5, rebuilds)


def test_counts_are_named_by_kind_and_status() -> None:
    found = suite.numbers(soaked("rebuild of a: {'exact': True}", "rebuild of b: {}"))

    assert (found["retrieve, 201"], found["retrieve, lost"]) == (1.0, 1.0)
    assert (found["operations"], found[suite.VIOLATIONS], found[suite.REBUILDS]) == (2.0, 0.0, 1.0)


def test_a_violation_or_a_rebuild_that_is_not_exact_misses_its_target() -> None:
    exact = [f"rebuild of {name}: {{'exact': True}}" for name, *_ in NAMESPACES]
    plan = Plan(operations=2, kills=1)
    good, bad = soaked(*exact), soaked(*exact[1:])
    bad.tally.violate("an outcome is gone")

    assert [t.status for t in suite.targets(suite.numbers(good), plan)] == ["met"] * 3
    assert [t.status for t in suite.targets(suite.numbers(bad), plan)] == [
        "missed",
        "missed",
        "met",
    ]
