# Generated from docs/reference/openapi.json by `make client-models`; do not edit.
"""What is sent, as typed dictionaries by the names of the contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, Required, TypedDict


class AgentChangeFields(TypedDict, total=False):
    """What to change of an agent; null leaves it as it is. Raises Rejected where all are null."""

    family: str | None
    """Its family of models."""
    model: str | None
    """The language model it runs on."""
    own_information: bool | None
    """Whether it brings information of its own beside memory."""
    size_class: str | None
    """How large it is, in its owner's words."""


class AgentFields(TypedDict, total=False):
    """An agent as its owner describes it."""

    family: str | None
    """Its family of models, such as `llama`; constraints travel between families."""
    model: str | None
    """The language model it runs on, by any name; a pair of runs needs the same one."""
    own_information: bool
    """Whether it brings a price, a tool or a source of its own beside memory."""
    size_class: str | None
    """How large it is, in its owner's words."""


class BulkChangeFields(TypedDict, total=False):
    """One action on many memories."""

    reason: str | None
    """Why, for the audit trail."""
    trust: Literal["trusted", "unverified", "quarantined"] | None
    """Given with the action of that name alone."""


class CategoryNameFields(TypedDict, total=False):
    """A kind of task, on two levels; the first names the cell in which learning is kept."""


class ClaimFields(TypedDict, total=False):
    """An agent asks for candidates to try, for half an hour."""

    category: str | None
    limit: int


class ContrastFields(TypedDict, total=False):
    """Which runs to hold against each other: two or more of one task, or all of a task."""

    task_id: str | None
    trajectory_ids: Sequence[str] | None


class DirectivesFields(TypedDict, total=False):
    """What the compiler does by itself; what is left out changes nothing."""

    cross_category: Literal["allow", "exclude"]
    """Whether what was learned on another kind of task is told."""
    max_memories: int | None
    """How many memories are told at most."""
    on_disagreement: Literal["show_both", "strongest", "drop"] | None
    """What becomes of memories that point in opposite directions."""
    order: Literal["strongest", "newest", "as_ranked"]
    """In which order memories are told."""


class ErasureFields(TypedDict, total=False):
    """Whose text to erase: exactly one of memory, agent, key and task."""

    agent: str | None
    """What this agent brought."""
    dry_run: bool
    """Changes nothing and tells the same."""
    key_id: str | None
    """What came through this key."""
    memory_id: str | None
    """One memory."""
    task_id: str | None
    """A task and what was learned on it."""


class JobRunFields(TypedDict, total=False):
    """`now` is required in `replay` namespaces and refused in `wall` ones."""

    dry_run: bool
    now: datetime | None


class KeyFields(TypedDict, total=False):
    """A key to be made: every role but `operator` lives in one namespace."""

    agents: Sequence[str] | None
    expires_at: datetime | None
    name: Required[str]
    namespace: str | None
    role: Required[Literal["agent", "evaluator", "reader", "admin", "operator"]]


class LessonFields(TypedDict, total=False):
    """What the reporter would do otherwise; without `situation` the task stands for it."""

    lesson: Required[str]
    situation: str | None


class MemoryEditFields(TypedDict, total=False):
    """
    A change of text or of what surrounds it; null leaves the part as it is. Raises Rejected
    where nothing is changed.
    """

    known_at: datetime | None
    """When the new words became known; set in `replay` namespaces alone."""
    lesson: str | None
    """What to do, in other words."""
    metadata: Mapping[str, object] | None
    """Free JSON in place of what there is."""
    pinned: bool | None
    """Whether nothing retires it by itself."""
    situation: str | None
    """When it applies, in other words."""


class MetaGuidelineFields(TypedDict, total=False):
    """Why using memory failed, and how to use it instead."""

    agent: Required[str]
    """Who brings it; made at first use."""
    category: str | None
    """The kind of task it is for; without it tasks of every kind."""
    directives: DirectivesFields
    """The part of the instruction that the compiler obeys by itself."""
    failure_reason: Required[str]
    """How using memory went wrong."""
    instruction: Required[str]
    """How to use it instead."""
    learned_at: datetime | None
    """When it became known; set in `replay` namespaces alone."""
    metadata: Mapping[str, object]
    """Free JSON of its author."""
    pinned: bool
    """Whether nothing retires it by itself."""
    subcategory: str | None
    """The second level of its category."""
    weight: float
    """Where it starts; 1 is neutral."""


class MetaGuidelineEditFields(TypedDict, total=False):
    """
    A change of words or of what surrounds them; null leaves the part as it is. Other directives
    are another meta-guideline.
    """

    failure_reason: str | None
    """How using memory went wrong, in other words."""
    instruction: str | None
    """How to use it instead, in other words."""
    known_at: datetime | None
    """When the new words became known; set in `replay` namespaces alone."""
    metadata: Mapping[str, object] | None
    """Free JSON in place of what there is."""
    pinned: bool | None
    """Whether nothing retires it by itself."""


class QueryFields(TypedDict, total=False):
    """One angle of search."""

    target: Literal["situation", "lesson"]
    """Which text of a memory it is compared with."""
    text: Required[str]
    """What to look for."""


class RefineFields(TypedDict, total=False):
    """A candidate in other words; what is left out stays."""

    known_at: datetime | None
    lesson: str | None
    situation: str | None


class ResolutionFields(TypedDict, total=False):
    """Which of the two stays in use, and why."""


class ResultFields(TypedDict, total=False):
    """How a run went, as a reward or as the metric's value."""

    reward: float | None
    value: Mapping[str, object] | None


class RollbackFields(TypedDict, total=False):
    """
    Whose word is taken back: of an agent, of a key, or of both.

    Outcomes of their retrievals or reports leave the ledger, memories they wrote retire.
    """

    agent: str | None
    """Name of the agent; it or a key is named."""
    dry_run: bool
    """Whether to only look what would change."""
    key_id: str | None
    """Names the key."""
    since: datetime | None
    """Only what was recorded at this time or later."""
    until: datetime | None
    """Only what was recorded before this time."""


class SettingsFields(TypedDict, total=False):
    """Knobs of one namespace; a null returns the first three to the server's default."""

    categories: Literal["open", "closed"]
    control_rate: float | None
    daily_credits: int
    max_memories: int
    meta_guidelines: bool
    raw_gate: float | None
    score_floor: float | None
    slot_rate: float
    verification_days: int
    verification_trials: int


class SettlementFields(TypedDict, total=False):
    """
    Which outcomes of an event came true; for `windows`, else for all that are unresolved. With
    `corrects` it takes the place of that settlement, for all windows where it is in force.
    """

    corrects: str | None
    crowd: Mapping[str, float] | None
    """what the crowd said, by name of outcome; skill is measured against it"""
    event: Required[str]
    known_at: datetime | None
    resolutions: Required[Mapping[str, Literal["yes", "no", "void"]]]
    """by name of outcome"""
    windows: Sequence[str] | None
    """keys of tasks of the event"""


class StatusReasonFields(TypedDict, total=False):
    """Why a memory's status changes. Differs from `StatusChange`: the path says how."""

    reason: str | None


class StepFields(TypedDict, total=False):
    """One step of a run; `kind` in the caller's words (thought, action, observation, …)."""

    kind: str | None
    text: Required[str]


class SubcategoryFields(TypedDict, total=False):
    """
    A kind of task on the second level; its name and description are what tasks are held
    against.
    """

    description: Required[str]
    name: Required[str]


class TaskEntryFields(TypedDict, total=False):
    """A task to be stored by itself."""

    category: str | None
    """Its kind; where it is left out, the nearest by meaning, else `general`."""
    closes_at: datetime | None
    """When its window closes: from then on no prediction counts."""
    group_key: str | None
    """Joins tasks that stand or fall together, such as questions about one event."""
    key: str | None
    """The caller's own id: the same key is the same task."""
    known_at: datetime | None
    """When it could be known; only in namespaces with clock `replay`, and required there."""
    metadata: Mapping[str, object]
    """Free JSON of at most 8,192 bytes, kept and shown as it is."""
    subcategory: str | None
    """A finer kind within its category."""
    text: Required[str]
    """What is to be done, as the agent was told."""


class TaskFields(TypedDict, total=False):
    """
    A task in its caller's words; the same key is the same task.

    Differs from `TaskDraft`: a batch reads it before the limits of its items are looked at.
    """

    category: str | None
    closes_at: datetime | None
    """when its window closes: from then on no prediction counts"""
    group_key: str | None
    key: str | None
    metadata: Mapping[str, object]
    subcategory: str | None
    text: Required[str]


class TrajectoryFields(TypedDict, total=False):
    """
    A run of a task by an agent: at most 1,000 steps and 400,000 characters. `reward` in [0, 1]
    with who vouches for it; `cost`: what the run took, in the caller's unit.
    """

    agent: Required[str]
    cost: float | None
    known_at: datetime | None
    result: str | None
    reward: float | None
    steps: Sequence[StepFields]
    task: TaskFields | None
    task_id: str | None
    verifier: Literal["human", "test", "judge", "self", "none"]


class TrialFields(TypedDict, total=False):
    """
    How one trial went: `reward`, or `value` with `truth` in the ticket's metric. `without` is
    the same agent's result without the candidate.
    """

    reward: float | None
    slot: Required[int]
    truth: Mapping[str, object] | None
    value: Mapping[str, object] | None
    without: ResultFields | None


class TrialsFields(TypedDict, total=False):
    """What the holder of a ticket found out; `metric` must be the ticket's."""

    agent: Required[str]
    known_at: datetime | None
    metric: str
    trials: Required[Sequence[TrialFields]]


class TrustChangeFields(TypedDict, total=False):
    """Whether a memory's source is believed from now on."""


class VerificationFields(TypedDict, total=False):
    """Who vouches for a piece of history."""

    source: Required[Literal["human", "test", "judge", "none"]]
    """A person, a test, a judging model, or nobody."""


class WhatIfFields(TypedDict, total=False):
    """
    Another policy under which the recorded outcomes are folded; the bank is not touched.

    Which memories were served is taken as it was: another policy would have served others, and
    what would have come of that nobody knows.
    """


class BranchFields(TypedDict, total=False):
    """A category; `related` names others of the taxonomy whose lessons may fit as well."""

    description: Required[str]
    name: Required[str]
    related: Sequence[str]
    subcategories: Sequence[SubcategoryFields]


class ConstraintFields(TypedDict, total=False):
    """
    A constraint in its author's words, with the task it was learned from; enforce, avoid, or
    both.
    """

    agent: Required[str]
    avoid: str | None
    category: str | None
    enforce: str | None
    learned_at: datetime | None
    metadata: Mapping[str, object]
    subcategory: str | None
    task: TaskFields | None
    task_id: str | None
    trigger: Required[str]
    weight: float


class ExperienceFields(TypedDict, total=False):
    """
    What a past task taught: when it applies, and what to do. `verify`: it is tried on its task
    before it is used.
    """

    agent: Required[str]
    category: str | None
    learned_at: datetime | None
    lesson: Required[str]
    metadata: Mapping[str, object]
    pinned: bool
    situation: Required[str]
    subcategory: str | None
    task: TaskFields | None
    task_id: str | None
    verify: bool
    visibility: Literal["agent", "namespace"]
    weight: float


class HistoryFields(TypedDict, total=False):
    """An experience of another time. It starts neutral and unpinned, for weight is earned here."""

    agent: Required[str]
    category: str | None
    learned_at: datetime | None
    lesson: Required[str]
    metadata: Mapping[str, object]
    situation: Required[str]
    subcategory: str | None
    task: TaskFields | None
    task_id: str | None
    verification: Required[VerificationFields]
    visibility: Literal["agent", "namespace"]


class NamespaceFields(TypedDict, total=False):
    """A namespace to be made; slug, clock and policy never change."""

    clock: Literal["wall", "replay"]
    learning: Literal["on", "frozen"]
    policy: Literal["belief", "paper", "steps", "delta"]
    settings: SettingsFields


class NamespacePatchFields(TypedDict, total=False):
    """What to change; settings are merged over those in force."""

    learning: Literal["on", "frozen"] | None
    settings: SettingsFields | None


class OutcomeFields(TypedDict, total=False):
    """
    What became of an attempt: `reward`, or `metric` with `value`. `without` is the same agent's
    result without the guideline, `full` its result had memory been followed wholly. The `lesson` of
    a bad outcome becomes a candidate.
    """

    answers: Mapping[str, object]
    evaluator: str
    full: ResultFields | None
    harmful: Sequence[str]
    helpful: Sequence[str]
    known_at: datetime | None
    lesson: LessonFields | None
    metric: str | None
    reward: float | None
    reward_kind: Literal["continuous", "binary"]
    stances: Mapping[str, object]
    supersedes: str | None
    truth: Mapping[str, object] | None
    value: Mapping[str, object] | None
    verifier: Literal["human", "test", "judge", "self"]
    without: ResultFields | None


class OutcomeOfRetrievalFields(TypedDict, total=False):
    """An outcome, and the receipt it is for."""

    answers: Mapping[str, object]
    evaluator: str
    full: ResultFields | None
    harmful: Sequence[str]
    helpful: Sequence[str]
    known_at: datetime | None
    lesson: LessonFields | None
    metric: str | None
    retrieval_id: Required[str]
    reward: float | None
    reward_kind: Literal["continuous", "binary"]
    stances: Mapping[str, object]
    supersedes: str | None
    truth: Mapping[str, object] | None
    value: Mapping[str, object] | None
    verifier: Literal["human", "test", "judge", "self"]
    without: ResultFields | None


class PredictionFields(TypedDict, total=False):
    """
    A forecast for a window: `task`, `task_id`, or the task of the receipt that it names. The
    task's `group_key` is its event.
    """

    agent: Required[str]
    answers: Mapping[str, Mapping[str, float]] | None
    """one forecast for each ranker, where the receipt is of all rankers"""
    baseline_probabilities: Mapping[str, float] | None
    """the same agent's without the guideline"""
    full_probabilities: Mapping[str, float] | None
    """had memory been followed wholly"""
    known_at: datetime | None
    probabilities: Required[Mapping[str, float]]
    """by name of outcome"""
    rationale: str | None
    retrieval_id: str | None
    task: TaskFields | None
    task_id: str | None


class RetrievalFields(TypedDict, total=False):
    """
    What an agent asks before it acts; `as_of` is required in `replay` namespaces.

    Differs from `RetrievalRequest`: the category of its task is flat and its expiry in seconds.
    """

    agent: Required[str]
    all_rankers: bool
    arm: Literal["auto", "on", "off"]
    as_of: datetime | None
    expires_in: float | None
    """seconds after which the outcome moves nothing"""
    explain: bool
    """show how it came about; with purpose act or preview"""
    format: Literal["guideline", "memories"]
    k: int
    max_tokens: int
    purpose: Literal["act", "paired", "replay", "preview"]
    queries: Sequence[QueryFields]
    task: TaskFields | None
    task_id: str | None


class TaxonomyFields(TypedDict, total=False):
    """
    A taxonomy of one's own, or (`default`) the shipped one. Without `allow_new`, labels that it
    does not name are refused. At most 500 entries.
    """

    allow_new: bool
    categories: Sequence[BranchFields] | None
    default: bool


__all__ = [
    "AgentChangeFields",
    "AgentFields",
    "BranchFields",
    "BulkChangeFields",
    "CategoryNameFields",
    "ClaimFields",
    "ConstraintFields",
    "ContrastFields",
    "DirectivesFields",
    "ErasureFields",
    "ExperienceFields",
    "HistoryFields",
    "JobRunFields",
    "KeyFields",
    "LessonFields",
    "MemoryEditFields",
    "MetaGuidelineEditFields",
    "MetaGuidelineFields",
    "NamespaceFields",
    "NamespacePatchFields",
    "OutcomeFields",
    "OutcomeOfRetrievalFields",
    "PredictionFields",
    "QueryFields",
    "RefineFields",
    "ResolutionFields",
    "ResultFields",
    "RetrievalFields",
    "RollbackFields",
    "SettingsFields",
    "SettlementFields",
    "StatusReasonFields",
    "StepFields",
    "SubcategoryFields",
    "TaskEntryFields",
    "TaskFields",
    "TaxonomyFields",
    "TrajectoryFields",
    "TrialFields",
    "TrialsFields",
    "TrustChangeFields",
    "VerificationFields",
    "WhatIfFields",
]
