"""What an agent sends of history, candidates and tickets, as typed dictionaries."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Required, TypedDict

from memlift_client._fields import Metadata, PageFields, TaskFields


class VerificationFields(TypedDict):
    """Who vouches for a piece of history."""

    source: Literal["human", "test", "judge", "none"]


class HistoryFields(TypedDict, total=False):
    """An experience from before this server; it starts neutral."""

    agent: Required[str]
    situation: Required[str]
    lesson: Required[str]
    verification: Required[VerificationFields]
    category: str
    subcategory: str
    task: TaskFields
    task_id: str
    visibility: Literal["agent", "namespace"]
    learned_at: datetime
    metadata: Metadata


class RefineFields(TypedDict, total=False):
    situation: str
    lesson: str
    known_at: datetime


class ClaimFields(TypedDict, total=False):
    category: str
    limit: int


class TrialFields(TypedDict, total=False):
    """How one trial went: `reward`, or `value` with `truth` in the ticket's metric."""

    slot: Required[int]
    reward: float
    value: Mapping[str, object]
    truth: Mapping[str, object]
    without: Mapping[str, object]


class TrialsFields(TypedDict, total=False):
    """What the holder of a ticket found out; `metric` is the ticket's."""

    agent: Required[str]
    trials: Required[Sequence[TrialFields]]
    metric: str
    known_at: datetime


class TicketFilterFields(PageFields, total=False):
    state: Literal["open", "leased", "decided", "expired", "quarantined"]
    memory_id: str


class CandidateFilterFields(PageFields, total=False):
    state: Literal["waiting", "proposed", "twin", "rejected_twin", "nothing", "quarantined"]
