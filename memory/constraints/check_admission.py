"""Observable checks become constraints: examine what is new → test each category → admit.

A plan is made while no transaction is open: new runs are examined, the library is tried on every
category that has new runs, and the sentences of what came out are embedded. The run of the job
writes it in one transaction: what was found in each run, a constraint for each check that speaks
for itself, with its figures and the pairs that speak for it, and the status that follows. A
constraint that the test does not let in stays proposed, with its figures; one that no longer holds
waits again. Who may vouch is as for all constraints: `memory.constraints.proof`.
"""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from typing import cast
from uuid import UUID

from memory.constraints.admission import (
    NewConstraint,
    add_support,
    admit_constraints,
    embed_constraints,
)
from memory.constraints.check_entities import CHECK, CheckEvidence
from memory.constraints.checks.library import check_of
from memory.constraints.checks.trials import (
    NOT_SIGNIFICANT,
    TOO_FEW_TASKS,
    Split,
    TrialFigures,
    compare_runs,
    try_bucket,
)
from memory.constraints.contradictions import ChangeContext, settle
from memory.constraints.contrast_entities import Contrast, ContrastState, PairClass, RunPair
from memory.constraints.entities import CHECKED, DISTILLED, wording_of
from memory.constraints.evidence import evidence_of
from memory.constraints.examination import Examination, examine_runs, line_up
from memory.constraints.jury import LIVING, Hearing, Jury, ModelCheck
from memory.constraints.pairs import find_fault
from memory.constraints.store.contrasts import ContrastResult, ContrastStore, PairingStamp
from memory.constraints.store.examined import ExaminedRunStore, ModelProposal
from memory.constraints.store.runs import PairingStore
from memory.constraints.store.support import SupportStore
from memory.constraints.store.trajectories import TrajectoryStore
from memory.inference.service import adopt_model
from memory.kernel.engine import Engine
from memory.kernel.postgres.database import Connection, undone
from memory.tasks.entities import CHECKER, DISTILLER, CategoryIds
from memory.tasks.store.actors import ActorStore
from memory.tenancy.entities import Namespace
from memory.tenancy.store.namespaces import NamespaceStore

CHECKS = "checks"


SHOWN_TASKS = "shown"
"""Under this name in the detail of a model's proposal: the tasks that it was made from."""


AT_ONCE = 200
"""So many runs are in memory at a time while they are examined."""


MOST = 10_000
"""So many new runs one run of the job examines; the rest in the next."""


BUCKET = 20_000
"""So many runs of a category are compared, the newest."""


PAIRS, WAITING_PAIRS = 12, 3
"""So many pairs of different tasks are kept as support of a constraint that the test lets in, and
of one that it does not: most of what is tried waits, and nobody is served it.
"""


When = tuple[datetime, datetime]


@dataclass(frozen=True, slots=True)
class CheckProposal:
    """A check that speaks for itself in a category: its sentence with where it comes from.
    `told` is kept beside its wording. `known`: the constraint that it is already, where that gets
    no more support.
    """

    evidence: CheckEvidence
    told: Mapping[str, object]
    constraints: tuple[NewConstraint, ...] = ()
    pairs: tuple[RunPair, ...] = ()
    known: UUID | None = None


@dataclass(frozen=True, slots=True)
class CategoryTrial:
    """What came of the library in one category."""

    category_id: UUID
    category: str
    runs: int
    refused: Mapping[UUID, str]
    figures: tuple[TrialFigures, ...]
    proposals: tuple[CheckProposal, ...] = ()


def speaks_for_itself(figures: TrialFigures) -> bool:
    """Whether it was tried, and more failing than winning runs violate it."""
    return figures.p is not None and figures.split.failing > figures.split.winning


def _pairs_kept(figures: TrialFigures) -> int:
    return PAIRS if figures.admitted else WAITING_PAIRS


def read_proposals(known: Sequence[ModelProposal]) -> list[ModelCheck]:
    """What a model proposed before, of several pairs or of one: what it was made from is noted with
    the first test, for judged pairs become support as well.
    """
    found: list[ModelCheck] = []
    for one in known:
        wording = wording_of(one.detail)
        shown = cast("Sequence[str]", one.detail.get(SHOWN_TASKS, one.rests))
        if wording is not None:
            found.append(ModelCheck(wording, tuple(shown), one.id))
    return found


@dataclass(frozen=True, slots=True)
class CheckPlan:
    """What was examined and tested before the transaction; `fresh`: new runs by task."""

    examined: Mapping[UUID, Examination]
    fresh: Mapping[UUID, int]
    trials: tuple[CategoryTrial, ...]
    engine: Engine


@dataclass(slots=True)
class CheckResult:
    """What a run did, or would do."""

    examined: int
    trials: Sequence[CategoryTrial]
    changes: list[dict[str, object]] = field(default_factory=list[dict[str, object]])

    def result(self) -> dict[str, object]:
        """As the run's record has it: names of checks and numbers, no words of runs."""
        return {
            "examined": self.examined,
            "categories": [_summary(one) for one in self.trials],
            "changes": self.changes,
        }


def _summary(trial: CategoryTrial) -> dict[str, object]:
    return {
        "category": trial.category,
        "runs": trial.runs,
        "refused": len(trial.refused),
        "tried": sum(one.p is not None for one in trial.figures),
        "admitted": sum(one.admitted for one in trial.figures),
    }


async def plan_checks(engine: Engine, namespace: Namespace, times: When) -> CheckPlan:
    """Examine what is new, and try the library, and a model's proposals, where something new is."""
    planner = _CheckPlanner(engine, namespace, times[0])
    examined, categories, fresh = await planner.examine_fresh()
    jury = None if engine.llm is None else Jury(engine, namespace, times[1])
    trials = [await planner.try_category(one, examined, jury) for one in sorted(categories)]
    return CheckPlan(examined, fresh, tuple(trials), engine)


@dataclass(frozen=True, slots=True)
class _CheckPlanner:
    """What is read and worked out before anything is written, at one time."""

    engine: Engine
    namespace: Namespace
    now: datetime

    async def examine_fresh(
        self,
    ) -> tuple[dict[UUID, Examination], set[UUID], Mapping[UUID, int]]:
        """What checks say of new runs, the categories that these are of, and how many of each task
        there are.
        """
        fresh: Counter[UUID] = Counter()
        examined: dict[UUID, Examination] = {}
        categories: set[UUID] = set()
        after = UUID(int=0)
        while len(examined) < MOST:
            async with self.engine.database.transaction(self.namespace.id) as connection:
                store = ExaminedRunStore(connection, self.namespace.id)
                runs = await store.fresh(self.now, after, AT_ONCE)
            if not runs:
                break
            examined |= await asyncio.to_thread(examine_runs, runs)
            categories |= {run.category_id for run in runs}
            fresh.update(run.task_id for run in runs)
            after = runs[-1].id
        return examined, categories, fresh

    async def try_category(
        self, category_id: UUID, examined: dict[UUID, Examination], jury: Jury | None
    ) -> CategoryTrial:
        """The test of a category, and its proposals with their vectors. What a model says of runs
        is added to `examined`.
        """
        async with self.engine.database.transaction(self.namespace.id) as connection:
            store = ExaminedRunStore(connection, self.namespace.id)
            runs = await store.of_category(category_id, self.now, BUCKET)
            known = await store.proposed(category_id, LIVING)
            names = await ActorStore(connection, self.namespace.id).names()
        lineup = line_up(runs, examined)
        examined |= lineup.changed
        hearing = Hearing()
        if jury is not None:
            tasks = await asyncio.to_thread(compare_runs, lineup.runs)
            hearing = await jury.hear(tasks, read_proposals(known))
            lineup = lineup.hear(hearing.judged)
            examined |= {run_id: lineup.known[run_id] for run_id in hearing.judged}
        figures = await asyncio.to_thread(try_bucket, lineup.runs)
        trial = CategoryTrial(
            category_id, names[category_id], len(runs), lineup.refused, tuple(figures)
        )
        checks = {check.name: check for check in hearing.checks}
        async with self.engine.database.transaction(self.namespace.id) as connection:
            whole = await self._supported(connection, category_id, figures)
            silent = {
                name: check.memory_id
                for name, check in checks.items()
                if check.memory_id and not any(one.pairs for one in figures if one.name == name)
            }
            proposals = [
                self._retold(trial, one, checks.get(one.name), (whole | silent)[one.name])
                if one.name in whole | silent
                else await self._propose(connection, trial, one, checks.get(one.name))
                for one in figures
                if one.name in silent
                or (one.pairs and (one.name in checks or speaks_for_itself(one)))
            ]
        return replace(trial, proposals=await self._embed(proposals))

    def _retold(
        self,
        trial: CategoryTrial,
        figures: TrialFigures,
        proposed: ModelCheck | None,
        known: UUID,
    ) -> CheckProposal:
        """What the test says of a constraint that gets no more support by it."""
        evidence = evidence_of(figures, trial.category)
        return CheckProposal(evidence, _told(evidence, proposed), known=known)

    async def _supported(
        self, connection: Connection, category_id: UUID, figures: Sequence[TrialFigures]
    ) -> dict[str, UUID]:
        """The constraints of checks, by name, that have as much support as is kept."""
        store = ExaminedRunStore(connection, self.namespace.id)
        known = (await store.checked([category_id])).get(category_id, {})
        counts = await SupportStore(connection, self.namespace.id).counts(list(known.values()))
        wanted = {one.name: min(_pairs_kept(one), len(one.pairs)) for one in figures}
        return {
            name: one
            for name, one in known.items()
            if one in counts and counts[one].tasks >= wanted.get(name, WAITING_PAIRS)
        }

    async def _propose(
        self,
        connection: Connection,
        trial: CategoryTrial,
        figures: TrialFigures,
        proposed: ModelCheck | None,
    ) -> CheckProposal:
        """A check's sentence, and the pairs that speak for it."""
        chosen = figures.pairs[: _pairs_kept(figures)]
        ids = sorted({UUID(run.id) for pair in chosen for run in (pair.winner, pair.loser)})
        sketches = await PairingStore(connection, self.namespace.id).sketches(ids)
        runs = await TrajectoryStore(connection, self.namespace.id).of_ids(ids)
        by_id = {run.id: run for run in runs}
        known = {one.id: one for one in sketches}
        draft = self._draft(trial, figures, proposed, task_id=sketches[0].task_id)
        constraints: list[NewConstraint] = []
        pairs: list[RunPair] = []
        for pair in chosen:
            won, lost = UUID(pair.winner.id), UUID(pair.loser.id)
            fault = find_fault(known[won], known[lost])
            pairs.append(RunPair(known[won], known[lost], PairClass.DISCORDANT, fault))
            constraints.append(
                replace(
                    draft,
                    task_id=known[won].task_id,
                    pair=(by_id[won], by_id[lost]),
                    counts=fault is None,
                )
            )
        evidence = evidence_of(figures, trial.category)
        told = _told(evidence, proposed)
        return CheckProposal(evidence, told, tuple(constraints), tuple(pairs))

    def _draft(
        self,
        trial: CategoryTrial,
        figures: TrialFigures,
        proposed: ModelCheck | None,
        *,
        task_id: UUID,
    ) -> NewConstraint:
        """The constraint before it is said which pairs it rests on."""
        if proposed is None:
            check, slot = check_of(figures.name)
            wording = check.wording_for(slot)
        else:
            wording = proposed.wording
        return NewConstraint(
            wording=wording,
            category_ids=CategoryIds(trial.category_id),
            task_id=task_id,
            lint=(),
            contrast=None,
            pair=None,
            origin=CHECKED if proposed is None else DISTILLED,
            agent=CHECKER if proposed is None else DISTILLER,
            counts=False,
            learned_at=self.now,
            detail=_told(evidence_of(figures, trial.category), proposed),
        )

    async def _embed(self, proposals: Sequence[CheckProposal]) -> tuple[CheckProposal, ...]:
        """The proposals with the vectors of their sentences and source tasks."""
        every = [new for one in proposals for new in one.constraints]
        ready = iter(await embed_constraints(self.engine, self.namespace, every))
        return tuple(
            replace(one, constraints=tuple(next(ready) for _ in one.constraints))
            for one in proposals
        )


async def admit_checks(
    connection: Connection, namespace: Namespace, times: When, *, dry: bool, plan: CheckPlan
) -> CheckResult:
    """Write what was planned. A dry run does the same, and takes it back."""
    admitter = _CheckAdmitter(connection, namespace, times, plan)
    if not dry:
        return await admitter.admit_all()
    async with undone(connection):
        done = await admitter.admit_all()
        for one in done.changes:
            if "memory_id" in one:
                one["memory_id"] = None
        return done


@dataclass(frozen=True, slots=True)
class _CheckAdmitter:
    """Where proposals become constraints, in one transaction."""

    connection: Connection
    namespace: Namespace
    times: When
    plan: CheckPlan

    async def admit_all(self) -> CheckResult:
        done = CheckResult(sum(self.plan.fresh.values()), self.plan.trials)
        for task_id, many in sorted(self.plan.fresh.items()):
            done.changes.append({"change": "examined", "task_id": str(task_id), "runs": many})
        store = ExaminedRunStore(self.connection, self.namespace.id)
        stored = {run_id: one.stored() for run_id, one in self.plan.examined.items()}
        if any(trial.proposals for trial in self.plan.trials):
            # Before the rows of runs that an erasure, which takes the version first, will want.
            await NamespaceStore(self.connection).bump(self.namespace, steps=0)
        await store.keep(stored)
        context = ChangeContext(self.connection, self.namespace, None, self.times[1])
        await settle(context, await store.in_use_untested())
        known = await store.checked([trial.category_id for trial in self.plan.trials])
        for trial in self.plan.trials:
            done.changes += await self._admit_category(trial, known.get(trial.category_id, {}))
        return done

    async def _admit_category(
        self, trial: CategoryTrial, known: Mapping[str, UUID]
    ) -> list[dict[str, object]]:
        """What speaks for itself, then each constraint of a check that no longer does."""
        touched: dict[str, UUID] = {}
        for proposal in trial.proposals:
            touched[proposal.evidence.name] = await self._admit(proposal)
        store = ExaminedRunStore(self.connection, self.namespace.id)
        figures = {one.name: one for one in trial.figures}
        for name, memory_id in known.items():
            if name not in touched:
                evidence = _fallen(name, figures.get(name), trial.category)
                await store.tell(memory_id, {CHECK: asdict(evidence)})
                touched[name] = memory_id
        context = ChangeContext(self.connection, self.namespace, None, self.times[1])
        await settle(context, list(touched.values()))
        return [
            {"change": "tested", "category": trial.category, "check": name, "memory_id": str(one)}
            for name, one in sorted(touched.items())
        ]

    async def _admit(self, proposal: CheckProposal) -> UUID:
        """One constraint with its pairs as support: new, or told what the last test said."""
        store = ExaminedRunStore(self.connection, self.namespace.id)
        if proposal.known is not None:
            await store.tell(proposal.known, proposal.told)
            return proposal.known
        contrasts = await self._store_pairs(proposal.pairs)
        model_id = await adopt_model(self.connection, self.plan.engine, self.namespace)
        constraints = [
            replace(new, contrast=contrasts[pair.ids])
            for new, pair in zip(proposal.constraints, proposal.pairs, strict=True)
        ]
        results = await admit_constraints(
            self.connection, self.namespace, constraints[:1], model_id=model_id, now=self.times[1]
        )
        memory_id = results[0].memory_id
        # The rest is support of what the first brought in; what follows of it is settled for all.
        context = ChangeContext(self.connection, self.namespace, None, self.times[1])
        await add_support(context, model_id, memory_id, constraints[1:])
        await store.tell(memory_id, proposal.told)
        return memory_id

    async def _store_pairs(self, pairs: Sequence[RunPair]) -> dict[frozenset[UUID], Contrast]:
        """The contrasts of these pairs; those that are new have their result, which is this."""
        store = ContrastStore(self.connection, self.namespace.id)
        tasks = list({pair.preferred.task_id for pair in pairs})
        known = await PairingStore(self.connection, self.namespace.id).known(tasks)
        await store.add(pairs, PairingStamp(self.times[1], self.times[0]))
        found = await store.of_pairs(pairs)
        for one in found:
            if frozenset((one.preferred_id, one.unpreferred_id)) not in known:
                result = ContrastResult(ContrastState.DISTILLED, one.reason, CHECKER)
                await store.finish(one.id, result, self.times[1])
        return {frozenset((one.preferred_id, one.unpreferred_id)): one for one in found}


def _told(evidence: CheckEvidence, proposed: ModelCheck | None) -> dict[str, object]:
    """What is kept beside the wording of a constraint that was tested."""
    told: dict[str, object] = {CHECK: asdict(evidence)}
    return told if proposed is None else told | {SHOWN_TASKS: list(proposed.shown)}


def _fallen(name: str, figures: TrialFigures | None, category: str) -> CheckEvidence:
    """What is to be said of a constraint whose check does not speak for itself any more."""
    if figures is None:
        nothing = Split()
        figures = TrialFigures(name, 0, 0, nothing, (nothing, nothing), 0, against_itself=False)
    reason = figures.reason or (TOO_FEW_TASKS if figures.p is None else NOT_SIGNIFICANT)
    return evidence_of(replace(figures, reason=reason), category)
