"""The suites by name: what each measures, and what it aims at."""

from benchmarks.suites import credit_http, dashboard, interfaces, loop, scale
from benchmarks.suites.hot_path import encode, growth, peers, retrieve, scan, writes
from benchmarks.suites.operate import suite as operate
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
    "peers": peers.SUITE,
    "interfaces": interfaces.SUITE,
    "operate": operate.SUITE,
    "scale": scale.SUITE,
}
