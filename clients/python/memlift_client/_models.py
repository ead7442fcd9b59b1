# Generated from docs/reference/openapi.json by `make client-models`; do not edit.
"""What the server answers, by the names of the contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Literal

from memlift_client._answers import HasReadiness, HasReceipt


@dataclass(frozen=True, kw_only=True, slots=True)
class AddedTrajectory:
    """A run that was kept."""

    category: str
    """The task's category."""
    id: str
    """Names the run for ever."""
    right: bool | None
    """Whether it succeeded; null where nobody vouches for it."""
    subcategory: str | None
    """The task's second level, if it has one."""
    task_id: str
    """The task that was run."""


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
    """What applying did."""

    applied: int
    """Outcomes applied now."""
    bank_version: int
    """The version of the bank that was reached."""
    pending: int
    """Outcomes that still wait."""
    set_aside: int
    """Outcomes that could not be applied, and wait until they are asked for with `retry`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmMean:
    """The rewards of one arm."""

    mean: float
    """Their mean reward, from 0 to 1."""
    n: int
    """Outcomes of the arm."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AuditEntry:
    """One line of the audit trail."""

    action: str
    """What was done, such as `memory.trust`."""
    detail: Mapping[str, object]
    """
    What else is to be known of it, never the text itself; nothing of a private memory, and no
    reason once that was erased.
    """
    id: str
    """Names the entry for ever; later entries have larger ids."""
    key_id: str | None
    """The key that did it; null for what the server does by itself."""
    recorded_at: datetime
    """When it was done."""
    subject: str
    """The id or the slug of what it was done to; the nil UUID for a private memory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BankChange:
    """Rows that one transaction wrote."""

    memory_ids: tuple[str, ...]
    """
    The memories that it is about, of those that the caller may read; empty where it is about
    none.
    """
    part: Literal[
        "experience",
        "constraint",
        "meta_guideline",
        "memory",
        "agent",
        "category",
        "centroid",
        "taxonomy",
        "support",
        "cell",
        "strength",
        "record",
    ]
    """What changed."""
    recorded_at: datetime
    """When it was written, to the second."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BelievedEffect:
    """What a memory is believed to add to the reward against an empty place."""

    mean: float
    """Mean of the belief, in reward."""
    standard_deviation: float
    """Its standard deviation."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BudgetDay:
    """What the language model took on one UTC day."""

    cost: float
    """The same in US dollars, by the prices of that day."""
    day: date
    """The day, in UTC."""
    stopped: int
    """How many questions were not asked."""
    tokens: int
    """What calls have cost, in tokens."""
    unpriced: int
    """How many of the tokens had no known price: they are not in `cost`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BulkItem:
    """The result for one memory: its status and trust now, or the problem that kept it."""

    id: str
    """Names the memory."""
    memory_status: (
        Literal["proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"]
        | None
    ) = None
    """Its status now."""
    trust: Literal["trusted", "unverified", "quarantined"] | None = None
    """Whether its source is believed now."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Category:
    """A category as stored."""

    created_at: datetime
    """When it was first used or described."""
    fixed_by: Literal["outcomes", "admin"] | None
    """
    Who fixed both: outcomes, and then they are free again when none that counts is left, or an
    admin.
    """
    id: str
    """Names the category for ever."""
    metric: str | None
    """What its rewards are computed by; fixed by the first outcome that counts, or by an admin."""
    name: str
    """Its name among those of its level."""
    parent: str | None
    """The category it is a subcategory of."""
    reward_kind: Literal["continuous", "binary"] | None
    """Whether a reward is a degree, or 0 or 1; fixed with the metric."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """One change of a set. An edit puts a new memory in the place of an old one."""

    change: Literal["create", "edit", "retire"]
    """What is done."""
    lesson: str | None
    """What it says to do."""
    memory_id: str | None
    """The new memory, a candidate until the set is applied; null where one is only retired."""
    old_lesson: str | None
    """What that says to do."""
    old_situation: str | None
    """When the memory that retires applies."""
    replaces: str | None
    """The memory that retires; null where one is only created."""
    situation: str | None
    """When the new memory applies; null once erased, or where the key may not read it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangePage:
    """A page of what changed."""

    after: str
    """To be sent for what comes after these; good for 23 hours."""
    has_more: bool
    """Whether there is more already."""
    items: tuple[BankChange, ...]
    """The changes, each once; what one transaction wrote of one part is one change."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Changeset:
    """Changes that are tried together, and are applied together or not at all."""

    category: str
    """The category of the failures."""
    changes: tuple[Change, ...]
    """What it changes; empty while it waits."""
    claims: int
    """How often it was worked on."""
    family: str
    """The family of the agents that failed, or `agent NAME` where none is declared."""
    finished_at: datetime | None
    """When it had its end."""
    id: str
    """Names the set for ever."""
    outcome_ids: tuple[str, ...]
    """The failures it was made from."""
    reason: str | None
    """Why it has this state."""
    recorded_at: datetime
    """When the failures were found to be alike."""
    similarity: float
    """The least cosine between the tasks of the failures and the one in their midst."""
    state: Literal["waiting", "proposed", "applied", "rejected", "nothing", "quarantined", "undone"]
    """Where it stands."""
    ticket_id: str | None
    """The ticket under which it is tried."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One condition of readiness."""

    detail: str
    """What was found, in words."""
    ok: bool
    """Whether it is met."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Companion:
    """A memory that comes up with this one, and is hardly ever served without it or it without."""

    apart: int
    """Retrievals with memory that served one of the two without the other."""
    lesson: str | None
    """Its lesson; null for a private one."""
    memory_id: str
    """Names the memory; the nil UUID for a private one."""
    together: int
    """Retrievals with memory in which both came up, served or left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Competence:
    """How an agent fares in a category."""

    agent: str
    """Who ran."""
    category: str
    """In which category, on the first level."""
    competence: float
    """(sum of rewards + 5 * mean of the category) / (n + 5): few runs cannot move it far."""
    mean: float
    """Their mean reward."""
    n: int
    """How many verified runs there are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contradiction:
    """Two constraints with one trigger and opposite obligations."""

    category: str
    """Where both apply."""
    first_id: str
    """One constraint."""
    id: str
    """Names the contradiction for ever."""
    likeness: float
    """The cosine of their triggers."""
    reason: Literal["enforced_avoided", "negated"]
    """How they contradict: one enforces what the other avoids, or one negates the other."""
    recorded_at: datetime
    """When it was seen."""
    resolution: Literal["first", "second", "both", "neither"] | None
    """Which of them stays in use."""
    resolution_reason: str | None
    """Why: `evidence`, or what the person who decided says."""
    resolved_at: datetime | None
    """When it was decided."""
    second_id: str
    """The other constraint."""
    state: Literal["open", "resolved"]
    """Whether it is decided."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contrast:
    """A pair of runs of one task, and its result."""

    distiller: str | None
    """The language model that read the pair."""
    done_at: datetime | None
    """When it was distilled, or ended otherwise."""
    duration_ms: float | None
    """How long the distiller took, in milliseconds."""
    id: str
    """Names the pair for ever."""
    known_at: datetime
    """When both runs were known."""
    memory_ids: tuple[str, ...]
    """The constraints that it supports."""
    pair_class: Literal["discordant", "both_right", "both_wrong", "unknown"]
    """Which of the two were right."""
    preferred_agent: str
    """Who made the better run."""
    preferred_id: str
    """The better run; of two wrong ones neither is better."""
    reason: str | None
    """Why it may not be counted, or why it has no result yet."""
    recorded_at: datetime
    """When the pair was stored."""
    rejected: tuple[Mapping[str, object], ...]
    """What the distiller answered and could not be used, with the reason."""
    self_contrast: bool
    """Whether one agent made both."""
    state: Literal["queued", "distilling", "distilled", "empty", "refused", "no_text", "failed"]
    """How far it is on its way to constraints."""
    supports: bool
    """Whether it may be counted for a constraint."""
    task_id: str
    """The task that both ran."""
    tokens: int
    """What the distiller took in all attempts."""
    unpreferred_agent: str
    """Who made the worse run."""
    unpreferred_id: str
    """The worse run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contrasts:
    """The pairs of a caller's runs; none where nothing sets them apart."""

    contrasts: tuple[Contrast, ...]
    """Each pair and its result."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cut:
    """A memory that did not enter the guideline."""

    memory_id: str
    """Which memory; the nil UUID for a private one that the key may not read."""
    reason: Literal[
        "budget", "quarantined", "empty", "left_out", "category", "disagreement", "max_memories"
    ]
    """Why it was left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Deletion:
    """What the second step of a deletion needs."""

    confirmation: str
    """To be sent with the second step."""
    expires_at: datetime
    """From then on the first step has to be repeated."""


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
    """Whether memories of other categories are listed."""
    max_memories: int | None
    """The largest number of memories that are listed."""
    on_disagreement: Literal["show_both", "strongest", "drop"] | None
    """What happens to memories that point in opposite directions."""
    order: Literal["strongest", "newest", "as_ranked"]
    """The order in which memories are listed."""


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
    """Whether the guideline cited it."""
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
    llm_calls: int
    """Calls of a language model that carried what was erased."""
    memories: int
    """Memories."""
    tasks: int
    """Tasks."""
    trajectories: int
    """Recorded runs."""
    versions: int
    """Texts of memories."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ErasureReach:
    """The rows that an erasure would reach, at most 500 of each kind."""

    derived: tuple[Derived, ...]
    """Memories that would lose support, those that lose most first."""
    memory_ids: tuple[str, ...]
    """Memories that would lose their text; the nil UUID for a private one."""
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
class Exposure:
    """How far a memory could have acted on an outcome."""

    exposure: float
    """
    0 not at all, 1 wholly: so far the outcome moves it. Of a meta-guideline, whether it was
    followed (1 or 0) less the probability of its coin; 0 where none was tossed.
    """
    memory_id: str
    """Which memory; the nil UUID for a private one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FloorChange:
    """The least score at which a memory is served, which its weight alone must reach."""

    after: float
    """Under the other policy, which may settle it."""
    before: float
    """Under the policy of the namespace."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Foresight:
    """
    How often weights said beforehand which way an outcome would go, by either policy.

    Asked of each outcome, just before it moves a weight: do the memories that were served weigh
    more than 1 on average, and was the reward larger than without memory (of a single outcome: than
    the agent's mean in that category until then)? An average of exactly 1 counts half.
    """

    after: float | None
    """Share that the other policy foresaw."""
    before: float | None
    """Share that the policy of the namespace foresaw, from 0 to 1; null without such an outcome."""
    dates: int
    """Days (UTC) on which these outcomes became known."""
    high: float | None
    """Upper end of that interval, which may be looked at as often as one likes."""
    low: float | None
    """
    Lower end of the 95 % interval of `after` less `before`; null below ten dates, and where no
    two dates differ.
    """
    needed: int | None
    """
    About how many such outcomes would tell a difference of this size from none; null where it is
    told already, or cannot be reckoned yet.
    """
    outcomes: int
    """Outcomes that were better or worse than without, and so could be foreseen."""


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
    """The floor on effective weight times nearness: relevance, or more where a name found it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HalfOfTasks:
    """The tasks of one half that tell something, by the side that they speak for."""

    failing: int
    """On how many the failing run alone violates it."""
    winning: int
    """On how many the winning run alone violates it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One memory in a receipt, served or kept back, with the numbers it was chosen by."""

    cited: bool
    """Whether the guideline says it, so that it can be credited."""
    contender: bool
    """
    Whether it would have a place if its coin kept it, given the coins before it; false where the
    retrieval tosses none.
    """
    effective_weight: float
    """What learning has made of it for this agent; 1 is neutral."""
    exploration_slot: bool
    """Whether it was drawn into the last place for having been credited least."""
    fused: float | None
    """
    What it was ordered by with the words that it shares with the task, in the place of its
    relevance; null where `rerank` was none, and for other kinds.
    """
    identifiers: tuple[str, ...]
    """Names of the task by which it was found, whatever its cosine; empty once erased."""
    inclusion: float | None
    """
    The probability with which its coin keeps it, 1 where none was spent on it; null where the
    retrieval tosses none.
    """
    kind: Literal["experience", "constraint", "meta_guideline"]
    """What kind of memory it is."""
    left_out: bool
    """Whether its coin left it out: nobody got it, and the next in the order has its place."""
    memory_id: str
    """Which memory; the nil UUID for a private one that the key may not read."""
    propensity: float
    """The probability it had of being selected, given what stands before it."""
    query: int | None
    """Which of several queries it is nearest to: 0 is the task's text, or the caller's first."""
    rank: int
    """
    Its place, from 1; constraints and the meta-guideline stand behind experiences. Of a memory
    that its coin left out, the place that it would have had.
    """
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
    """
    Whether the agent got it; a control arm records what it would have got, and a memory that its
    coin left out is recorded too.
    """
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
class JobRun:
    """One run of a job."""

    dry_run: bool
    """Whether it only reported what would change."""
    finished_at: datetime | None
    """When it ended."""
    id: str
    """Names the run for ever."""
    job: str
    """Which job."""
    now: datetime
    """When it is about."""
    period: str
    """The period in which it ran: the timetable runs a job once in each, a hand whenever asked."""
    reason: str | None
    """Why it failed, in a sentence; null where it did not."""
    result: Mapping[str, object] | None
    """What it did: counts, and each memory that it examined and changed."""
    started_at: datetime
    """When it began, by the server's clock."""
    state: Literal["running", "done", "failed"]
    """Whether it is under way (`running`), `done`, or `failed` and left nothing but this record."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """A key, without its token: of that only the hash is stored."""

    agents: tuple[str, ...] | None
    """The agents it speaks for; null where it is bound to none and speaks for any."""
    created_at: datetime
    """When it was made."""
    expires_at: datetime | None
    """From then on it opens nothing; null where it does not end by itself."""
    id: str
    """Names the key for ever; the middle of its token."""
    last_used_at: datetime | None
    """When it was last used, to the minute."""
    name: str
    """Its name among people."""
    namespace: str | None
    """Slug of the one namespace that it reaches; null for an operator's, which reaches all."""
    revoked_at: datetime | None
    """When it was ended by hand."""
    role: Literal["agent", "evaluator", "reader", "admin", "operator"]
    """What the key is for."""
    verifies: Literal["human", "test", "judge", "self"]
    """The highest verifier that it may claim for a result: self < judge < test < human."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyCreated:
    """A new key: the one time that its token is shown."""

    agents: tuple[str, ...] | None
    """The agents it speaks for; null where it is bound to none and speaks for any."""
    created_at: datetime
    """When it was made."""
    expires_at: datetime | None
    """From then on it opens nothing; null where it does not end by itself."""
    id: str
    """Names the key for ever; the middle of its token."""
    last_used_at: datetime | None
    """When it was last used, to the minute."""
    name: str
    """Its name among people."""
    namespace: str | None
    """Slug of the one namespace that it reaches; null for an operator's, which reaches all."""
    revoked_at: datetime | None
    """When it was ended by hand."""
    role: Literal["agent", "evaluator", "reader", "admin", "operator"]
    """What the key is for."""
    token: str = field(repr=False)
    """What a caller sends as `Authorization: Bearer`; nobody can read it again."""
    verifies: Literal["human", "test", "judge", "self"]
    """The highest verifier that it may claim for a result: self < judge < test < human."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KeyInfluence:
    """A key that reported here, and how far its party moved memories that others wrote."""

    agents: tuple[str, ...] | None
    """The agents that it speaks for; null where it is bound to none."""
    alert: bool
    """Whether it moved three or more memories of others alone, and further than counts."""
    alone: int
    """Those of them that no other party moved the same way."""
    effect: float
    """The sum of its effects, whichever way, in weight."""
    key_id: str
    """The key; `POST …/rollbacks` with it and `dry_run` false withdraws all that it said."""
    lowered: int
    """Those of them that it lowered."""
    memories: int
    """Memories of others that its party moved plainly: by .2 of weight or more."""
    name: str
    """Its name among people."""
    outcomes: int
    """Its outcomes that are applied."""
    party: str | None
    """The first key of its party; null for a key that judges others, whose word is not bounded."""
    raised: int
    """Those of them that it raised."""
    role: Literal["agent", "evaluator", "reader", "admin", "operator"]
    """What it is for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LessonCandidate:
    """An outcome that was bad enough to learn from, and the state of its lesson."""

    claims: int
    """How often it was worked on."""
    expected: float | None
    """The reward that was expected of its agent at such tasks; null where nothing was."""
    finished_at: datetime | None
    """When it was done with."""
    memory_id: str | None
    """The memory made of it, or the twin that was there; the nil UUID for a private one."""
    outcome_id: str
    """The bad outcome."""
    reason: str | None
    """Why it was set aside."""
    recorded_at: datetime
    """When it was queued."""
    state: Literal["waiting", "proposed", "twin", "rejected_twin", "nothing", "quarantined"]
    """Whether it waits, became a memory, or why not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One line of a guideline."""

    memory_ids: tuple[str, ...]
    """The memories it cites, the one that is quoted first; the nil UUID for a private one."""
    text: str
    """
    The line as it was shown, with all lines of a block; `- (a private memory)` where the key may
    not read all it cites.
    """


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
    contradicts: tuple[str, ...]
    """The memories that it speaks against; the nil UUID for a private one."""
    credited: int
    """How many outcomes moved what is believed of it until now."""
    effective_weight: float
    """
    Its weight for no agent in particular, aged to the time of reading: where it started, and
    what it has earned since.
    """
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
    start_weight: float
    """Where it started: the claim of who wrote it, nothing that it earned."""
    status: Literal[
        "proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"
    ]
    """Where it stands between being proposed and being retired."""
    status_reason: str | None
    """Why it has its status, in words or by a code; null where none was given."""
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
    """The process answers; nothing else was looked at."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LlmCall:
    """One attempt to have a question answered by a language model, without secrets."""

    agent: str | None
    """The agent whose words its prompt carries."""
    answer: str
    """What came back; empty where the prompt is."""
    attempt: int
    """Which attempt at the same question this is, from 1."""
    detail: str | None
    """The fault in words; `implausible_tokens: …` where the provider's count was not believed."""
    duration_ms: float
    """How long it took, in milliseconds."""
    erased_at: datetime | None
    """When its words were erased."""
    fault: str | None
    """Why the answer was not used, or nothing was sent."""
    id: str
    """Names the call for ever; later calls have larger ids."""
    key_id: str | None
    """The key that caused it; null for what a job asked."""
    memory_id: str | None
    """The candidate that resulted; the nil UUID for a private one."""
    memory_ids: tuple[str, ...]
    """The memories that its prompt tells of; the nil UUID for a private one."""
    model: str
    """The model, as its provider calls it; where there is none of the chosen name, that name."""
    private: bool
    """Whether the prompt carries text that one agent alone may see."""
    prompt: str
    """What was sent; empty where it was erased, not sent, or `private` and not for this key."""
    recorded_at: datetime
    """When it was made."""
    retrieval_id: str | None
    """The receipt whose guideline it was to compile."""
    role: Literal[
        "compile", "reflect", "summarise", "distil", "search", "revise", "repair", "judge"
    ]
    """
    What it was asked for: `search` and `compile` by a retrieval, `summarise`, `repair`,
    `revise`, `reflect`, `distil` and `judge` by jobs.
    """
    status: Literal["done", "failed", "stopped"]
    """
    `stopped`: a daily limit of tokens or money was reached, or the server does not have the
    model that was chosen, so nothing was sent.
    """
    task_id: str | None
    """The task that its prompt tells of."""
    ticket_id: str | None
    """The ticket under which the candidate is tried."""
    tokens: int
    """
    What it cost, as the provider counts, but at most four times what its words suggest; else
    what was set aside.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class LlmPause:
    """That a language model is left alone for a while by one process: questions fail at once."""

    reason: str
    """The last fault before it."""
    seconds: float
    """For how long still."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Me:
    """
    What the key of this request is.

    Differs from `Key`: it answers whose key this is, not when it was made and used.
    """

    agents: tuple[str, ...] | None
    """The agents it speaks for; null where it is bound to none and speaks for any."""
    expires_at: datetime | None
    """From then on it opens nothing; null where it does not end by itself."""
    key_id: str
    """Names the key."""
    name: str
    """Its name among people."""
    namespace: str | None
    """Slug of the one namespace that it reaches; null for an operator's, which reaches all."""
    role: Literal["agent", "evaluator", "reader", "admin", "operator"]
    """What the key is for."""
    verifies: Literal["human", "test", "judge", "self"]
    """The highest verifier that it may claim for a result: self < judge < test < human."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Memory:
    """A memory of any kind as it stands."""

    agent: str
    """Who brought it."""
    bank_version: int
    """The version of the bank in which it was last changed."""
    category: str
    """The kind of task it was learned on."""
    contradicts: tuple[str, ...]
    """The memories that it speaks against; the nil UUID for a private one."""
    effective_weight: float
    """
    Its weight for no agent in particular, aged to the time of reading: where it started, and
    what it has earned since.
    """
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
    start_weight: float
    """Where it started: the claim of who wrote it, nothing that it earned."""
    status: Literal[
        "proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"
    ]
    """Where it stands between being proposed and being retired."""
    status_reason: str | None
    """Why it has its status, in words or by a code; null where none was given."""
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
    """Why it has its status, in words or by a code; null where none was given."""
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
    """Who learned it."""
    category: str
    """Where it was learned."""
    cited: bool
    """Whether the guideline says it, so that it can be credited."""
    directives: Directives
    """What the compiler does by itself; what is left out changes nothing."""
    effective_weight: float
    """What learning has made of it for this agent; 1 is neutral."""
    failure_reason: str
    """How using memory went wrong."""
    instruction: str
    """How to use it instead."""
    learned_at: datetime
    """When it was learned."""
    memory_id: str
    """Which memory; the nil UUID for a private one that the key may not read."""
    ranking_weight: float
    """The weight by which it was ordered."""
    relevance: float
    """Similarity, or what the reranker or the category makes of it."""
    score: float
    """Effective weight times relevance."""
    similarity: float
    """Cosine to the task, from 0 to 1."""
    subcategory: str | None
    """The second level of that category."""
    version: int
    """The version of its text that was served."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelInUse:
    """A language model of the server, as one namespace sees it."""

    model: str
    """The model, as its provider calls it."""
    name: str
    """
    What the server calls it, as `llm_models` of a namespace names it; `default` is asked for
    whatever nothing else is chosen for.
    """
    pause: LlmPause | None
    """
    Where the provider asked for a pause or failed three times in a row, and the process that
    answers leaves it alone; null where it would be asked.
    """
    price_known: bool
    """
    Whether its price is known; where it is not, a daily cost limit stops every question to it
    (`price_unknown`), for nothing could hold it.
    """
    roles: tuple[
        Literal["compile", "reflect", "summarise", "distil", "search", "revise", "repair", "judge"],
        ...,
    ]
    """What it is asked for in this namespace."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MovedMemory:
    """A memory of others that a party moved, in weight."""

    alone: bool
    """Whether no other party moved it the same way."""
    clipped: float
    """What does not."""
    counted: float
    """What of that counts for everybody."""
    effect: float
    """How far the party's word alone moved it."""
    memory_id: str
    """Names the memory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NamespaceSettings:
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
class OngoingTrial:
    """
    A trial that goes on: since when, until when, and for how many more outcomes without the
    memory.
    """

    asked_at: datetime
    """Since when it is left out every other time."""
    outcomes_left: int
    """After so many more outcomes without the memory it ends sooner."""
    until: datetime
    """When the trial ends by itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """The result of an attempt, as stored."""

    applied_at: datetime | None
    """When it was applied or set aside; null while it waits."""
    bank_version: int | None
    """The version of the bank that it made; null where it moved nothing."""
    evaluator: str
    """Who judged the run."""
    evidence: Literal["paired", "control", "single", "none"]
    """What kind of comparison it offers."""
    exposure: tuple[Exposure, ...] | None
    """
    How far each memory could have acted, decided when the outcome was applied; null where it was
    not, or no longer is, and under a policy to which that is nothing.
    """
    harmful: tuple[str, ...]
    """Served memories that were called harmful; the nil UUID for a private one."""
    helpful: tuple[str, ...]
    """Served memories that were called helpful; the nil UUID for a private one."""
    id: str
    """Names the outcome for ever."""
    known_at: datetime
    """When it became known; outcomes are applied in this order."""
    metric: str
    """What the rewards were computed by."""
    muted: tuple[str, ...]
    """Memories it does not count for: erased, or its key had reached the daily limit for them."""
    partner_id: str | None
    """The outcome of the run that makes a pair with this one."""
    raw: Mapping[str, object]
    """The numbers as they were reported."""
    reason: str | None
    """Why it was ignored or moves nothing."""
    recorded_at: datetime
    """When the server took it in."""
    retrieval_id: str
    """The receipt it is for."""
    reward: float
    """The reward of the run as it was acted, 0 to 1."""
    reward_full: float
    """The reward had memory been followed wholly."""
    reward_kind: Literal["continuous", "binary"]
    """Whether a reward is a degree, or 0 or 1."""
    reward_without: float | None
    """The reward of the same run without memory, where one is known."""
    set_aside_at: datetime | None
    """When it was found that it cannot be applied, `reason` says why; null where it can."""
    status: Literal["accepted", "applied", "ignored", "superseded"]
    """Whether it waits, was applied, was ignored, or was taken out of effect."""
    supersedes: str | None
    """The outcome whose place it took."""
    used: tuple[str, ...] | None
    """
    Served memories that the agent acted on, as the report says; null where it does not; the nil
    UUID for a private one.
    """
    verifier: Literal["human", "test", "judge", "self"]
    """What the judgement rests on."""
    withdrawn_version: int | None
    """The version of the bank in which what it had moved was withdrawn."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeCoverage:
    """How many receipts of the last 30 days have an outcome."""

    answered: int
    """Those of them with an outcome in effect, their own or that of their pair."""
    noted: int
    """Those of which something was reported that moves nothing."""
    receipts: int
    """Receipts of the last 30 days, replays aside."""
    share: float | None
    """Answered over receipts; null without receipts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeWarning:
    """What a reporter should know of an outcome that was taken and does not do what it seems to."""

    code: str
    """The reason for which it moves nothing, or what of it does not count."""
    detail: str
    """The same in words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PartyInfluence:
    """How far one party has moved a memory by its own word, and how far that counts for others."""

    agents: tuple[str, ...] | None
    """The agents that this key speaks for; null where it is bound to none."""
    clipped: float
    """What does not, in weight: one party counts within a bound of .2."""
    counted: float
    """What of it counts for everybody, in weight."""
    effect: float
    """Its net effect, in weight; the party itself feels it whole."""
    party: str
    """The first key of the party: keys that may speak for the same agent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PastError:
    """
    What went wrong when the same agent tried a task like this one, shown beside the notes. It is
    no memory: nothing is credited to it.
    """

    known_at: datetime
    """When that was known."""
    outcome_id: str
    """The outcome that says so."""
    retrieval_id: str
    """The receipt of the run that failed."""
    reward: float
    """The reward it brought."""
    said_by: Literal["reporter", "run"]
    """Whose words they are: those of the outcome's lesson, or what its run shows plainly."""
    shown: bool
    """
    Whether the guideline says it: it may take a third of the budget and no place of the
    strongest note; memories as data have no guideline.
    """
    similarity: float
    """Cosine of that task's text to this one's."""
    task_id: str
    """The task that was tried."""
    text: str | None
    """
    What the guideline says of it; null once its words were erased, or where they may repeat a
    private memory that the key may not read.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class PastWeight:
    """A memory's weight at a moment, for no agent in particular."""

    effective_weight: float
    """What it had earned by then, from .1 to 2; 1 is neutral."""
    memory_id: str
    """Names the memory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlaceEffect:
    """
    What keeping a memory among what is served added to the reward, against leaving it out.

    `effect` and what belongs to it are null until there are ten outcomes on either side and enough
    overlap.
    """

    effect: float | None
    """Mean reward above the baseline where it was kept, less that where it was left out."""
    high: float | None
    """Upper end of the 95 % interval."""
    information: float
    """The sum of p (1 - p) over the outcomes, halved in 90 days; an effect is told from 5."""
    kept: int
    """Outcomes of retrievals in which its coin kept it."""
    kept_missing: int
    """Retrievals that kept it and have no outcome that counts."""
    left_out: int
    """Outcomes of retrievals in which its coin left it out."""
    left_out_missing: int
    """Retrievals that left it out and have no outcome that counts."""
    low: float | None
    """Lower end of the 95 % interval."""
    standard_error: float | None
    """Standard error of the effect; null below two units."""
    unit: Literal["date", "group"]
    """Whether the units are feedback dates or groups of tasks."""
    units: int
    """What the error is made of: so many feedback dates, or groups of tasks below ten dates."""
    vacant: int
    """Of the outcomes that left it out, those in which nothing took its place."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PredictionScore:
    """What a settlement made of a prediction."""

    baseline_brier: float | None
    """The same of the forecast without the guideline."""
    brier: float | None
    """The mean of (p - y)² over the outcomes that are not void; smaller is better."""
    outcome_id: str | None
    """The outcome of the receipt that it became."""
    reason: str | None
    """
    Why it is ignored: `void` (no outcome is left), `late` (no revision was in time) or
    `outcomes_missing` (an outcome that it names was not resolved).
    """
    revision: int | None
    """The revision that counts; null where none was in time."""
    settlement_id: str
    """The settlement."""
    skill: float | None
    """The crowd's Brier score less this one; positive is better than the crowd."""
    status: Literal["scored", "ignored"]
    """Whether there was anything to score."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Query:
    """One angle of search."""

    target: Literal["situation", "lesson"]
    """Which text of a memory it is compared with."""
    text: str
    """What to look for."""


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
        "look_alike",
        "probation",
        "author_share",
        "left_out",
        "beyond_k",
    ]
    """What it would do with the candidate."""
    knowledge_age: float
    """The factor for the age of the knowledge in it."""
    order_score: float
    """What it sorts by."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ready(HasReadiness):
    """Ready when every check is that requests depend on."""

    checks: Mapping[str, Check]
    """What was looked at, by name."""
    degraded: tuple[str, ...]
    """
    What does not go on beside the requests: `no leader`, `jobs fail`, `language model away`,
    `daily cost limit reached`: that of all namespaces together, until 00:00 UTC; `namespaces of
    another model`, which are refused alone; `newer schema`: a newer release has migrated the
    database, and this process is to be replaced.
    """
    status: Literal["ready", "not_ready"]
    """Whether requests are served."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RememberedWarning:
    """What the writer of a memory is to know of it, though it was stored."""

    code: str
    """`unknown_script` or `says_nothing`."""
    detail: str
    """The same in a sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrievalFilter:
    """
    Which memories may be served: those that match every part that is given; one that is null is
    not given. A name that nobody has matches nothing.
    """

    authors: tuple[str, ...] | None
    """One of these agents learned it; `memlift-contrast` distilled constraints of pairs."""
    category: str | None
    """The category that it was learned in."""
    kinds: tuple[Literal["experience", "constraint", "meta_guideline"], ...] | None
    """It is of one of these kinds. Meta-guidelines heed this part alone."""
    subcategory: str | None
    """The second level of it."""
    tags: tuple[str, ...] | None
    """It has one of these, in `tags` of its metadata."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Revision:
    """A prediction as it stood from `known_at` on."""

    answers: Mapping[str, Mapping[str, float]] | None
    """One forecast for each ranker, where the receipt has `all_rankers`."""
    baseline_probabilities: Mapping[str, float] | None
    """The same agent's without the guideline."""
    full_probabilities: Mapping[str, float] | None
    """The agent's had memory been followed wholly."""
    known_at: datetime
    """From when on it stood."""
    probabilities: Mapping[str, float]
    """By name of outcome, as the agent acts on them."""
    rationale: str | None
    """Why, in the agent's words."""
    recorded_at: datetime
    """When the server took it in."""
    retrieval_id: str | None
    """The receipt that the agent was advised by."""
    revision: int
    """Which one it is, counted from 1."""
    used: tuple[str, ...] | None
    """
    Memories of the receipt that the agent acted on; empty where it acted on none, null or left
    out where nothing is known of it; the nil UUID for a private one.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class RollbackRecord:
    """
    A rollback on record: whose word was withdrawn, how much of it there was, whether it was
    undone.
    """

    agent: str | None
    """Name of the agent whose word was withdrawn."""
    bank_version: int
    """The version of the bank after it."""
    can_undo: bool
    """Whether it is the newest that stands: only that one can be undone."""
    claims: Literal["too_high"] | None
    """`too_high` where only outcomes went that claimed too much."""
    id: str
    """Names the rollback."""
    key_id: str | None
    """Names the key whose word was withdrawn."""
    memories: int
    """How many memories retired."""
    outcomes: int
    """How many outcomes were withdrawn."""
    recorded_at: datetime
    """When it was done."""
    recorded_by: str | None
    """The key that did it."""
    since: datetime | None
    """Only what was recorded at this time or later."""
    trajectories: int
    """How many runs lost their verdict."""
    undone_at: datetime | None
    """When it was undone; null where it stands."""
    undone_by: str | None
    """The key that undid it."""
    until: datetime | None
    """Only what was recorded before this time."""
    weakened: int
    """How many constraints lost support."""


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
class Search:
    """What was searched for. A memory's similarity is that to the query nearest to it."""

    by: Literal["task", "caller", "model"]
    """Whose queries they were."""
    cached: bool
    """Whether they were written for an earlier retrieval about the same text."""
    filter: RetrievalFilter | None
    """Which memories might be served, where the caller narrowed that."""
    ordered_by: tuple[Literal["relevance", "word_pieces", "raw_terms"], ...]
    """What a memory's place went by, beside its weight."""
    queries: tuple[Query, ...]
    """Those of a model, beside the task's text; empty once their words were erased."""
    reason: str | None
    """Why no model's queries were searched for: a word, or the fault of the model."""
    rerank: Literal["none", "fused"]
    """Whether words that memories share with the task ordered them too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sent:
    """What came of one try."""

    delivered: bool
    """Whether it was answered with a status from 200 to 299."""
    fault: str | None
    """Why there was none."""
    status: int | None
    """The HTTP status of the answer; null where there was none."""


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
    fused: float | None
    """
    What it was ordered by with the words that it shares with the task, in the place of its
    relevance; null where `rerank` was none.
    """
    identifiers: tuple[str, ...]
    """Names of the task by which it was found, whatever its cosine; it holds them too."""
    learned_at: datetime
    """When it was learned."""
    lesson: str
    """What to do then."""
    memory_id: str
    """Which memory."""
    metadata: Mapping[str, object]
    """What its author attached."""
    propensity: float
    """The probability it had of being selected, given what stands before it."""
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
class SettlementScore:
    """The score of one prediction: whose, and for which window."""

    agent: str
    """Whose it is."""
    baseline_brier: float | None
    """The same of the forecast without the guideline."""
    brier: float | None
    """The mean of (p - y)² over the outcomes that are not void; smaller is better."""
    outcome_id: str | None
    """The outcome of the receipt that it became."""
    prediction_id: str
    """The prediction."""
    reason: str | None
    """
    Why it is ignored: `void` (no outcome is left), `late` (no revision was in time) or
    `outcomes_missing` (an outcome that it names was not resolved).
    """
    revision: int | None
    """The revision that counts; null where none was in time."""
    settlement_id: str
    """The settlement."""
    skill: float | None
    """The crowd's Brier score less this one; positive is better than the crowd."""
    status: Literal["scored", "ignored"]
    """Whether there was anything to score."""
    task_key: str
    """The window: its task's key, or its id where it has none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """
    One step of a run: something said, thought or seen, or a call of a tool. A call and its
    answer may be one step or two: `tool` with `arguments`, then `tool` with `result` or `error`.
    """

    arguments: Mapping[str, object] | None = None
    """What the tool is called with: a JSON object, at most 20,000 bytes and 6 levels."""
    error: str | None = None
    """What the tool failed with, in its own words."""
    kind: str | None = None
    """In the caller's words: thought, action, observation, …"""
    result: str | None = None
    """What the tool answered."""
    role: Literal["system", "user", "assistant", "tool"] | None = None
    """Whose step it is; who calls a tool is `assistant`, or `user` for a call by the user."""
    text: str | None = None
    """What was thought, said, done or seen; a call of a tool needs none."""
    tool: str | None = None
    """The tool that is called, or that answers."""


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
    """A kind of task on the second level."""

    description: str
    """What it is, in a line; tasks are compared with this and the name."""
    name: str
    """How it is known within its category."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Support:
    """One piece of support: a contrast of two runs, or its author's word (no contrast)."""

    contrast_id: str | None
    """The pair of runs; null for its author's word."""
    counts: bool
    """Whether it counts: a test or more stands behind both runs, and not one party alone."""
    id: str
    """Names the piece for ever."""
    known_at: datetime
    """When it was known."""
    pair_class: Literal["discordant", "both_right", "both_wrong", "unknown"] | None
    """What kind of pair it is."""
    preferred_agent: str | None
    """Who made the better run, or whose word it is."""
    preferred_family: str | None
    """The better agent's family of models, as declared when the pair was made."""
    preferred_size: str | None
    """How large the better agent was declared."""
    recorded_at: datetime
    """When it was stored."""
    task_id: str
    """The task it comes from."""
    unpreferred_agent: str | None
    """Who made the worse run."""
    unpreferred_family: str | None
    """The worse agent's family of models, as declared when the pair was made."""
    unpreferred_size: str | None
    """How large the worse agent was declared."""
    verifier: str
    """The weaker of those who vouch for the two runs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SupportCounts:
    """The support of a constraint, in numbers."""

    agent_pairs: int
    """Distinct pairs of different agents of what counts."""
    agnostic_score: float
    """1 - 1 / (1 + families), in [0, 1): how little it depends on who ran it."""
    contrasts: int
    """All pieces of support, whether they count or not."""
    families: int
    """Distinct families of models of what counts."""
    keys: int
    """Distinct keys behind what counts."""
    parties: int
    """Distinct parties whose runs count: a key, with those that may speak for the same agent."""
    tasks: int
    """Distinct tasks of what counts."""


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
class TimetableEntry:
    """A job of the timetable. Differs from `Job`: what it does is the server's."""

    description: str
    """What it does, in a sentence."""
    every_seconds: float
    """How often it runs."""
    name: str
    """Its name in paths."""


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
class Trajectory:
    """A run with its words; they are gone where it was erased."""

    agent: str
    """Who ran."""
    category: str
    """The task's category."""
    cost: float | None
    """What it took, in the caller's unit."""
    erased_at: datetime | None
    """When its words were erased."""
    family: str | None
    """The agent's family of models."""
    id: str
    """Names the run for ever."""
    known_at: datetime
    """When the run was known."""
    n_steps: int
    """How many steps the run has."""
    rationale: str | None
    """Why, in the agent's own words."""
    recorded_at: datetime
    """When it was stored."""
    refused: str | None
    """Why it is compared with no other run of its task: what it is about is something else."""
    result: str | None
    """What it came to."""
    retrieval_id: str | None
    """The receipt behind which it stands."""
    reward: float | None
    """How well it went, in [0, 1]."""
    right: bool | None
    """Whether it succeeded; null where nobody vouches for it."""
    size_class: str | None
    """How large the agent is."""
    steps: tuple[Step, ...]
    """What was thought, done and seen, in order."""
    subcategory: str | None
    """The task's second level, if it has one."""
    task_id: str
    """The task that was run."""
    task_key: str | None
    """The caller's own id of the task."""
    task_variant: str | None
    """Which version of the task was run."""
    verifier: Literal["human", "test", "judge", "self", "none"]
    """Who vouches for the reward."""
    withdrawn_at: datetime | None
    """When a rollback took its verdict back; from then on it proves nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrajectorySummary:
    """A run as a list shows it, without its words."""

    agent: str
    """Who ran."""
    category: str
    """The task's category."""
    cost: float | None
    """What it took, in the caller's unit."""
    erased_at: datetime | None
    """When its words were erased."""
    family: str | None
    """The agent's family of models."""
    id: str
    """Names the run for ever."""
    known_at: datetime
    """When the run was known."""
    n_steps: int
    """How many steps the run has."""
    recorded_at: datetime
    """When it was stored."""
    retrieval_id: str | None
    """The receipt behind which it stands."""
    reward: float | None
    """How well it went, in [0, 1]."""
    right: bool | None
    """Whether it succeeded; null where nobody vouches for it."""
    size_class: str | None
    """How large the agent is."""
    subcategory: str | None
    """The task's second level, if it has one."""
    task_id: str
    """The task that was run."""
    task_key: str | None
    """The caller's own id of the task."""
    task_variant: str | None
    """Which version of the task was run."""
    verifier: Literal["human", "test", "judge", "self", "none"]
    """Who vouches for the reward."""
    withdrawn_at: datetime | None
    """When a rollback took its verdict back; from then on it proves nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrialSlot:
    """A run that is asked for, and its reward once it is there."""

    agent: str | None
    """Who ran it."""
    purpose: Literal["source", "other", "anchor"]
    """What it is to show, such as whether the lesson helps its own task or harms another."""
    reference: float | None
    """The reward without the candidate; null where the trial brings its own, as `without`."""
    reported_at: datetime | None
    """When it was reported."""
    reward: float | None
    """The reward with the candidate, once it was reported."""
    reward_without: float | None
    """The reward without it that the trial brought along."""
    self_verified: bool | None
    """Whether the author of the candidate ran it."""
    slot: int
    """Which trial of its ticket, counted from 0."""
    task: str
    """The text of the task."""
    task_id: str
    """The task to run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TriedApart:
    """Whether a memory is being tried apart."""

    trial: OngoingTrial | None
    """The trial that goes on; null where none does."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UnknownModel:
    """A choice of the namespace that the server cannot follow: nothing is asked in this role."""

    name: str
    """The name that no model of the server has."""
    role: Literal[
        "compile", "reflect", "summarise", "distil", "search", "revise", "repair", "judge"
    ]
    """What it was to be asked for."""


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
class Webhook:
    """An address that hears of some events."""

    created_at: datetime
    """When it was made."""
    disabled_at: datetime | None
    """Since when nothing is sent there; null where it hears of events."""
    disabled_reason: Literal["failures", "gone"] | None
    """`failures`: five deliveries in a row failed; `gone`: it answered 410."""
    failures: int
    """Deliveries in a row that failed after all their tries."""
    id: str
    """Names the webhook."""
    key_id: str | None
    """The key that made it."""
    kinds: tuple[
        Literal[
            "job.failed",
            "job.quarantined",
            "cell.suspended",
            "key.muted",
            "ticket.open",
            "memory.quarantined",
            "outcome.set_aside",
        ],
        ...,
    ]
    """Which events it hears of."""
    url: str
    """Where events are posted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookCreated:
    """A webhook with its secret, which is shown this once."""

    created_at: datetime
    """When it was made."""
    disabled_at: datetime | None
    """Since when nothing is sent there; null where it hears of events."""
    disabled_reason: Literal["failures", "gone"] | None
    """`failures`: five deliveries in a row failed; `gone`: it answered 410."""
    failures: int
    """Deliveries in a row that failed after all their tries."""
    id: str
    """Names the webhook."""
    key_id: str | None
    """The key that made it."""
    kinds: tuple[
        Literal[
            "job.failed",
            "job.quarantined",
            "cell.suspended",
            "key.muted",
            "ticket.open",
            "memory.quarantined",
            "outcome.set_aside",
        ],
        ...,
    ]
    """Which events it hears of."""
    secret: str
    """What deliveries are signed with."""
    url: str
    """Where events are posted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookDelivery:
    """One event on its way to one address; its id is the header `webhook-id`."""

    attempts: int
    """How often it was tried."""
    data: Mapping[str, object]
    """Ids and codes; no texts."""
    fault: str | None
    """Why the last try failed without one."""
    finished_at: datetime | None
    """When it arrived or failed for good."""
    id: str
    """Names the delivery; the same at every try."""
    kind: Literal[
        "job.failed",
        "job.quarantined",
        "cell.suspended",
        "key.muted",
        "ticket.open",
        "memory.quarantined",
        "outcome.set_aside",
        "webhook.test",
    ]
    """What happened."""
    next_at: datetime | None
    """When it is tried next."""
    recorded_at: datetime
    """When it happened."""
    state: Literal["waiting", "delivered", "failed"]
    """Whether it arrived, failed for good, or waits for the next try."""
    status: int | None
    """The HTTP status of the last answer."""


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
    """Reports that named it harmful, by those whose word is not bounded."""
    helpful: int
    """Reports that named it helpful, by those whose word is not bounded."""
    influences: tuple[PartyInfluence, ...]
    """Who moved it, the party of the largest effect first; evaluators and admins are in none."""
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
    """
    One entry of the ledger: what moved a memory's belief, an agent's deviation from it or a
    party's influence on it.
    """

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
    party: str | None
    """The first key of the party whose influence moved."""
    policy: Literal["belief", "paper", "paper-strict", "steps", "delta"]
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
    subject: Literal["memory", "deviation", "influence"]
    """
    Whether the memory's own state moved, an agent's deviation from it, or how far one party
    alone has moved it: its net effect and what of that counts, in added reward.
    """
    superseded_by: int | None
    """The version of the bank in which a correction took it back."""
    weight_after: float | None
    """Effective weight after, of a memory's own state only."""
    weight_before: float | None
    """Effective weight before, of a memory's own state only."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WeightMoves:
    """Of the living memories that the caller may see, how many a change moves."""

    below_floor: int
    """How many fall below the score floor, so that no task is near enough for them."""
    falling: int
    """How many weigh less."""
    floor: FloorChange
    """The score floor."""
    returning: int
    """How many were below the score floor, and are not any more."""
    rising: int
    """How many weigh more."""


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
class Worth:
    """
    What serving one memory added, against what took its place: what suspending it would cost.

    An audit beside the belief, whose question is what the memory adds against an empty place. It
    moves, ranks and retires nothing.
    """

    believed: BelievedEffect | None
    """What its belief says; null under a policy that does not say how sure it is."""
    came_up: int
    """The newest retrievals with memory in which it was served or left out; 1,000 at most."""
    companions: tuple[Companion, ...]
    """
    Memories that it cannot be told apart from by what was served, the closest first; at most
    eight, and none once an effect is told.
    """
    memory_id: str
    """Names the memory."""
    place: PlaceEffect
    """The comparison, over the text as it stands now."""
    served: int
    """Those of them that served it."""
    summary: str
    """The same in sentences, with the numbers that it rests on."""
    verdict: Literal["unknown", "helps", "harms", "no_difference"]
    """What can be said of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorthByWeight:
    """What serving memories of one class of weight added, against what took their places."""

    below: float | None
    """The weights of the class are less than this; null for the class up to the upper bound."""
    lowest: float
    """The least effective weight of the class, as it was at the retrieval."""
    memories: int
    """Memories that had a coin at such a weight."""
    place: PlaceEffect
    """The comparison."""
    summary: str
    """The same in a sentence."""
    verdict: Literal["unknown", "helps", "harms", "no_difference"]
    """What can be said of the class."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AddedConstraint:
    """The result of adding a constraint; `deduplicated`: it supports one that says the same."""

    bank_version: int
    """The version of the bank that has it."""
    contradicts: tuple[str, ...]
    """The memories, served to this key lately, that it speaks against."""
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
    warnings: tuple[RememberedWarning, ...]
    """What keeps it from being found or used as another would be."""


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
    """A category with its subcategories."""

    description: str
    """What it is, in a line; tasks are compared with this and the name."""
    name: str
    """How the category is known."""
    related: tuple[str, ...] = ()
    """Other categories of the taxonomy whose lessons may fit as well."""
    subcategories: tuple[Subcategory, ...] = ()
    """The kinds of task within it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckEvidence:
    """
    What recorded runs of a category say of a constraint: right and wrong runs of one task are
    compared, with what agents differ in anyway taken out.
    """

    against_itself: bool
    """Whether runs of one agent against itself are among them."""
    failing: int
    """On how many of them the failing run alone violates it."""
    families: int
    """Families of models among the runs that tell something."""
    halves: tuple[HalfOfTasks, ...]
    """The same by halves of the tasks; the sign has to hold in both."""
    name: str
    """The observable check, with the tool that it is about behind a colon where there is one."""
    p: float | None
    """The chance of as much where nothing is behind it; null: too few tasks to be tried."""
    q: float | None
    """
    The rate of false discoveries over all that was tried in the category; at most .1 is let in.

    """
    reason: str | None
    """Why it is not let in; null where the test lets it in."""
    tasks: int
    """Tasks with a right and a wrong run to which it applies."""
    winning: int
    """On how many the winning run alone violates it."""
    words: str
    """The evidence in a sentence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Considered:
    """
    A candidate, and whether it was served.

    An agent that acts reads what it was served and nothing else, or the comparison with those who
    went without would be spoilt: texts are for a preview alone.
    """

    agent: str
    """Who learned it."""
    category: str
    """The category it was learned in."""
    cited: bool
    """Whether the guideline says it."""
    contender: bool
    """Whether it would have a place if its coin kept it, given the coins before it."""
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
        "look_alike",
        "probation",
        "author_share",
        "left_out",
        "beyond_k",
    ]
    """What became of it."""
    fused: float | None
    """
    What it was ordered by with the words that it shares with the task, in the place of its
    relevance; null where `rerank` was none.
    """
    identifiers: tuple[str, ...]
    """Names of the task by which it was found, whatever its cosine; it holds them too."""
    inclusion: float | None
    """
    The probability with which a coin keeps it; null where no coin is tossed. A preview tosses
    none, and says with which probability an agent that acts would get it.
    """
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
    """The probability it had of being selected, given what stands before it."""
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
    """A constraint as it stands, with its support in numbers."""

    agent: str
    """Who says so."""
    avoid: str | None
    """What not to do."""
    bank_version: int
    """The version of the bank that changed it last."""
    category: str
    """Where it applies."""
    check: CheckEvidence | None
    """What recorded runs say of it; null where it was not tested on them."""
    effective_weight: float
    """What it counts for no agent in particular, aged to the time of reading."""
    enforce: str | None
    """What to do then."""
    evidence: int
    """How many pieces of evidence say the same."""
    id: str
    """Names the constraint for ever; it is a memory of that id as well."""
    learned_at: datetime
    """When it was learned."""
    lint: tuple[str, ...]
    """What its wording fails, where it was rejected."""
    metadata: Mapping[str, object]
    """Free JSON of its author's."""
    origin: Literal["distilled", "written", "checked"]
    """Whether a language model made it of a contrast, a check of runs, or a caller."""
    pinned: bool
    """Whether it is kept whatever it weighs."""
    recorded_at: datetime
    """When it was stored."""
    status: Literal[
        "proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"
    ]
    """Whether it is in use."""
    status_reason: str | None
    """Why it has this status."""
    subcategory: str | None
    """The second level, if it has one."""
    support: SupportCounts
    """Its support in numbers."""
    task_ids: tuple[str, ...]
    """The tasks it comes from."""
    trigger: str
    """The kind of situation, to be read after the word When; blank where it was erased."""
    trust: Literal["trusted", "unverified", "quarantined"]
    """Whether the source is believed."""
    version: int
    """Grows with each edit of its text."""
    visibility: Literal["agent", "namespace"]
    """Whether its author alone sees it, or every agent."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ConstraintServed:
    """
    A served constraint, and the numbers it was chosen by. Differs from `ServedConstraint`: it
    joins the content with the numbers of the receipt's item.
    """

    agent: str
    """who says so"""
    avoid: str | None
    """what not to do"""
    category: str
    """where it applies"""
    cited: bool
    """whether it stands in the guideline"""
    effective_weight: float
    """what it counts for the agent that asks"""
    enforce: str | None
    """what to do then"""
    evidence: str | None
    """what recorded runs say for it, if they were asked"""
    learned_at: datetime
    """when it was learned"""
    memory_id: str
    """names the constraint for ever"""
    origin: Literal["distilled", "written", "checked"]
    """whether a contrast, a check of runs or a caller gave it"""
    rank: int
    """its place among all that was served"""
    ranking_weight: float
    """the weight that the policy ranks by"""
    relevance: float
    """similarity by category and by who ran, in [0, 1]"""
    score: float
    """effective weight times relevance"""
    similarity: float
    """that of the nearest task it was learned from"""
    subcategory: str | None
    """the second level, if it has one"""
    support: SupportCounts
    """its support in numbers"""
    task_ids: tuple[str, ...]
    """the near tasks it comes from, the nearest first"""
    trigger: str
    """the kind of situation, to be read after the word When"""
    version: int
    """the version of its text that was served"""


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
    """How many memories the agent may see and the filter leaves."""
    routing: Routing
    """How the category was found."""
    shares: Mapping[str, float]
    """How far each ranker is believed (π)."""
    timings: Mapping[str, float]
    """Milliseconds by stage."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Guideline:
    """Advice compiled for one task; what was selected is cited by a line or named once in `cut`."""

    citations: Mapping[str, str]
    """Which memory each citation of the text names: `m1` stands for `[m1]`."""
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
    """Memories admitted for a thousand retrievals, by category; it rises when tasks drift."""
    evidence: Mapping[str, int]
    """Effective outcomes of the last 30 days by kind of evidence."""
    expired_receipts: int
    """Receipts that expired within the last 30 days without a report."""
    item_variance: ItemVariance
    """Whether weights carry a signal."""
    known_at: datetime
    """When it was counted, by the namespace's clock."""
    lone_parties: int
    """Parties that moved three or more memories of others alone, and further than counts."""
    pending_outcomes: WaitingByAge
    """Outcomes that wait to be applied."""
    pending_receipts: WaitingByAge
    """Receipts that have not expired and of which nothing was reported yet."""
    suspended_cells: int
    """Pairs of agent and category from which memory is withheld."""
    weights: WeightShares
    """How many weights stand at their bounds."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Namespace:
    """A namespace as it stands."""

    bank_version: int
    """Grows with each change of what is remembered; orders all that happens inside."""
    clock: Literal["wall", "replay"]
    """Whether facts are known when they come, or when their caller says."""
    created_at: datetime
    """When it was made."""
    deletion_requested_at: datetime | None
    """When its deletion was last asked for."""
    elsewhere: str | None
    """In lists: `arriving` from another deployment, or its new address once it has moved."""
    id: str
    """Names the namespace for ever."""
    learning: Literal["on", "frozen"]
    """Whether outcomes move anything."""
    newest_known_at: datetime | None
    """The latest time of an outcome that was applied."""
    policy: Literal["belief", "paper", "paper-strict", "steps", "delta"]
    """The rule by which it learns."""
    settings: NamespaceSettings
    """The settings in force."""
    slug: str
    """Its name in paths."""
    version: int
    """Grows with each change of the settings; the ETag."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeBound:
    """The result of a report by key, for one of the receipts that it was bound to."""

    agent: str
    """Whose run it was."""
    evidence: str
    """What kind of comparison it offers."""
    outcome_id: str
    """Names the outcome."""
    reason: str | None
    """Why it was ignored or moves nothing."""
    retrieval_id: str
    """The receipt."""
    run_id: str | None
    """
    The trajectory that is kept of its `run`; null where it brought none, or the task was
    erased.
    """
    status: Literal["accepted", "applied", "ignored", "superseded"]
    """Whether it waits, was applied, or was ignored."""
    warnings: tuple[OutcomeWarning, ...]
    """Why it moves nothing, or for what it does not count; empty where it counts for all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class OutcomeTaken:
    """
    The result of a report. Differs from `Outcome`: its progress is read at
    `/outcomes/{outcome_id}`.
    """

    evidence: str
    """What kind of comparison it offers."""
    outcome_id: str
    """Names the outcome."""
    reason: str | None
    """Why it was ignored or moves nothing."""
    run_id: str | None
    """
    The trajectory that is kept of its `run`; null where it brought none, or the task was
    erased.
    """
    status: Literal["accepted", "applied", "ignored", "superseded"]
    """Whether it waits, was applied, or was ignored."""
    warnings: tuple[OutcomeWarning, ...]
    """Why it moves nothing, or for what it does not count; empty where it counts for all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """
    A prediction as its newest revision has it, and its score once its window is settled. Differs
    from `RevisedPrediction`: of the revisions it has the newest alone.
    """

    agent: str
    """Who predicts."""
    baseline_probabilities: Mapping[str, float] | None
    """What the same agent would say without the guideline."""
    closes_at: datetime | None
    """From then on no revision counts."""
    event: str
    """The event that the window belongs to."""
    id: str
    """Names the prediction."""
    known_at: datetime
    """When it was known."""
    probabilities: Mapping[str, float]
    """By name of outcome, each from 0 to 1, as the agent acts on them."""
    rationale: str | None
    """Why, in the agent's words."""
    recorded_at: datetime
    """When it came, by the server's clock."""
    retrieval_id: str | None
    """The receipt that it was made under."""
    revision: int
    """Which revision this is, counted from 1."""
    score: PredictionScore | None
    """How good it was; null until it is settled."""
    state: Literal["pending", "settled", "late"]
    """Whether it waits, was settled, or came too late."""
    task_id: str
    """The window that it is about."""
    task_key: str | None
    """The caller's key of the window."""
    used: tuple[str, ...] | None
    """Memories of the receipt that the agent acted on; null where nothing is known of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PredictionHistory:
    """A prediction with every revision, oldest first."""

    agent: str
    """Who predicts."""
    baseline_probabilities: Mapping[str, float] | None
    """What the same agent would say without the guideline."""
    closes_at: datetime | None
    """From then on no revision counts."""
    event: str
    """The event that the window belongs to."""
    id: str
    """Names the prediction."""
    known_at: datetime
    """When it was known."""
    probabilities: Mapping[str, float]
    """By name of outcome, each from 0 to 1, as the agent acts on them."""
    rationale: str | None
    """Why, in the agent's words."""
    recorded_at: datetime
    """When it came, by the server's clock."""
    retrieval_id: str | None
    """The receipt that it was made under."""
    revision: int
    """Which revision this is, counted from 1."""
    revisions: tuple[Revision, ...]
    """What was forecast, the oldest first."""
    score: PredictionScore | None
    """How good it was; null until it is settled."""
    state: Literal["pending", "settled", "late"]
    """Whether it waits, was settled, or came too late."""
    task_id: str
    """The window that it is about."""
    task_key: str | None
    """The caller's key of the window."""
    used: tuple[str, ...] | None
    """Memories of the receipt that the agent acted on; null where nothing is known of it."""


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
    format: Literal["brief", "full", "memories"]
    """Whether prose or data was asked for."""
    formats: Mapping[str, str] | None
    """The guideline as it was served and in the other format of prose; null in lists."""
    gates: Gates
    """The floors in force."""
    guideline: Guideline
    """The advice, and what was left out of it."""
    items: tuple[Item, ...]
    """
    The memories that were selected, by rank, and behind them those that their coins left out;
    empty in lists.
    """
    k: int
    """The most experiences that were wanted."""
    key_id: str | None
    """The key that asked."""
    known_at: datetime
    """When it happened: the server's clock, or the stream's."""
    max_tokens: int
    """The budget of the guideline."""
    past_error: PastError | None
    """This agent's failure at a task like this, where that was asked and there is one."""
    policy: Literal["belief", "paper", "paper-strict", "steps", "delta"]
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
            "left_out",
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
    same_rankers: tuple[str, ...] | None
    """
    The rankers that would have served the same memories, by name, the one that ordered among
    them; null where none was drawn, and in receipts of earlier releases.
    """
    search: Search | None
    """What was searched for; null in receipts of earlier releases."""
    strength: float
    """How far memory was to be followed, from 0 to 1."""
    subcategory: str | None
    """The second level of it."""
    task_id: str | None
    """The task it was about; null for a preview."""
    timings: Timings
    """How long it took."""
    trace_id: str | None
    """The caller's own id of the trace that the run belongs to."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Remembered:
    """The result of adding a draft: a new memory, or one that already said the same."""

    bank_version: int
    """The version of the bank that has it."""
    contradicts: tuple[str, ...]
    """The memories, served to this key lately, that it speaks against."""
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
    warnings: tuple[RememberedWarning, ...]
    """What keeps it from being found or used as another would be."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Retrieval(HasReceipt):
    """
    A guideline with its receipt. With arm `control`, `forced_off`, `empty` or `suspended` the
    guideline is empty and `reason` says why; a preview has no receipt.

    Differs from `Receipt`: it has the content of what was served instead of the items.
    """

    agent: str
    """Who asked."""
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
    constraints: tuple[ConstraintServed, ...]
    """The served constraints."""
    eligible: bool
    """Whether anything passed the gates."""
    expires_at: datetime
    """From when on an outcome moves nothing."""
    gates: Gates
    """The floors in force."""
    guideline: Guideline
    """The advice, and what was left out of it."""
    memories: tuple[ServedMemory, ...]
    """The served experiences, with their texts."""
    meta_guideline: MetaGuidelineServed | None
    """The meta-guideline that the guideline was compiled by."""
    past_error: PastError | None
    """What went wrong when this agent tried a task like this one, where that was asked."""
    policy: Literal["belief", "paper", "paper-strict", "steps", "delta"]
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
            "left_out",
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
    retrieval_id: str | None
    """Names the retrieval; an outcome is reported under it."""
    search: Search
    """What was searched for; null in receipts of earlier releases."""
    strength: float
    """How far memory was to be followed, from 0 to 1."""
    subcategory: str | None
    """The second level of it."""
    task_id: str | None
    """The task it was about; null for a preview."""
    timings: Timings
    """How long it took."""
    explanation: Explanation | None = None
    """Every stage with its numbers, where it was asked."""
    sentences: Mapping[str, str] | None = None
    """Why each memory was served, where it was asked."""


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
    rollback_id: str | None
    """By which it can be undone; null where nothing was withdrawn."""
    trajectories: tuple[str, ...]
    """The runs whose verdicts are withdrawn."""
    weakened: tuple[str, ...]
    """The constraints that lose support; those that are proven no more wait again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RollbackUndone:
    """What the undoing of a rollback gave back."""

    bank_version: int
    """The version of the bank afterwards."""
    difference: BankDifference
    """What that changed in the bank."""
    left: tuple[str, ...]
    """Those that are left as they are: changed or erased since, or another says the same now."""
    outcomes: tuple[str, ...]
    """The outcomes that stand again; those that had not been applied wait for it."""
    restored: tuple[str, ...]
    """The memories that are as they were before the rollback."""
    rollback_id: str
    """The rollback that was undone."""
    supported: tuple[str, ...]
    """The constraints that got their support back."""
    trajectories: tuple[str, ...]
    """The runs whose verdicts stand again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Settlement:
    """A settlement with the scores of all predictions of its windows."""

    correction: int
    """How often its windows had been settled before."""
    corrects: str | None
    """The settlement whose place it took."""
    crowd: Mapping[str, float] | None
    """The crowd's probabilities, by name of outcome."""
    event: str
    """The event that it settles."""
    id: str
    """Names the settlement for ever."""
    known_at: datetime
    """When it became known."""
    recorded_at: datetime
    """When the server took it in."""
    resolutions: Mapping[str, str]
    """What each outcome came to, by its name."""
    scores: tuple[SettlementScore, ...]
    """The scores of the predictions of its windows."""
    superseded_by: str | None
    """The settlement that took its place."""
    warnings: tuple[OutcomeWarning, ...]
    """When it is settled: why outcomes that came of it move nothing, or less than they seem to."""
    windows: tuple[str, ...]
    """The windows that it resolves: keys of their tasks."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaxonomyVersion:
    """A version of the taxonomy; 0 is the shipped one, which names nothing until it is brought."""

    allow_new: bool
    """Whether categories are accepted that it does not name."""
    categories: tuple[Branch, ...]
    """The first level, each with its second."""
    recorded_at: datetime | None
    """From when on it is in force; null of the shipped one."""
    version: int
    """Grows with each change; the ETag."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Ticket:
    """A request to try a candidate before it is used, and the result."""

    author: str
    """The agent that the candidate is of."""
    category: str
    """The category of its source."""
    claims: int
    """How often it was claimed."""
    decided_at: datetime | None
    """When it had its end."""
    decision: str | None
    """The result for the candidate: `admitted`, `rejected` or `probation`."""
    evidence: str | None
    """On what the decision rests."""
    guideline: str
    """The guideline to run the trials with."""
    id: str
    """Names the ticket for ever."""
    known_at: datetime
    """When its source became known."""
    lease_until: datetime | None
    """Until when it is held."""
    leased_to: str | None
    """The agent that holds it."""
    memory_id: str
    """The candidate."""
    metric: str
    """What the rewards are computed by."""
    reason: str | None
    """Why."""
    recorded_at: datetime
    """When it was made."""
    reward_kind: str
    """Whether a reward is a degree (`continuous`), or 0 or 1 (`binary`)."""
    rule: Literal["gain", "wins"]
    """How its trials decide: by the gain they show or, of a changeset, by wins and losses."""
    state: Literal["open", "leased", "decided", "expired", "quarantined"]
    """Whether it waits, is leased, or has its end."""
    subcategory: str | None
    """The subcategory of its source."""
    trials: tuple[TrialSlot, ...]
    """The runs that are asked for."""
    version: int
    """The version of its text that is tried."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenBudget:
    """The tokens of one namespace and UTC day."""

    cost: float
    """What calls have cost in US dollars, as far as prices are known."""
    cost_limit: float | None
    """
    The daily cost limit in force, in US dollars: that of the namespace, at most the server's;
    null where there is none.
    """
    cost_reserved: float
    """US dollars that are set aside for calls under way, at most what they can cost."""
    day: date
    """The day, in UTC."""
    days: tuple[BudgetDay, ...]
    """What each of the newest 90 days took, the newest first; days without a call are left out."""
    left: int
    """What another call may take."""
    limit: int
    """
    The daily token limit in force: that of the namespace, at most the server's. 0: the model is
    never asked.
    """
    model: str | None
    """
    The language model that is asked wherever nothing else is chosen; null where none is
    configured.
    """
    models: tuple[ModelInUse, ...]
    """All that the server has, `default` first."""
    pause: LlmPause | None
    """
    Where the provider asked for a pause or failed three times in a row, and the process that
    answers leaves it alone; null where it would be asked.
    """
    price_known: bool
    """
    Whether the price of the model is known; where it is not, a daily cost limit stops every
    question (`price_unknown`), for nothing could hold it.
    """
    reserved: int
    """What is set aside for calls under way, or for calls whose process died."""
    server_cost: float | None
    """
    What they have cost today or have set aside; null where there is no such limit, and for any
    key but an operator's.
    """
    server_cost_limit: float | None
    """
    What calls of all namespaces together may cost in a UTC day, in US dollars; null where there
    is no such limit.
    """
    server_cost_reached: bool
    """
    Whether a question of any namespace was not asked today for that limit
    (`server_budget_exhausted`).
    """
    spent: int
    """What calls have cost."""
    stopped: int
    """How many questions were not asked, for want of tokens or money."""
    unknown_models: tuple[UnknownModel, ...]
    """What the namespace has chosen and the server does not have (any more): `model_unknown`."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WhatIfResult:
    """What the bank would be under the other policy."""

    difference: BankDifference
    """From the bank as it is to the bank as it would be."""
    foresight: Foresight
    """Whose weights told better beforehand how outcomes would be."""
    held_fixed: str
    """What another policy would have changed, and this cannot."""
    instead_of: str
    """The policy of the namespace."""
    moves: WeightMoves
    """How many living memories would rise, fall, or fall below the score floor."""
    outcomes: int
    """How many recorded outcomes were refolded."""
    policy: Literal["belief", "paper", "paper-strict", "steps", "delta"]
    """The policy that was tried."""


__all__ = [
    "AddedConstraint",
    "AddedTrajectory",
    "Agent",
    "AgentRecord",
    "Applied",
    "ArmMean",
    "AuditEntry",
    "BankChange",
    "BankDifference",
    "BelievedEffect",
    "Branch",
    "BudgetDay",
    "BulkItem",
    "Category",
    "Change",
    "ChangePage",
    "Changeset",
    "Check",
    "CheckEvidence",
    "Companion",
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
    "Exposure",
    "FloorChange",
    "Foresight",
    "Gates",
    "Guideline",
    "HalfOfTasks",
    "Item",
    "ItemVariance",
    "JobRun",
    "Key",
    "KeyCreated",
    "KeyInfluence",
    "LearningHealth",
    "LessonCandidate",
    "Line",
    "ListedMemory",
    "Live",
    "LlmCall",
    "LlmPause",
    "Me",
    "Memory",
    "MemoryChange",
    "MemoryVersion",
    "MetaGuideline",
    "MetaGuidelineServed",
    "ModelInUse",
    "MovedMemory",
    "Namespace",
    "NamespaceSettings",
    "NearCategory",
    "Neighbour",
    "OngoingTrial",
    "Outcome",
    "OutcomeBound",
    "OutcomeCoverage",
    "OutcomeTaken",
    "OutcomeWarning",
    "PartyInfluence",
    "PastError",
    "PastWeight",
    "PlaceEffect",
    "Prediction",
    "PredictionHistory",
    "PredictionScore",
    "Query",
    "RankerRecord",
    "RankerView",
    "Ready",
    "Receipt",
    "Remembered",
    "RememberedWarning",
    "Retrieval",
    "RetrievalFilter",
    "Revision",
    "RollbackRecord",
    "RollbackResult",
    "RollbackUndone",
    "Routing",
    "Search",
    "Sent",
    "ServedMemory",
    "Settlement",
    "SettlementScore",
    "Step",
    "StrengthChange",
    "Subcategory",
    "Support",
    "SupportCounts",
    "Task",
    "TaxonomyVersion",
    "Ticket",
    "TimetableEntry",
    "Timings",
    "TokenBudget",
    "Trajectory",
    "TrajectorySummary",
    "TrialSlot",
    "TriedApart",
    "UnknownModel",
    "WaitingByAge",
    "Webhook",
    "WebhookCreated",
    "WebhookDelivery",
    "Weight",
    "WeightChange",
    "WeightEvent",
    "WeightMoves",
    "WeightRow",
    "WeightShares",
    "WhatIfResult",
    "Worth",
    "WorthByWeight",
]
