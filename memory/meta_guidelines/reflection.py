"""Where memory made a task worse, reflection asks how it should have been used."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import cast
from uuid import UUID

from memory.belief.policy import policy_named
from memory.guidelines.entities import CrossCategory, Directives, OnDisagreement, sign_of
from memory.inference.service import require_model
from memory.kernel.engine import Engine
from memory.kernel.errors import Rejected
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Connection
from memory.kernel.postgres.leadership import WorkStore
from memory.kernel.quoting import shown
from memory.llm import prompts
from memory.llm.client import LlmResult, ask_in_background
from memory.llm.entities import LlmSubject
from memory.llm.replies import object_of, read_object, text_of
from memory.llm.roles import (
    SMALL_ANSWER,
    LlmRole,
    Note,
    fitting_notes,
    prompt_of,
    rendered_notes,
    said,
)
from memory.llm.run_material import RUN_CHARACTERS, rendered_run
from memory.memories.entities import Kind
from memory.meta_guidelines.entities import MetaGuidelineDraft
from memory.meta_guidelines.service import embed_draft
from memory.meta_guidelines.store import (
    CitedMemory,
    HarmfulPair,
    MetaGuidelineStore,
    PairRuns,
)
from memory.receipts.material import load_shared_guideline
from memory.tasks.entities import REFLECTOR
from memory.tasks.run_entities import Step
from memory.tenancy.entities import Namespace
from memory.tenancy.store.namespaces import NamespaceStore

REFLECT = "reflect"


GAP = 0.02
"""The dead band: a pair that lost no more than this says nothing."""


START_WEIGHT = 0.8


MANY = 4
"""From so many experiences on, a failure may be one of too many voices."""


EXCERPT = 400


@dataclass(frozen=True, slots=True)
class ReflectionCase:
    """A pair that memory lost, and what had been shown; `sources` are the memories that the words
    of its guideline are made of; `runs` what was done with it and without; `private` whether the
    agent was told more than everyone may read.
    """

    failure: HarmfulPair
    blamed: tuple[CitedMemory, ...]
    sources: tuple[UUID, ...] = ()
    runs: PairRuns = field(default_factory=PairRuns)
    private: bool = False


@dataclass(frozen=True, slots=True)
class ReflectedCandidate:
    """What a case came to, with its vectors."""

    failure: HarmfulPair
    draft: MetaGuidelineDraft
    vectors: dict[str, Embedding]
    sources: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class ReflectionPlan:
    """What was thought before the transaction: candidates, and the bank version reached."""

    model_id: UUID
    until: int
    examined: int
    candidates: tuple[ReflectedCandidate, ...]


async def plan_reflection(
    engine: Engine, namespace: Namespace, times: tuple[datetime, datetime]
) -> ReflectionPlan:
    """Read what failed since the last run, and write a candidate for each task group; nothing where
    the namespace compiles by none.
    """
    model_id = require_model(engine, namespace)
    async with engine.database.transaction(namespace.id) as connection:
        after = await _find_start(connection, namespace)
        if not namespace.settings.meta_guidelines:
            return ReflectionPlan(model_id, after, 0, ())
        now = await NamespaceStore(connection).get(namespace.id)
        store = MetaGuidelineStore(connection, namespace.id)
        failures = await store.list_harmful_pairs(after, _gap(namespace))
        until = _find_end(failures, now.bank_version, times[0])
        failures = [one for one in failures if one.bank_version <= until]
        blamed = await store.list_cited([one.retrieval_id for one in failures])
        literal = policy_named(namespace.policy).literal
        worst = failures if literal else _choose_worst(failures)
        runs = await store.list_runs([one.outcome_id for one in worst])
        cases = [
            replace(
                await _load_case(connection, namespace, one, blamed),
                runs=runs.get(one.outcome_id, PairRuns()),
            )
            for one in worst
        ]
    candidates: list[ReflectedCandidate] = []
    drafts = await draft_each(engine, namespace.id, cases, times[1])
    for case, draft in zip(cases, drafts, strict=True):
        if draft is not None:
            vectors = await embed_draft(engine, draft)
            candidates.append(ReflectedCandidate(case.failure, draft, vectors, case.sources))
    return ReflectionPlan(model_id, until, len(failures), tuple(candidates))


async def has_fresh_harm(connection: Connection, namespace: Namespace) -> bool:
    """Whether memory did harm since the last run, and a meta-guideline of it would be used."""
    if not namespace.settings.meta_guidelines:
        return False
    after = await _find_start(connection, namespace)
    store = MetaGuidelineStore(connection, namespace.id)
    return bool(await store.list_harmful_pairs(after, _gap(namespace)))


async def _find_start(connection: Connection, namespace: Namespace) -> int:
    """The bank version that the last run reached."""
    last = await WorkStore(connection).last_result(REFLECT, namespace.id)
    return 0 if last is None else int(str(last["until"]))


def _gap(namespace: Namespace) -> float | None:
    """What a pair must have lost. Live-Evo reflects on a tie as well (algorithm 1)."""
    return None if policy_named(namespace.policy).literal else GAP


async def _load_case(
    connection: Connection,
    namespace: Namespace,
    failure: HarmfulPair,
    blamed: Sequence[CitedMemory],
) -> ReflectionCase:
    """What a model makes of a case everyone may read: it gets what everyone may read."""
    shared = await load_shared_guideline(connection, namespace.id, failure.retrieval_id)
    cited = tuple(one for one in blamed if one.retrieval_id == failure.retrieval_id)
    known = replace(failure, guideline=shared.text)
    return ReflectionCase(known, cited, shared.memory_ids, private=shared.partial)


def _find_end(failures: Sequence[HarmfulPair], bank_version: int, now: datetime) -> int:
    """The version reached: what becomes known after `now` is left to a later run."""
    later = [one.bank_version for one in failures if one.known_at > now]
    return min([bank_version, *(version - 1 for version in later)])


def _choose_worst(failures: Sequence[HarmfulPair]) -> list[HarmfulPair]:
    """The pair of each task group that lost most, in the order of the ledger."""
    worst: dict[str, HarmfulPair] = {}
    for one in failures:
        known = worst.setdefault(one.source_group, one)
        if one.reward - one.without < known.reward - known.without:
            worst[one.source_group] = one
    return sorted(worst.values(), key=lambda one: (one.bank_version, one.outcome_id))


async def draft_each(
    engine: Engine, namespace_id: UUID, cases: Sequence[ReflectionCase], now: datetime
) -> list[MetaGuidelineDraft | None]:
    """What each case teaches, in a model's words where there is one; no transaction is open.

    Without a model, or where it did not come to a candidate, what is known of a case decides.
    """
    return [await _draft(engine, namespace_id, case, now) for case in cases]


async def _draft(
    engine: Engine, namespace_id: UUID, case: ReflectionCase, now: datetime
) -> MetaGuidelineDraft | None:
    plain = deduce(case)
    # Without a run there is nothing to find out.
    if plain is None or not case.runs.known:
        return plain
    failure = case.failure
    # A run repeats what its agent was told, and what is made of it everyone may read.
    runs = PairRuns() if case.private else case.runs
    material = ReflectMaterial(
        task=failure.task,
        category=failure.category,
        guideline=failure.guideline or "",
        notes=(),
        reward_with=failure.reward,
        reward_without=failure.without,
        run_with=runs.with_memory,
        run_without=runs.without,
    )
    subject = LlmSubject(
        retrieval_id=failure.retrieval_id, task_id=failure.task_id, memory_ids=case.sources
    )
    found = await reflect(engine, namespace_id, material, subject, now)
    if found is None:
        return plain
    said = found.value
    try:
        return replace(
            plain,
            failure_reason=said.failure_reason,
            instruction=said.instruction,
            directives=Directives(**said.directives),  # pyright: ignore[reportArgumentType] - checked by the noun
        )
    except (Rejected, ValueError):
        return plain


def deduce(case: ReflectionCase) -> MetaGuidelineDraft | None:
    """A candidate from what is known; None where nothing was shown, or it had been told already."""
    failure = case.failure
    blamed = [one for one in case.blamed if one.kind == Kind.EXPERIENCE]
    directives = _directives(failure, blamed)
    told = [Directives.read(b.detail) for b in case.blamed if b.kind == Kind.META_GUIDELINE]
    if not blamed or directives in told:
        return None
    causes = _causes(directives)
    reasons = "; ".join(reason for reason, _ in causes)
    loss = failure.without - failure.reward
    return MetaGuidelineDraft(
        agent=REFLECTOR,
        failure_reason=f"A task went worse by {loss:.2f} with notes than without: {reasons}."
        f" The task: {failure.task[:EXCERPT]}",
        instruction=" ".join(instruction for _, instruction in causes),
        directives=directives,
        category=failure.category,
        weight=START_WEIGHT,
    )


def _directives(failure: HarmfulPair, shown: Sequence[CitedMemory]) -> Directives:
    """What would have left out the part of what was shown that is most likely to blame."""
    signs = {sign_of(one.effective_weight, one.credited) for one in shown}
    foreign = any(one.category != failure.category for one in shown)
    return Directives(
        max_memories=len(shown) // 2 if len(shown) >= MANY else None,
        cross_category=CrossCategory.EXCLUDE if foreign else CrossCategory.ALLOW,
        on_disagreement=OnDisagreement.STRONGEST if {-1, 1} <= signs else None,
    )


def _causes(directives: Directives) -> list[tuple[str, str]]:
    """The directives in words: what went wrong, and what to do."""
    causes = [
        (
            directives.cross_category is CrossCategory.EXCLUDE,
            "some notes came from another kind of task",
            "Leave out what was learned on another kind of task.",
        ),
        (
            directives.on_disagreement is not None,
            "the notes disagreed",
            "Where notes disagree, go by the one that has earned most.",
        ),
        (
            directives.max_memories is not None,
            "there were many notes at once",
            "Go by a few strong notes, not by many.",
        ),
    ]
    found = [(reason, instruction) for holds, reason, instruction in causes if holds]
    return found or [("the notes did not fit it", "Use a note only where its situation is yours.")]


@dataclass(frozen=True, slots=True)
class ReflectMaterial:
    """A paired run in which memory did harm; rewards in [0, 1]."""

    task: str
    category: str
    guideline: str
    notes: tuple[Note, ...]
    reward_with: float
    reward_without: float
    run_with: tuple[Step, ...] = ()
    run_without: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class ReflectReply:
    """A candidate meta-guideline; `directives` holds those of `prompts.DIRECTIVES` that were
    given.
    """

    failure_reason: str
    instruction: str
    directives: Mapping[str, object] = field(default_factory=dict[str, object])


async def reflect(
    engine: Engine,
    namespace_id: UUID,
    material: ReflectMaterial,
    subject: LlmSubject,
    now: datetime,
) -> LlmResult[ReflectReply] | None:
    """A candidate meta-guideline from a harmful paired run; None without a model, or when it did
    not come to one.
    """
    role = reflect_role(material)
    return await ask_in_background(engine, namespace_id, role, subject=subject, now=now)


MAX_REASON = 1_000


MAX_INSTRUCTION = 1_000


def reflect_role(material: ReflectMaterial) -> LlmRole[ReflectReply]:
    """A harmful paired run → a candidate meta-guideline."""
    gap = f"{material.reward_with:.3f} with the advice, {material.reward_without:.3f} without"
    parts = [
        ("Task", said(material.task)),
        ("Category", said(material.category)),
        ("Rewards (0 to 1, larger is better)", gap),
        ("Notes the advice was made of", rendered_notes(fitting_notes(material.notes))),
        ("The advice", said(material.guideline)),
        ("The run with the advice", _rendered(material.run_with)),
        ("The run without it", _rendered(material.run_without)),
    ]
    schema = prompts.REFLECT_SCHEMA
    return LlmRole(
        "reflect",
        prompt_of("reflect", prompts.REFLECT, parts, schema, room=SMALL_ANSWER),
        _read_reply,
    )


def _rendered(steps: Sequence[Step]) -> str:
    """Both runs together have the room of one."""
    return shown(rendered_run(steps, RUN_CHARACTERS // 2)) if steps else ""


def _read_reply(answer: str) -> ReflectReply:
    read = read_object(answer, ("failure_reason", "instruction"))
    return ReflectReply(
        failure_reason=text_of(read, "failure_reason", MAX_REASON),
        instruction=text_of(read, "instruction", MAX_INSTRUCTION),
        directives=_keep_known_directives(read.get("directives") or {}),
    )


def _keep_known_directives(given: object) -> dict[str, object]:
    """The directives there are, with values they can have; the others are left out."""
    return {
        name: value
        for name, value in object_of(given, "directives").items()
        if name in prompts.DIRECTIVES
        and _is_allowed(value, cast("Mapping[str, object]", prompts.DIRECTIVES[name]))
    }


def _is_allowed(value: object, shape: Mapping[str, object]) -> bool:
    if shape["type"] == "boolean":
        return isinstance(value, bool)
    if shape["type"] == "integer":
        low, high = cast("int", shape["minimum"]), cast("int", shape["maximum"])
        return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high
    return value in cast("list[object]", shape["enum"])
