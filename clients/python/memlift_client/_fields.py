"""What an agent sends, as typed dictionaries with the names of the wire.

The same dictionary serves a single call, as keywords, and a batch, as items.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal, NotRequired, Required, TypedDict

Metadata = Mapping[str, object]
Status = Literal["proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"]


class SettingsFields(TypedDict, total=False):
    """Settings of a namespace; what is left out stays as it is."""

    raw_gate: float
    score_floor: float
    control_rate: float
    slot_rate: float
    categories: Literal["open", "closed"]
    max_memories: int
    daily_credits: int
    verification_trials: int
    verification_days: int
    meta_guidelines: bool


class NamespaceFields(TypedDict, total=False):
    """A namespace to make. `clock` never changes: `replay` lets the caller set the times."""

    clock: Literal["wall", "replay"]
    learning: Literal["on", "frozen"]
    policy: str
    settings: SettingsFields


class NamespaceChangeFields(TypedDict, total=False):
    learning: Literal["on", "frozen"]
    settings: SettingsFields


class KeyFields(TypedDict, total=False):
    """A key to make; without `agents` it speaks for any agent of its namespace."""

    role: Required[Literal["agent", "evaluator", "reader", "admin", "operator"]]
    name: Required[str]
    namespace: str
    agents: Sequence[str]
    expires_at: datetime


class AgentFields(TypedDict, total=False):
    """What is known of an agent; `own_information`: it brings a price, a tool, a source."""

    model: str
    family: str
    size_class: str
    own_information: bool


class TaskFields(TypedDict, total=False):
    """A task in its caller's words.

    `key` is the caller's own id: the same key is the same task. `group_key` joins tasks that stand
    or fall together; from `closes_at` on no prediction counts. `known_at` belongs to replay
    namespaces, and to the call that makes a task.
    """

    text: Required[str]
    key: str
    category: str
    subcategory: str
    group_key: str
    metadata: Metadata
    closes_at: datetime
    known_at: datetime


class ExperienceFields(TypedDict, total=False):
    """What one task taught: when it applies (`situation`) and what to do (`lesson`).

    `verify`: it is tried on its task before it is used.
    """

    agent: Required[str]
    situation: Required[str]
    lesson: Required[str]
    category: str
    subcategory: str
    task: TaskFields
    task_id: str
    visibility: Literal["agent", "namespace"]
    pinned: bool
    weight: float
    learned_at: datetime
    metadata: Metadata
    verify: bool


class EditFields(TypedDict, total=False):
    situation: str
    lesson: str
    metadata: Metadata
    pinned: bool
    known_at: datetime


class DirectivesFields(TypedDict, total=False):
    """What the server's compiler does by itself; what is left out changes nothing."""

    order: Literal["strongest", "newest", "as_ranked"]
    max_memories: int
    cross_category: Literal["allow", "exclude"]
    on_disagreement: Literal["show_both", "strongest", "drop"]


class MetaGuidelineFields(TypedDict, total=False):
    """Why using memory failed, and how to use it instead; without a category for all tasks."""

    agent: Required[str]
    failure_reason: Required[str]
    instruction: Required[str]
    directives: DirectivesFields
    category: str
    subcategory: str
    pinned: bool
    weight: float
    learned_at: datetime
    metadata: Metadata


class MetaGuidelineEditFields(TypedDict, total=False):
    failure_reason: str
    instruction: str
    metadata: Metadata
    pinned: bool
    known_at: datetime


class QueryFields(TypedDict):
    """One angle of search, and which text of a memory it is held against."""

    text: str
    target: NotRequired[Literal["situation", "lesson"]]


class AskFields(TypedDict, total=False):
    """What an agent asks before it acts; give `task` or `task_id`.

    purpose: act, paired (the caller promises a run with and one without), replay, or preview
    (stores nothing). `as_of` is required in replay namespaces. explain: the answer shows its
    workings as `explanation`; with purpose act or preview.
    """

    agent: Required[str]
    task: TaskFields
    task_id: str
    k: int
    max_tokens: int
    rivals: bool
    arm: Literal["auto", "on", "off"]
    purpose: Literal["act", "paired", "replay", "preview"]
    queries: Sequence[QueryFields]
    as_of: datetime
    expires_in: float
    format: Literal["guideline", "memories"]
    explain: bool


class LessonFields(TypedDict):
    """What the reporter would do otherwise; without `situation` the task stands for it."""

    lesson: str
    situation: NotRequired[str]


class ReportFields(TypedDict, total=False):
    """What became of an attempt: `reward` in [0, 1], or `metric` with `value` and `truth`.

    `without` is the same agent's result without the guideline, `full` its result had memory been
    followed wholly.
    """

    reward: float
    metric: str
    value: Mapping[str, object]
    truth: Mapping[str, object]
    without: Mapping[str, object]
    full: Mapping[str, object]
    reward_kind: Literal["continuous", "binary"]
    evaluator: str
    verifier: Literal["human", "test", "judge", "self"]
    helpful: Sequence[str]
    harmful: Sequence[str]
    answers: Mapping[str, object]
    stances: Mapping[str, object]
    known_at: datetime
    supersedes: str
    lesson: LessonFields


class OutcomeFields(ReportFields, total=False):
    """One outcome of a batch."""

    retrieval_id: Required[str]


class PageFields(TypedDict, total=False):
    """Which rows of a list: at most `limit` (1…200), from `cursor` on."""

    limit: int
    cursor: str


class MemoryFilterFields(PageFields, total=False):
    status: Status
    category: str
    agent: str
    metadata: Metadata


class MetaGuidelineFilterFields(PageFields, total=False):
    status: Status
    category: str
    agent: str


class TaskFilterFields(PageFields, total=False):
    key: str


class ReceiptFilterFields(PageFields, total=False):
    state: Literal["pending", "answered", "expired", "all"]
    agent: str
    category: str
    arm: str
    order: Literal["oldest", "newest"]


class OutcomeFilterFields(PageFields, total=False):
    state: Literal["accepted", "applied", "ignored", "superseded"]
    retrieval_id: str
    order: Literal["oldest", "newest"]


class WeightOrderFields(PageFields, total=False):
    agent: str
    order: Literal["strongest", "weakest"]


class EffectFilterFields(TypedDict, total=False):
    agent: str
    category: str


class MomentFields(PageFields, total=False):
    """By what was known (`as_of`), or as it was recorded (`bank_version`); neither is now."""

    as_of: datetime
    bank_version: int


class DifferenceFields(TypedDict, total=False):
    from_as_of: datetime
    from_bank_version: int
    to_as_of: datetime
    to_bank_version: int


class RollbackFields(TypedDict, total=False):
    """An agent, a key, or both, recorded since and until; a dry run unless told otherwise."""

    agent: str
    key_id: str
    since: datetime
    until: datetime
    dry_run: bool


class ErasureFields(TypedDict, total=False):
    """Whose text to erase: exactly one of these."""

    memory_id: str
    agent: str
    key_id: str
    task_id: str


class JobFields(TypedDict, total=False):
    """`now` is required in replay namespaces and refused in others."""

    now: datetime
    dry_run: bool
