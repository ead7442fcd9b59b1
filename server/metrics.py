"""What Prometheus reads: counts and durations of this process.

Labels are routes, methods, statuses, codes: never a namespace, an agent or a text. Each process
counts its own; with several workers one page has those of all (`worker_pages`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from memory.kernel.engine import JobCounters, LlmCounters
from memory.outcomes.entities import Reported

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
        self.stages = Histogram(
            "memlift_retrieval_stage_seconds",
            "Time of a call for guidelines, by its stage, one after the other",
            ("stage",),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self._stage: dict[str, Histogram] = {}
        self.faults = Counter(
            "memlift_faults", "Problem documents sent", ("code",), registry=self.registry
        )
        self.retrievals = Counter(
            "memlift_retrievals", "Receipts written", ("arm",), registry=self.registry
        )
        self.outcomes = Counter(
            "memlift_outcomes", "Outcomes taken in", ("status",), registry=self.registry
        )
        self.warnings = Counter(
            "memlift_outcome_warnings",
            "Outcomes taken in that do not do all that they say, by the warning's code",
            ("code",),
            registry=self.registry,
        )
        self.evaluations = Counter(
            "memlift_evaluations",
            "Log records that were brought as results of evaluations: taken, or why not",
            ("result",),
            registry=self.registry,
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

    def count(self, reported: Reported) -> None:
        """An outcome, where it was not taken before, and what it warns of."""
        if not reported.replayed:
            self.outcomes.labels(reported.outcome.status).inc()
            for warning in reported.warnings:
                self.warnings.labels(warning.code).inc()

    def observe_stage(self, stage: str, seconds: float) -> None:
        # Looking a label up takes longer than counting.
        if (known := self._stage.get(stage)) is None:
            known = self._stage[stage] = self.stages.labels(stage)
        known.observe(seconds)

    def watch(self, gauges: Callable[[], Mapping[str, float]]) -> None:
        """Adds numbers that are read at the time of scraping: queues, pools."""
        self.registry.register(Gauges(gauges))
        self.registry.register(Coverage(self))

    def watch_llm(self, counters: LlmCounters) -> None:
        """Adds what the language model did."""
        self.registry.register(Writings(counters))

    def watch_jobs(self, counters: JobCounters) -> None:
        """Adds what became of runs of jobs."""
        self.registry.register(Runs(counters))

    def watch_webhooks(self, results: Mapping[str, int]) -> None:
        """Adds what became of deliveries to webhooks."""
        self.registry.register(Deliveries(results))

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
        implausible = CounterMetricFamily(
            "memlift_llm_implausible_counts",
            "Counts of tokens by a provider that were not believed",
            labels=("role",),
        )
        for role, count in self._counters.implausible.items():
            implausible.add_metric((role,), count)
        queries = CounterMetricFamily(
            "memlift_llm_queries",
            "Retrievals by what became of their queries by the language model",
            labels=("result",),
        )
        for result, count in self._counters.queries.items():
            queries.add_metric((result,), count)
        yield from (tries, tokens, implausible, queries)


class Runs(Collector):
    """Runs of jobs by what became of them; where this process leads, also which jobs fail, and how
    long the namespace that waits longest has been waiting for a run that went well.
    """

    def __init__(self, counters: JobCounters) -> None:
        self._counters = counters

    def describe(self) -> Iterable[Metric]:
        """Nothing in advance, as no job may have run here."""
        return ()

    def collect(self) -> Iterator[Metric]:
        counters = self._counters
        runs = CounterMetricFamily(
            "memlift_job_runs", "Runs of jobs: done, failed or paused", labels=("job", "status")
        )
        for (job, status), count in counters.runs.items():
            runs.add_metric((job, status), count)
        removed = CounterMetricFamily(
            "memlift_retention_rows", "Rows that retention removed, by table", labels=("table",)
        )
        for table, count in counters.removed.items():
            removed.add_metric((table,), count)
        now = datetime.now(UTC)
        ages = {job: (now - at).total_seconds() for job, at in counters.last_good.items()}
        yield runs
        yield removed
        yield _by_job("last_good_run_age_seconds", "Since each job last ran well", ages)
        yield _by_job("failing_namespaces", "In how many each job fails", counters.failing)
        yield _by_job(
            "quarantined_namespaces", "In how many it is no longer tried", counters.quarantined
        )


def _by_job(name: str, said: str, values: Mapping[str, float]) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"memlift_job_{name}", said, labels=("job",))
    for job, value in values.items():
        family.add_metric((job,), value)
    return family


class Deliveries(Collector):
    """Tries to deliver to webhooks: delivered, to be tried again (`retried`), failed for good."""

    def __init__(self, results: Mapping[str, int]) -> None:
        self._results = results

    def describe(self) -> Iterable[Metric]:
        """Nothing in advance, as nothing may have been sent here."""
        return ()

    def collect(self) -> Iterator[Metric]:
        tries = CounterMetricFamily(
            "memlift_webhook_deliveries",
            "Tries to deliver to webhooks: delivered, retried or failed",
            labels=("result",),
        )
        for result in ("delivered", "retried", "failed"):
            tries.add_metric((result,), self._results.get(result, 0))
        yield tries


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
