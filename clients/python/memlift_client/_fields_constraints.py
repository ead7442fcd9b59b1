"""What a constraint says and which ones to list, as typed dictionaries."""

from datetime import datetime
from typing import Literal, Required, TypedDict

from memlift_client._fields import Metadata, PageFields, Status, TaskFields


class ConstraintFields(TypedDict, total=False):
    """When `trigger`, enforce this, avoid that; learned from `task` or `task_id`, and free of its
    numbers and names.
    """

    agent: Required[str]
    trigger: Required[str]
    enforce: str
    avoid: str
    task: TaskFields
    task_id: str
    category: str
    subcategory: str
    weight: float
    learned_at: datetime
    metadata: Metadata


class ConstraintFilterFields(PageFields, total=False):
    status: Status
    category: str
    agent: str
    origin: Literal["distilled", "written"]


class ContradictionFilterFields(PageFields, total=False):
    """Open ones unless `state` says otherwise."""

    state: Literal["open", "resolved", "all"]
