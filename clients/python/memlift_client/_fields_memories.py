"""What is asked about memories of all kinds, as typed dictionaries."""

from datetime import datetime
from typing import Literal, TypedDict

from memlift_client._fields import PageFields, Status

Trust = Literal["trusted", "unverified", "quarantined"]
Kind = Literal["experience", "constraint", "meta_guideline"]


class BrowseFields(PageFields, total=False):
    """Which memories, in which order, and as of when (neither moment: now)."""

    kind: Kind
    status: Status
    trust: Trust
    category: str
    agent: str
    text: str
    min_weight: float
    max_weight: float
    sort: Literal["recorded_at", "weight", "served", "credited"]
    order: Literal["asc", "desc"]
    as_of: datetime
    bank_version: int


class BulkFields(TypedDict, total=False):
    """`trust` goes with the action of that name, and only with it."""

    trust: Trust
    reason: str
