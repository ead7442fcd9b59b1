"""What an agent predicts and what a settlement says, as typed dictionaries."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Required, TypedDict

from memlift_client._fields import PageFields, TaskFields

Probabilities = Mapping[str, float]
"""By name of outcome, each in [0, 1]."""


class PredictionFields(TypedDict, total=False):
    """A forecast for a window: `task` (with a `group_key`, its event), `task_id`, or the task of
    the receipt.

    baseline_probabilities: the same agent's without the guideline. full_probabilities: had memory
    been followed wholly. answers: one forecast a ranker, for a receipt with rivals. `known_at`
    belongs to replay namespaces.
    """

    agent: Required[str]
    probabilities: Required[Probabilities]
    task: TaskFields
    task_id: str
    retrieval_id: str
    baseline_probabilities: Probabilities
    full_probabilities: Probabilities
    answers: Mapping[str, Probabilities]
    rationale: str
    known_at: datetime


class PredictionFilterFields(PageFields, total=False):
    state: Literal["pending", "settled", "late"]
    agent: str
    event: str


class SettlementFields(TypedDict, total=False):
    """What an event came to, for `windows` (keys of its tasks), else for all that are unresolved.

    crowd: what skill is measured against. corrects: the settlement that this takes the place of.
    """

    event: Required[str]
    resolutions: Required[Mapping[str, Literal["yes", "no", "void"]]]
    windows: Sequence[str]
    crowd: Probabilities
    known_at: datetime
    corrects: str


class SettlementFilterFields(PageFields, total=False):
    event: str
