"""Shapes of outcomes where the wire differs from the nouns."""

from dataclasses import dataclass
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memory.kernel.fields import INPUT
from memory.outcomes.entities import Report, Reported
from memory.receipts.entities import OutcomeFilter, OutcomeStatus
from memory.retrieval.entities import MAX_BATCH
from server.schemas.base import In, ListQuery, Out, Refusable
from server.schemas.problems import BatchItem


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchedReport(Report):
    """A report in a batch. Differs from `Report`: it names its receipt, which alone stands in the
    path.
    """

    __pydantic_config__ = INPUT

    retrieval_id: UUID
    """The receipt it is for."""


class ReportBatch(In):
    """Outcomes that are taken in one by one, in the order given."""

    items: list[Annotated[BatchedReport, Refusable]] = Field(min_length=1, max_length=MAX_BATCH)
    """The items, in the order of the batch."""


class OutcomeTaken(Out):
    """The result of a report. Differs from `Outcome`: its progress is read at
    `/outcomes/{outcome_id}`.
    """

    outcome_id: UUID
    """Names the outcome."""
    status: OutcomeStatus
    """Whether it waits, was applied, or was ignored."""
    reason: str | None
    """Why it was ignored or moves nothing."""
    evidence: str
    """What kind of comparison it offers."""

    @classmethod
    def of(cls, reported: Reported) -> "OutcomeTaken":
        outcome = reported.outcome
        return cls(
            outcome_id=outcome.id,
            status=outcome.status,
            reason=outcome.reason,
            evidence=outcome.evidence,
        )


class OutcomeItem(BatchItem):
    """The result of one item of a batch."""

    outcome: OutcomeTaken | None = None
    """The outcome; null where it was refused."""


class OutcomesTaken(Out):
    """The result of each report of a batch."""

    items: list[OutcomeItem]
    """The items, in the order of the batch."""


class OutcomeQuery(ListQuery):
    """Which outcomes to list. Differs from `OutcomeFilter`: it is paged."""

    state: OutcomeStatus | None = None
    retrieval_id: UUID | None = None
    order: Literal["oldest", "newest"] = "oldest"

    def to_filter(self) -> OutcomeFilter:
        newest = self.order == "newest"
        return OutcomeFilter(self.state, self.retrieval_id, newest_first=newest)


class Nothing(In):
    """An empty object."""
