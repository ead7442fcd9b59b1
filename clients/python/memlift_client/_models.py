# Generated from docs/reference/openapi.json by `make client-models`; do not edit.
"""What the server answers, by the names of the contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal

from memlift_client._answers import HasReadiness, HasReceipt


@dataclass(frozen=True, kw_only=True, slots=True)
class AddedConstraint:
    """
    What became of a constraint: `deduplicated` where it is one more support of one that says the
    same.
    """

    bank_version: int
    """The version of the bank that has it."""
    deduplicated: bool
    """Whether a memory already said the same, so that nothing new was stored."""
    echo: bool
    """Whether it only repeats what this key was served lately."""
    echoes: tuple[str, ...]
    """The memories, served to this key lately, that it only repeats: no evidence of anything."""
    id: str
    """The memory; of an echo the one that it repeats most."""
    lint: tuple[str, ...]
    """Why it was rejected; empty where it was not."""
    memory_status: Literal[
        "proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"
    ]
    """The memory's status."""
    version: int
    """The current version of its text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Agent:
    """An agent as it stands."""

    created_at: datetime
    """When it was first seen."""
    family: str | None
    """Its family of models."""
    id: str
    """Names the agent for ever."""
    model: str | None
    """The language model it runs on."""
    name: str
    """How the agent is known within its namespace."""
    own_information: bool
    """Whether it brings a price, a tool or a source of its own beside memory."""
    size_class: str | None
    """How large it is, in its owner's words."""
    version: int
    """Grows with each change; the ETag."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentRecord:
    """The results of one memory for one agent in one category."""

    agent: str
    """Who was served."""
    category: str
    """The kind of task."""
    deviation: float | None
    """
    How far the agent's belief stands from the memory's, in reward, over all of its categories;
    null where it has no evidence.
    """
    effective_weight: float
    """What the memory has earned with this agent."""
    n: int
    """How many outcomes in effect moved something."""
    n_pairs: int
    """How many of them had a reward without memory."""
    reward: float | None
    """Mean reward over these outcomes, in [0, 1]."""
    reward_without: float | None
    """Mean reward without memory over those, in [0, 1]."""
    served: int
    """In how many retrievals."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Applied:
    """The bank version reached, outcomes applied now, outcomes still waiting."""

    applied: int
    bank_version: int
    pending: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmMean:
    """The rewards of one arm."""

    mean: float
    """Their mean reward, from 0 to 1."""
    n: int
    """Outcomes of the arm."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Audit:
    """One entry of the audit."""

    action: str
    detail: Mapping[str, object]
    id: str
    key_id: str | None
    recorded_at: datetime
    subject: str


@dataclass(frozen=True, kw_only=True, slots=True)
class BulkItem:
    """What became of one memory: its status and trust now, or the problem that kept it."""

    id: str
    memory_status: (
        Literal["proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"]
        | None
    ) = None
    trust: Literal["trusted", "unverified", "quarantined"] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """
    A bad outcome, and what became of its lesson: `memory_id` is the memory made of it, or the
    twin that was there.
    """

    claims: int
    finished_at: datetime | None
    memory_id: str | None
    outcome_id: str
    reason: str | None
    recorded_at: datetime
    state: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Category:
    """A category as stored."""

    created_at: datetime
    """When it was first used or described."""
    id: str
    """Names the category for ever."""
    metric: str | None
    """What its rewards measure; fixed by its first outcome."""
    name: str
    """Its name among those of its level."""
    parent: str | None
    """The category it is a subcategory of."""
    reward_kind: str | None
    """How its rewards are scaled; fixed by its first outcome."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    detail: str
    ok: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Competence:
    """
    How an agent fares in a category: `n` verified runs, their `mean` reward, and `competence` =
    (sum of rewards + 5 * mean of the category) / (n + 5).
    """

    agent: str
    category: str
    competence: float
    mean: float
    n: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Contradiction:
    """Two constraints that contradict each other; `likeness` is how alike their triggers are."""

    category: str
    first_id: str
    id: str
    likeness: float
    reason: str
    recorded_at: datetime
    resolution: str | None
    resolution_reason: str | None
    resolved_at: datetime | None
    second_id: str
    state: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Contrast:
    """
    A pair of runs. `supports` says whether it may be counted for a constraint; `reason` why not,
    or why nothing came of it yet. `rejected` names what the distiller said and could not be used.
    """

    distiller: str | None
    done_at: datetime | None
    duration_ms: float | None
    id: str
    known_at: datetime
    memory_ids: tuple[str, ...]
    pair_class: Literal["discordant", "both_right", "both_wrong", "unknown"]
    preferred_agent: str
    preferred_id: str
    reason: str | None
    recorded_at: datetime
    rejected: tuple[Mapping[str, object], ...]
    self_contrast: bool
    state: Literal["queued", "distilling", "distilled", "empty", "refused", "no_text", "failed"]
    supports: bool
    task_id: str
    tokens: int
    unpreferred_agent: str
    unpreferred_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Contrasts:
    """The pairs of the runs; none where nothing sets them apart."""

    contrasts: tuple[Contrast, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """A memory that did not enter the guideline."""

    memory_id: str
    """Which memory."""
    reason: Literal[
        "budget", "quarantined", "empty", "left_out", "category", "disagreement", "max_memories"
    ]
    """Why it was left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Deletion:
    """What the second step of a deletion needs."""

    confirmation: str
    expires_at: datetime


@dataclass(frozen=True, kw_only=True, slots=True)
class Derived:
    """A memory that stays but rests on what goes."""

    kind: Literal["experience", "constraint", "meta_guideline"]
    """A constraint rests on its supports, a merged memory on those it was derived from."""
    lost: int
    """How many of its supports it would lose."""
    memory_id: str
    """The memory."""
    supports: int
    """How many it has now."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Directives:
    """What the compiler does by itself; what is left out changes nothing."""

    cross_category: Literal["allow", "exclude"]
    """Whether what was learned on another kind of task is told."""
    max_memories: int | None
    """How many memories are told at most."""
    on_disagreement: Literal["show_both", "strongest", "drop"] | None
    """What becomes of memories that point in opposite directions."""
    order: Literal["strongest", "newest", "as_ranked"]
    """In which order memories are told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DuplicateTexts:
    """How many of the texts that came in were there already, or were merged as near-twins."""

    duplicates: int
    """Those of them that were there already or were merged."""
    remembered: int
    """Texts that came in."""
    share: float | None
    """Duplicates over texts; null without texts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """One receipt in which a memory was served, and its result."""

    agent: str
    """Who asked."""
    arm: str
    """Whether memory was on in it, and why."""
    category: str
    """The kind of task it was asked for."""
    cited: bool
    """Whether the guideline said it."""
    evidence: str | None
    """What kind of evidence it is."""
    known_at: datetime
    """When it was asked for."""
    outcome_id: str | None
    """The outcome in effect; null while there is none, as is all that follows."""
    rank: int
    """Its place in the receipt, from 1."""
    reason: str | None
    """Why it moved nothing, where it did not."""
    retrieval_id: str
    """The receipt."""
    reward: float | None
    """How the task went, in [0, 1]."""
    reward_without: float | None
    """How it went without memory, in [0, 1]."""
    similarity: float
    """Of its text to the task, in [0, 1]."""
    status: str | None
    """Whether that outcome waits or was applied."""
    version: int
    """Which of the memory's texts was served."""
    weight_after: float | None
    """The memory's weight after it."""
    weight_before: float | None
    """The memory's weight before the step that this outcome was; null where it moved nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasedCounts:
    """How many rows lost their text."""

    embeddings: int
    """Vectors."""
    lines: int
    """Guidelines that cited one of the memories."""
    memories: int
    """Memories."""
    tasks: int
    """Tasks."""
    trajectories: int
    """Recorded runs."""
    versions: int
    """Texts of memories."""
    writings: int
    """Calls of a language model that carried what was erased."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasureReach:
    """The rows that an erasure would reach, at most 500 of each kind."""

    derived: tuple[Derived, ...]
    """Memories that would lose support, those that lose most first."""
    memory_ids: tuple[str, ...]
    """Memories that would lose their text."""
    retrieval_ids: tuple[str, ...]
    """Receipts that would lose lines, the newest first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """
    What memory added to the reward, with an interval that holds at every look.

    The interval is null below ten dates, and where no two dates differ: nothing was seen of how
    far they may.
    """

    dates: int
    """Days (UTC) on which these outcomes became known."""
    high: float | None
    """Upper end of the interval."""
    label: str
    """What kind of interval it is."""
    low: float | None
    """Lower end of the interval."""
    mean: float | None
    """Mean reward with memory less mean reward without; null while one is missing."""
    n: int
    """Outcomes it is made of."""
    standard_error: float | None
    """Standard error of the mean, clustered by date; null below two dates."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Gates:
    """
    Floors that keep memories out; 0 is off.

    A flat ranker takes every weight for 1, here too: what weights keep out, the flat rankers, which
    are there to show what weights are worth, would otherwise never serve.
    """

    raw: float
    """The floor on similarity."""
    score: float
    """The floor on effective weight times relevance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """
    One memory in a receipt, also one that a control arm kept back, with the numbers it was
    chosen by.
    """

    cited: bool
    """Whether the guideline says it, so that it can be credited."""
    effective_weight: float
    """What learning has made of it for this agent; 1 is neutral."""
    exploration_slot: bool
    """Whether it was drawn into the last place for having been credited least."""
    kind: Literal["experience", "constraint", "meta_guideline"]
    """What kind of memory it is."""
    memory_id: str
    """Which memory."""
    propensity: float
    """The probability it had of being selected."""
    rank: int
    """Its place, from 1; constraints and the meta-guideline stand behind experiences."""
    ranking_weight: float
    """The weight by which it was ordered."""
    relevance: float
    """Similarity, or what the reranker or the category makes of it."""
    score: float
    """Effective weight times relevance."""
    scores: Mapping[str, float | None] | None
    """With all rankers: its score by each, null where that ranker would not serve it."""
    sentence: str | None
    """Why it stands where it stands, where that was asked."""
    served: bool
    """Whether the agent got it; a control arm records what it would have got."""
    similarity: float
    """Cosine to the task, from 0 to 1."""
    version: int
    """The version of its text that was served."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemVariance:
    """Whether residuals of one memory on different dates agree, over the last 180 days."""

    alert: bool
    """At or below zero over at least 200 pairs: weights carry no signal here."""
    mean: float | None
    """Their mean product, in squared reward; null without pairs."""
    pairs: int
    """Pairs of residuals of one memory on two different dates."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A job of the timetable."""

    description: str
    every_seconds: float
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class JobRun:
    """One run of a job; `result` names each memory examined and changed."""

    dry_run: bool
    finished_at: datetime | None
    id: str
    job: str
    now: datetime
    period: str
    result: Mapping[str, object] | None
    started_at: datetime
    state: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Kept:
    """A run that was kept; `right` is null where nobody vouches for it."""

    category: str
    id: str
    right: bool | None
    subcategory: str | None
    task_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyCreated:
    """The one time that a token is shown."""

    agents: tuple[str, ...] | None
    created_at: datetime
    expires_at: datetime | None
    id: str
    last_used_at: datetime | None
    name: str
    namespace: str | None
    revoked_at: datetime | None
    role: Literal["agent", "evaluator", "reader", "admin", "operator"]
    token: str = field(repr=False)


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """A key, without its token."""

    agents: tuple[str, ...] | None
    created_at: datetime
    expires_at: datetime | None
    id: str
    last_used_at: datetime | None
    name: str
    namespace: str | None
    revoked_at: datetime | None
    role: Literal["agent", "evaluator", "reader", "admin", "operator"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line of a guideline."""

    memory_ids: tuple[str, ...]
    """The memories it cites, strongest first."""
    text: str
    """The line as it was shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ListedMemory:
    """
    A memory in a list. In the bank of a moment its text, status and weight are those of that
    moment.
    """

    agent: str
    """Who brought it."""
    bank_version: int
    """The version of the bank in which it was last changed."""
    category: str
    """The kind of task it was learned on."""
    credited: int
    """How many outcomes moved what is believed of it until now."""
    effective_weight: float
    """What it has earned, for no agent in particular, aged to the time of reading."""
    evidence: int
    """How often the same was brought."""
    id: str
    """Names the memory for ever."""
    kind: Literal["experience", "constraint", "meta_guideline"]
    """What it is: an experience, a constraint, or a rule of how memory is used."""
    learned_at: datetime
    """When it became known."""
    lesson: str
    """What to do then."""
    metadata: Mapping[str, object]
    """Free JSON of its author."""
    pinned: bool
    """Whether nothing retires it by itself."""
    recorded_at: datetime
    """When it was stored here."""
    served: int
    """In how many retrievals it was served until now."""
    situation: str
    """When it applies."""
    status: Literal[
        "proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"
    ]
    """Where it stands between being proposed and being retired."""
    status_reason: str | None
    """Why it has its status, in words or by a code; null where nothing was said."""
    subcategory: str | None
    """The second level of its category."""
    task_id: str | None
    """The task it was learned on, where one was named."""
    trust: Literal["trusted", "unverified", "quarantined"]
    """Whether its source is believed."""
    version: int
    """Grows with each new text; the ETag."""
    visibility: Literal["agent", "namespace"]
    """Who may see it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Live:
    status: Literal["live"] = "live"


@dataclass(frozen=True, kw_only=True, slots=True)
class Me:
    """What the key of this request is."""

    agents: tuple[str, ...] | None
    expires_at: datetime | None
    key_id: str
    name: str
    namespace: str | None
    role: Literal["agent", "evaluator", "reader", "admin", "operator"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """A memory of any kind as it stands."""

    agent: str
    """Who brought it."""
    bank_version: int
    """The version of the bank in which it was last changed."""
    category: str
    """The kind of task it was learned on."""
    effective_weight: float
    """What it has earned, for no agent in particular, aged to the time of reading."""
    evidence: int
    """How often the same was brought."""
    id: str
    """Names the memory for ever."""
    kind: Literal["experience", "constraint", "meta_guideline"]
    """What it is: an experience, a constraint, or a rule of how memory is used."""
    learned_at: datetime
    """When it became known."""
    lesson: str
    """What to do then."""
    metadata: Mapping[str, object]
    """Free JSON of its author."""
    pinned: bool
    """Whether nothing retires it by itself."""
    recorded_at: datetime
    """When it was stored here."""
    situation: str
    """When it applies."""
    status: Literal[
        "proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"
    ]
    """Where it stands between being proposed and being retired."""
    status_reason: str | None
    """Why it has its status, in words or by a code; null where nothing was said."""
    subcategory: str | None
    """The second level of its category."""
    task_id: str | None
    """The task it was learned on, where one was named."""
    trust: Literal["trusted", "unverified", "quarantined"]
    """Whether its source is believed."""
    version: int
    """Grows with each new text; the ETag."""
    visibility: Literal["agent", "namespace"]
    """Who may see it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryChange:
    """A memory's status and text version before and after; null where it did not exist."""

    memory_id: str
    """Names the memory."""
    status_after: (
        Literal["proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"]
        | None
    )
    """Status at the second moment."""
    status_before: (
        Literal["proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"]
        | None
    )
    """Status at the first moment."""
    version_after: int | None
    """Version of the text at the second moment."""
    version_before: int | None
    """Version of the text at the first moment."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MemoryVersion:
    """The texts of one version of a memory."""

    bank_version: int
    """The first version of the bank that has them."""
    known_at: datetime
    """When these words became known."""
    lesson: str
    """What to do then."""
    recorded_at: datetime
    """When they were stored here."""
    situation: str
    """When it applied."""
    version: int
    """Counts the texts from 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MetaGuideline:
    """A meta-guideline as it stands: a memory, read as one."""

    agent: str
    """Who brought it."""
    bank_version: int
    """The version of the bank in which it was last changed."""
    category: str
    """The kind of task it is for."""
    directives: Directives
    """The part of the instruction that the compiler obeys by itself."""
    effective_weight: float
    """What it has earned, for no agent in particular, aged to the time of reading."""
    evidence: int
    """How often the same was brought."""
    failure_reason: str
    """How using memory went wrong."""
    id: str
    """Names the memory for ever."""
    instruction: str
    """How to use it instead."""
    learned_at: datetime
    """When it became known."""
    metadata: Mapping[str, object]
    """Free JSON of its author."""
    origin: str
    """
    `reflection`: from a pair in which memory did harm. `written`: a person's. `default`: built
    in by the first release, and retired since.
    """
    pinned: bool
    """Whether nothing retires it by itself."""
    recorded_at: datetime
    """When it was stored here."""
    status: Literal[
        "proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"
    ]
    """Where it stands between being proposed and being retired."""
    status_reason: str | None
    """Why it has its status, in words or by a code; null where nothing was said."""
    subcategory: str | None
    """The second level of its category."""
    task_id: str | None
    """The task on which memory did harm, where there was one."""
    trust: Literal["trusted", "unverified", "quarantined"]
    """Whether its source is believed."""
    version: int
    """Grows with each new text; the ETag."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MetaGuidelineServed:
    """
    The meta-guideline a guideline was compiled by, and the numbers it was chosen by.

    Differs from `ServedGuidance`: it is joined with its `Item`.
    """

    agent: str
    category: str
    cited: bool
    directives: Directives
    effective_weight: float
    failure_reason: str
    instruction: str
    learned_at: datetime
    memory_id: str
    ranking_weight: float
    relevance: float
    score: float
    similarity: float
    subcategory: str | None
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class NearCategory:
    """A category near the task."""

    category: str
    """The first level."""
    similarity: float
    """Cosine of its tasks' centroid to the task, from 0 to 1."""
    subcategory: str | None
    """The second level."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Neighbour:
    """A memory whose situation is near."""

    agent: str
    """Who brought it."""
    category: str
    """The kind of task it was learned on."""
    cosine: float
    """Of the vectors of the two situations, in [-1, 1]."""
    effective_weight: float
    """What it has earned, for no agent in particular."""
    kind: Literal["experience", "constraint", "meta_guideline"]
    """What it is: an experience, a constraint, or a rule of how memory is used."""
    lesson: str
    """What to do then."""
    memory_id: str
    """The memory."""
    situation: str
    """When it applies."""
    status: Literal[
        "proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"
    ]
    """Where it stands between being proposed and being retired."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeCoverage:
    """How many receipts of the last 30 days have an outcome."""

    answered: int
    """Those of them with an effective outcome."""
    receipts: int
    """Receipts of the last 30 days, replays aside."""
    share: float | None
    """Answered over receipts; null without receipts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """An outcome as stored; `reason` says why it was ignored or moves nothing."""

    applied_at: datetime | None
    bank_version: int | None
    evaluator: str
    evidence: str
    harmful: tuple[str, ...]
    helpful: tuple[str, ...]
    id: str
    known_at: datetime
    metric: str
    muted: tuple[str, ...]
    partner_id: str | None
    raw: Mapping[str, object]
    reason: str | None
    recorded_at: datetime
    retrieval_id: str
    reward: float
    reward_full: float
    reward_kind: str
    reward_without: float | None
    status: str
    supersedes: str | None
    verifier: str
    withdrawn_version: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeTaken:
    """What became of a report; its progress can be read at `/outcomes/{outcome_id}`."""

    evidence: str
    outcome_id: str
    reason: str | None
    status: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PastWeight:
    """A memory's weight at a moment, for no agent in particular."""

    effective_weight: float
    """What it had earned by then, from .1 to 2; 1 is neutral."""
    memory_id: str
    """Names the memory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PredictionScore:
    """
    What a settlement made of a prediction. `brier` is the mean of (p - y)² over the outcomes
    that are not void, `skill` the crowd's less that; `reason` says why it was ignored.
    """

    baseline_brier: float | None
    brier: float | None
    outcome_id: str | None
    reason: str | None
    revision: int | None
    settlement_id: str
    skill: float | None
    status: Literal["scored", "ignored"]


@dataclass(frozen=True, kw_only=True, slots=True)
class RankerRecord:
    """The guard's record of one category, or of the whole namespace."""

    category: str | None
    """Name of the category; null for the whole namespace."""
    feedback_dates: int
    """Days (UTC) on which rankers were scored."""
    losses: Mapping[str, float]
    """What each ranker has lost; a date counts once, and old dates less."""
    probabilities: Mapping[str, float]
    """How far each ranker is believed now; they sum to 1."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RankerView:
    """What one ranker makes of a candidate."""

    fate: Literal[
        "served",
        "exploration_slot",
        "displaced",
        "raw_gate",
        "score_floor",
        "group",
        "probation",
        "beyond_k",
    ]
    """What it would do with the candidate."""
    knowledge_age: float
    """The factor for the age of the knowledge in it."""
    order_score: float
    """What it sorts by."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ready(HasReadiness):
    """Ready when every check is."""

    checks: Mapping[str, Check]
    status: Literal["ready", "not_ready"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Remembered:
    """What became of a draft: a new memory, or one that already said the same."""

    bank_version: int
    """The version of the bank that has it."""
    deduplicated: bool
    """Whether a memory already said the same, so that nothing new was stored."""
    echo: bool
    """Whether it only repeats what this key was served lately."""
    echoes: tuple[str, ...]
    """The memories, served to this key lately, that it only repeats: no evidence of anything."""
    id: str
    """The memory; of an echo the one that it repeats most."""
    memory_status: Literal[
        "proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"
    ]
    """The memory's status."""
    version: int
    """The current version of its text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Revision:
    """A prediction as it stood from `known_at` on."""

    answers: Mapping[str, Mapping[str, float]] | None
    baseline_probabilities: Mapping[str, float] | None
    full_probabilities: Mapping[str, float] | None
    known_at: datetime
    probabilities: Mapping[str, float]
    rationale: str | None
    recorded_at: datetime
    retrieval_id: str | None
    revision: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Routing:
    """How the category was found."""

    by: Literal["task", "caller", "nearest", "none_near"]
    """Whose word it is."""
    confidence: float
    """How sure it is, from 0 to 1."""
    near: tuple[NearCategory, ...]
    """The nearest categories first, also where it was given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedMemory:
    """A served memory: its texts, and the numbers it was chosen by."""

    agent: str
    """Who learned it."""
    category: str
    """The category it was learned in."""
    cited: bool
    """Whether the guideline says it, so that it can be credited."""
    effective_weight: float
    """What learning has made of it for this agent; 1 is neutral."""
    learned_at: datetime
    """When it was learned."""
    lesson: str
    """What to do then."""
    memory_id: str
    """Which memory."""
    metadata: Mapping[str, object]
    """What its author attached."""
    propensity: float
    """The probability it had of being selected."""
    rank: int
    """Its place, from 1."""
    ranking_weight: float
    """The weight by which it was ordered."""
    relevance: float
    """Similarity, or the reranker's opinion."""
    score: float
    """Effective weight times relevance."""
    scores: Mapping[str, float | None] | None
    """With all rankers: its score by each, null where that ranker would not serve it."""
    similarity: float
    """Cosine to the task, from 0 to 1."""
    situation: str
    """When it applies."""
    subcategory: str | None
    """The second level of it."""
    version: int
    """The version of its text."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The settings in force; null where the server's default holds."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class SettlementScore:
    """The score of one prediction: whose, and for which window (a task's key)."""

    agent: str
    baseline_brier: float | None
    brier: float | None
    outcome_id: str | None
    prediction_id: str
    reason: str | None
    revision: int | None
    settlement_id: str
    skill: float | None
    status: Literal["scored", "ignored"]
    task_key: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    kind: str | None
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class StrengthChange:
    """How far memory is followed in a cell, before and after."""

    after: float
    """Strength after, from 0 to 1."""
    agent: str
    """Name of the agent."""
    before: float
    """Strength before, from 0 to 1."""
    category: str
    """Name of the category."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Subcategory:
    description: str
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SupportItem:
    """One piece of support: a contrast of two runs, or its author's word (no contrast)."""

    contrast_id: str | None
    counts: bool
    id: str
    known_at: datetime
    pair_class: Literal["discordant", "both_right", "both_wrong", "unknown"] | None
    preferred_agent: str | None
    preferred_family: str | None
    preferred_size: str | None
    recorded_at: datetime
    task_id: str
    unpreferred_agent: str | None
    unpreferred_family: str | None
    unpreferred_size: str | None
    verifier: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Support:
    """
    What speaks for a constraint: distinct tasks, agent pairs, families and keys of what counts;
    `contrasts` is all of it.
    """

    agent_pairs: int
    agnostic_score: float
    contrasts: int
    families: int
    keys: int
    tasks: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """A task as stored."""

    category: str
    """Its kind, given or found."""
    closes_at: datetime | None
    """When its window closes: from then on no prediction counts."""
    group_key: str | None
    """Joins tasks that stand or fall together."""
    id: str
    """Names the task for ever."""
    key: str | None
    """Its caller's own id."""
    known_at: datetime
    """When it could be known."""
    metadata: Mapping[str, object]
    """Free JSON, as its caller gave it."""
    recorded_at: datetime
    """When the server stored it."""
    subcategory: str | None
    """A finer kind within its category."""
    text: str
    """What is to be done; empty once it was erased."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Timings:
    """Milliseconds of each step before the commit; a step that did not run took none."""

    embed_ms: float
    """Embedding the queries."""
    rank_ms: float
    """Ranking, selecting and compiling."""
    search_ms: float
    """Routing and the exact search."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenBudget:
    """
    The tokens of one UTC day; `stopped` counts questions that were not asked for want of
    them.
    """

    day: date
    left: int
    limit: int
    model: str | None
    """null where no language model is configured"""
    reserved: int
    spent: int
    stopped: int


@dataclass(frozen=True, kw_only=True, slots=True)
class TrajectoryLine:
    """A run as a list shows it, without its words."""

    agent: str
    category: str
    cost: float | None
    erased_at: datetime | None
    family: str | None
    id: str
    known_at: datetime
    n_steps: int
    recorded_at: datetime
    reward: float | None
    right: bool | None
    size_class: str | None
    subcategory: str | None
    task_id: str
    task_key: str | None
    verifier: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Trajectory:
    """A run with its words; they are gone where it was erased."""

    agent: str
    category: str
    cost: float | None
    erased_at: datetime | None
    family: str | None
    id: str
    known_at: datetime
    n_steps: int
    recorded_at: datetime
    result: str | None
    reward: float | None
    right: bool | None
    size_class: str | None
    steps: tuple[Step, ...]
    subcategory: str | None
    task_id: str
    task_key: str | None
    verifier: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Trial:
    """
    A run that is asked for, and its reward once it is there. `reference` is the reward without
    the candidate; null: the trial brings its own, as `without`.
    """

    agent: str | None
    purpose: str
    reference: float | None
    reported_at: datetime | None
    reward: float | None
    reward_without: float | None
    self_verified: bool | None
    slot: int
    task: str
    task_id: str


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitingByAge:
    """How many wait, by how long."""

    day: int
    """From an hour to a day."""
    hour: int
    """Under an hour."""
    month: int
    """From a week to 30 days."""
    older: int
    """30 days or longer."""
    week: int
    """From a day to a week."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Weight:
    """A memory's weight for one agent, or for none in particular, aged to the time of reading."""

    agent: str | None
    """Name of the agent whose deviation counts; null for none in particular."""
    credited: int
    """Outcomes that moved it."""
    deviation: Mapping[str, float] | None
    """The policy's numbers about how the agent deviates; null where it has none."""
    effective_weight: float
    """What it has earned, from .1 to 2; 1 is neutral."""
    harmful: int
    """Reports that named it harmful."""
    helpful: int
    """Reports that named it helpful."""
    memory_id: str
    """Names the memory."""
    ranking_weight: float
    """The same with some optimism for the untested; it only orders."""
    served: int
    """Receipts in which it was served."""
    state: Mapping[str, float]
    """The policy's numbers about the memory, by name."""
    touched_at: datetime | None
    """When an event last moved it; null before the first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightChange:
    """A memory's effective weight before and after."""

    after: float | None
    """Null where it does not exist there."""
    before: float | None
    """Null where it did not exist yet."""
    memory_id: str
    """Names the memory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightEvent:
    """One entry of the ledger: what moved a memory's belief or an agent's deviation from it."""

    agent: str | None
    """Name of the agent that deviates."""
    bank_version: int
    """The version of the bank that it made."""
    kind: Literal["learn", "set"]
    """Whether an outcome moved it, or something else set it."""
    known_at: datetime
    """When its cause was known."""
    outcome_id: str | None
    """The outcome that moved it."""
    policy: str
    """The policy by which it moved."""
    position: int
    """Its place within that version, from 0."""
    reason: str
    """The kind of evidence, or the operation: created, edit, decay, correction."""
    recorded_at: datetime
    """When the server wrote it down."""
    retrieval_id: str | None
    """The receipt of the outcome."""
    state_after: tuple[float, ...]
    """The policy's numbers after; empty where it is at its start again."""
    state_before: tuple[float, ...] | None
    """The policy's numbers before; null at its start."""
    subject: Literal["memory", "deviation"]
    """Whether the memory's own state moved, or an agent's deviation from it."""
    superseded_by: int | None
    """The version of the bank in which a correction took it back."""
    weight_after: float | None
    """Effective weight after, of a memory's own state only."""
    weight_before: float | None
    """Effective weight before, of a memory's own state only."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightRow:
    """A line in the list of weights."""

    category: str
    """Name of its category."""
    credited: int
    """Outcomes that moved it."""
    effective_weight: float
    """What it has earned, from .1 to 2; 1 is neutral."""
    kind: Literal["experience", "constraint", "meta_guideline"]
    """What it is."""
    lesson: str
    """What to do then."""
    memory_id: str
    """Names the memory."""
    served: int
    """Receipts in which it was served."""
    situation: str
    """When it applies."""
    touched_at: datetime | None
    """When an event last moved it; null before the first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightShares:
    """How the effective weights of living memories lie."""

    at_lower_bound: float
    """The share with a weight of at most .12."""
    at_upper_bound: float
    """The share with a weight of at least 1.95."""
    below_floor: float
    """The share with a weight below .3, which is hardly served."""
    living: int
    """Memories that are neither retired nor rejected."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Writing:
    """
    One try. `prompt` and `answer` are empty where they were erased, where nothing was sent, and
    where `private` says that they carry text this key may not see.
    """

    agent: str | None
    answer: str
    attempt: int
    detail: str | None
    duration_ms: float
    erased_at: datetime | None
    fault: str | None
    """why the answer was not used, or nothing was sent"""
    id: str
    key_id: str | None
    memory_id: str | None
    memory_ids: tuple[str, ...]
    model: str
    private: bool
    prompt: str
    recorded_at: datetime
    retrieval_id: str | None
    role: str
    status: str
    task_id: str | None
    ticket_id: str | None
    tokens: int


@dataclass(frozen=True, kw_only=True, slots=True)
class BankDifference:
    """What two states of the bank differ in, the largest changes first."""

    memories: tuple[MemoryChange, ...]
    """Those that came, changed status or changed text; only between two moments."""
    strengths: tuple[StrengthChange, ...]
    """The largest changes of strength, by cell."""
    total: int
    """How many weights differ, those that are not listed among them."""
    total_memories: int
    """How many memories differ, those that are not listed among them."""
    weights: tuple[WeightChange, ...]
    """The largest changes of weights."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Branch:
    description: str
    name: str
    related: tuple[str, ...]
    subcategories: tuple[Subcategory, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Considered:
    """
    A candidate and what became of it.

    An agent that acts reads what it was served and nothing else, or the comparison with those who
    went without would be spoilt: texts are for a preview alone.
    """

    agent: str
    """Who learned it."""
    category: str
    """The category it was learned in."""
    cited: bool
    """Whether the guideline says it."""
    credited: int
    """How many outcomes have credited it."""
    deviation: float
    """What this agent's own record adds to the effective weight."""
    effective_weight: float
    """What learning has made of it for this agent; 1 is neutral."""
    fate: Literal[
        "served",
        "exploration_slot",
        "displaced",
        "raw_gate",
        "score_floor",
        "group",
        "probation",
        "beyond_k",
    ]
    """What became of it."""
    learned_at: datetime
    """When it was learned."""
    lesson: str | None
    """What to do then; in a preview only."""
    memory_id: str
    """Which memory."""
    place: int
    """Its place in the order of the ranker that serves, from 1."""
    probation: bool
    """Whether it is on probation and counts half."""
    propensity: float
    """The probability it had of being selected."""
    rankers: Mapping[str, RankerView]
    """What each ranker makes of it, by name."""
    ranking_weight: float
    """The weight by which it is ordered."""
    relevance: float
    """Similarity, or the reranker's opinion."""
    score: float
    """Effective weight times relevance."""
    served: bool
    """Whether the agent got it."""
    similarity: float
    """Cosine to the task, from 0 to 1."""
    situation: str | None
    """When it applies; in a preview only."""
    source_group: str
    """What at most one served memory may come from."""
    subcategory: str | None
    """The second level of it."""
    version: int
    """The version of its text."""
    why: str
    """The same in words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Constraint:
    """A constraint as it stands; `origin` is distilled or written."""

    agent: str
    avoid: str | None
    bank_version: int
    category: str
    effective_weight: float
    enforce: str | None
    evidence: int
    id: str
    learned_at: datetime
    lint: tuple[str, ...]
    metadata: Mapping[str, object]
    origin: str
    pinned: bool
    recorded_at: datetime
    status: Literal[
        "proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"
    ]
    status_reason: str | None
    subcategory: str | None
    support: Support
    task_ids: tuple[str, ...]
    trigger: str
    trust: Literal["trusted", "unverified", "quarantined"]
    version: int
    visibility: Literal["agent", "namespace"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ConstraintServed:
    """
    A served constraint, and the numbers it was chosen by. `similarity` is that of the nearest
    task it was learned from, the first of `task_ids`.

    Differs from `ServedConstraint`: its words are flat, beside the numbers of its item.
    """

    agent: str
    avoid: str | None
    category: str
    cited: bool
    effective_weight: float
    enforce: str | None
    learned_at: datetime
    memory_id: str
    origin: str
    rank: int
    ranking_weight: float
    relevance: float
    score: float
    similarity: float
    subcategory: str | None
    support: Support
    task_ids: tuple[str, ...]
    trigger: str
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """
    What memory did for one agent in one category, and how far it is followed there.

    Pairs and randomised outcomes are never mixed.
    """

    agent: str
    """Name of the agent."""
    arms: Mapping[str, ArmMean]
    """Rewards by arm of the retrieval."""
    category: str
    """Name of the category."""
    feedback_dates: int
    """Days (UTC) on which an outcome said something about strength."""
    n: int
    """Outcomes of all arms."""
    paired: Estimate
    """From runs of one task with memory and without."""
    randomised: Estimate
    """From runs with memory and without, drawn at random."""
    strength: float
    """How far memory is followed, from 0 to 1."""
    suspended: bool
    """Whether memory is withheld, but for retests."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Erased:
    """What was erased, or would be."""

    dry_run: bool
    """Whether nothing was changed."""
    erased: ErasedCounts
    """How many rows lost their text, or would."""
    reach: ErasureReach | None
    """What a dry run would reach; null otherwise."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Explanation:
    """Every stage of one retrieval, beside its receipt."""

    considered: tuple[Considered, ...]
    """The candidates placed first, and all that are served."""
    head: int
    """How many of them were candidates."""
    matching: int
    """How many memories the agent may see."""
    routing: Routing
    shares: Mapping[str, float]
    """How far each ranker is believed (π)."""
    timings: Mapping[str, float]
    """Milliseconds by stage."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Guideline:
    """Advice compiled for one task; what was selected is cited by a line or named once in `cut`."""

    counter: str
    """Which tokenizer counted."""
    cut: tuple[Cut, ...]
    """What did not enter, and why."""
    lines: tuple[Line, ...]
    """What it says, line by line, below its header."""
    text: str | None
    """The whole text, empty where nothing was served; null once its words were erased."""
    tokens: int
    """How long the text is, as `counter` counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LearningHealth:
    """The health of learning in one namespace at one time."""

    coverage: OutcomeCoverage
    """Whether outcomes are reported."""
    duplicates: DuplicateTexts
    """Whether texts come in again."""
    egl: Mapping[str, float | None]
    """
    Memories admitted for a thousand retrievals, by category; null before the first retrieval.
    It falls while the bank suffices, and rises when tasks drift.
    """
    evidence: Mapping[str, int]
    """Effective outcomes of the last 30 days by kind of evidence."""
    item_variance: ItemVariance
    """Whether weights carry a signal."""
    known_at: datetime
    """When it was counted, by the namespace's clock."""
    pending_outcomes: WaitingByAge
    """Outcomes that wait to be applied."""
    pending_receipts: WaitingByAge
    """Receipts that have not expired and wait for an outcome."""
    suspended_cells: int
    """Pairs of agent and category from which memory is withheld."""
    weights: WeightShares
    """How many weights stand at their bounds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Namespace:
    """A namespace as it stands."""

    bank_version: int
    clock: Literal["wall", "replay"]
    created_at: datetime
    deletion_requested_at: datetime | None
    id: str
    learning: Literal["on", "frozen"]
    newest_known_at: datetime | None
    policy: str
    settings: Settings
    slug: str
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """A prediction as its newest revision has it, and its score once its window is settled."""

    agent: str
    baseline_probabilities: Mapping[str, float] | None
    closes_at: datetime | None
    event: str
    id: str
    known_at: datetime
    probabilities: Mapping[str, float]
    rationale: str | None
    recorded_at: datetime
    retrieval_id: str | None
    revision: int
    score: PredictionScore | None
    state: str
    task_id: str
    task_key: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class PredictionWhole:
    """A prediction with every revision, oldest first."""

    agent: str
    baseline_probabilities: Mapping[str, float] | None
    closes_at: datetime | None
    event: str
    id: str
    known_at: datetime
    probabilities: Mapping[str, float]
    rationale: str | None
    recorded_at: datetime
    retrieval_id: str | None
    revision: int
    revisions: tuple[Revision, ...]
    score: PredictionScore | None
    state: str
    task_id: str
    task_key: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Receipt(HasReceipt):
    """The record of a retrieval, to which its outcome binds."""

    agent: str
    """Who asked."""
    all_rankers: bool
    """Whether the selections of all rankers were served."""
    arm: Literal[
        "on", "control", "forced_on", "forced_off", "paired", "empty", "suspended", "retest"
    ]
    """How it was served."""
    as_of: datetime
    """The time as of which it was answered."""
    bank_version: int
    """The version of the bank that was searched."""
    category: str
    """The task's category, given or found."""
    compiler: str
    """What wrote the guideline; `none` where data was asked for."""
    confidence: float
    """How sure the category is, from 0 to 1; 1 where it was given."""
    eligible: bool
    """Whether anything passed the gates."""
    expires_at: datetime
    """From when on an outcome moves nothing."""
    format: Literal["guideline", "memories"]
    """Whether prose or data was asked for."""
    gates: Gates
    """The floors in force."""
    guideline: Guideline
    """The advice, and what was left out of it."""
    items: tuple[Item, ...]
    """The memories that were selected, by rank; empty in lists."""
    k: int
    """The most experiences that were wanted."""
    key_id: str | None
    """The key that asked."""
    known_at: datetime
    """When it happened: the server's clock, or the stream's."""
    max_tokens: int
    """The budget of the guideline."""
    policy: str
    """How weights were learned."""
    propensity: float
    """The probability that chance gave to the arm."""
    purpose: Literal["act", "paired", "replay", "preview"]
    """What the caller was going to do with it."""
    ranker: str
    """The ranker that ordered."""
    rankers: Mapping[str, float]
    """Each ranker's probability of being drawn; with all rankers, its share of the answer."""
    reason: (
        Literal[
            "caller_wants_off",
            "nothing_to_serve",
            "caller_pairs",
            "caller_wants_on",
            "preview",
            "randomised",
            "suspended_negative_transfer",
            "retested",
        ]
        | None
    )
    """Why it has this arm."""
    recorded_at: datetime
    """When it was stored."""
    retrieval_id: str
    """Names the retrieval; an outcome is reported under it."""
    strength: float
    """How far memory was to be followed, from 0 to 1."""
    subcategory: str | None
    """The second level of it."""
    task_id: str | None
    """The task it was about; null for a preview."""
    timings: Timings
    """How long it took."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Retrieval(HasReceipt):
    """
    A guideline with its receipt. With arm `control`, `forced_off`, `empty` or `suspended` the
    guideline is empty and `reason` says why; a preview has no receipt.

    Differs from `Receipt`: it has the content of what was served instead of the items.
    """

    agent: str
    arm: Literal[
        "on", "control", "forced_on", "forced_off", "paired", "empty", "suspended", "retest"
    ]
    as_of: datetime
    bank_version: int
    category: str
    compiler: str
    confidence: float
    constraints: tuple[ConstraintServed, ...]
    eligible: bool
    expires_at: datetime
    gates: Gates
    guideline: Guideline
    memories: tuple[ServedMemory, ...]
    meta_guideline: MetaGuidelineServed | None
    policy: str
    propensity: float
    purpose: Literal["act", "paired", "replay", "preview"]
    ranker: str
    rankers: Mapping[str, float]
    reason: (
        Literal[
            "caller_wants_off",
            "nothing_to_serve",
            "caller_pairs",
            "caller_wants_on",
            "preview",
            "randomised",
            "suspended_negative_transfer",
            "retested",
        ]
        | None
    )
    retrieval_id: str | None
    strength: float
    subcategory: str | None
    task_id: str | None
    timings: Timings
    explanation: Explanation | None = None
    sentences: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RollbackResult:
    """What a rollback does, or did."""

    bank_version: int
    """The version of the bank afterwards."""
    difference: BankDifference
    """What that changes in the bank."""
    dry_run: bool
    """Whether nothing was changed."""
    outcomes: tuple[str, ...]
    """The outcomes that are withdrawn."""
    retired: tuple[str, ...]
    """The memories that retire."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settlement:
    """
    A settlement with the scores of all predictions of its windows. `correction` is 0 for the
    first of a window.
    """

    correction: int
    corrects: str | None
    crowd: Mapping[str, float] | None
    event: str
    id: str
    known_at: datetime
    recorded_at: datetime
    resolutions: Mapping[str, str]
    scores: tuple[SettlementScore, ...]
    superseded_by: str | None
    windows: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Taxonomy:
    """
    A version of the taxonomy; 0 is the shipped one, which names nothing as long as it is not
    brought.
    """

    allow_new: bool
    categories: tuple[Branch, ...]
    recorded_at: datetime | None
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Ticket:
    """A request to try a candidate before it is used, and what came of it."""

    author: str
    category: str
    claims: int
    decided_at: datetime | None
    decision: str | None
    evidence: str | None
    guideline: str
    id: str
    known_at: datetime
    lease_until: datetime | None
    leased_to: str | None
    memory_id: str
    metric: str
    reason: str | None
    recorded_at: datetime
    reward_kind: str
    state: str
    subcategory: str | None
    trials: tuple[Trial, ...]
    version: int


@dataclass(frozen=True, kw_only=True, slots=True)
class WhatIfResult:
    """What the bank would be under the other policy."""

    difference: BankDifference
    """From the bank as it is to the bank as it would be."""
    held_fixed: str
    """What another policy would have changed, and this cannot."""
    instead_of: str
    """The policy of the namespace."""
    outcomes: int
    """How many recorded outcomes were folded."""
    policy: str
    """The policy that was tried."""


__all__ = [
    "AddedConstraint",
    "Agent",
    "AgentRecord",
    "Applied",
    "ArmMean",
    "Audit",
    "BankDifference",
    "Branch",
    "BulkItem",
    "Candidate",
    "Category",
    "Check",
    "Competence",
    "Considered",
    "Constraint",
    "ConstraintServed",
    "Contradiction",
    "Contrast",
    "Contrasts",
    "Cut",
    "Deletion",
    "Derived",
    "Directives",
    "DuplicateTexts",
    "Effect",
    "Episode",
    "Erased",
    "ErasedCounts",
    "ErasureReach",
    "Estimate",
    "Explanation",
    "Gates",
    "Guideline",
    "Item",
    "ItemVariance",
    "Job",
    "JobRun",
    "Kept",
    "Key",
    "KeyCreated",
    "LearningHealth",
    "Line",
    "ListedMemory",
    "Live",
    "Me",
    "Memory",
    "MemoryChange",
    "MemoryVersion",
    "MetaGuideline",
    "MetaGuidelineServed",
    "Namespace",
    "NearCategory",
    "Neighbour",
    "Outcome",
    "OutcomeCoverage",
    "OutcomeTaken",
    "PastWeight",
    "Prediction",
    "PredictionScore",
    "PredictionWhole",
    "RankerRecord",
    "RankerView",
    "Ready",
    "Receipt",
    "Remembered",
    "Retrieval",
    "Revision",
    "RollbackResult",
    "Routing",
    "ServedMemory",
    "Settings",
    "Settlement",
    "SettlementScore",
    "Step",
    "StrengthChange",
    "Subcategory",
    "Support",
    "SupportItem",
    "Task",
    "Taxonomy",
    "Ticket",
    "Timings",
    "TokenBudget",
    "Trajectory",
    "TrajectoryLine",
    "Trial",
    "WaitingByAge",
    "Weight",
    "WeightChange",
    "WeightEvent",
    "WeightRow",
    "WeightShares",
    "WhatIfResult",
    "Writing",
]
