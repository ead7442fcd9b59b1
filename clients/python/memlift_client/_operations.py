# Generated from docs/reference/openapi.json by `make client-models`; do not edit.
"""The operations of the contract, each as a call to be made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from memlift_client import _fields as f
from memlift_client import _models as m
from memlift_client._answers import BatchItem, Page, batch, nothing, one, page, rows
from memlift_client._wire import Call, call, part


def live() -> Call[m.Live]:
    """Asks nothing of the database or the model."""
    return call("GET", "/health/live", one(m.Live), scoped=False)


def ready() -> Call[m.Ready]:
    """Whether requests would be served, as of the last second, and what is missing. What exactly was found is told on loopback, and to a key that may inspect; what all namespaces have cost to an operator's alone."""
    return call("GET", "/health/ready", one(m.Ready), scoped=False, accepted=frozenset({503}))


def list_jobs() -> Call[tuple[m.TimetableEntry, ...]]:
    """The timetable."""
    return call("GET", "/v1/jobs", rows(m.TimetableEntry), scoped=False)


def list_keys(*, limit: int | None = None, cursor: str | None = None) -> Call[Page[m.Key]]:
    """The keys that the caller manages, without their tokens."""
    return call(
        "GET", "/v1/keys", page(m.Key), query={"limit": limit, "cursor": cursor}, scoped=False
    )


def create_key(
    *,
    name: str,
    role: Literal["agent", "evaluator", "reader", "admin", "operator"],
    agents: Sequence[str] | None = None,
    expires_at: datetime | None = None,
    namespace: str | None = None,
    verifies: Literal["human", "test", "judge", "self"] | None = None,
) -> Call[m.KeyCreated]:
    """Make a key; its token is shown this once."""
    return call(
        "POST",
        "/v1/keys",
        one(m.KeyCreated),
        body={
            "name": name,
            "role": role,
            "agents": agents,
            "expires_at": expires_at,
            "namespace": namespace,
            "verifies": verifies,
        },
        scoped=False,
    )


def revoke_key(key_id: str) -> Call[None]:
    """End a key; what it wrote stays."""
    return call("DELETE", f"/v1/keys/{part(key_id)}", nothing, scoped=False)


def me() -> Call[m.Me]:
    """The key of this request, and what it reaches."""
    return call("GET", "/v1/me", one(m.Me), scoped=False)


def list_namespaces(
    *, limit: int | None = None, cursor: str | None = None
) -> Call[Page[m.Namespace]]:
    """The namespaces that the key reaches."""
    return call(
        "GET",
        "/v1/namespaces",
        page(m.Namespace),
        query={"limit": limit, "cursor": cursor},
        scoped=False,
    )


def create_namespace(
    slug: str,
    *,
    clock: Literal["wall", "replay"] | None = None,
    learning: Literal["on", "frozen"] | None = None,
    policy: Literal["belief", "paper", "paper-strict", "steps", "delta"] | None = None,
    settings: f.NamespaceSettingsFields | None = None,
) -> Call[m.Namespace]:
    """Make a namespace: the boundary that no data crosses."""
    return call(
        "POST",
        "/v1/namespaces",
        one(m.Namespace),
        body={
            "slug": slug,
            "clock": clock,
            "learning": learning,
            "policy": policy,
            "settings": settings,
        },
        scoped=False,
    )


def get_namespace() -> Call[m.Namespace]:
    """A namespace and its settings."""
    return call("GET", "", one(m.Namespace))


def change_namespace(
    version: int,
    *,
    learning: Literal["on", "frozen"] | None = None,
    policy: Literal["belief", "paper", "paper-strict", "steps", "delta"] | None = None,
    settings: f.NamespaceSettingsFields | None = None,
) -> Call[m.Namespace]:
    """Freeze or resume learning, merge settings, change the policy."""
    return call(
        "PATCH",
        "",
        one(m.Namespace),
        body={"learning": learning, "policy": policy, "settings": settings},
        version=version,
    )


def delete_namespace(confirmation: str) -> Call[None]:
    """Second step of a deletion: everything in the namespace is gone."""
    return call("DELETE", "", nothing, query={"confirmation": confirmation})


def list_agents(*, limit: int | None = None, cursor: str | None = None) -> Call[Page[m.Agent]]:
    """The agents of the namespace."""
    return call("GET", "/agents", page(m.Agent), query={"limit": limit, "cursor": cursor})


def add_agent(
    name: str,
    *,
    family: str | None = None,
    model: str | None = None,
    own_information: bool | None = None,
    size_class: str | None = None,
) -> Call[m.Agent]:
    """Describe an agent before its first use; otherwise it is made by name."""
    return call(
        "POST",
        "/agents",
        one(m.Agent),
        body={
            "name": name,
            "family": family,
            "model": model,
            "own_information": own_information,
            "size_class": size_class,
        },
    )


def get_agent(name: str) -> Call[m.Agent]:
    """An agent by name."""
    return call("GET", f"/agents/{part(name)}", one(m.Agent))


def change_agent(
    name: str,
    version: int,
    *,
    family: str | None = None,
    model: str | None = None,
    own_information: bool | None = None,
    size_class: str | None = None,
) -> Call[m.Agent]:
    """Change what is known of an agent."""
    return call(
        "PATCH",
        f"/agents/{part(name)}",
        one(m.Agent),
        body={
            "family": family,
            "model": model,
            "own_information": own_information,
            "size_class": size_class,
        },
        version=version,
    )


def list_audit(*, limit: int | None = None, cursor: str | None = None) -> Call[Page[m.AuditEntry]]:
    """The audit of the namespace."""
    return call("GET", "/audit", page(m.AuditEntry), query={"limit": limit, "cursor": cursor})


def get_bank(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    as_of: datetime | None = None,
    bank_version: int | None = None,
) -> Call[Page[m.PastWeight]]:
    """Every memory's weight as of a moment."""
    return call(
        "GET",
        "/bank",
        page(m.PastWeight),
        query={"limit": limit, "cursor": cursor, "as_of": as_of, "bank_version": bank_version},
    )


def get_difference(
    *,
    from_as_of: datetime | None = None,
    from_bank_version: int | None = None,
    to_as_of: datetime | None = None,
    to_bank_version: int | None = None,
) -> Call[m.BankDifference]:
    """What changed between two moments."""
    return call(
        "GET",
        "/bank/difference",
        one(m.BankDifference),
        query={
            "from_as_of": from_as_of,
            "from_bank_version": from_bank_version,
            "to_as_of": to_as_of,
            "to_bank_version": to_bank_version,
        },
    )


def list_candidates(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    state: Literal["waiting", "proposed", "twin", "rejected_twin", "nothing", "quarantined"]
    | None = None,
) -> Call[Page[m.LessonCandidate]]:
    """Bad outcomes on their way to becoming memories."""
    return call(
        "GET",
        "/candidates",
        page(m.LessonCandidate),
        query={"limit": limit, "cursor": cursor, "state": state},
    )


def retry_candidate(outcome_id: str) -> Call[m.LessonCandidate]:
    """Work on a quarantined candidate again, or free a waiting one from its claim."""
    return call("POST", f"/candidates/{part(outcome_id)}/retry", one(m.LessonCandidate), body={})


def list_categories(
    *, limit: int | None = None, cursor: str | None = None
) -> Call[Page[m.Category]]:
    """The categories of the namespace."""
    return call("GET", "/categories", page(m.Category), query={"limit": limit, "cursor": cursor})


def add_category(name: str, subcategory: str | None = None) -> Call[m.Category]:
    """Make a category; in an open namespace its first use would do so too."""
    return call(
        "POST", "/categories", one(m.Category), body={"name": name, "subcategory": subcategory}
    )


def set_measure(
    category_id: str,
    *,
    metric: str | None = None,
    reward_kind: Literal["continuous", "binary"] | None = None,
) -> Call[m.Category]:
    """Fix what later outcomes of a category are measured by; an empty body leaves it to them."""
    return call(
        "PUT",
        f"/categories/{part(category_id)}/measure",
        one(m.Category),
        body={"metric": metric, "reward_kind": reward_kind},
    )


def rename_category(category_id: str, *, name: str) -> Call[m.Category]:
    """Give a category another name; what was learned in it stays, and the taxonomy follows."""
    return call(
        "PUT", f"/categories/{part(category_id)}/name", one(m.Category), body={"name": name}
    )


def list_changes(*, after: str | None = None, limit: int | None = None) -> Call[m.ChangePage]:
    """What changed after a place; as server-sent events where `Accept` asks for them."""
    return call("GET", "/changes", one(m.ChangePage), query={"after": after, "limit": limit})


def list_changesets(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    state: Literal["waiting", "proposed", "applied", "rejected", "nothing", "quarantined", "undone"]
    | None = None,
) -> Call[Page[m.Changeset]]:
    """What a language model would change about the notes, after several failures alike."""
    return call(
        "GET",
        "/changesets",
        page(m.Changeset),
        query={"limit": limit, "cursor": cursor, "state": state},
    )


def get_changeset(changeset_id: str) -> Call[m.Changeset]:
    """A changeset with the words before and after: what it would do, or did."""
    return call("GET", f"/changesets/{part(changeset_id)}", one(m.Changeset))


def retry_changeset(changeset_id: str) -> Call[m.Changeset]:
    """Work on a quarantined changeset again, or free a waiting one from its claim."""
    return call("POST", f"/changesets/{part(changeset_id)}/retry", one(m.Changeset), body={})


def undo_changeset(changeset_id: str) -> Call[m.Changeset]:
    """Take an applied changeset back: what it brought retires, what it retired returns."""
    return call("POST", f"/changesets/{part(changeset_id)}/undo", one(m.Changeset), body={})


def list_competences(
    *, limit: int | None = None, cursor: str | None = None, as_of: datetime | None = None
) -> Call[Page[m.Competence]]:
    """How every agent fares in every category, by its verified runs."""
    return call(
        "GET",
        "/competence",
        page(m.Competence),
        query={"limit": limit, "cursor": cursor, "as_of": as_of},
    )


def list_constraints(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    agent: str | None = None,
    status: Literal[
        "proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"
    ]
    | None = None,
    category: str | None = None,
    origin: Literal["distilled", "written", "checked"] | None = None,
) -> Call[Page[m.Constraint]]:
    """Browse the bank of constraints, oldest first."""
    return call(
        "GET",
        "/constraints",
        page(m.Constraint),
        query={
            "limit": limit,
            "cursor": cursor,
            "agent": agent,
            "status": status,
            "category": category,
            "origin": origin,
        },
    )


def add_constraint(
    *,
    agent: str,
    trigger: str,
    avoid: str | None = None,
    category: str | None = None,
    enforce: str | None = None,
    learned_at: datetime | None = None,
    metadata: Mapping[str, object] | None = None,
    subcategory: str | None = None,
    task: f.TaskFields | None = None,
    task_id: str | None = None,
    weight: float | None = None,
) -> Call[m.AddedConstraint]:
    """Say what a task taught for others like it; 200 where it supports one that says the same."""
    return call(
        "POST",
        "/constraints",
        one(m.AddedConstraint),
        body={
            "agent": agent,
            "trigger": trigger,
            "avoid": avoid,
            "category": category,
            "enforce": enforce,
            "learned_at": learned_at,
            "metadata": metadata,
            "subcategory": subcategory,
            "task": task,
            "task_id": task_id,
            "weight": weight,
        },
    )


def get_constraint(memory_id: str) -> Call[m.Constraint]:
    """A constraint as it stands, with its support in numbers."""
    return call("GET", f"/constraints/{part(memory_id)}", one(m.Constraint))


def restore_constraint(memory_id: str, reason: str | None = None) -> Call[m.Constraint]:
    """Use a constraint again; while it is not proven it waits as proposed."""
    return call(
        "POST",
        f"/constraints/{part(memory_id)}/restore",
        one(m.Constraint),
        body={"reason": reason},
    )


def retire_constraint(memory_id: str, reason: str | None = None) -> Call[m.Constraint]:
    """Stop using a constraint; its record stays."""
    return call(
        "POST", f"/constraints/{part(memory_id)}/retire", one(m.Constraint), body={"reason": reason}
    )


def list_support(
    memory_id: str, *, limit: int | None = None, cursor: str | None = None
) -> Call[Page[m.Support]]:
    """The contrasts a constraint rests on, and its author's word."""
    return call(
        "GET",
        f"/constraints/{part(memory_id)}/support",
        page(m.Support),
        query={"limit": limit, "cursor": cursor},
    )


def suspend_constraint(memory_id: str, reason: str | None = None) -> Call[m.Constraint]:
    """Stop using a constraint for now."""
    return call(
        "POST",
        f"/constraints/{part(memory_id)}/suspend",
        one(m.Constraint),
        body={"reason": reason},
    )


def vouch_for_constraint(memory_id: str, reason: str | None = None) -> Call[m.Constraint]:
    """Bring a proposal into use on a manager's word."""
    return call(
        "POST", f"/constraints/{part(memory_id)}/vouch", one(m.Constraint), body={"reason": reason}
    )


def list_contradictions(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    state: Literal["open", "resolved", "all"] | None = None,
) -> Call[Page[m.Contradiction]]:
    """Browse contradictions, oldest first; the open ones unless asked otherwise."""
    return call(
        "GET",
        "/contradictions",
        page(m.Contradiction),
        query={"limit": limit, "cursor": cursor, "state": state},
    )


def get_contradiction(contradiction_id: str) -> Call[m.Contradiction]:
    """A contradiction as it stands."""
    return call("GET", f"/contradictions/{part(contradiction_id)}", one(m.Contradiction))


def resolve_contradiction(
    contradiction_id: str,
    keep: Literal["first", "second", "both", "neither"],
    reason: str | None = None,
) -> Call[m.Contradiction]:
    """Decide which of the two stays in use: the first, the second, both or neither."""
    return call(
        "POST",
        f"/contradictions/{part(contradiction_id)}/resolve",
        one(m.Contradiction),
        body={"keep": keep, "reason": reason},
    )


def list_contrasts(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    state: Literal["queued", "distilling", "distilled", "empty", "refused", "no_text", "failed"]
    | None = None,
    pair_class: Literal["discordant", "both_right", "both_wrong", "unknown"] | None = None,
    task_id: str | None = None,
) -> Call[Page[m.Contrast]]:
    """Pairs of runs, oldest first."""
    return call(
        "GET",
        "/contrasts",
        page(m.Contrast),
        query={
            "limit": limit,
            "cursor": cursor,
            "state": state,
            "pair_class": pair_class,
            "task_id": task_id,
        },
    )


def add_contrasts(
    *, task_id: str | None = None, trajectory_ids: Sequence[str] | None = None
) -> Call[m.Contrasts]:
    """Pair runs and distil the pairs at once, as far as the time goes; 200 where no pair is new."""
    return call(
        "POST",
        "/contrasts",
        one(m.Contrasts),
        body={"task_id": task_id, "trajectory_ids": trajectory_ids},
    )


def get_contrast(contrast_id: str) -> Call[m.Contrast]:
    """A pair with the constraints it yielded, and what was rejected."""
    return call("GET", f"/contrasts/{part(contrast_id)}", one(m.Contrast))


def redo_contrast(contrast_id: str) -> Call[m.Contrast]:
    """Distil a pair again of which nothing came."""
    return call("POST", f"/contrasts/{part(contrast_id)}/redo", one(m.Contrast), body={})


def request_deletion() -> Call[m.Deletion]:
    """First step of a deletion: answers with what the second one needs."""
    return call("POST", "/deletion", one(m.Deletion), body={})


def get_effect(
    *, agent: str | None = None, category: str | None = None
) -> Call[tuple[m.Effect, ...]]:
    """What memory added, with intervals; how far it is followed; rewards by arm."""
    return call("GET", "/effect", rows(m.Effect), query={"agent": agent, "category": category})


def erase(
    *,
    agent: str | None = None,
    dry_run: bool | None = None,
    key_id: str | None = None,
    memory_id: str | None = None,
    task_id: str | None = None,
) -> Call[m.Erased]:
    """Erase the texts of one memory, agent, key or task, or look what that would take."""
    return call(
        "POST",
        "/erasures",
        one(m.Erased),
        body={
            "agent": agent,
            "dry_run": dry_run,
            "key_id": key_id,
            "memory_id": memory_id,
            "task_id": task_id,
        },
    )


def list_experiences(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    agent: str | None = None,
    status: Literal[
        "proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"
    ]
    | None = None,
    category: str | None = None,
    metadata: Mapping[str, object] | None = None,
) -> Call[Page[m.Memory]]:
    """Browse the bank."""
    return call(
        "GET",
        "/experiences",
        page(m.Memory),
        query={
            "limit": limit,
            "cursor": cursor,
            "agent": agent,
            "status": status,
            "category": category,
            "metadata": metadata,
        },
    )


def add_experience(
    *,
    agent: str,
    lesson: str,
    situation: str,
    category: str | None = None,
    learned_at: datetime | None = None,
    metadata: Mapping[str, object] | None = None,
    pinned: bool | None = None,
    subcategory: str | None = None,
    task: f.TaskFields | None = None,
    task_id: str | None = None,
    verify: bool | None = None,
    visibility: Literal["agent", "namespace"] | None = None,
    weight: float | None = None,
) -> Call[m.Remembered]:
    """Remember what a task taught; 200 where a memory already says the same."""
    return call(
        "POST",
        "/experiences",
        one(m.Remembered),
        body={
            "agent": agent,
            "lesson": lesson,
            "situation": situation,
            "category": category,
            "learned_at": learned_at,
            "metadata": metadata,
            "pinned": pinned,
            "subcategory": subcategory,
            "task": task,
            "task_id": task_id,
            "verify": verify,
            "visibility": visibility,
            "weight": weight,
        },
    )


def add_experiences(
    items: Sequence[f.ExperienceFields],
) -> Call[tuple[BatchItem[m.Remembered], ...]]:
    """Remember many; each item has its own status."""
    return call("POST", "/experiences/batch", batch(m.Remembered), body={"items": items})


def import_experiences(
    items: Sequence[f.HistoryFields],
) -> Call[tuple[BatchItem[m.Remembered], ...]]:
    """Take in history; who manages the namespace may vouch for a person or a test."""
    return call("POST", "/experiences/import", batch(m.Remembered), body={"items": items})


def get_experience(memory_id: str) -> Call[m.Memory]:
    """A memory as it stands."""
    return call("GET", f"/experiences/{part(memory_id)}", one(m.Memory))


def edit_experience(
    memory_id: str,
    version: int,
    *,
    known_at: datetime | None = None,
    lesson: str | None = None,
    metadata: Mapping[str, object] | None = None,
    pinned: bool | None = None,
    situation: str | None = None,
) -> Call[m.Memory]:
    """Edit a memory; new words make a new version, and what was believed of the old ones fades."""
    return call(
        "PATCH",
        f"/experiences/{part(memory_id)}",
        one(m.Memory),
        body={
            "known_at": known_at,
            "lesson": lesson,
            "metadata": metadata,
            "pinned": pinned,
            "situation": situation,
        },
        version=version,
    )


def erase_experience(memory_id: str) -> Call[m.Erased]:
    """Erase one memory's texts wherever they are kept."""
    return call("DELETE", f"/experiences/{part(memory_id)}", one(m.Erased))


def get_apart(memory_id: str) -> Call[m.TriedApart]:
    """Whether a memory is being tried apart, and how long still."""
    return call("GET", f"/experiences/{part(memory_id)}/apart", one(m.TriedApart))


def try_apart(memory_id: str) -> Call[m.OngoingTrial]:
    """Have a memory tried apart from what is always served beside it: from now on it is left out every other time, for 14 days or until 12 more outcomes came without it."""
    return call("POST", f"/experiences/{part(memory_id)}/apart", one(m.OngoingTrial), body={})


def stop_apart(memory_id: str) -> Call[None]:
    """Stop trying a memory apart: it is served as before."""
    return call("DELETE", f"/experiences/{part(memory_id)}/apart", nothing)


def merge_experience(memory_id: str, reason: str | None = None, *, into: str) -> Call[m.Memory]:
    """Retire a memory into another that says the same; restoring it takes them apart again."""
    return call(
        "POST",
        f"/experiences/{part(memory_id)}/merge",
        one(m.Memory),
        body={"into": into, "reason": reason},
    )


def refine_experience(
    memory_id: str,
    version: int,
    *,
    known_at: datetime | None = None,
    lesson: str | None = None,
    situation: str | None = None,
) -> Call[m.Memory]:
    """Put a candidate, also a rejected one, into other words; it is tried anew."""
    return call(
        "POST",
        f"/experiences/{part(memory_id)}/refine",
        one(m.Memory),
        body={"known_at": known_at, "lesson": lesson, "situation": situation},
        version=version,
    )


def restore_experience(memory_id: str, reason: str | None = None) -> Call[m.Memory]:
    """Serve a memory again."""
    return call(
        "POST", f"/experiences/{part(memory_id)}/restore", one(m.Memory), body={"reason": reason}
    )


def retire_experience(memory_id: str, reason: str | None = None) -> Call[m.Memory]:
    """Stop serving a memory; its record stays."""
    return call(
        "POST", f"/experiences/{part(memory_id)}/retire", one(m.Memory), body={"reason": reason}
    )


def suspend_experience(memory_id: str, reason: str | None = None) -> Call[m.Memory]:
    """Stop serving a memory for now."""
    return call(
        "POST", f"/experiences/{part(memory_id)}/suspend", one(m.Memory), body={"reason": reason}
    )


def list_versions(memory_id: str) -> Call[Page[m.MemoryVersion]]:
    """The texts a memory had."""
    return call("GET", f"/experiences/{part(memory_id)}/versions", page(m.MemoryVersion))


def get_weight(memory_id: str, agent: str | None = None) -> Call[m.Weight]:
    """A memory's weight, for one agent or for none in particular."""
    return call(
        "GET", f"/experiences/{part(memory_id)}/weight", one(m.Weight), query={"agent": agent}
    )


def list_weight_events(
    memory_id: str, *, limit: int | None = None, cursor: str | None = None
) -> Call[Page[m.WeightEvent]]:
    """What moved a memory's weight."""
    return call(
        "GET",
        f"/experiences/{part(memory_id)}/weight/events",
        page(m.WeightEvent),
        query={"limit": limit, "cursor": cursor},
    )


def list_influences() -> Call[tuple[m.KeyInfluence, ...]]:
    """How far each key that reported moved memories of others."""
    return call("GET", "/influences", rows(m.KeyInfluence))


def list_moved_memories(key_id: str) -> Call[tuple[m.MovedMemory, ...]]:
    """The memories of others that a key's party moved."""
    return call("GET", f"/influences/{part(key_id)}/memories", rows(m.MovedMemory))


def list_runs(*, limit: int | None = None, cursor: str | None = None) -> Call[Page[m.JobRun]]:
    """Runs of jobs on this namespace, newest first."""
    return call("GET", "/jobs/runs", page(m.JobRun), query={"limit": limit, "cursor": cursor})


def stop_run(run_id: str) -> Call[m.JobRun]:
    """Stop a run that works in parts (`retention`) after the part under way; the next run does the rest."""
    return call("POST", f"/jobs/runs/{part(run_id)}/stop", one(m.JobRun), body={})


def run_job(
    job: str, *, dry_run: bool | None = None, now: datetime | None = None
) -> Call[m.JobRun]:
    """Run a job on this namespace now; a dry run changes nothing and says what would change."""
    return call(
        "POST", f"/jobs/{part(job)}/runs", one(m.JobRun), body={"dry_run": dry_run, "now": now}
    )


def get_learning_health() -> Call[m.LearningHealth]:
    """The health of learning now."""
    return call("GET", "/learning-health", one(m.LearningHealth))


def list_learning_health(
    *, limit: int | None = None, cursor: str | None = None
) -> Call[Page[m.LearningHealth]]:
    """How it was: one sample a day, kept 400 days."""
    return call(
        "GET",
        "/learning-health/history",
        page(m.LearningHealth),
        query={"limit": limit, "cursor": cursor},
    )


def list_llm_calls(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    role: Literal[
        "compile", "reflect", "summarise", "distil", "search", "revise", "repair", "judge"
    ]
    | None = None,
    status: Literal["done", "failed", "stopped"] | None = None,
    retrieval_id: str | None = None,
    memory_id: str | None = None,
) -> Call[Page[m.LlmCall]]:
    """Every attempt of the language model, with its prompt and answer, without secrets."""
    return call(
        "GET",
        "/llm-calls",
        page(m.LlmCall),
        query={
            "limit": limit,
            "cursor": cursor,
            "role": role,
            "status": status,
            "retrieval_id": retrieval_id,
            "memory_id": memory_id,
        },
    )


def get_llm_budget() -> Call[m.TokenBudget]:
    """The tokens that today has left."""
    return call("GET", "/llm-calls/budget", one(m.TokenBudget))


def list_memories(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    agent: str | None = None,
    kind: Literal["experience", "constraint", "meta_guideline"] | None = None,
    status: Literal[
        "proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"
    ]
    | None = None,
    trust: Literal["trusted", "unverified", "quarantined"] | None = None,
    category: str | None = None,
    text: str | None = None,
    min_weight: float | None = None,
    max_weight: float | None = None,
    sort: Literal["recorded_at", "weight", "served", "credited"] | None = None,
    order: Literal["asc", "desc"] | None = None,
    as_of: datetime | None = None,
    bank_version: int | None = None,
) -> Call[Page[m.ListedMemory]]:
    """Memories of all kinds by filter and order, now or as of a moment."""
    return call(
        "GET",
        "/memories",
        page(m.ListedMemory),
        query={
            "limit": limit,
            "cursor": cursor,
            "agent": agent,
            "kind": kind,
            "status": status,
            "trust": trust,
            "category": category,
            "text": text,
            "min_weight": min_weight,
            "max_weight": max_weight,
            "sort": sort,
            "order": order,
            "as_of": as_of,
            "bank_version": bank_version,
        },
    )


def change_memories(
    ids: Sequence[str],
    action: Literal["suspend", "retire", "restore", "trust"],
    *,
    reason: str | None = None,
    trust: Literal["trusted", "unverified", "quarantined"] | None = None,
) -> Call[tuple[BatchItem[m.BulkItem], ...]]:
    """Suspend, retire, restore or (managers) trust many; each has its own status."""
    return call(
        "POST",
        "/memories/bulk",
        batch(m.BulkItem),
        body={"action": action, "ids": ids, "reason": reason, "trust": trust},
    )


def get_memory(memory_id: str) -> Call[m.Memory]:
    """A memory of any kind as it stands."""
    return call("GET", f"/memories/{part(memory_id)}", one(m.Memory))


def list_episodes(
    memory_id: str, *, limit: int | None = None, cursor: str | None = None
) -> Call[Page[m.Episode]]:
    """Receipts in which the memory was served and their results, the newest first."""
    return call(
        "GET",
        f"/memories/{part(memory_id)}/episodes",
        page(m.Episode),
        query={"limit": limit, "cursor": cursor},
    )


def list_neighbours(memory_id: str) -> Call[Page[m.Neighbour]]:
    """The eight memories whose situations are most similar, whatever their status."""
    return call("GET", f"/memories/{part(memory_id)}/neighbours", page(m.Neighbour))


def list_records(memory_id: str) -> Call[Page[m.AgentRecord]]:
    """The memory's results for each agent in each category, and each agent's deviation."""
    return call("GET", f"/memories/{part(memory_id)}/records", page(m.AgentRecord))


def change_trust(
    memory_id: str,
    trust: Literal["trusted", "unverified", "quarantined"],
    reason: str | None = None,
) -> Call[m.Memory]:
    """Believe a memory's source, or not, or quarantine it."""
    return call(
        "POST",
        f"/memories/{part(memory_id)}/trust",
        one(m.Memory),
        body={"trust": trust, "reason": reason},
    )


def get_worth(memory_id: str) -> Call[m.Worth]:
    """What serving the memory added, against what took its place when a coin left it out."""
    return call("GET", f"/memories/{part(memory_id)}/worth", one(m.Worth))


def list_meta_guidelines(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    agent: str | None = None,
    status: Literal[
        "proposed", "verifying", "active", "rejected", "probation", "suspended", "retired"
    ]
    | None = None,
    category: str | None = None,
) -> Call[Page[m.MetaGuideline]]:
    """Browse the bank of meta-guidelines, oldest first."""
    return call(
        "GET",
        "/meta-guidelines",
        page(m.MetaGuideline),
        query={
            "limit": limit,
            "cursor": cursor,
            "agent": agent,
            "status": status,
            "category": category,
        },
    )


def add_meta_guideline(
    *,
    agent: str,
    failure_reason: str,
    instruction: str,
    category: str | None = None,
    directives: f.DirectivesFields | None = None,
    learned_at: datetime | None = None,
    metadata: Mapping[str, object] | None = None,
    pinned: bool | None = None,
    subcategory: str | None = None,
    weight: float | None = None,
) -> Call[m.Remembered]:
    """Say how memories are to be used; 200 where a meta-guideline already says the same."""
    return call(
        "POST",
        "/meta-guidelines",
        one(m.Remembered),
        body={
            "agent": agent,
            "failure_reason": failure_reason,
            "instruction": instruction,
            "category": category,
            "directives": directives,
            "learned_at": learned_at,
            "metadata": metadata,
            "pinned": pinned,
            "subcategory": subcategory,
            "weight": weight,
        },
    )


def get_meta_guideline(memory_id: str) -> Call[m.MetaGuideline]:
    """A meta-guideline as it stands."""
    return call("GET", f"/meta-guidelines/{part(memory_id)}", one(m.MetaGuideline))


def edit_meta_guideline(
    memory_id: str,
    version: int,
    *,
    failure_reason: str | None = None,
    instruction: str | None = None,
    known_at: datetime | None = None,
    metadata: Mapping[str, object] | None = None,
    pinned: bool | None = None,
) -> Call[m.MetaGuideline]:
    """Edit a meta-guideline; new words make a new version, and what was believed fades."""
    return call(
        "PATCH",
        f"/meta-guidelines/{part(memory_id)}",
        one(m.MetaGuideline),
        body={
            "failure_reason": failure_reason,
            "instruction": instruction,
            "known_at": known_at,
            "metadata": metadata,
            "pinned": pinned,
        },
        version=version,
    )


def restore_meta_guideline(memory_id: str, reason: str | None = None) -> Call[m.MetaGuideline]:
    """Use a meta-guideline again."""
    return call(
        "POST",
        f"/meta-guidelines/{part(memory_id)}/restore",
        one(m.MetaGuideline),
        body={"reason": reason},
    )


def retire_meta_guideline(memory_id: str, reason: str | None = None) -> Call[m.MetaGuideline]:
    """Stop using a meta-guideline; its record stays."""
    return call(
        "POST",
        f"/meta-guidelines/{part(memory_id)}/retire",
        one(m.MetaGuideline),
        body={"reason": reason},
    )


def suspend_meta_guideline(memory_id: str, reason: str | None = None) -> Call[m.MetaGuideline]:
    """Stop using a meta-guideline for now."""
    return call(
        "POST",
        f"/meta-guidelines/{part(memory_id)}/suspend",
        one(m.MetaGuideline),
        body={"reason": reason},
    )


def list_outcomes(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    state: Literal["accepted", "applied", "ignored", "superseded"] | None = None,
    retrieval_id: str | None = None,
    claims: Literal["too_high"] | None = None,
    order: Literal["oldest", "newest"] | None = None,
) -> Call[Page[m.Outcome]]:
    """Outcomes, also those that were superseded or ignored."""
    return call(
        "GET",
        "/outcomes",
        page(m.Outcome),
        query={
            "limit": limit,
            "cursor": cursor,
            "state": state,
            "retrieval_id": retrieval_id,
            "claims": claims,
            "order": order,
        },
    )


def report_by_key(
    task_key: str | None = None,
    *,
    agent: str | None = None,
    answers: Mapping[str, object] | None = None,
    evaluator: str | None = None,
    full: f.RunResultFields | None = None,
    harmful: Sequence[str] | None = None,
    helpful: Sequence[str] | None = None,
    keep: bool | None = None,
    known_at: datetime | None = None,
    lesson: f.ReportedLessonFields | None = None,
    metric: str | None = None,
    policy: Literal["all_open", "latest"] | None = None,
    reward: float | None = None,
    reward_kind: Literal["continuous", "binary"] | None = None,
    run: f.RunTraceFields | None = None,
    stances: Mapping[str, object] | None = None,
    supersedes: str | None = None,
    trace_id: str | None = None,
    truth: Mapping[str, object] | None = None,
    used: Sequence[str] | None = None,
    value: Mapping[str, object] | None = None,
    verifier: Literal["human", "test", "judge", "self"] | None = None,
    without: f.RunResultFields | None = None,
) -> Call[tuple[m.OutcomeBound, ...]]:
    """Says to which receipts it was bound; 200 where all of them had the same report before."""
    return call(
        "POST",
        "/outcomes",
        rows(m.OutcomeBound),
        body={
            "agent": agent,
            "answers": answers,
            "evaluator": evaluator,
            "full": full,
            "harmful": harmful,
            "helpful": helpful,
            "keep": keep,
            "known_at": known_at,
            "lesson": lesson,
            "metric": metric,
            "policy": policy,
            "reward": reward,
            "reward_kind": reward_kind,
            "run": run,
            "stances": stances,
            "supersedes": supersedes,
            "task_key": task_key,
            "trace_id": trace_id,
            "truth": truth,
            "used": used,
            "value": value,
            "verifier": verifier,
            "without": without,
        },
    )


def apply_outcomes(*, retry: bool | None = None) -> Call[m.Applied]:
    """Apply the outcomes that wait, now instead of within a second."""
    return call("POST", "/outcomes/apply", one(m.Applied), body={"retry": retry})


def report_outcomes(
    items: Sequence[f.BatchedReportFields],
) -> Call[tuple[BatchItem[m.OutcomeTaken], ...]]:
    """Say how many attempts went; each item has its own status."""
    return call("POST", "/outcomes/batch", batch(m.OutcomeTaken, "outcome"), body={"items": items})


def get_outcome(outcome_id: str) -> Call[m.Outcome]:
    """An outcome and its status."""
    return call("GET", f"/outcomes/{part(outcome_id)}", one(m.Outcome))


def list_predictions(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    agent: str | None = None,
    state: Literal["pending", "settled", "late"] | None = None,
    event: str | None = None,
) -> Call[Page[m.Prediction]]:
    """Predictions; `state=pending` gives those whose windows wait for a settlement."""
    return call(
        "GET",
        "/predictions",
        page(m.Prediction),
        query={"limit": limit, "cursor": cursor, "agent": agent, "state": state, "event": event},
    )


def predict(
    *,
    agent: str,
    probabilities: Mapping[str, float],
    answers: Mapping[str, Mapping[str, float]] | None = None,
    baseline_probabilities: Mapping[str, float] | None = None,
    full_probabilities: Mapping[str, float] | None = None,
    known_at: datetime | None = None,
    rationale: str | None = None,
    retrieval_id: str | None = None,
    task: f.TaskFields | None = None,
    task_id: str | None = None,
    used: Sequence[str] | None = None,
) -> Call[m.Prediction]:
    """Forecast a window of an event; 200 where it was revised or is unchanged."""
    return call(
        "POST",
        "/predictions",
        one(m.Prediction),
        body={
            "agent": agent,
            "probabilities": probabilities,
            "answers": answers,
            "baseline_probabilities": baseline_probabilities,
            "full_probabilities": full_probabilities,
            "known_at": known_at,
            "rationale": rationale,
            "retrieval_id": retrieval_id,
            "task": task,
            "task_id": task_id,
            "used": used,
        },
    )


def predict_all(items: Sequence[f.PredictionFields]) -> Call[tuple[BatchItem[m.Prediction], ...]]:
    """Forecast many windows; each item has its own status."""
    return call(
        "POST", "/predictions/batch", batch(m.Prediction, "prediction"), body={"items": items}
    )


def get_prediction(prediction_id: str) -> Call[m.PredictionHistory]:
    """A prediction with all its revisions."""
    return call("GET", f"/predictions/{part(prediction_id)}", one(m.PredictionHistory))


def get_rankers() -> Call[tuple[m.RankerRecord, ...]]:
    """What each ranker has lost, and how far it is believed."""
    return call("GET", "/rankers", rows(m.RankerRecord))


def list_retrievals(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    agent: str | None = None,
    state: Literal["pending", "answered", "noted", "expired", "all"] | None = None,
    category: str | None = None,
    arm: Literal[
        "on", "control", "forced_on", "forced_off", "paired", "empty", "suspended", "retest"
    ]
    | None = None,
    task_key: str | None = None,
    trace_id: str | None = None,
    order: Literal["oldest", "newest"] | None = None,
    words: str | None = None,
    since: datetime | None = None,
    before: datetime | None = None,
    min_reward: float | None = None,
    max_reward: float | None = None,
) -> Call[Page[m.Receipt]]:
    """Receipts; `state=pending` are those an outcome is still awaited for."""
    return call(
        "GET",
        "/retrievals",
        page(m.Receipt),
        query={
            "limit": limit,
            "cursor": cursor,
            "agent": agent,
            "state": state,
            "category": category,
            "arm": arm,
            "task_key": task_key,
            "trace_id": trace_id,
            "order": order,
            "words": words,
            "since": since,
            "before": before,
            "min_reward": min_reward,
            "max_reward": max_reward,
        },
    )


def create_retrieval(
    *,
    agent: str,
    active_queries: bool | None = None,
    all_rankers: bool | None = None,
    arm: Literal["auto", "on", "off"] | None = None,
    as_of: datetime | None = None,
    expires_in: float | None = None,
    explain: bool | None = None,
    explore: bool | None = None,
    filter: f.RetrievalFilterFields | None = None,
    format: Literal["brief", "full", "memories"] | None = None,
    gates: Literal["on", "off"] | None = None,
    k: int | None = None,
    max_tokens: int | None = None,
    past_error: bool | None = None,
    purpose: Literal["act", "paired", "replay", "preview"] | None = None,
    queries: Sequence[f.QueryFields] | None = None,
    rerank: Literal["none", "fused"] | None = None,
    task: f.TaskFields | None = None,
    task_id: str | None = None,
    trace_id: str | None = None,
) -> Call[m.Retrieval]:
    """A preview answers 200 and stores nothing."""
    return call(
        "POST",
        "/retrievals",
        one(m.Retrieval),
        body={
            "agent": agent,
            "active_queries": active_queries,
            "all_rankers": all_rankers,
            "arm": arm,
            "as_of": as_of,
            "expires_in": expires_in,
            "explain": explain,
            "explore": explore,
            "filter": filter,
            "format": format,
            "gates": gates,
            "k": k,
            "max_tokens": max_tokens,
            "past_error": past_error,
            "purpose": purpose,
            "queries": queries,
            "rerank": rerank,
            "task": task,
            "task_id": task_id,
            "trace_id": trace_id,
        },
    )


def create_retrievals(
    items: Sequence[f.RetrievalFields],
) -> Call[tuple[BatchItem[m.Retrieval], ...]]:
    """Compile many guidelines; each item has its own status."""
    return call("POST", "/retrievals/batch", batch(m.Retrieval, "retrieval"), body={"items": items})


def get_retrieval(retrieval_id: str) -> Call[m.Receipt]:
    """The receipt of a retrieval."""
    return call("GET", f"/retrievals/{part(retrieval_id)}", one(m.Receipt))


def explain_retrieval(retrieval_id: str) -> Call[m.Receipt]:
    """The receipt, with a sentence for each memory on why it stands where it does."""
    return call("GET", f"/retrievals/{part(retrieval_id)}/explain", one(m.Receipt))


def report_outcome(
    retrieval_id: str,
    *,
    answers: Mapping[str, object] | None = None,
    evaluator: str | None = None,
    full: f.RunResultFields | None = None,
    harmful: Sequence[str] | None = None,
    helpful: Sequence[str] | None = None,
    keep: bool | None = None,
    known_at: datetime | None = None,
    lesson: f.ReportedLessonFields | None = None,
    metric: str | None = None,
    reward: float | None = None,
    reward_kind: Literal["continuous", "binary"] | None = None,
    run: f.RunTraceFields | None = None,
    stances: Mapping[str, object] | None = None,
    supersedes: str | None = None,
    truth: Mapping[str, object] | None = None,
    used: Sequence[str] | None = None,
    value: Mapping[str, object] | None = None,
    verifier: Literal["human", "test", "judge", "self"] | None = None,
    without: f.RunResultFields | None = None,
) -> Call[m.OutcomeTaken]:
    """Say how the attempt went; 200 where the same report had come before."""
    return call(
        "POST",
        f"/retrievals/{part(retrieval_id)}/outcome",
        one(m.OutcomeTaken),
        body={
            "answers": answers,
            "evaluator": evaluator,
            "full": full,
            "harmful": harmful,
            "helpful": helpful,
            "keep": keep,
            "known_at": known_at,
            "lesson": lesson,
            "metric": metric,
            "reward": reward,
            "reward_kind": reward_kind,
            "run": run,
            "stances": stances,
            "supersedes": supersedes,
            "truth": truth,
            "used": used,
            "value": value,
            "verifier": verifier,
            "without": without,
        },
    )


def list_rollbacks(
    *, limit: int | None = None, cursor: str | None = None
) -> Call[Page[m.RollbackRecord]]:
    """Rollbacks on record, the newest first."""
    return call(
        "GET", "/rollbacks", page(m.RollbackRecord), query={"limit": limit, "cursor": cursor}
    )


def rollback(
    *,
    agent: str | None = None,
    claims: Literal["too_high"] | None = None,
    dry_run: bool | None = None,
    key_id: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Call[m.RollbackResult]:
    """Withdraw what an agent or a key reported, or preview the change."""
    return call(
        "POST",
        "/rollbacks",
        one(m.RollbackResult),
        body={
            "agent": agent,
            "claims": claims,
            "dry_run": dry_run,
            "key_id": key_id,
            "since": since,
            "until": until,
        },
    )


def undo_rollback(rollback_id: str) -> Call[m.RollbackUndone]:
    """Give back what the newest rollback took; every weight is then as if it had never been."""
    return call("POST", f"/rollbacks/{part(rollback_id)}/undo", one(m.RollbackUndone), body={})


def list_settlements(
    *, limit: int | None = None, cursor: str | None = None, event: str | None = None
) -> Call[Page[m.Settlement]]:
    """Settlements, also those that were corrected."""
    return call(
        "GET",
        "/settlements",
        page(m.Settlement),
        query={"limit": limit, "cursor": cursor, "event": event},
    )


def settle(
    *,
    event: str,
    resolutions: Mapping[str, Literal["yes", "no", "void"]],
    corrects: str | None = None,
    crowd: Mapping[str, float] | None = None,
    known_at: datetime | None = None,
    windows: Sequence[str] | None = None,
) -> Call[m.Settlement]:
    """Settle an event, or some windows of it; 200 where an equal settlement exists."""
    return call(
        "POST",
        "/settlements",
        one(m.Settlement),
        body={
            "event": event,
            "resolutions": resolutions,
            "corrects": corrects,
            "crowd": crowd,
            "known_at": known_at,
            "windows": windows,
        },
    )


def settle_all(items: Sequence[f.SettlementFields]) -> Call[tuple[BatchItem[m.Settlement], ...]]:
    """Settle many events; each item has its own status."""
    return call(
        "POST", "/settlements/batch", batch(m.Settlement, "settlement"), body={"items": items}
    )


def get_settlement(settlement_id: str) -> Call[m.Settlement]:
    """A settlement with its scores."""
    return call("GET", f"/settlements/{part(settlement_id)}", one(m.Settlement))


def list_tasks(
    *, limit: int | None = None, cursor: str | None = None, key: str | None = None
) -> Call[Page[m.Task]]:
    """Tasks, all or the one with a caller's key."""
    return call("GET", "/tasks", page(m.Task), query={"limit": limit, "cursor": cursor, "key": key})


def add_task(
    *,
    text: str,
    category: str | None = None,
    closes_at: datetime | None = None,
    group_key: str | None = None,
    key: str | None = None,
    known_at: datetime | None = None,
    metadata: Mapping[str, object] | None = None,
    subcategory: str | None = None,
) -> Call[m.Task]:
    """Store a task; 200 where the same key and text were there already."""
    return call(
        "POST",
        "/tasks",
        one(m.Task),
        body={
            "text": text,
            "category": category,
            "closes_at": closes_at,
            "group_key": group_key,
            "key": key,
            "known_at": known_at,
            "metadata": metadata,
            "subcategory": subcategory,
        },
    )


def get_task(task_id: str) -> Call[m.Task]:
    """A task by its id."""
    return call("GET", f"/tasks/{part(task_id)}", one(m.Task))


def get_taxonomy() -> Call[m.TaxonomyVersion]:
    """The version in force."""
    return call("GET", "/taxonomy", one(m.TaxonomyVersion))


def bring_taxonomy(
    version: int | None = None,
    *,
    allow_new: bool | None = None,
    categories: Sequence[f.BranchFields] | None = None,
    default: bool | None = None,
) -> Call[m.TaxonomyVersion]:
    """`If-Match` is heeded where given."""
    return call(
        "PUT",
        "/taxonomy",
        one(m.TaxonomyVersion),
        body={"allow_new": allow_new, "categories": categories, "default": default},
        version=version,
    )


def list_taxonomies() -> Call[Page[m.TaxonomyVersion]]:
    """All versions that were brought, oldest first."""
    return call("GET", "/taxonomy/versions", page(m.TaxonomyVersion))


def list_tickets(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    state: Literal["open", "leased", "decided", "expired", "quarantined"] | None = None,
    memory_id: str | None = None,
) -> Call[Page[m.Ticket]]:
    """Tickets, also those that have their end."""
    return call(
        "GET",
        "/tickets",
        page(m.Ticket),
        query={"limit": limit, "cursor": cursor, "state": state, "memory_id": memory_id},
    )


def claim_tickets(
    agent: str, *, category: str | None = None, limit: int | None = None
) -> Call[tuple[m.Ticket, ...]]:
    """Lease candidates to try, for half an hour; none where nothing waits."""
    return call(
        "POST",
        "/tickets/claims",
        rows(m.Ticket),
        body={"agent": agent, "category": category, "limit": limit},
    )


def get_ticket(ticket_id: str) -> Call[m.Ticket]:
    """A ticket with its trials."""
    return call("GET", f"/tickets/{part(ticket_id)}", one(m.Ticket))


def approve_ticket(ticket_id: str, reason: str | None = None) -> Call[m.Ticket]:
    """Let a candidate in without trying it further."""
    return call(
        "POST", f"/tickets/{part(ticket_id)}/approve", one(m.Ticket), body={"reason": reason}
    )


def cancel_ticket(ticket_id: str, reason: str | None = None) -> Call[m.Ticket]:
    """Reject a candidate without trying it further."""
    return call(
        "POST", f"/tickets/{part(ticket_id)}/cancel", one(m.Ticket), body={"reason": reason}
    )


def release_ticket(ticket_id: str) -> Call[m.Ticket]:
    """Give a ticket back before its lease ends."""
    return call("POST", f"/tickets/{part(ticket_id)}/release", one(m.Ticket), body={})


def retry_ticket(ticket_id: str) -> Call[m.Ticket]:
    """Hand out a quarantined ticket again."""
    return call("POST", f"/tickets/{part(ticket_id)}/retry", one(m.Ticket), body={})


def report_trials(
    ticket_id: str,
    *,
    agent: str,
    trials: Sequence[f.TrialResultFields],
    known_at: datetime | None = None,
    metric: str | None = None,
) -> Call[m.Ticket]:
    """200 where the same report had come before."""
    return call(
        "POST",
        f"/tickets/{part(ticket_id)}/trials",
        one(m.Ticket),
        body={"agent": agent, "trials": trials, "known_at": known_at, "metric": metric},
    )


def list_trajectories(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    agent: str | None = None,
    task_id: str | None = None,
    category: str | None = None,
    verifier: Literal["human", "test", "judge", "self", "none"] | None = None,
    retrieval_id: str | None = None,
) -> Call[Page[m.TrajectorySummary]]:
    """Runs, oldest first, without their words."""
    return call(
        "GET",
        "/trajectories",
        page(m.TrajectorySummary),
        query={
            "limit": limit,
            "cursor": cursor,
            "agent": agent,
            "task_id": task_id,
            "category": category,
            "verifier": verifier,
            "retrieval_id": retrieval_id,
        },
    )


def add_trajectory(
    *,
    agent: str,
    cost: float | None = None,
    known_at: datetime | None = None,
    rationale: str | None = None,
    result: str | None = None,
    retrieval_id: str | None = None,
    reward: float | None = None,
    steps: Sequence[f.StepFields] | None = None,
    task: f.TaskFields | None = None,
    task_id: str | None = None,
    task_variant: str | None = None,
    verifier: Literal["human", "test", "judge", "self", "none"] | None = None,
) -> Call[m.AddedTrajectory]:
    """Keep a run of a task."""
    return call(
        "POST",
        "/trajectories",
        one(m.AddedTrajectory),
        body={
            "agent": agent,
            "cost": cost,
            "known_at": known_at,
            "rationale": rationale,
            "result": result,
            "retrieval_id": retrieval_id,
            "reward": reward,
            "steps": steps,
            "task": task,
            "task_id": task_id,
            "task_variant": task_variant,
            "verifier": verifier,
        },
    )


def add_trajectories(
    items: Sequence[f.TrajectoryFields],
) -> Call[tuple[BatchItem[m.AddedTrajectory], ...]]:
    """Keep many; each item has its own status."""
    return call("POST", "/trajectories/batch", batch(m.AddedTrajectory), body={"items": items})


def get_trajectory(trajectory_id: str) -> Call[m.Trajectory]:
    """A run with its words."""
    return call("GET", f"/trajectories/{part(trajectory_id)}", one(m.Trajectory))


def list_webhooks() -> Call[tuple[m.Webhook, ...]]:
    """The webhooks of the namespace, without their secrets."""
    return call("GET", "/webhooks", rows(m.Webhook))


def create_webhook(
    *,
    kinds: Sequence[
        Literal[
            "job.failed",
            "job.quarantined",
            "cell.suspended",
            "key.muted",
            "ticket.open",
            "memory.quarantined",
            "outcome.set_aside",
        ]
    ],
    url: str,
    secret: str | None = None,
) -> Call[m.WebhookCreated]:
    """Let an address hear of events; the secret that signs them is shown this once."""
    return call(
        "POST",
        "/webhooks",
        one(m.WebhookCreated),
        body={"kinds": kinds, "url": url, "secret": secret},
    )


def delete_webhook(webhook_id: str) -> Call[None]:
    """End a webhook; what waits for it is not sent."""
    return call("DELETE", f"/webhooks/{part(webhook_id)}", nothing)


def list_deliveries(
    webhook_id: str, *, limit: int | None = None, cursor: str | None = None
) -> Call[Page[m.WebhookDelivery]]:
    """What was sent to a webhook or waits for it, the newest first."""
    return call(
        "GET",
        f"/webhooks/{part(webhook_id)}/deliveries",
        page(m.WebhookDelivery),
        query={"limit": limit, "cursor": cursor},
    )


def try_webhook(webhook_id: str) -> Call[m.Sent]:
    """Send an event `webhook.test` now; if it arrives, a disabled webhook hears of events again."""
    return call("POST", f"/webhooks/{part(webhook_id)}/test", one(m.Sent), body={})


def list_weights(
    *,
    limit: int | None = None,
    cursor: str | None = None,
    agent: str | None = None,
    order: Literal["strongest", "weakest"] | None = None,
) -> Call[Page[m.WeightRow]]:
    """Memories by weight."""
    return call(
        "GET",
        "/weights",
        page(m.WeightRow),
        query={"limit": limit, "cursor": cursor, "agent": agent, "order": order},
    )


def list_worth_by_weight() -> Call[tuple[m.WorthByWeight, ...]]:
    """What serving memories added against what took their places, by class of weight."""
    return call("GET", "/weights/worth", rows(m.WorthByWeight))


def what_if(
    policy: Literal["belief", "paper", "paper-strict", "steps", "delta"], limit: int | None = None
) -> Call[m.WhatIfResult]:
    """What the recorded outcomes would have made of the bank under another policy."""
    return call("POST", "/what-if", one(m.WhatIfResult), body={"policy": policy, "limit": limit})
