"""Shapes of outcomes where the wire differs from the nouns."""

from dataclasses import dataclass
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from memory.kernel.fields import INPUT
from memory.outcomes.entities import KeyedOutcome, OutcomeWarning, Report, Reported
from memory.receipts.entities import OutcomeStatus
from memory.receipts.list_entities import Claims, OutcomeFilter
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
    warnings: list[OutcomeWarning]
    """Why it moves nothing, or for what it does not count; empty where it counts for all."""
    run_id: UUID | None
    """The trajectory that is kept of its `run`; null where it brought none, or the task was
    erased.
    """

    @classmethod
    def of(cls, reported: Reported) -> "OutcomeTaken":
        outcome = reported.outcome
        return cls(
            outcome_id=outcome.id,
            status=outcome.status,
            reason=outcome.reason,
            evidence=outcome.evidence,
            warnings=list(reported.warnings),
            run_id=reported.run_id,
        )


class OutcomeBound(OutcomeTaken):
    """The result of a report by key, for one of the receipts that it was bound to."""

    retrieval_id: UUID
    """The receipt."""
    agent: str
    """Whose run it was."""

    @classmethod
    def of_key(cls, bound: KeyedOutcome) -> "OutcomeBound":
        taken = OutcomeTaken.of(bound.reported).model_dump()
        return cls(retrieval_id=bound.receipt.retrieval_id, agent=bound.receipt.agent, **taken)


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
    claims: Claims | None = None
    order: Literal["oldest", "newest"] = "oldest"

    def to_filter(self) -> OutcomeFilter:
        newest = self.order == "newest"
        return OutcomeFilter(self.state, self.retrieval_id, self.claims, newest_first=newest)
