"""What Prometheus reads: counts and durations of this process.

Labels are routes, methods, statuses, codes: never a namespace, an agent or a text. Each process
counts its own; with several workers the scraper adds them up.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from memory.kernel.engine import LlmCounters

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
METHODS = frozenset({"GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"})
# From a health check (0.5 ms) to a batch of 256 on a busy CPU.
BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)
UNMATCHED = "unmatched"


class Meters:
    """The counters of one app, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "memlift_requests",
            "Requests answered",
            ("route", "method", "status"),
            registry=self.registry,
        )
        self.seconds = Histogram(
            "memlift_request_seconds",
            "Time from the request's head to its answer",
            ("route", "method"),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.faults = Counter(
            "memlift_faults", "Problem documents sent", ("code",), registry=self.registry
        )
        self.retrievals = Counter(
            "memlift_retrievals", "Receipts written", ("arm",), registry=self.registry
        )
        self.outcomes = Counter(
            "memlift_outcomes", "Outcomes taken in", ("status",), registry=self.registry
        )
        self.predictions = Counter(
            "memlift_predictions", "Forecasts taken in", ("kind",), registry=self.registry
        )
        self.settlements = Counter(
            "memlift_settlements", "Events settled", ("kind",), registry=self.registry
        )
        self.echoes = Counter(
            "memlift_echoes",
            "Texts that only repeated what was served and were not stored",
            registry=self.registry,
        )

    def observe(self, route: str, method: str, status: str, seconds: float) -> None:
        """One answered request; methods the protocol does not know share a label."""
        method = method if method in METHODS else "OTHER"
        self.requests.labels(route, method, status).inc()
        self.seconds.labels(route, method).observe(seconds)

    def watch(self, gauges: Callable[[], Mapping[str, float]]) -> None:
        """Adds numbers that are read at the time of scraping: queues, pools."""
        self.registry.register(Gauges(gauges))
        self.registry.register(Coverage(self))

    def watch_llm(self, counters: LlmCounters) -> None:
        """Adds what the language model did."""
        self.registry.register(Writings(counters))

    def text(self) -> bytes:
        return generate_latest(self.registry)


class Gauges(Collector):
    """Numbers read when asked, not counted as they happen."""

    def __init__(self, read: Callable[[], Mapping[str, float]]) -> None:
        self._read = read

    def describe(self) -> Iterable[Metric]:
        """Nothing in advance: which numbers there are depends on the opened engine."""
        return ()

    def collect(self) -> Iterator[Metric]:
        for name, value in self._read().items():
            yield GaugeMetricFamily(f"memlift_{name}", name.replace("_", " "), value=value)


class Writings(Collector):
    """Calls of the language model by role and result, `done` or the fault, and its tokens."""

    def __init__(self, counters: LlmCounters) -> None:
        self._counters = counters

    def describe(self) -> Iterable[Metric]:
        """Nothing in advance, as there may be no language model."""
        return ()

    def collect(self) -> Iterator[Metric]:
        tries = CounterMetricFamily(
            "memlift_llm_calls", "Calls of the language model", labels=("role", "result")
        )
        for (role, result), count in self._counters.results.items():
            tries.add_metric((role, result), count)
        tokens = CounterMetricFamily(
            "memlift_llm_tokens", "Tokens of the language model", labels=("role",)
        )
        for role, count in self._counters.tokens.items():
            tokens.add_metric((role,), count)
        yield from (tries, tokens)


class Coverage(Collector):
    """The share of this process's receipts that an outcome came back for, since its start."""

    def __init__(self, meters: Meters) -> None:
        self._meters = meters

    def describe(self) -> Iterable[Metric]:
        """Nothing in advance, as there may be no receipt."""
        return ()

    def collect(self) -> Iterator[Metric]:
        served = total(self._meters.retrievals)
        if served:
            share = total(self._meters.outcomes) / served
            yield GaugeMetricFamily(
                "memlift_feedback_coverage", "Outcomes taken in per receipt written", value=share
            )


def total(counter: Counter) -> float:
    """The sum over all labels."""
    return sum(
        sample.value
        for metric in counter.collect()
        for sample in metric.samples
        if sample.name.endswith("_total")
    )
