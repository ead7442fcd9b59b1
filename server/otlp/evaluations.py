"""Which log records are results: events `gen_ai.evaluation.result` of a trace."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from memory.kernel.errors import Rejected
from memory.kernel.text import NAME
from memory.outcomes.entities import KeyedReport
from memory.tenancy.claims import Verifier

EVENT = "gen_ai.evaluation.result"
EVALUATION = "gen_ai.evaluation.name"
VALUE = "gen_ai.evaluation.score.value"
LABEL = "gen_ai.evaluation.score.label"
ERROR = "error.type"
ANY = "*"
TRACE_DIGITS = 32
NO_TRACE = frozenset({"", "0" * 32})

LABELS: Mapping[str, float] = {"pass": 1.0, "correct": 1.0, "fail": 0.0, "incorrect": 0.0}
"""What a label is worth where there is no number."""

Plain = str | bool | int | float


@dataclass(frozen=True, slots=True)
class LogRecord:
    """What a log record says, as far as it is looked at; `trace_id` in hexadecimal digits, 32 where
    it is one.
    """

    event: str
    trace_id: str
    attributes: Mapping[str, Plain]


def read_names(setting: str) -> frozenset[str]:
    """The names of evaluations in a list with commas; `*` stands for all."""
    return frozenset(name for part in setting.split(",") if (name := part.strip()))


def to_report(record: LogRecord, names: Collection[str], verifier: Verifier) -> KeyedReport:
    """The report that a record amounts to. Raises Rejected with a code for each reason."""
    if record.event != EVENT:
        raise Rejected(f"only events {EVENT} are taken", code="other_event", field="eventName")
    name = str(record.attributes.get(EVALUATION, ""))
    if not name or (ANY not in names and name not in names):
        taken = ", ".join(sorted(names))
        raise Rejected(f"{EVALUATION} must be one of {taken}", code="other_name", field=EVALUATION)
    if ERROR in record.attributes:
        raise Rejected("the evaluation itself failed", code="evaluation_failed", field=ERROR)
    if record.trace_id in NO_TRACE:
        raise Rejected("it belongs to no trace", code="no_trace", field="traceId")
    if len(record.trace_id) != TRACE_DIGITS:
        raise Rejected(
            f"traceId must be {TRACE_DIGITS} hexadecimal digits",
            code="bad_trace",
            field="traceId",
            limit=TRACE_DIGITS,
        )
    reward = _reward(record.attributes)
    return KeyedReport(
        trace_id=record.trace_id, reward=reward, evaluator=name[:NAME], verifier=verifier
    )


def _reward(attributes: Mapping[str, Plain]) -> float:
    value, label = attributes.get(VALUE), attributes.get(LABEL)
    if value is None and isinstance(label, str) and label in LABELS:
        return LABELS[label]
    if value is None:
        known = ", ".join(LABELS)
        raise Rejected(
            f"without {VALUE}, {LABEL} must be one of {known}", code="no_score", field=LABEL
        )
    if isinstance(value, str) or not 0 <= value <= 1:
        raise Rejected(f"{VALUE} must lie in 0…1", code="out_of_range", field=VALUE, limit=[0, 1])
    return float(value)
