"""The suites by name: what each measures, and what it aims at."""

from benchmarks.suites import credit_http, dashboard, interfaces, loop, operate, scale
from benchmarks.suites.hot_path import encode, growth, retrieve, scan, writes
from benchmarks.suites.plan import Suite

SUITES: dict[str, Suite] = {
    "loop": loop.SUITE,
    "credit_http": credit_http.SUITE,
    "dashboard": dashboard.SUITE,
    "retrieve": retrieve.SUITE,
    "encode": encode.SUITE,
    "scan": scan.SUITE,
    "growth": growth.SUITE,
    "writes": writes.SUITE,
    "interfaces": interfaces.SUITE,
    "operate": operate.SUITE,
    "scale": scale.SUITE,
}
