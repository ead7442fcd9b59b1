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


class ApplyFields(TypedDict, total=False):
    """What is to be applied besides the outcomes that wait."""

    retry: bool
    """Whether to try those again that were set aside; needs the right to manage."""


class BulkChangeFields(TypedDict, total=False):
    """One action on many memories."""

    reason: str | None
    """Why, for the audit trail."""
    trust: Literal["trusted", "unverified", "quarantined"] | None
    """Given with the action of that name alone."""


class CategoryNameFields(TypedDict, total=False):
    """A kind of task, on two levels; the first names the cell in which learning is kept."""


class CategoryRenameFields(TypedDict, total=False):
    """Another name for a category or a subcategory."""

    name: Required[str]
    """How it is to be known among those of its level."""


class ContrastFields(TypedDict, total=False):
    """Which runs to compare: two or more of one task, or all of a task."""

    task_id: str | None
    """A task with all its runs; give this or `trajectory_ids`."""
    trajectory_ids: Sequence[str] | None
    """Runs of one task; give these or `task_id`."""


class DirectivesFields(TypedDict, total=False):
    """What the compiler does by itself; what is left out changes nothing."""

    cross_category: Literal["allow", "exclude"]
    """Whether memories of other categories are listed."""
    max_memories: int | None
    """The largest number of memories that are listed."""
    on_disagreement: Literal["show_both", "strongest", "drop"] | None
    """What happens to memories that point in opposite directions."""
    order: Literal["strongest", "newest", "as_ranked"]
    """The order in which memories are listed."""


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


class JobFields(TypedDict, total=False):
    """A run of a job by hand."""

    dry_run: bool
    """Whether to say only what would change."""
    now: datetime | None
    """When it is about: required in `replay` namespaces, refused in `wall` ones."""


class KeyFields(TypedDict, total=False):
    """A key to be made: every role but `operator` lives in one namespace."""

    agents: Sequence[str] | None
    """The agents it speaks for; without them it speaks for any."""
    expires_at: datetime | None
    """In the future: from then on it opens nothing."""
    name: Required[str]
    """Its name among people."""
    namespace: str | None
    """Slug of the namespace that it reaches; none for an operator's."""
    role: Required[Literal["agent", "evaluator", "reader", "admin", "operator"]]
    """What the key is for."""
    verifies: Literal["human", "test", "judge", "self"] | None
    """
    The highest verifier that it may claim for a result; without one, what its role has:
    `self` for agents and readers, `test` for evaluators, `human` for admins and operators.
    """


class MeasureFields(TypedDict, total=False):
    """What a category's rewards are: free, where neither is given, until an outcome fixes both."""

    metric: str | None
    """What they are computed by."""
    reward_kind: Literal["continuous", "binary"] | None
    """Whether a reward is a degree, or 0 or 1."""


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


class MergeIntoFields(TypedDict, total=False):
    """Which memory says the same and stays, and why."""

    into: Required[str]
    """The memory that stays; it takes over the evidence and the origins of the other."""
    reason: str | None
    """Why, for the audit trail."""


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


class NamespaceSettingsFields(TypedDict, total=False):
    """
    Settings of one namespace. Null leaves one to the server, and is for those that allow it;
    `retention_days` is for ever then.
    """

    active_queries: bool
    """Whether a language model may write queries to search for beside the task's text."""
    categories: Literal["open", "closed"]
    """Whether an unknown category is made at first use or refused."""
    coins: bool
    """Whether a memory may be left out now and then, so that memories are told apart."""
    control_rate: float | None
    """The share of retrievals that serve nothing, to measure lift; 0 switches it off."""
    daily_credits: int
    """How many outcomes of one agent's key count for one memory in a day."""
    identifiers: bool
    """
    Whether a memory is also found by an identifier of the task that it holds, such as an error
    code or a path.
    """
    llm_daily_cost: float | None
    """
    The daily cost limit: how many US dollars the language model may cost the namespace in a UTC
    day, by the price list of the server, at most as many as the server allows each.
    """
    llm_daily_tokens: int | None
    """
    The daily token limit: how many tokens of the language model the namespace may take in a UTC
    day, at most as many as the server allows each. 0: the model is never asked.
    """
    llm_models: Mapping[str, str]
    """
    Which language model is asked for what, by the names that the server has for its models; a
    role that is left out has the server's. The whole takes the place of what was chosen before.
    """
    max_memories: int
    """The quota of living memories."""
    meta_guidelines: bool
    """Whether guidelines are compiled under meta-guidelines, and `reflect` makes new ones."""
    raw_gate: float | None
    """The least cosine at which a memory is considered; 0 switches the gate off."""
    rerank: Literal["none", "fused"] | None
    """
    Whether the words of a task find and order memories beside their meaning; null: they do in
    a namespace of 300 to 20,000 memories, on the wall clock, whose policy ranks what is near.
    """
    retention_days: int | None
    """
    How many days receipts, outcomes, texts of runs and calls of the language model are kept;
    null: for ever. What was learned of them stays in either case.
    """
    score_floor: float | None
    """The least score at which a memory is served; 0 switches the floor off."""
    slot_rate: float
    """The chance that the last place goes to a memory with few outcomes."""
    verification_days: int
    """After so many days without a decision a candidate goes on probation."""
    verification_trials: int
    """How often a candidate is tried before it is decided on."""


class QueryFields(TypedDict, total=False):
    """One angle of search."""

    target: Literal["situation", "lesson"]
    """Which text of a memory it is compared with."""
    text: Required[str]
    """What to look for."""


class RefinementFields(TypedDict, total=False):
    """
    A candidate in other words; what is left out stays. Differs from `MemoryEdit`: nothing but
    the words can be changed.
    """

    known_at: datetime | None
    """when it was refined"""
    lesson: str | None
    """What to do, in other words."""
    situation: str | None
    """When it applies, in other words."""


class ReportedLessonFields(TypedDict, total=False):
    """What the reporter of an outcome would do otherwise."""

    lesson: Required[str]
    """What to do, in the imperative."""
    situation: str | None
    """When it applies; without it the task stands for it."""


class ResolutionFields(TypedDict, total=False):
    """Which of the two stays in use, and why."""


class RetrievalFilterFields(TypedDict, total=False):
    """
    Which memories may be served: those that match every part that is given; one that is null is
    not given. A name that nobody has matches nothing.
    """

    authors: Sequence[str] | None
    """One of these agents learned it; `memlift-contrast` distilled constraints of pairs."""
    category: str | None
    """The category that it was learned in."""
    kinds: Sequence[Literal["experience", "constraint", "meta_guideline"]] | None
    """It is of one of these kinds. Meta-guidelines heed this part alone."""
    subcategory: str | None
    """The second level of it."""
    tags: Sequence[str] | None
    """It has one of these, in `tags` of its metadata."""


class RollbackFields(TypedDict, total=False):
    """
    Whose word is withdrawn: of an agent, of a key, or of both.

    Outcomes of their retrievals or reports leave the ledger, memories they wrote retire, and their
    verdicts on runs prove nothing any more. With `claims` only outcomes go that claim too much.
    """

    agent: str | None
    """Name of the agent; it, a key, or `claims` is named."""
    claims: Literal["too_high"] | None
    """Only outcomes that claim more than their keys verify today; memories stay."""
    dry_run: bool
    """Whether to only look what would change."""
    key_id: str | None
    """Names the key."""
    since: datetime | None
    """Only what was recorded at this time or later."""
    until: datetime | None
    """Only what was recorded before this time."""


class RunResultFields(TypedDict, total=False):
    """How a run went, as a reward or as the metric's value."""

    reward: float | None
    """The reward, 0 to 1, larger is better."""
    value: Mapping[str, object] | None
    """The value of the report's metric."""


class SettlementFields(TypedDict, total=False):
    """Which outcomes of an event came true."""

    corrects: str | None
    """The settlement whose place it takes, for all windows where that one is in force."""
    crowd: Mapping[str, float] | None
    """The crowd's probabilities, by name of outcome; skill is measured against it."""
    event: Required[str]
    """The event: the `group_key` of its tasks."""
    known_at: datetime | None
    """When it became known: required in `replay` namespaces, refused in `wall` ones."""
    resolutions: Required[Mapping[str, Literal["yes", "no", "void"]]]
    """What each outcome came to, by its name."""
    windows: Sequence[str] | None
    """Keys of tasks of the event; without them all that are unresolved are settled."""


class StatusReasonFields(TypedDict, total=False):
    """Why a memory's status changes. Differs from `StatusChange`: the path says how."""

    reason: str | None
    """Why, for the audit trail."""


class StepFields(TypedDict, total=False):
    """
    One step of a run: something said, thought or seen, or a call of a tool. A call and its
    answer may be one step or two: `tool` with `arguments`, then `tool` with `result` or `error`.
    """

    arguments: Mapping[str, object] | None
    """What the tool is called with: a JSON object, at most 20,000 bytes and 6 levels."""
    error: str | None
    """What the tool failed with, in its own words."""
    kind: str | None
    """In the caller's words: thought, action, observation, …"""
    result: str | None
    """What the tool answered."""
    role: Literal["system", "user", "assistant", "tool"] | None
    """Whose step it is; who calls a tool is `assistant`, or `user` for a call by the user."""
    text: str | None
    """What was thought, said, done or seen; a call of a tool needs none."""
    tool: str | None
    """The tool that is called, or that answers."""


class SubcategoryFields(TypedDict, total=False):
    """A kind of task on the second level."""

    description: Required[str]
    """What it is, in a line; tasks are compared with this and the name."""
    name: Required[str]
    """How it is known within its category."""


class TaskFields(TypedDict, total=False):
    """A task in its caller's words."""

    category: str | None
    """Its kind; where it is left out, the nearest by meaning, else `general`."""
    closes_at: datetime | None
    """When its window closes: from then on no prediction counts."""
    group_key: str | None
    """Joins tasks that stand or fall together, such as questions about one event."""
    key: str | None
    """The caller's own id: the same key is the same task."""
    metadata: Mapping[str, object]
    """Free JSON of at most 8,192 bytes, kept and shown as it is."""
    subcategory: str | None
    """A finer kind within its category."""
    text: Required[str]
    """What the agent is to do, in the caller's words."""


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
    """What the agent is to do, in the caller's words."""


class TicketClaimFields(TypedDict, total=False):
    """An agent asks for candidates to try, for half an hour."""

    category: str | None
    """Only candidates of this category."""
    limit: int
    """How many at most."""


class TrajectoryFields(TypedDict, total=False):
    """A run of a task by an agent: at most 1,000 steps and 400,000 characters."""

    agent: Required[str]
    """Who ran."""
    cost: float | None
    """What the run took, in the caller's unit; null: its number of steps counts."""
    known_at: datetime | None
    """When the run was known; set in `replay` namespaces alone."""
    rationale: str | None
    """Why, in the agent's own words."""
    result: str | None
    """What it came to."""
    retrieval_id: str | None
    """The receipt behind which this run stands: its agent ran, and its task was run."""
    reward: float | None
    """How well it went, in [0, 1]; null: no verdict."""
    steps: Sequence[StepFields]
    """What it did, in order."""
    task: TaskFields | None
    """The task in the caller's words; give this, `task_id` or `retrieval_id`."""
    task_id: str | None
    """A task that is stored."""
    task_variant: str | None
    """Which version of the task was run, where there are several; runs of two are no pair."""
    verifier: Literal["human", "test", "judge", "self", "none"]
    """Who vouches for the reward; `none`: no verdict."""


class TrialResultFields(TypedDict, total=False):
    """How one trial went: `reward`, or `value` with `truth` in the ticket's metric."""

    reward: float | None
    """The reward, 0 to 1."""
    slot: Required[int]
    """Which trial of the ticket."""
    truth: Mapping[str, object] | None
    """What came true, in the form of the metric."""
    value: Mapping[str, object] | None
    """What the agent answered, in the form of the metric."""
    without: RunResultFields | None
    """The same agent's result without the candidate."""


class TrustChangeFields(TypedDict, total=False):
    """Whether a memory's source is believed from now on."""


class VerificationFields(TypedDict, total=False):
    """Who vouches for a piece of history."""

    source: Required[Literal["human", "test", "judge", "none"]]
    """A person, a test, a judging model, or nobody."""


class WebhookFields(TypedDict, total=False):
    """An address that is to hear of some events."""

    kinds: Required[
        Sequence[
            Literal[
                "job.failed",
                "job.quarantined",
                "cell.suspended",
                "key.muted",
                "ticket.open",
                "memory.quarantined",
                "outcome.set_aside",
            ]
        ]
    ]
    """Which events it hears of."""
    secret: str | None
    """What deliveries are signed with: `whsec_` and 24 to 64 bytes in Base64; made if not given."""
    url: Required[str]
    """Where events are posted: https, or what the operator's MEMLIFT_WEBHOOK_HOSTS names."""


class WhatIfFields(TypedDict, total=False):
    """
    Another policy under which the recorded outcomes are refolded; the bank is not touched.

    Which memories were served is taken as it was: another policy would have served others, and
    what would have come of that nobody knows.
    """


class BranchFields(TypedDict, total=False):
    """A category with its subcategories."""

    description: Required[str]
    """What it is, in a line; tasks are compared with this and the name."""
    name: Required[str]
    """How the category is known."""
    related: Sequence[str]
    """Other categories of the taxonomy whose lessons may fit as well."""
    subcategories: Sequence[SubcategoryFields]
    """The kinds of task within it."""


class ConstraintFields(TypedDict, total=False):
    """
    A constraint in its author's words, with the task it was learned from; enforce, avoid, or
    both.
    """

    agent: Required[str]
    """Who says so."""
    avoid: str | None
    """What not to do, to be read after the word avoid."""
    category: str | None
    """Where it applies; null: in the category of its task."""
    enforce: str | None
    """What to do then, to be read after the word enforce."""
    learned_at: datetime | None
    """When it was learned; set in `replay` namespaces alone."""
    metadata: Mapping[str, object]
    """Free JSON of the caller's."""
    subcategory: str | None
    """The second level; needs `category`."""
    task: TaskFields | None
    """The task it was learned from, in the caller's words; give this or `task_id`."""
    task_id: str | None
    """A stored task it was learned from; give this or `task`."""
    trigger: Required[str]
    """The kind of situation, to be read after the word When."""
    weight: float
    """What it starts with."""


class ExperienceFields(TypedDict, total=False):
    """What a past task taught: when it applies, and what to do."""

    agent: Required[str]
    """Who learned it; made at first use."""
    category: str | None
    """The kind of task; without it that of its task, else the nearest."""
    learned_at: datetime | None
    """When it became known; set in `replay` namespaces alone."""
    lesson: Required[str]
    """What to do then."""
    metadata: Mapping[str, object]
    """Free JSON of its author."""
    pinned: bool
    """Whether nothing retires it by itself."""
    situation: Required[str]
    """When it applies."""
    subcategory: str | None
    """The second level of its category."""
    task: TaskFields | None
    """The task it was learned on, in its caller's words."""
    task_id: str | None
    """The task it was learned on, where that is stored already."""
    verify: bool
    """Whether it is tried on its task before it is used."""
    visibility: Literal["agent", "namespace"]
    """Who may see it."""
    weight: float
    """Where it starts: a claim. 1 is neutral, and the most that a key of role `agent` may say."""


class HistoryFields(TypedDict, total=False):
    """
    An experience of another time, taken in as a stranger's word. It starts neutral and unpinned,
    for weight is earned here.
    """

    agent: Required[str]
    """Who learned it; made at first use."""
    category: str | None
    """The kind of task; without it that of its task, else the nearest."""
    learned_at: datetime | None
    """When it became known; set in `replay` namespaces alone."""
    lesson: Required[str]
    """What to do then."""
    metadata: Mapping[str, object]
    """Free JSON of its author."""
    situation: Required[str]
    """When it applies."""
    subcategory: str | None
    """The second level of its category."""
    task: TaskFields | None
    """The task it was learned on, in its caller's words."""
    task_id: str | None
    """The task it was learned on, where that is stored already."""
    verification: Required[VerificationFields]
    """Who vouches for it; a person or a test count where a manager says so."""
    visibility: Literal["agent", "namespace"]
    """Who may see it."""


class NamespaceChangeFields(TypedDict, total=False):
    """What to change of a namespace. Raises Rejected where that is nothing."""

    learning: Literal["on", "frozen"] | None
    """Whether outcomes move anything."""
    policy: Literal["belief", "paper", "paper-strict", "steps", "delta"] | None
    """
    The rule by which it learns from now on: every belief is refolded from the recorded
    outcomes, as `what-if` foresees. Refused where older outcomes are kept as their result alone.
    """
    settings: NamespaceSettingsFields | None
    """
    Merged over those in force. Null: `raw_gate`, `score_floor`, `control_rate`, `rerank`
    and the daily limits are left to the server, `retention_days` is for ever; no other takes it.
    """


class NamespaceFields(TypedDict, total=False):
    """A namespace to be made; slug and clock never change."""

    clock: Literal["wall", "replay"]
    """Whether facts are known when they come, or when their caller says."""
    learning: Literal["on", "frozen"]
    """Whether outcomes move anything."""
    policy: Literal["belief", "paper", "paper-strict", "steps", "delta"]
    """The rule by which it learns."""
    settings: NamespaceSettingsFields
    """What shall differ from the defaults."""


class PredictionFields(TypedDict, total=False):
    """A forecast for a window: `task`, `task_id`, or the task of the receipt that it names."""

    agent: Required[str]
    """Who forecasts."""
    answers: Mapping[str, Mapping[str, float]] | None
    """One forecast for each ranker, where the receipt has `all_rankers`."""
    baseline_probabilities: Mapping[str, float] | None
    """The same agent's without the guideline."""
    full_probabilities: Mapping[str, float] | None
    """The agent's had memory been followed wholly."""
    known_at: datetime | None
    """When it was made: required in `replay` namespaces, refused in `wall` ones."""
    probabilities: Required[Mapping[str, float]]
    """By name of outcome, as the agent acts on them."""
    rationale: str | None
    """Why, in the agent's words."""
    retrieval_id: str | None
    """The receipt that the agent was advised by."""
    task: TaskFields | None
    """The window; its `group_key` is its event."""
    task_id: str | None
    """The window, where it is known."""
    used: Sequence[str] | None
    """
    Memories of the receipt that the agent acted on; empty where it acted on none, null or left
    out where nothing is known of it; the nil UUID for a private one.
    """


class RetrievalFields(TypedDict, total=False):
    """What an agent asks before it acts; it names exactly one of `task` and `task_id`."""

    active_queries: bool
    """
    Whether a language model, where there is one, may write queries to search for beside the
    task's text.
    """
    agent: Required[str]
    """Who asks; made at first use."""
    all_rankers: bool
    """Whether what any ranker would serve is wanted, with a score by each; as memories only."""
    arm: Literal["auto", "on", "off"]
    """Whether memory is wanted; auto leaves it to chance, so that it can be compared with none."""
    as_of: datetime | None
    """The time to answer for; in `replay` namespaces it is required."""
    expires_in: float | None
    """Seconds, from a minute to 400 days (34560000): an outcome that comes later moves nothing."""
    explain: bool
    """Show how it came about; with purpose act or preview."""
    explore: bool
    """Whether a memory may be left out or tried at random, so that memories are told apart."""
    filter: RetrievalFilterFields | None
    """Which memories may be served; all that the agent may see where it is left out."""
    format: Literal["brief", "full", "memories"]
    """Prose for an agent, the same with its sources for people, or the memories as data."""
    gates: Literal["on", "off"]
    """Whether the floors keep memories out; off gives the k that come first."""
    k: int | None
    """The most experiences that are wanted; 3 where it is left out, 5 under `paper-strict`."""
    max_tokens: int
    """The budget of the guideline; 0 leaves it empty."""
    past_error: bool
    """Whether to show what went wrong when this agent tried a task like this one."""
    purpose: Literal["act", "paired", "replay", "preview"]
    """`paired` promises a run with memory and one without; `preview` stores nothing."""
    queries: Sequence[QueryFields]
    """What to search for; the task's text where it is left out."""
    rerank: Literal["none", "fused"] | None
    """
    Whether words that memories share with the task order them too; as the namespace has it where
    it is left out.
    """
    task: TaskFields | None
    """What is to be done, in the agent's words."""
    task_id: str | None
    """A task that is stored already."""
    trace_id: str | None
    """The caller's own id of the trace that the run belongs to: a result may be reported by it."""


class RunTraceFields(TypedDict, total=False):
    """What an agent did and came to: at most 1,000 steps and 400,000 characters."""

    rationale: str | None
    """Why, in the agent's own words."""
    result: str | None
    """What it came to."""
    steps: Sequence[StepFields]
    """What it did, in order."""


class TaxonomyPutFields(TypedDict, total=False):
    """
    A taxonomy of one's own, or the shipped one; at most 500 entries. Differs from
    `TaxonomyDraft`: the shipped one can be named instead of brought.
    """

    allow_new: bool
    """whether categories are accepted that it does not name"""
    categories: Sequence[BranchFields] | None
    """the first level, each with its second"""
    default: bool
    """whether the shipped taxonomy is meant"""


class TrialReportFields(TypedDict, total=False):
    """What the holder of a ticket found out."""

    agent: Required[str]
    """Who ran the trials."""
    known_at: datetime | None
    """When it became known: required in `replay` namespaces, refused in `wall` ones."""
    metric: str
    """What the rewards are computed by: the ticket's metric."""
    trials: Required[Sequence[TrialResultFields]]
    """How they went."""


class BatchedReportFields(TypedDict, total=False):
    """
    A report in a batch. Differs from `Report`: it names its receipt, which alone stands in the
    path.
    """

    answers: Mapping[str, object]
    """Where all rankers were asked, each one's own answer by its name."""
    evaluator: str
    """Who judged the run."""
    full: RunResultFields | None
    """The agent's result had memory been followed wholly."""
    harmful: Sequence[str]
    """Served memories that did harm."""
    helpful: Sequence[str]
    """Served memories that helped."""
    keep: bool
    """Keep it as a note where its category is measured otherwise, instead of refusing it."""
    known_at: datetime | None
    """When it became known: required in `replay` namespaces, refused in `wall` ones."""
    lesson: ReportedLessonFields | None
    """What the reporter would do otherwise; that of a bad outcome becomes a candidate."""
    metric: str | None
    """What computes the reward of `value`, such as `brier`; left out where `reward` says it."""
    retrieval_id: Required[str]
    """The receipt it is for."""
    reward: float | None
    """The reward, 0 to 1, larger is better."""
    reward_kind: Literal["continuous", "binary"]
    """Whether a reward is a degree, or 0 or 1."""
    run: RunTraceFields | None
    """
    What the agent did: kept beside other runs, and lessons are drawn from it. It may come later,
    with the same report again.
    """
    stances: Mapping[str, object]
    """What the agent would have answered by each memory alone; kept, not learned from."""
    supersedes: str | None
    """The outcome that this one corrects."""
    truth: Mapping[str, object] | None
    """What came true, in the form of the metric."""
    used: Sequence[str] | None
    """
    Served memories that the agent acted on, as far as its own text says; empty where it acted on
    none, left out where nothing is known of it.
    """
    value: Mapping[str, object] | None
    """What the agent answered, in the form of the metric."""
    verifier: Literal["human", "test", "judge", "self"]
    """What the judgement rests on; a better verified report takes the place of another."""
    without: RunResultFields | None
    """The same agent's result without the guideline."""


class KeyedReportFields(TypedDict, total=False):
    """A report by who does not hold the receipt: it names the task by its key, or the trace."""

    agent: str | None
    """Whose run it is; needed where several agents ran under the key."""
    answers: Mapping[str, object]
    """Where all rankers were asked, each one's own answer by its name."""
    evaluator: str
    """Who judged the run."""
    full: RunResultFields | None
    """The agent's result had memory been followed wholly."""
    harmful: Sequence[str]
    """Served memories that did harm."""
    helpful: Sequence[str]
    """Served memories that helped."""
    keep: bool
    """Keep it as a note where its category is measured otherwise, instead of refusing it."""
    known_at: datetime | None
    """When it became known: required in `replay` namespaces, refused in `wall` ones."""
    lesson: ReportedLessonFields | None
    """What the reporter would do otherwise; that of a bad outcome becomes a candidate."""
    metric: str | None
    """What computes the reward of `value`, such as `brier`; left out where `reward` says it."""
    policy: Literal["all_open", "latest"]
    """Of several open receipts: each gets the outcome (`all_open`), or the newest (`latest`)."""
    reward: float | None
    """The reward, 0 to 1, larger is better."""
    reward_kind: Literal["continuous", "binary"]
    """Whether a reward is a degree, or 0 or 1."""
    run: RunTraceFields | None
    """
    What the agent did: kept beside other runs, and lessons are drawn from it. It may come later,
    with the same report again.
    """
    stances: Mapping[str, object]
    """What the agent would have answered by each memory alone; kept, not learned from."""
    supersedes: str | None
    """The outcome that this one corrects."""
    trace_id: str | None
    """The trace, as the retrieval named it."""
    truth: Mapping[str, object] | None
    """What came true, in the form of the metric."""
    used: Sequence[str] | None
    """
    Served memories that the agent acted on, as far as its own text says; empty where it acted on
    none, left out where nothing is known of it.
    """
    value: Mapping[str, object] | None
    """What the agent answered, in the form of the metric."""
    verifier: Literal["human", "test", "judge", "self"]
    """What the judgement rests on; a better verified report takes the place of another."""
    without: RunResultFields | None
    """The same agent's result without the guideline."""


class ReportFields(TypedDict, total=False):
    """The result of an attempt: `reward`, or `metric` with `value`."""

    answers: Mapping[str, object]
    """Where all rankers were asked, each one's own answer by its name."""
    evaluator: str
    """Who judged the run."""
    full: RunResultFields | None
    """The agent's result had memory been followed wholly."""
    harmful: Sequence[str]
    """Served memories that did harm."""
    helpful: Sequence[str]
    """Served memories that helped."""
    keep: bool
    """Keep it as a note where its category is measured otherwise, instead of refusing it."""
    known_at: datetime | None
    """When it became known: required in `replay` namespaces, refused in `wall` ones."""
    lesson: ReportedLessonFields | None
    """What the reporter would do otherwise; that of a bad outcome becomes a candidate."""
    metric: str | None
    """What computes the reward of `value`, such as `brier`; left out where `reward` says it."""
    reward: float | None
    """The reward, 0 to 1, larger is better."""
    reward_kind: Literal["continuous", "binary"]
    """Whether a reward is a degree, or 0 or 1."""
    run: RunTraceFields | None
    """
    What the agent did: kept beside other runs, and lessons are drawn from it. It may come later,
    with the same report again.
    """
    stances: Mapping[str, object]
    """What the agent would have answered by each memory alone; kept, not learned from."""
    supersedes: str | None
    """The outcome that this one corrects."""
    truth: Mapping[str, object] | None
    """What came true, in the form of the metric."""
    used: Sequence[str] | None
    """
    Served memories that the agent acted on, as far as its own text says; empty where it acted on
    none, left out where nothing is known of it.
    """
    value: Mapping[str, object] | None
    """What the agent answered, in the form of the metric."""
    verifier: Literal["human", "test", "judge", "self"]
    """What the judgement rests on; a better verified report takes the place of another."""
    without: RunResultFields | None
    """The same agent's result without the guideline."""


__all__ = [
    "AgentChangeFields",
    "AgentFields",
    "ApplyFields",
    "BatchedReportFields",
    "BranchFields",
    "BulkChangeFields",
    "CategoryNameFields",
    "CategoryRenameFields",
    "ConstraintFields",
    "ContrastFields",
    "DirectivesFields",
    "ErasureFields",
    "ExperienceFields",
    "HistoryFields",
    "JobFields",
    "KeyFields",
    "KeyedReportFields",
    "MeasureFields",
    "MemoryEditFields",
    "MergeIntoFields",
    "MetaGuidelineEditFields",
    "MetaGuidelineFields",
    "NamespaceChangeFields",
    "NamespaceFields",
    "NamespaceSettingsFields",
    "PredictionFields",
    "QueryFields",
    "RefinementFields",
    "ReportFields",
    "ReportedLessonFields",
    "ResolutionFields",
    "RetrievalFields",
    "RetrievalFilterFields",
    "RollbackFields",
    "RunResultFields",
    "RunTraceFields",
    "SettlementFields",
    "StatusReasonFields",
    "StepFields",
    "SubcategoryFields",
    "TaskEntryFields",
    "TaskFields",
    "TaxonomyPutFields",
    "TicketClaimFields",
    "TrajectoryFields",
    "TrialReportFields",
    "TrialResultFields",
    "TrustChangeFields",
    "VerificationFields",
    "WebhookFields",
    "WhatIfFields",
]
