"""Pairs become constraints: claim → ask a language model → lint → admit, each pair once.

A pair is claimed (one transaction), distilled (none is open) and saved (another): who dies over it
leaves a claim that lapses and counts. Only a language model distils: without one, pairs stay in the
queue and say so. What stops the work for a while leaves the pair in the queue, with the reason;
what goes wrong with the pair itself ends it as failed, and it can be asked again.
"""

import asyncio
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from memory.constraints import prompts
from memory.constraints.admission import NewConstraint, admit_constraints, embed_constraints
from memory.constraints.contrast_entities import ContrastState, PairClass
from memory.constraints.entities import DISTILLED, Wording
from memory.constraints.lint import lint, literals_of
from memory.constraints.pairs import find_fault
from memory.constraints.replies import DistilledWordings, Material, read_answer
from memory.constraints.store.contrasts import ClaimedContrast, ContrastResult, ContrastStore
from memory.constraints.store.runs import PairingStore
from memory.constraints.store.trajectories import TrajectoryStore
from memory.constraints.trajectory_entities import Trajectory
from memory.inference.service import adopt_model, require_model
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Overloaded, Rejected, Unavailable
from memory.kernel.postgres.database import Connection
from memory.kernel.postgres.leadership import Leadership, WorkStore
from memory.llm.client import (
    NEVER_ASKED,
    STOPPED,
    STOPS,
    LlmFailure,
    LlmResult,
    LlmSession,
    ask_or_explain,
)
from memory.llm.entities import LlmSubject
from memory.llm.roles import LlmRole, prompt_of, said
from memory.tasks.entities import DISTILLER, Task
from memory.tasks.store.tasks import TaskStore
from memory.tenancy.entities import Clock, Namespace
from memory.tenancy.store.namespaces import NamespaceStore

PAUSE = timedelta(minutes=10)
"""How long a pair waits when the budget or a model stopped the work."""


CLAIM = timedelta(minutes=10)
"""How long a claim holds, besides the time that a language model has."""


BY_HAND, BY_LEADER = 300.0, 60.0
"""So many seconds the queue is worked off at a time; the leader has other work to do."""


BUDGET, AWAY, DEADLINE = "budget", "model_away", "deadline"


NO_MODEL = "no_language_model"
"""Why a pair waits where no language model is configured."""


PASSING_REASONS = {
    STOPPED: BUDGET,
    **{stop: stop for stop in sorted(STOPS - {STOPPED})},
    NEVER_ASKED: NEVER_ASKED,
    AWAY: AWAY,
    DEADLINE: DEADLINE,
    "llm_busy": "llm_busy",
    "llm_loading": "llm_loading",
}
"""What ends the work for now and leaves the pair in the queue, and how its reason reads."""


async def distil_queue(
    engine: Engine, namespace: Namespace, now: datetime, leadership: Leadership | None
) -> None:
    """Distil what is queued, for a while, or until nothing is left that can be done now."""
    if engine.llm is None:
        await _mark_waiting(engine, namespace)
        return
    require_model(engine, namespace)
    async with engine.database.transaction(namespace.id) as connection:
        if await ContrastStore(connection, namespace.id).is_paused(now):
            return
    seconds = BY_HAND if leadership is None else BY_LEADER
    await _drain(QueueRun(engine, namespace, now, time.monotonic(), seconds, leadership))


async def distil_now(
    engine: Engine, namespace: Namespace, contrast_ids: Collection[UUID], now: datetime
) -> None:
    """Distil these now, as far as the time goes that a language model has; the others stay."""
    if engine.llm is None:
        await _mark_waiting(engine, namespace, contrast_ids)
        return
    seconds = engine.settings.llm.timeout.total_seconds()
    run = QueueRun(engine, namespace, now, time.monotonic(), seconds, only=contrast_ids)
    try:
        require_model(engine, namespace)
        await _drain(run)
    except (Unavailable, Overloaded):
        # They wait for the model, and whoever asked is told that they are queued.
        return


async def _mark_waiting(
    engine: Engine, namespace: Namespace, contrast_ids: Collection[UUID] | None = None
) -> None:
    """What is queued says that it waits for a language model; one that comes later finds it."""
    async with engine.database.transaction(namespace.id) as connection:
        await ContrastStore(connection, namespace.id).mark_waiting(NO_MODEL, contrast_ids)


@dataclass(frozen=True, slots=True)
class QueueRun:
    """Work on the queue of a namespace by a language model: since when, for how many seconds, by
    which leader if by one, and on which pairs alone, if so.
    """

    engine: Engine
    namespace: Namespace
    began: datetime
    started: float
    seconds: float
    leadership: Leadership | None = None
    only: Collection[UUID] | None = None

    @property
    def seconds_left(self) -> float:
        return self.started + self.seconds - time.monotonic()

    @property
    def now(self) -> datetime:
        """The time goes on while a model thinks: claims must not be older than they are."""
        return self.began + timedelta(seconds=time.monotonic() - self.started)

    async def require_leadership(self, connection: Connection) -> None:
        if self.leadership is not None:
            await WorkStore(connection).guard(self.leadership)


async def _drain(run: QueueRun) -> None:
    while run.seconds_left > 0:
        pair = await claim_pair(run)
        if pair is None or not await distil_pair(run, pair):
            return


@dataclass(frozen=True, slots=True)
class ClaimedPair:
    """A claimed pair with its words; `reason` says why it cannot count as support."""

    claimed: ClaimedContrast
    task: Task
    preferred: Trajectory
    unpreferred: Trajectory
    reason: str | None

    @property
    def supports(self) -> bool:
        """Whether it may be counted."""
        return self.claimed.contrast.supports and self.reason is None

    @property
    def material(self) -> Material:
        named = self.task.metadata.get("identifiers")
        identifiers = named if isinstance(named, list) else []
        return Material(
            task=self.task.text,
            preferred=self.preferred.text,
            unpreferred=self.unpreferred.text,
            pair_class=self.claimed.contrast.pair_class,
            identifiers=tuple(name for name in identifiers if isinstance(name, str)),
        )


async def claim_pair(run: QueueRun) -> ClaimedPair | None:
    """The next pair to be distilled, with its words; None where none is left for this run."""
    namespace_id = run.namespace.id
    until = run.now + CLAIM + run.engine.settings.llm.timeout
    async with run.engine.database.transaction(namespace_id) as connection:
        await run.require_leadership(connection)
        claimed = await ContrastStore(connection, namespace_id).claim(run.now, until, run.only)
        return None if claimed is None else await _load_pair(connection, namespace_id, claimed)


async def _load_pair(
    connection: Connection, namespace_id: UUID, claimed: ClaimedContrast
) -> ClaimedPair:
    contrast = claimed.contrast
    ids = [contrast.preferred_id, contrast.unpreferred_id]
    runs = {run.id: run for run in await TrajectoryStore(connection, namespace_id).of_ids(ids)}
    return ClaimedPair(
        claimed=claimed,
        task=await TaskStore(connection, namespace_id).get(contrast.task_id),
        preferred=runs[contrast.preferred_id],
        unpreferred=runs[contrast.unpreferred_id],
        reason=await _find_fault(connection, namespace_id, claimed),
    )


async def _find_fault(
    connection: Connection, namespace_id: UUID, claimed: ClaimedContrast
) -> str | None:
    """Why the pair is no support as things stand: its runs may have been withdrawn meanwhile."""
    ids = [claimed.contrast.preferred_id, claimed.contrast.unpreferred_id]
    one, other = await PairingStore(connection, namespace_id).sketches(ids)
    return find_fault(one, other)


async def distil_pair(run: QueueRun, pair: ClaimedPair) -> bool:
    """Distil, then save; False where the work has to stop for a while."""
    began = time.monotonic()
    try:
        result = await _draft_constraints(run, pair)
    except (Unavailable, Overloaded):
        result = LlmFailure(AWAY)
    except MemoryFault as fault:
        result = LlmFailure(fault.kind)
    duration_ms = round((time.monotonic() - began) * 1000, 3)
    try:
        await _save(run, pair, result, duration_ms=duration_ms)
    except Rejected as fault:
        # The bank would not take it, for it is full.
        model = result.distiller if isinstance(result, DraftedConstraints) else result.model
        await _save(run, pair, LlmFailure(fault.kind, model=model), duration_ms=duration_ms)
    return not (isinstance(result, LlmFailure) and result.reason in PASSING_REASONS)


@dataclass(frozen=True, slots=True)
class DraftedConstraints:
    """What the language model said of a pair, ready to be admitted."""

    constraints: Sequence[NewConstraint]
    rejected: Sequence[Mapping[str, object]]
    distiller: str
    tokens: int


async def _draft_constraints(run: QueueRun, pair: ClaimedPair) -> DraftedConstraints | LlmFailure:
    """Ask for wordings, lint them, and embed them; no transaction is open."""
    material = pair.material
    if not (material.task and material.preferred and material.unpreferred):
        return LlmFailure(ContrastState.NO_TEXT)
    answer = await _ask_model(run, pair, material)
    if isinstance(answer, LlmFailure):
        return answer
    literals = await asyncio.to_thread(literals_of, material.task, material.identifiers)
    agents = (pair.preferred.agent, pair.unpreferred.agent)
    required = material.pair_class is not PairClass.BOTH_WRONG

    def draft(wording: Wording) -> NewConstraint:
        faults = lint(wording, literals, agents, enforce_required=required)
        return _new_constraint(run, pair, wording, faults)

    drafts = [draft(wording) for wording in answer.value.wordings]
    refused, tokens = [one for one in drafts if one.lint], answer.tokens
    if refused:
        again = await _repair(run, pair, refused)
        tokens += again.tokens
        wordings = () if isinstance(again, LlmFailure) else again.value.wordings
        drafts += [one for one in map(draft, wordings) if not one.lint]
    ready = await embed_constraints(run.engine, run.namespace, drafts)
    return DraftedConstraints(ready, answer.value.rejected, answer.model, tokens)


async def _repair(
    run: QueueRun, pair: ClaimedPair, refused: Sequence[NewConstraint]
) -> LlmResult[DistilledWordings] | LlmFailure:
    """One more try at what the lint refused: the model sees the pair again, and why. What comes
    rests on the same pair.
    """
    seconds = min(run.engine.settings.llm.timeout.total_seconds(), run.seconds_left)
    session = LlmSession(run.engine, run.namespace.id, LlmSubject(task_id=pair.task.id), run.now)
    told = "\n".join(
        f"{said(one.wording.situation)}, {said(one.wording.lesson)}: {', '.join(one.lint)}"
        for one in refused
    )
    first = _role_for(pair.material)
    prompt = replace(
        first.prompt,
        role="repair",
        system=f"{first.prompt.system}\n\n{prompts.REFUSED}",
        material=f"{first.prompt.material}\n\nYour wordings that were refused:\n{told}",
    )
    return await ask_or_explain(session, replace(first, name="repair", prompt=prompt), seconds)


async def _ask_model(
    run: QueueRun, pair: ClaimedPair, material: Material
) -> LlmResult[DistilledWordings] | LlmFailure:
    """What the language model says of the pair, with the tokens that it took."""
    whole = run.engine.settings.llm.timeout.total_seconds()
    seconds = min(whole, run.seconds_left)
    subject = LlmSubject(task_id=pair.task.id)
    session = LlmSession(run.engine, run.namespace.id, subject, run.now)
    answer = await ask_or_explain(session, _role_for(material), seconds)
    if isinstance(answer, LlmFailure) and answer.reason == "llm_slow" and seconds < whole:
        # A model that had less than its time did not fail.
        return LlmFailure(DEADLINE, answer.tokens)
    return answer


def _role_for(material: Material) -> LlmRole[DistilledWordings]:
    """A pair → at most three wordings."""
    parts = [(title, said(text)) for title, text in prompts.parts(material)]
    asked = prompts.asked(material.pair_class)
    prompt = prompt_of("distil", asked, parts, prompts.SCHEMA, room=prompts.ANSWER)
    return LlmRole("distil", prompt, partial(read_answer, pair_class=material.pair_class))


def _new_constraint(
    run: QueueRun, pair: ClaimedPair, wording: Wording, faults: tuple[str, ...]
) -> NewConstraint:
    contrast = pair.claimed.contrast
    now = run.now if run.namespace.clock is Clock.WALL else contrast.known_at
    return NewConstraint(
        wording=wording,
        category_ids=pair.task.category_ids,
        task_id=pair.task.id,
        lint=faults,
        contrast=contrast,
        pair=(pair.preferred, pair.unpreferred),
        origin=DISTILLED,
        agent=DISTILLER,
        counts=pair.supports,
        learned_at=now,
    )


async def _save(
    run: QueueRun, pair: ClaimedPair, result: DraftedConstraints | LlmFailure, *, duration_ms: float
) -> None:
    """What became of it is stored, unless another worker took it over."""
    async with run.engine.database.transaction(run.namespace.id) as connection:
        await run.require_leadership(connection)
        if isinstance(result, DraftedConstraints) and result.constraints:
            # Before the rows that an erasure, which takes the bank's version first, will want.
            await NamespaceStore(connection).bump(run.namespace, steps=0)
        store = ContrastStore(connection, run.namespace.id)
        has_words = await store.lock(pair.claimed)
        if has_words is None:
            return
        if not has_words:
            # Erased while a model thought: what it said of them goes as well.
            result = LlmFailure(ContrastState.NO_TEXT, result.tokens)
        contrast_id = pair.claimed.contrast.id
        reason = await _find_fault(connection, run.namespace.id, pair.claimed)
        if isinstance(result, LlmFailure) and result.reason in PASSING_REASONS:
            until = run.now if result.reason == DEADLINE else run.now + PAUSE
            await store.release(contrast_id, PASSING_REASONS[result.reason], until, result.tokens)
            return
        if isinstance(result, LlmFailure):
            ended = _failed(result, duration_ms)
        else:
            state = await _admit(run, connection, result, counts=pair.supports and reason is None)
            ended = ContrastResult(
                state, reason, result.distiller, result.rejected, duration_ms, result.tokens
            )
        await store.finish(contrast_id, ended, run.now)


async def _admit(
    run: QueueRun, connection: Connection, drafted: DraftedConstraints, *, counts: bool
) -> ContrastState:
    """Distilled where something can be used; what the lint found fault with is kept as rejected.
    `counts`: whether the pair still does.
    """
    if not drafted.constraints:
        return ContrastState.EMPTY
    model_id = await adopt_model(connection, run.engine, run.namespace)
    constraints = [replace(new, counts=new.counts and counts) for new in drafted.constraints]
    results = await admit_constraints(
        connection, run.namespace, constraints, model_id=model_id, now=run.now
    )
    used = any(one.outcome != "rejected" for one in results)
    return ContrastState.DISTILLED if used else ContrastState.EMPTY


def _failed(undone: LlmFailure, duration_ms: float) -> ContrastResult:
    if undone.reason == ContrastState.NO_TEXT:
        return ContrastResult(ContrastState.NO_TEXT, "erased", tokens=undone.tokens)
    return ContrastResult(
        ContrastState.FAILED, undone.reason, undone.model, (), duration_ms, undone.tokens
    )
