"""What needs a hand, each with its cause, how many, and where it is acted upon."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from memory.insight.entities import Effect, LearningHealth
from memory.insight.overview_entities import Concern
from memory.kernel.postgres.compatibility import Check
from memory.outcomes.applying import APPLY, SET_ASIDE
from server.dashboard.viewer import PageViewer

LEAST_FREE_BYTES = 2 * 1024**3
"""As `memlift doctor` wants it."""


TIMES = "\N{MULTIPLICATION SIGN}"


WHY_IGNORED = {
    "expired": "their receipt had expired",
    "other_metric": "their category is measured otherwise",
    "erased": "what was served is erased",
    "other_version": "what was served has another text now",
    "half_missing": "the other run of the pair is missing",
    "observational": "they ran without memory, and not at random",
}


@dataclass(frozen=True, slots=True)
class Alert:
    """One thing to look at: `what` with its count and why, and the page of the namespace where it
    is acted upon; without a `path`, `action` says what to do.
    """

    name: str
    what: str
    cause: str
    action: str
    path: str | None


@dataclass(frozen=True, slots=True)
class Findings:
    """What alerts are made of."""

    effects: Sequence[Effect]
    health: LearningHealth
    concerns: Sequence[Concern]
    checks: Mapping[str, Check]
    free_bytes: int | None


def alerts_of(viewer: PageViewer, found: Findings) -> list[Alert]:
    """The gravest first: the server, then what is not served, then what is not learned from."""
    return [
        *_of_server(viewer, found),
        *_of_ledger(found.concerns),
        *_of_cells(found.effects),
        *_of_outcomes(found),
        *_of_constraints(viewer),
        *_of_work(viewer, found.concerns),
        *_of_webhooks(viewer, found.concerns),
        *_of_memories(found),
    ]


def free_bytes(data: Path) -> int | None:
    """What is left where the server keeps its data; None where that cannot be seen."""
    try:
        return shutil.disk_usage(data.expanduser()).free
    except OSError:
        return None


UNMET = {
    "jobs": "Jobs fail",
    "leader": "No process leads",
    "other_models": "Namespaces of another model are refused",
}
"""What it is called where one of these checks is not met."""


def _of_server(viewer: PageViewer, found: Findings) -> list[Alert]:
    alerts = [
        Alert(f"server-{name}", _lack(name), check.detail, "See", "/#server")
        for name, check in found.checks.items()
        # Where the caller keeps the clock nothing runs by itself, so nobody has to lead.
        if not check.ok and not (name == "leader" and viewer.call.namespace.clock == "replay")
    ]
    if found.free_bytes is not None and found.free_bytes < LEAST_FREE_BYTES:
        left = f"{found.free_bytes / 1024**3:.1f} GiB are free where the server keeps its data"
        alerts.append(Alert("disk", "Little room on the disk", left, "Make room", None))
    return alerts


def _lack(name: str) -> str:
    return UNMET.get(name, f"The server lacks its {name}")


def _of_ledger(concerns: Sequence[Concern]) -> list[Alert]:
    n = sum(one.n for one in concerns if one.kind == "inexact")
    if not n:
        return []
    what = f"{n:,} {'state differs' if n == 1 else 'states differ'} from the ledger"
    return [Alert("inexact", what, "found by the last run of rebuild", "See the runs", "/jobs")]


def _of_cells(effects: Sequence[Effect]) -> list[Alert]:
    halted = [f"{one.agent} {TIMES} {one.category}" for one in effects if one.suspended]
    if not halted:
        return []
    cells = "1 cell is" if len(halted) == 1 else f"{len(halted):,} cells are"
    what = f"{cells} served without memory"
    cause = f"the guard suspended {_named(halted)}: memory did harm there"
    return [Alert("suspended-cells", what, cause, "See its numbers", "/#suspended")]


def _of_outcomes(found: Findings) -> list[Alert]:
    alerts: list[Alert] = []
    aside = [one for one in found.concerns if one.kind == "set_aside"]
    if aside:
        what = f"{_outcomes(sum(one.n for one in aside))} set aside"
        path = "/receipts/outcomes?state=accepted"
        cause = _named([one.cause for one in aside])
        alerts.append(Alert("set-aside", what, cause, "See them", path))
    ignored = [one for one in found.concerns if one.kind == "ignored"]
    if (other := next((one for one in ignored if one.cause == "other_metric"), None)) is not None:
        alerts.append(
            Alert(
                "mixed-rewards",
                f"{_outcomes(other.n)} of another kind of reward in 7 days",
                "their category is measured otherwise, so they move nothing",
                "Set how categories are measured",
                "/categories",
            )
        )
    rest = [one for one in ignored if one.cause != "other_metric"]
    if rest:
        n = sum(one.n for one in rest)
        cause = ", ".join(f"{one.n:,} because {WHY_IGNORED[one.cause]}" for one in rest)
        what = f"{_outcomes(n)} of 7 days moved nothing"
        alerts.append(Alert("ignored", what, cause, "See them", "/receipts/outcomes?state=ignored"))
    if (muted := sum(one.n for one in found.concerns if one.kind == "muted")) > 0:
        what = f"{_outcomes(muted)} of 7 days moved not all that was served"
        cause = "their key had used its reports for the day on some memories"
        alerts.append(
            Alert("muted", what, cause, "See who reports", "/receipts/outcomes?state=applied")
        )
    waiting = found.health.pending_outcomes
    if overdue := waiting.week + waiting.month + waiting.older:
        what = f"{_outcomes(overdue)} wait to be applied"
        cause = "for more than a day"
        alerts.append(Alert("overdue", what, cause, "See what waits", "/#waiting"))
    return alerts


def _of_constraints(viewer: PageViewer) -> list[Alert]:
    n = viewer.waiting.get("/contradictions", 0)
    if not n:
        return []
    pairs = "pair" if n == 1 else "pairs"
    what = f"{n:,} {pairs} of constraints that contradict each other"
    cause = "one side asks for what the other warns against, and the evidence does not decide"
    return [Alert("contradictions", what, cause, "Decide", "/contradictions")]


def _of_work(viewer: PageViewer, concerns: Sequence[Concern]) -> list[Alert]:
    alerts = [
        Alert(
            f"job-{one.cause}",
            f"The job {one.cause} failed at its last run",
            f"{one.n:,} failed {'run' if one.n == 1 else 'runs'} in 7 days",
            "See the runs" if one.cause == APPLY else "Run it again",
            "/jobs",
        )
        for one in concerns
        if one.kind == "job_failed" and one.cause != SET_ASIDE
    ]
    for kind, status, verb in (
        ("llm_failed", "failed", "failed"),
        ("llm_stopped", "stopped", "were stopped"),
    ):
        some = [one for one in concerns if one.kind == kind]
        if not some:
            continue
        n = sum(one.n for one in some)
        what = f"{n:,} {'call' if n == 1 else 'calls'} of the language model {verb} in 7 days"
        cause = ", ".join(f"{one.cause.replace('_', ' ') or 'no cause'} {one.n:,}" for one in some)
        path = f"/llm-calls?status={status}" if viewer.may("inspect") else None
        action = "See them" if path else "Ask a manager"
        alerts.append(Alert(kind.replace("_", "-"), what, cause, action, path))
    return alerts


def _of_webhooks(viewer: PageViewer, concerns: Sequence[Concern]) -> list[Alert]:
    n = sum(one.n for one in concerns if one.kind == "webhook_disabled")
    if not n:
        return []
    what = f"{n:,} {'webhook is' if n == 1 else 'webhooks are'} disabled"
    cause = "five deliveries in a row failed, or the address is gone: nothing is sent there"
    path = "/webhooks" if viewer.may("manage") else None
    action = "Mend it and send a test" if path else "Ask a manager"
    return [Alert("webhooks", what, cause, action, path)]


def _of_memories(found: Findings) -> list[Alert]:
    alerts: list[Alert] = []
    if n := sum(one.n for one in found.concerns if one.kind == "quarantined"):
        what = f"{n:,} {'memory is' if n == 1 else 'memories are'} in quarantine"
        path = "/memories?status=active&trust=quarantined"
        cause = "its source is not believed" if n == 1 else "their sources are not believed"
        alerts.append(Alert("quarantine", what, cause, "Look at them", path))
    if found.health.item_variance.alert:
        pairs = found.health.item_variance.pairs
        what = "Weights follow noise"
        cause = f"over {pairs:,} pairs of dates, residuals of one memory do not agree"
        alerts.append(Alert("noise", what, cause, "See the health of learning", "/#health"))
    return alerts


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= len(names[:3]) else f"{shown} and {len(names) - 3} more"


def _outcomes(n: int) -> str:
    return f"{n:,} {'outcome' if n == 1 else 'outcomes'}"
