"""A language model proposes constraints from several pairs of a category, and judges each blind on
other pairs: it is shown two runs of a task, in an order that is drawn, and says which violates it.

What it says is kept with the runs like what a check of the library says, and goes through the same
test. It is asked within a budget of calls and seconds; what is not judged yet is judged when the
job runs again. Runs that a proposal was made from never count for it.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from hashlib import sha256
from typing import Final, TypeVar
from uuid import UUID

from memory.constraints import prompts
from memory.constraints.checks.library import check_of
from memory.constraints.checks.observations import CheckFinding
from memory.constraints.checks.trials import MODEL, TASKS, ComparedRuns
from memory.constraints.contrast_entities import PairClass
from memory.constraints.entities import Wording
from memory.constraints.lint import lint, literals_of
from memory.constraints.replies import read_answer
from memory.constraints.store.trajectories import TrajectoryStore
from memory.constraints.trajectory_entities import Trajectory
from memory.kernel.engine import Engine
from memory.llm.client import LlmResult, LlmSession, ask
from memory.llm.entities import LlmSubject
from memory.llm.replies import Malformed, read_object
from memory.llm.roles import LlmRole, prompt_of, said
from memory.tasks.store.tasks import TaskStore
from memory.tenancy.entities import Namespace

Said = TypeVar("Said")


SHOWN = 3
"""From so many pairs of different tasks a proposal is made."""


LIVING = 6
"""So many constraints of a model are judged in a category; with fewer it is asked for more."""


JUDGED = 24
"""On so many tasks a proposal is judged in one run of the job, at most."""


CALLS, SECONDS = 80, 120.0
"""What a run of the job may ask a model in all, and for how long."""


HINTS = 5
"""So many checks of the library that tell the pairs apart are named to the model."""


_ANSWER: Final = 60


_JUDGING: Final = (
    "Two runs of one task and a rule are given. Say which of the runs violates the rule. Do not say"
    " which run is better, and do not solve the task. `violates` is `first`, `second`, `both`,"
    " `neither`, or `unclear` where the rule does not apply or the runs do not show it."
)


_SIDES: Final[Mapping[str, tuple[bool, bool]]] = {
    "first": (True, False),
    "second": (False, True),
    "both": (True, True),
    "neither": (False, False),
}


_UNCLEAR: Final = "unclear"


_VERDICT: Final[dict[str, object]] = {
    "type": "object",
    "properties": {"violates": {"type": "string", "enum": [*_SIDES, _UNCLEAR]}},
    "required": ["violates"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class ModelCheck:
    """A proposal of a model: its name among the checks, the tasks that it was made from, and the
    constraint that it is, if it is one already.
    """

    wording: Wording
    shown: tuple[str, ...]
    memory_id: UUID | None = None

    @property
    def name(self) -> str:
        text = f"{self.wording.situation}\n{self.wording.lesson}"
        return f"{MODEL}:{sha256(text.encode()).hexdigest()[:12]}"


Judged = dict[UUID, dict[str, CheckFinding]]
"""What a model said of runs, by run and by the name of the check."""


@dataclass(frozen=True, slots=True)
class Hearing:
    """The proposals of a category, and what a model said of runs by them."""

    checks: tuple[ModelCheck, ...] = ()
    judged: Mapping[UUID, Mapping[str, CheckFinding]] = field(
        default_factory=dict[UUID, dict[str, CheckFinding]]
    )


@dataclass(slots=True)
class Jury:
    """A language model with what it may still be asked in this run of the job."""

    engine: Engine
    namespace: Namespace
    now: datetime
    calls: int = CALLS
    ends: float = field(default_factory=lambda: time.monotonic() + SECONDS)

    async def hear(
        self, tasks: Mapping[str, Sequence[ComparedRuns]], known: Sequence[ModelCheck]
    ) -> Hearing:
        """The proposals of a category, known and new, and what was said of runs by them."""
        checks = list(known)
        if len(tasks) < TASKS + SHOWN:
            # Too few are left to judge anything on.
            return Hearing()
        if len(known) < LIVING:
            known_names = {one.name for one in known}
            proposed = await self.propose(tasks)
            checks += [one for one in proposed if one.name not in known_names]
        judged: Judged = {}
        for check in checks:
            for pair in list(_open_pairs(check, tasks))[:JUDGED]:
                for run_id, finding in (await self.judge(check, pair)).items():
                    judged.setdefault(run_id, {})[check.name] = finding
        return Hearing(tuple(checks), judged)

    async def propose(self, tasks: Mapping[str, Sequence[ComparedRuns]]) -> list[ModelCheck]:
        """What a model says of several pairs at once, as far as it passes the lint."""
        chosen = [pairs[0] for pairs in list(tasks.values())[:SHOWN]]
        material = await self._load(chosen)
        parts: list[tuple[str, str]] = []
        for place, pair in enumerate(chosen, start=1):
            won, lost = (material.runs[UUID(run.id)] for run in (pair.winner, pair.loser))
            parts.append((f"Task {place}", said(material.tasks[won.task_id])))
            parts.append((f"The run of task {place} that succeeded", said(won.text)))
            parts.append((f"The run of task {place} that failed", said(lost.text)))
        parts.append(("What can be seen in these pairs", "\n".join(_hints(chosen))))
        asked = prompts.asked_of_several()
        prompt = prompt_of("distil", asked, parts, prompts.SCHEMA, room=prompts.ANSWER)
        read = partial(read_answer, pair_class=PairClass.DISCORDANT)
        answer = await self._ask(LlmRole("distil", prompt, read), chosen[0], material)
        if answer is None:
            return []
        shown = tuple(pair.winner.task for pair in chosen)
        return [
            ModelCheck(wording, shown)
            for wording in answer.value.wordings
            if not _faults(wording, material, chosen)
        ]

    async def judge(self, check: ModelCheck, pair: ComparedRuns) -> dict[UUID, CheckFinding]:
        """What a model says of both runs, which it does not know the results of."""
        material = await self._load([pair])
        drawn = sha256(f"{check.name} {pair.winner.id} {pair.loser.id}".encode()).digest()[0] % 2
        ids = [UUID(pair.winner.id), UUID(pair.loser.id)]
        ordered = ids if drawn else ids[::-1]
        first, second = (material.runs[one] for one in ordered)
        rule = f"{check.wording.situation}, {check.wording.lesson}"
        parts = [
            ("Rule", said(rule)),
            ("Task", said(material.tasks[first.task_id])),
            ("First run", said(first.text)),
            ("Second run", said(second.text)),
        ]
        prompt = prompt_of("distil", _JUDGING, parts, _VERDICT, room=_ANSWER)
        answer = await self._ask(LlmRole("distil", prompt, _read_verdict), pair, material)
        if answer is None or answer.value == _UNCLEAR:
            return {}
        sides = zip(ordered, _SIDES[answer.value], strict=True)
        return {one: CheckFinding.VIOLATED if bad else CheckFinding.KEPT for one, bad in sides}

    async def _ask(
        self, role: LlmRole[Said], pair: ComparedRuns, material: "_Material"
    ) -> LlmResult[Said] | None:
        seconds = self.ends - time.monotonic()
        if self.calls <= 0 or seconds <= 0:
            return None
        self.calls -= 1
        task_id = material.runs[UUID(pair.winner.id)].task_id
        subject = LlmSubject(task_id=task_id)
        session = LlmSession(self.engine, self.namespace.id, subject, self.now)
        whole = self.engine.settings.llm.timeout.total_seconds()
        return await ask(session, role, min(whole, seconds))

    async def _load(self, pairs: Sequence[ComparedRuns]) -> "_Material":
        """The words of the runs and of their tasks; read anew, for an erasure may have come."""
        ids = sorted({UUID(run.id) for pair in pairs for run in (pair.winner, pair.loser)})
        async with self.engine.database.transaction(self.namespace.id) as connection:
            runs = await TrajectoryStore(connection, self.namespace.id).of_ids(ids)
            store = TaskStore(connection, self.namespace.id)
            tasks = await store.some(sorted({run.task_id for run in runs}), [])
        return _Material({run.id: run for run in runs}, {task.id: task.text for task in tasks})


@dataclass(frozen=True, slots=True)
class _Material:
    """Runs and texts of tasks, by id."""

    runs: Mapping[UUID, Trajectory]
    tasks: Mapping[UUID, str]


def _read_verdict(answer: str) -> str:
    """Which side violates the rule. Raises Malformed."""
    said_side = read_object(answer, ("violates",))["violates"]
    if said_side not in (*_SIDES, _UNCLEAR):
        raise Malformed("violates is none of what was asked for")
    return str(said_side)


def _open_pairs(
    check: ModelCheck, tasks: Mapping[str, Sequence[ComparedRuns]]
) -> Iterable[ComparedRuns]:
    """A pair of each task that was neither shown nor judged: of one agent where there is one."""
    for task, pairs in tasks.items():
        judged = any(pair.difference(check.name) is not None for pair in pairs)
        if task not in check.shown and not judged:
            yield min(pairs, key=lambda pair: pair.winner.agent != pair.loser.agent)


def _hints(pairs: Sequence[ComparedRuns]) -> list[str]:
    """What the library sees in pairs, in the words of its sentences."""
    seen: dict[str, int] = {}
    for pair in pairs:
        for name in pair.winner.findings:
            if not name.startswith(MODEL) and pair.difference(name) == 1:
                seen[name] = seen.get(name, 0) + 1
    ordered = sorted(seen, key=lambda name: (-seen[name], name))[:HINTS]
    told = ((check_of(name), seen[name]) for name in ordered)
    return [
        f"in {many} of {len(pairs)} pairs only the run that failed {check.failing_for(slot)}"
        for (check, slot), many in told
        if not check.control
    ]


def _faults(
    wording: Wording, material: _Material, pairs: Sequence[ComparedRuns]
) -> tuple[str, ...]:
    agents = {run.agent for pair in pairs for run in (pair.winner, pair.loser)}
    literals = (literals_of(text) for text in material.tasks.values())
    return tuple(fault for one in literals for fault in lint(wording, one, agents))
