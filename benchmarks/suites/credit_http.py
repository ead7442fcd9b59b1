"""Suite `credit_http`: the server learns what its pure functions say that it should.

One world of the credit benchmark through HTTP: see `benchmarks.kernels.credit.over_http`.
"""

from collections.abc import Sequence

from benchmarks import metrics
from benchmarks.kernels.credit import over_http
from benchmarks.suites.plan import Suite

APART = 1e-9


def targets(rows: Sequence[metrics.Row]) -> list[metrics.Target]:
    """Served sets and outcomes being the same, weights are the same."""
    found = metrics.numbers(rows)
    parts = {name: value for name, value in found.items() if name.startswith("captured")}
    name = "largest difference between a weight over HTTP and the pure functions"
    return [metrics.at_most(name, APART, found.get("largest_difference"), parts)]


SUITE = Suite(
    about="one world of known truth over HTTP, against the pure functions",
    settings={"tasks": 400, "seed": 0},
    server={"MEMLIFT_REQUEST_RATE": "1000000", "MEMLIFT_REQUEST_BURST": "1000000"},
    run=over_http.run,
    targets=targets,
)
