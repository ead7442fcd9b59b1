"""What runs and taxonomies are made of, as typed dictionaries."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Required, TypedDict

from memlift_client._fields import PageFields, TaskFields

Verifier = Literal["human", "test", "judge", "self", "none"]


class StepFields(TypedDict, total=False):
    """One step of a run; `kind` in the caller's words (thought, action, observation)."""

    text: Required[str]
    kind: str


class TrajectoryFields(TypedDict, total=False):
    """A run of a task (`task` or `task_id`) by an agent.

    `reward` in [0, 1] with who vouches for it; `cost` in the caller's unit. `known_at` belongs to
    replay namespaces.
    """

    agent: Required[str]
    task: TaskFields
    task_id: str
    steps: Sequence[StepFields]
    result: str
    reward: float
    verifier: Verifier
    cost: float
    known_at: datetime


class TrajectoryFilterFields(PageFields, total=False):
    agent: str
    task_id: str
    category: str
    verifier: Verifier


class CompetenceFilterFields(PageFields, total=False):
    as_of: datetime


class SubcategoryFields(TypedDict):
    """A kind of task on the second level, and what it is in a line."""

    name: str
    description: str


class BranchFields(TypedDict, total=False):
    """A category; `related` names others whose lessons may fit as well."""

    name: Required[str]
    description: Required[str]
    related: Sequence[str]
    subcategories: Sequence[SubcategoryFields]


class TaxonomyFields(TypedDict, total=False):
    """`categories` of one's own, or the shipped ones (`default`). Without `allow_new`, labels that
    are not named are refused.
    """

    categories: Sequence[BranchFields]
    default: bool
    allow_new: bool
