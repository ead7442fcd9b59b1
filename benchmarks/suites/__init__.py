"""The suites by name: what each measures, and what it aims at."""

from benchmarks.suites import credit_http, dashboard, loop
from benchmarks.suites.plan import Suite

SUITES: dict[str, Suite] = {
    "loop": loop.SUITE,
    "credit_http": credit_http.SUITE,
    "dashboard": dashboard.SUITE,
}
