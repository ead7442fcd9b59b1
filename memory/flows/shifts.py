"""Work on the queue of pairs: for how long, by whom, and the pair that is taken from it."""

import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from memory.contrast.material import Material
from memory.contrast.pairs import reason_against
from memory.domain.namespace import Namespace
from memory.domain.task import Task
from memory.domain.trajectory import Trajectory
from memory.engine import Engine
from memory.ports import Writer
from memory.storage.contrasts import Claimed, ContrastStore
from memory.storage.database import Connection
from memory.storage.pairing import PairingStore
from memory.storage.tasks import TaskStore
from memory.storage.trajectories import TrajectoryStore
from memory.storage.work import Leadership, WorkStore

CLAIM = timedelta(minutes=10)
"""How long a claim holds, besides the time that a language model has."""


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
