"""Pairs become constraints: claim → ask a language model → lint → admit, each pair once.

A pair is claimed (one transaction), thought about (none is open) and stored (another): who dies
over it leaves a claim that lapses and counts. Only a language model distils: without one, pairs
stay in the queue and say so. What stops the work for a while leaves the pair in the queue, with
the reason; what goes wrong with the pair itself ends it as failed, and it can be asked again.
"""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from memory.constraints import prompts
from memory.constraints.admission import EmbeddedConstraint, NewConstraint, admit, embedded
from memory.constraints.entities import DISTILLED, ContrastState, PairClass, Wording
from memory.constraints.lint import lint, literals_of
from memory.constraints.pairs import reason_against
from memory.constraints.replies import Distilled, Material, read
from memory.constraints.store.contrasts import Claimed, ContrastStore, End
from memory.constraints.store.runs import PairingStore
from memory.constraints.store.trajectories import TrajectoryStore
from memory.constraints.trajectory_entities import Trajectory
from memory.inference.service import adopt_model, require_model
from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Overloaded, Rejected, Unavailable
from memory.kernel.ports import Writer
from memory.kernel.postgres.database import Connection
from memory.kernel.postgres.leadership import Leadership, WorkStore
from memory.llm.client import STOPPED, Desk, Undone, attempted
from memory.llm.entities import Subject
from memory.llm.roles import Role, prompt_of, said
from memory.tasks.entities import DISTILLER, Task
from memory.tasks.store.tasks import TaskStore
from memory.tenancy.entities import Clock, Namespace
from memory.tenancy.store.namespaces import NamespaceStore

REST = timedelta(minutes=10)
"""How long a pair rests when the budget or a model stopped the work."""


STRETCH, TURN = 300.0, 60.0
"""So many seconds the queue is worked off at a time, by hand and by the leader, who has other work
to do.
"""


BUDGET, AWAY, DEADLINE = "budget", "model_away", "deadline"


NO_MODEL = "no_language_model"
"""Why a pair waits where no language model is configured."""


PASSING = {
    STOPPED: BUDGET,
    AWAY: AWAY,
    DEADLINE: DEADLINE,
    "writer_busy": "writer_busy",
    "writer_loading": "writer_loading",
}
"""What ends the work for now and leaves the pair in the queue, and how its reason reads."""


@dataclass(frozen=True, slots=True)
class Thought:
    """What the language model said, ready to be stored."""

    ready: Sequence[EmbeddedConstraint]
    rejected: Sequence[Mapping[str, object]]
    distiller: str
    tokens: int


async def work_off(
    engine: Engine, namespace: Namespace, now: datetime, leadership: Leadership | None
) -> None:
    """Distil what is queued, for a stretch, or until nothing is left that can be done now."""
    writer = engine.writer
    if writer is None:
        await _leave_waiting(engine, namespace)
        return
    require_model(engine, namespace)
    async with engine.database.transaction(namespace.id) as connection:
        if await ContrastStore(connection, namespace.id).rests(now):
            return
    seconds = STRETCH if leadership is None else TURN
    await _work(Shift(engine, namespace, writer, now, time.monotonic(), seconds, leadership))


async def work_on(
    engine: Engine, namespace: Namespace, contrast_ids: Collection[UUID], now: datetime
) -> None:
    """Distil these now, as far as the time goes that a language model has; the rest stays."""
    writer = engine.writer
    if writer is None:
        await _leave_waiting(engine, namespace, contrast_ids)
        return
    seconds = engine.settings.writing.timeout.total_seconds()
    shift = Shift(engine, namespace, writer, now, time.monotonic(), seconds, only=contrast_ids)
    try:
        require_model(engine, namespace)
        await _work(shift)
    except (Unavailable, Overloaded):
        # They wait for the model, and whoever asked is told that they are queued.
        return


async def _leave_waiting(
    engine: Engine, namespace: Namespace, contrast_ids: Collection[UUID] | None = None
) -> None:
    """What is queued says that it waits for a language model; one that comes later finds it."""
    async with engine.database.transaction(namespace.id) as connection:
        await ContrastStore(connection, namespace.id).leave_waiting(NO_MODEL, contrast_ids)


@dataclass(frozen=True, slots=True)
class Shift:
    """Work on the queue of a namespace by a language model: since when, for how many seconds, by
    which leader if by one, and on which pairs alone, if so.
    """

    engine: Engine
    namespace: Namespace
    writer: Writer
    began: datetime
    started: float
    seconds: float
    leadership: Leadership | None = None
    only: Collection[UUID] | None = None

    @property
    def left(self) -> float:
        return self.started + self.seconds - time.monotonic()

    @property
    def now(self) -> datetime:
        """The time goes on while a model thinks: claims must not be older than they are."""
        return self.began + timedelta(seconds=time.monotonic() - self.started)


async def _work(shift: Shift) -> None:
    while shift.left > 0:
        case = await claim(shift)
        if case is None or not await _distil(shift, case):
            return


@dataclass(frozen=True, slots=True)
class Case:
    """A claimed pair with its words; `reason` says why it cannot count as support."""

    claimed: Claimed
    task: Task
    preferred: Trajectory
    unpreferred: Trajectory
    reason: str | None

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


async def _distil(shift: Shift, case: Case) -> bool:
    """Think, then store; False where the work has to stop for a while."""
    began = time.monotonic()
    try:
        thought = await _think(shift, case)
    except (Unavailable, Overloaded):
        thought = Undone(AWAY)
    except MemoryFault as fault:
        thought = Undone(fault.kind)
    took = round((time.monotonic() - began) * 1000, 3)
    try:
        await _keep(shift, case, (thought, took))
    except Rejected as fault:
        # The bank would not take it, for it is full.
        await _keep(shift, case, (Undone(fault.kind), took))
    return not (isinstance(thought, Undone) and thought.reason in PASSING)


async def _keep(shift: Shift, case: Case, what: tuple[Thought | Undone, float]) -> None:
    """What became of it is stored, unless another worker took it over."""
    thought, took = what
    async with shift.engine.database.transaction(shift.namespace.id) as connection:
        if shift.leadership is not None:
            await WorkStore(connection).guard(shift.leadership)
        if isinstance(thought, Thought) and thought.ready:
            # Before the rows that an erasure, which takes the bank's version first, will want.
            await NamespaceStore(connection).bump(shift.namespace.id, steps=0)
        worded = await ContrastStore(connection, shift.namespace.id).hold(case.claimed)
        if worded is False:
            # Erased while a model thought: what it said of them goes as well.
            what = Undone(ContrastState.NO_TEXT, thought.tokens), took
        if worded is not None:
            await _store(shift, connection, case, what)


async def _think(shift: Shift, case: Case) -> Thought | Undone:
    material = case.material
    if not (material.task and material.preferred and material.unpreferred):
        return Undone(ContrastState.NO_TEXT)
    made = await _distilled(shift, case, material)
    if isinstance(made, Undone):
        return made
    distilled, distiller, tokens = made
    literals = literals_of(material.task, material.identifiers)
    agents = (case.preferred.agent, case.unpreferred.agent)
    enforce = material.pair_class is not PairClass.BOTH_WRONG
    news = [
        _new(shift, case, wording, lint(wording, literals, agents, enforce_required=enforce))
        for wording in distilled.wordings
    ]
    ready = await embedded(shift.engine, shift.namespace, news)
    return Thought(ready, distilled.rejected, distiller, tokens)


async def _distilled(
    shift: Shift, case: Case, material: Material
) -> tuple[Distilled, str, int] | Undone:
    """What the language model says, its name, and the tokens it took."""
    engine = shift.engine
    whole = engine.settings.writing.timeout.total_seconds()
    seconds = min(whole, shift.left)
    subject = Subject(task_id=case.task.id)
    desk = Desk(engine, shift.writer, shift.namespace.id, subject, shift.now)
    made = await attempted(desk, _role(material), seconds)
    if not isinstance(made, Undone):
        return made.value, shift.writer.name, made.tokens
    # A model that had less than its time did not fail.
    late = made.reason == "writer_slow" and seconds < whole
    return Undone(DEADLINE, made.tokens) if late else made


def _role(material: Material) -> Role[Distilled]:
    """A pair → at most three wordings."""
    parts = [(title, said(text)) for title, text in prompts.parts(material)]
    asked = prompts.asked(material.pair_class)
    prompt = prompt_of("distil", asked, parts, (prompts.SCHEMA, prompts.ANSWER))
    return Role("distil", prompt, partial(read, pair_class=material.pair_class))


def _new(shift: Shift, case: Case, wording: Wording, found: tuple[str, ...]) -> NewConstraint:
    contrast = case.claimed.contrast
    now = shift.now if shift.namespace.clock is Clock.WALL else contrast.known_at
    return NewConstraint(
        wording=wording,
        category_ids=case.task.category_ids,
        task_id=case.task.id,
        lint=found,
        contrast=contrast,
        pair=(case.preferred, case.unpreferred),
        origin=DISTILLED,
        agent=DISTILLER,
        counts=contrast.supports,
        learned_at=now,
    )


async def _store(
    shift: Shift,
    connection: Connection,
    case: Case,
    what: tuple[Thought | Undone, float],
) -> None:
    """What became of the pair; the caller holds it."""
    thought, took = what
    contrast_id = case.claimed.contrast.id
    store = ContrastStore(connection, shift.namespace.id)
    if isinstance(thought, Thought):
        state = await _admitted(shift, connection, thought)
        end = End(state, case.reason, thought.distiller, thought.rejected, took, thought.tokens)
        await store.finish(contrast_id, end, shift.now)
    elif thought.reason in PASSING:
        until = shift.now if thought.reason == DEADLINE else shift.now + REST
        await store.let_go(contrast_id, PASSING[thought.reason], until, thought.tokens)
    else:
        await store.finish(contrast_id, _ended(shift, thought, took), shift.now)


async def _admitted(shift: Shift, connection: Connection, thought: Thought) -> ContrastState:
    """Distilled where something can be used; what the lint found fault with is kept as rejected."""
    if not thought.ready:
        return ContrastState.EMPTY
    model_id = await adopt_model(connection, shift.engine, shift.namespace)
    written = (model_id, shift.now)
    admitted = await admit(connection, shift.namespace, thought.ready, written)
    used = any(one.outcome != "rejected" for one in admitted)
    return ContrastState.DISTILLED if used else ContrastState.EMPTY


def _ended(shift: Shift, undone: Undone, took: float) -> End:
    if undone.reason == ContrastState.NO_TEXT:
        return End(ContrastState.NO_TEXT, "erased", tokens=undone.tokens)
    name = shift.writer.name
    return End(ContrastState.FAILED, undone.reason, name, (), took, undone.tokens)


CLAIM = timedelta(minutes=10)
"""How long a claim holds, besides the time that a language model has."""


async def claim(shift: Shift) -> Case | None:
    """The next pair to be distilled, with its words; None where none is left for this shift."""
    namespace_id = shift.namespace.id
    until = shift.now + CLAIM + shift.engine.settings.writing.timeout
    async with shift.engine.database.transaction(namespace_id) as connection:
        if shift.leadership is not None:
            await WorkStore(connection).guard(shift.leadership)
        store = ContrastStore(connection, namespace_id)
        claimed = await store.claim(shift.now, until, shift.only)
        return None if claimed is None else await _case(connection, namespace_id, claimed)


async def _case(connection: Connection, namespace_id: UUID, claimed: Claimed) -> Case:
    contrast = claimed.contrast
    ids = [contrast.preferred_id, contrast.unpreferred_id]
    runs = {run.id: run for run in await TrajectoryStore(connection, namespace_id).of_ids(ids)}
    sketches = await PairingStore(connection, namespace_id).sketches(ids)
    return Case(
        claimed=claimed,
        task=await TaskStore(connection, namespace_id).get(contrast.task_id),
        preferred=runs[contrast.preferred_id],
        unpreferred=runs[contrast.unpreferred_id],
        reason=reason_against(sketches[0], sketches[-1]),
    )
