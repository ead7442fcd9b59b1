"""Every method of every store that is born in a namespace: foreign ids find and change nothing."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from inspect import getmembers, isfunction
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import DBAPIError

from memory.belief.state_mapping import (
    ChangeCause,
    LedgerEntry,
    MemoryCounters,
    StateChange,
    Subject,
)
from memory.belief.states import State
from memory.belief.store.ledger import LedgerStore
from memory.belief.store.states import StateStore
from memory.constraints.contrast_entities import (
    Contrast,
    ContrastFilter,
    ContrastState,
    PairClass,
    RunPair,
    RunSketch,
)
from memory.constraints.store.competence import CompetenceStore
from memory.constraints.store.constraints import ConstraintStore, PeerQuery
from memory.constraints.store.contradictions import (
    ContradictionDecision,
    ContradictionStore,
    NewContradiction,
)
from memory.constraints.store.contrasts import (
    ClaimedContrast,
    ContrastResult,
    ContrastStore,
    PairingStamp,
)
from memory.constraints.store.near import NearConstraintStore
from memory.constraints.store.relabelling import RelabelQuery, RelabelStore
from memory.constraints.store.runs import PairingStore
from memory.constraints.store.sharing import SharingStore
from memory.constraints.store.support import SupportStore
from memory.constraints.store.taxonomies import TaxonomyStore
from memory.constraints.store.trajectories import NewTrajectory, TrajectoryStore
from memory.constraints.tables import contradiction, contrast
from memory.constraints.taxonomy_entities import Branch, TaxonomyDraft
from memory.constraints.trajectory_entities import (
    AgentCategory,
    TrajectoryDraft,
    TrajectoryFilter,
    VerifiedRuns,
)
from memory.erasure.entities import Erasure
from memory.erasure.store import (
    ErasurePreviewStore,
    ErasureStore,
    ErasureTargets,
    RollbackSource,
    RollbackStore,
)
from memory.experiences.store import START, EchoStore, Merge, MergeMember, MergePosition, TwinStore
from memory.forecasts.entities import (
    PredictionFilter,
    PredictionState,
    Settlement,
    SettlementScore,
    Window,
)
from memory.forecasts.store.predictions import PredictionStore, ScoredPrediction
from memory.forecasts.store.settlements import SettledWindows, SettlementStore
from memory.forecasts.tables import prediction, settlement
from memory.insight.entities import (
    DuplicateTexts,
    ItemVariance,
    LearningHealth,
    OutcomeCoverage,
    WaitingByAge,
    WeightShares,
)
from memory.insight.store.browsing import BrowsingStore
from memory.insight.store.episodes import EpisodeStore
from memory.insight.store.events import WeightEventStore
from memory.insight.store.health import HealthStore
from memory.kernel.engine import Engine
from memory.kernel.errors import NotFound, Rejected
from memory.kernel.ids import new_id
from memory.kernel.paging import Page
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Connection
from memory.llm.entities import LlmCall, LlmCallFilter
from memory.llm.store import LlmCallStore
from memory.llm.tables import writing
from memory.memories.browse_entities import BankMoment, Browse
from memory.memories.entities import (
    ExperienceDraft,
    MemoryFilter,
    Status,
    Trust,
    Viewer,
    fingerprint,
)
from memory.memories.store.centroids import CentroidStore
from memory.memories.store.memories import MemoryStore, NewMemory, NewVersion, Stamp
from memory.memories.store.queries import MemoryReader
from memory.memories.store.snapshots import Snapshot, SnapshotStore
from memory.memories.store.status import StatusStore, StatusTransition
from memory.memories.tables import memory
from memory.meta_guidelines.store import MetaGuidelineStore, Neighbourhood
from memory.outcomes.store.unpaired import OtherRun, UnpairedStore
from memory.receipts.entities import (
    AgentTask,
    Outcome,
    OutcomeFilter,
    OutcomeStatus,
    Receipt,
    ReceiptFilter,
)
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import ReceiptStore
from memory.receipts.tables import outcome, retrieval
from memory.retrieval.store.search import Probe, Scope, SearchStore
from memory.schema import ISOLATED
from memory.tasks.entities import AgentDraft, CategoryIds, CategoryName, Task, TaskDraft
from memory.tasks.store.actors import ActorStore
from memory.tasks.store.tasks import Provenance, TaskStore
from memory.tasks.tables import agent, category, task, trajectory
from memory.tenancy.entities import Call
from memory.verification.entities import TicketFilter
from memory.verification.store.candidates import CandidateStore, CaseEnd, LessonCase
from memory.verification.store.tickets import Claimable, Holder, TicketStore, TrialRow, TrialStamp
from memory.verification.tables import candidate, ticket
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import DAY, NOON
from tests.storage.neighbours import REJECTED, Neighbours

STORES = (
    ActorStore,
    StatusStore,
    NearConstraintStore,
    BrowsingStore,
    CandidateStore,
    CentroidStore,
    ConstraintStore,
    ContradictionStore,
    ContrastStore,
    CompetenceStore,
    EpisodeStore,
    ErasureStore,
    MetaGuidelineStore,
    HealthStore,
    LedgerStore,
    WeightEventStore,
    MemoryReader,
    MemoryStore,
    TwinStore,
    OutcomeStore,
    UnpairedStore,
    SnapshotStore,
    PairingStore,
    PredictionStore,
    ReceiptStore,
    RelabelStore,
    ErasurePreviewStore,
    SearchStore,
    SettlementStore,
    RollbackStore,
    EchoStore,
    SharingStore,
    StateStore,
    SupportStore,
    TaskStore,
    TaxonomyStore,
    TicketStore,
    TrajectoryStore,
    LlmCallStore,
)


@dataclass(frozen=True, slots=True)
class Foreign:
    """Ids of the full namespace, and a transaction inside the empty one."""

    connection: Connection
    here: UUID
    key: UUID
    model: UUID
    memory: UUID
    agent: UUID
    category: UUID
    task: UUID
    retrieval: UUID
    outcome: UUID
    candidate: UUID
    ticket: UUID
    writing: UUID
    prediction: UUID
    settlement: UUID
    trajectory: UUID
    contrast: UUID
    contradiction: UUID
    side: UUID
    receipt: Receipt
    new_outcome: Outcome

    @property
    def actors(self) -> ActorStore:
        return ActorStore(self.connection, self.here)

    @property
    def constraints(self) -> ConstraintStore:
        return ConstraintStore(self.connection, self.here)

    @property
    def contradictions(self) -> ContradictionStore:
        return ContradictionStore(self.connection, self.here)

    @property
    def support(self) -> SupportStore:
        return SupportStore(self.connection, self.here)

    @property
    def bucket(self) -> PeerQuery:
        return PeerQuery(CategoryIds(self.category), None, self.model, -2.0)

    @property
    def erasure(self) -> ErasureStore:
        return ErasureStore(self.connection, self.here)

    @property
    def sharing(self) -> SharingStore:
        return SharingStore(self.connection, self.here)

    @property
    def guidance(self) -> MetaGuidelineStore:
        return MetaGuidelineStore(self.connection, self.here)

    @property
    def near(self) -> Neighbourhood:
        here = (self.agent, CategoryIds(self.category), NOON + 9 * DAY, self.model)
        return Neighbourhood(*here, [VECTOR])

    @property
    def events(self) -> WeightEventStore:
        return WeightEventStore(self.connection, self.here)

    @property
    def ledger(self) -> LedgerStore:
        return LedgerStore(self.connection, self.here)

    @property
    def reader(self) -> MemoryReader:
        return MemoryReader(self.connection, self.here, Viewer((self.agent,)))

    @property
    def memories(self) -> MemoryStore:
        return MemoryStore(self.connection, self.here)

    @property
    def browsing(self) -> BrowsingStore:
        return BrowsingStore(self.connection, self.here, Viewer((self.agent,)))

    @property
    def episodes(self) -> EpisodeStore:
        return EpisodeStore(self.connection, self.here)

    @property
    def past(self) -> SnapshotStore:
        return SnapshotStore(self.connection, self.here, Viewer((self.agent,)))

    @property
    def preview(self) -> ErasurePreviewStore:
        return ErasurePreviewStore(self.connection, self.here)

    def targets(self) -> ErasureTargets:
        return ErasureTargets((self.memory,), (self.task,), 1)

    @property
    def health(self) -> HealthStore:
        return HealthStore(self.connection, self.here)

    @property
    def twins(self) -> TwinStore:
        return TwinStore(self.connection, self.here)

    @property
    def echoes(self) -> EchoStore:
        return EchoStore(self.connection, self.here)

    @property
    def outcomes(self) -> OutcomeStore:
        return OutcomeStore(self.connection, self.here)

    @property
    def receipts(self) -> ReceiptStore:
        return ReceiptStore(self.connection, self.here)

    @property
    def predictions(self) -> PredictionStore:
        return PredictionStore(self.connection, self.here)

    @property
    def settlements(self) -> SettlementStore:
        return SettlementStore(self.connection, self.here)

    def known(self) -> Task:
        ids = (self.category, None, "weather", None)
        return Task(self.task, "rain", "rain", *ids, "rain", {}, None, NOON, NOON)

    def revision(self) -> Mapping[str, object]:
        said = {"probabilities": {"yes": 1.0}, "rationale": None, "retrieval_id": self.retrieval}
        times = {"known_at": NOON, "recorded_at": NOON}
        return {"prediction_id": self.prediction, "number": 9, **said, **times}

    def score(self) -> SettlementScore:
        return SettlementScore(
            settlement_id=self.settlement,
            prediction_id=self.prediction,
            agent="solver",
            task_key="rain#1",
            revision=1,
            status="ignored",
            reason="void",
            brier=None,
            baseline_brier=None,
            skill=None,
            outcome_id=None,
        )

    def new_settlement(self) -> SettledWindows:
        new = Settlement(
            id=new_id(),
            event="rain",
            windows=(),
            resolutions={"yes": "no"},
            crowd=None,
            correction=1,
            corrects=self.settlement,
            superseded_by=None,
            known_at=NOON,
            recorded_at=NOON,
            key_id=None,
        )
        return SettledWindows(new, [Window(self.task, "rain#1", "rain", None, None)])

    @property
    def search(self) -> SearchStore:
        return SearchStore(self.connection, self.here)

    @property
    def states(self) -> StateStore:
        return StateStore(self.connection, self.here)

    @property
    def tasks(self) -> TaskStore:
        return TaskStore(self.connection, self.here)

    @property
    def unpaired(self) -> UnpairedStore:
        return UnpairedStore(self.connection, self.here)

    @property
    def sources(self) -> RollbackStore:
        return RollbackStore(self.connection, self.here)

    def other_run(self) -> OtherRun:
        return OtherRun(new_id(), self.agent, None, self.task, NOON, NOON + 9 * DAY)

    @property
    def statuses(self) -> StatusStore:
        return StatusStore(self.connection, self.here)

    @property
    def candidates(self) -> CandidateStore:
        return CandidateStore(self.connection, self.here)

    @property
    def tickets(self) -> TicketStore:
        return TicketStore(self.connection, self.here)

    @property
    def runs(self) -> TrajectoryStore:
        return TrajectoryStore(self.connection, self.here)

    @property
    def pairing(self) -> PairingStore:
        return PairingStore(self.connection, self.here)

    @property
    def contrasts(self) -> ContrastStore:
        return ContrastStore(self.connection, self.here)

    @property
    def pair(self) -> RunPair:
        who = (self.agent, "solver", None, None, "none", None)
        run = RunSketch(self.trajectory, self.task, *who, 0, True, NOON, None, False)  # noqa: FBT003 - fields in their order
        return RunPair(run, run, PairClass.UNKNOWN, None)

    @property
    def claimed(self) -> ClaimedContrast:
        made = Contrast(
            id=self.contrast,
            task_id=self.task,
            preferred_id=self.trajectory,
            unpreferred_id=self.trajectory,
            preferred_agent="solver",
            unpreferred_agent="solver",
            pair_class=PairClass.UNKNOWN,
            self_contrast=True,
            supports=False,
            reason=None,
            state=ContrastState.REFUSED,
            distiller=None,
            memory_ids=(),
            rejected=(),
            duration_ms=None,
            tokens=0,
            known_at=NOON,
            recorded_at=NOON,
            done_at=None,
        )
        return ClaimedContrast(made, 0)

    @property
    def centroids(self) -> CentroidStore:
        return CentroidStore(self.connection, self.here)

    @property
    def relabelling(self) -> RelabelStore:
        return RelabelStore(self.connection, self.here)

    @property
    def wanted(self) -> RelabelQuery:
        return RelabelQuery((self.category,), self.model, UUID(int=0), 9)

    @property
    def taxonomies(self) -> TaxonomyStore:
        return TaxonomyStore(self.connection, self.here)

    @property
    def competence(self) -> CompetenceStore:
        return CompetenceStore(self.connection, self.here)

    def run(self) -> NewTrajectory:
        draft = TrajectoryDraft("solver", task_id=self.task)
        return NewTrajectory(
            new_id(), draft, self.task, self.agent, Provenance(self.key, NOON, NOON)
        )

    @property
    def holder(self) -> Holder:
        return Holder(self.agent, self.key)

    def case(self) -> LessonCase:
        cell = (self.agent, "solver", self.category, None, "weather")
        ids = (*cell, self.task, "rain", "task:1", None)
        return LessonCase(
            self.candidate, 0, None, 0.5, "reward", "continuous", *ids, NOON, self.key
        )

    @property
    def writings(self) -> LlmCallStore:
        return LlmCallStore(self.connection, self.here)

    def tried(self) -> LlmCall:
        return LlmCall(
            id=new_id(),
            role="compile",
            model="m",
            attempt=1,
            prompt="asked",
            answer="said",
            tokens=1,
            duration_ms=1.0,
            status="done",
            fault=None,
            detail=None,
            retrieval_id=self.retrieval,
            memory_id=self.memory,
            ticket_id=None,
            task_id=self.task,
            agent="solver",
            memory_ids=(self.memory,),
            recorded_at=NOON,
            erased_at=None,
            key_id=self.key,
        )

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.key, NOON, 1)

    def draft(self) -> ExperienceDraft:
        return a_draft(lesson="said better")

    def new(self) -> NewMemory:
        vectors = {"situation": VECTOR, "lesson": VECTOR}
        ids = (self.agent, CategoryIds(self.category), self.task)
        return NewMemory(self.memory, self.draft(), *ids, "task:1", NOON, vectors)

    def union(self) -> Merge:
        member = MergeMember(
            id=self.memory,
            version=2,
            status="suspended",
            text="",
            pinned=False,
            credited=0,
            learned_at=NOON,
            merged_into=None,
        )
        return Merge(member, member)

    def entry(self) -> LedgerEntry:
        change = StateChange(Subject("memory", memory_id=self.memory), None, STORED)
        return LedgerEntry(change, ChangeCause(1, "set", "decay", NOON), None, 1.0)


VECTOR = Embedding(np.ones(384, np.float32) / np.float32(np.sqrt(384)), ())
PROBE = Probe(VECTOR.vector.astype(np.float16), "situation")
TOLD = fingerprint(REJECTED.situation, REJECTED.lesson)
STORED = State((0.0, 0.0), NOON)
PAGE = Page(200)
EVERYTHING = MergePosition(2**40, UUID(int=0))
HEALTH = LearningHealth(
    known_at=NOON,
    weights=WeightShares(0, 0.0, 0.0, 0.0),
    coverage=OutcomeCoverage(0, 0, None),
    pending_outcomes=WaitingByAge(),
    pending_receipts=WaitingByAge(),
    suspended_cells=0,
    duplicates=DuplicateTexts(0, 0, None),
    evidence={},
    egl={},
    item_variance=ItemVariance(0, None, alert=False),
)
Ask = Callable[[Foreign], Awaitable[object]]

FAILED = ContrastResult(ContrastState.FAILED, "claims")
FINDS_NOTHING: dict[str, Ask] = {
    "ActorStore.find_agent": lambda f: f.actors.find_agent("solver"),
    "ActorStore.get_agent": lambda f: f.actors.get_agent("solver"),
    "ActorStore.every_agent": lambda f: f.actors.every_agent(),
    "ActorStore.count_agents": lambda f: f.actors.count_agents(),
    "ActorStore.change_agent": lambda f: f.actors.change_agent("solver", {"model": "m"}, 1),
    "ActorStore.list_agents": lambda f: f.actors.list_agents(PAGE),
    "ActorStore.find_category": lambda f: f.actors.find_category("weather"),
    "ActorStore.require_category": lambda f: f.actors.require_category(CategoryName("weather")),
    "ActorStore.get_category": lambda f: f.actors.get_category(f.category),
    "ActorStore.list_categories": lambda f: f.actors.list_categories(PAGE),
    "ActorStore.names": lambda f: f.actors.names(),
    "ActorStore.fix_metric": lambda f: f.actors.fix_metric(f.category, "brier", "binary"),
    "StatusStore.set_trust": lambda f: f.statuses.set_trust(
        f.memory, Trust.TRUSTED, f.stamp, was=Trust.UNVERIFIED
    ),
    "StatusStore.move": lambda f: f.statuses.move(
        [f.memory], StatusTransition(tuple(Status), Status.ACTIVE, None), f.stamp
    ),
    "StatusStore.find_near": lambda f: f.statuses.find_near(
        {"situation": VECTOR, "lesson": VECTOR}, f.model, -2.0
    ),
    "StatusStore.list_on_probation": lambda f: f.statuses.list_on_probation(),
    "StatusStore.get_origin": lambda f: f.statuses.get_origin(f.memory),
    "NearConstraintStore.near": lambda f: NearConstraintStore(f.connection, f.here).near(f.near),
    "BrowsingStore.lines": lambda f: f.browsing.lines(
        Browse(), {f.memory: Snapshot(1, Status.ACTIVE)}
    ),
    "BrowsingStore.nearest": lambda f: f.browsing.nearest(f.memory, f.model, 8),
    "BrowsingStore.part": lambda f: f.browsing.part(Browse(), PAGE),
    "EpisodeStore.by_cell": lambda f: f.episodes.by_cell(f.memory),
    "EpisodeStore.of_memory": lambda f: f.episodes.of_memory(f.memory, PAGE),
    "SnapshotStore.take": lambda f: f.past.take(BankMoment(), replay=True),
    "ErasurePreviewStore.list_derived": lambda f: f.preview.list_derived(f.targets()),
    "ErasurePreviewStore.list_receipts": lambda f: f.preview.list_receipts(f.targets()),
    "CandidateStore.before": lambda f: f.candidates.before(50),
    "CandidateStore.browse": lambda f: f.candidates.browse(None, PAGE),
    "CandidateStore.claim": lambda f: f.candidates.claim(NOON + 9 * DAY, NOON + 9 * DAY),
    "CandidateStore.finish": lambda f: f.candidates.finish(
        f.candidate, CaseEnd("nothing", None, None), NOON
    ),
    "CandidateStore.fresh": lambda f: f.candidates.fresh(50),
    "CandidateStore.get": lambda f: f.candidates.get(f.candidate),
    "CandidateStore.hold": lambda f: f.candidates.hold(f.case()),
    "CandidateStore.let_go": lambda f: f.candidates.let_go(f.candidate, NOON),
    "CandidateStore.look_at": lambda f: f.candidates.look_at([f.outcome], NOON),
    "CandidateStore.retry": lambda f: f.candidates.retry(f.candidate),
    "CandidateStore.runs": lambda f: f.candidates.runs(f.category, 50),
    "CandidateStore.runs_of": lambda f: f.candidates.runs_of(f.task),
    "CentroidStore.tops": lambda f: f.centroids.tops(f.model),
    "CentroidStore.below": lambda f: f.centroids.below(f.category, f.model),
    "CentroidStore.recount": lambda f: f.centroids.recount(),
    "CompetenceStore.all": lambda f: f.competence.all(),
    "CompetenceStore.hold": lambda f: f.competence.hold(),
    "CompetenceStore.recount": lambda f: f.competence.recount(),
    "ConstraintStore.tasks_without_vector": lambda f: f.constraints.tasks_without_vector(
        [f.task], f.model
    ),
    "ConstraintStore.near": lambda f: f.constraints.near(f.bucket, {"situation": VECTOR}),
    "ConstraintStore.open_up": lambda f: f.constraints.open_up(f.memory, Trust.TRUSTED, f.stamp),
    "ConstraintStore.find_rejected": lambda f: f.constraints.find_rejected("*", f.category, TOLD),
    "ConstraintStore.vectors": lambda f: f.constraints.vectors(f.memory, f.model),
    "ConstraintStore.add_task_vectors": lambda f: f.constraints.add_task_vectors(
        {f.task: VECTOR}, f.model
    ),
    "ContradictionStore.browse": lambda f: f.contradictions.browse(None, PAGE),
    "ContradictionStore.decide": lambda f: f.contradictions.decide(
        f.contradiction, ContradictionDecision("both", None, f.key, NOON)
    ),
    "ContradictionStore.get": lambda f: f.contradictions.get(f.contradiction),
    "ContradictionStore.has_lost": lambda f: f.contradictions.has_lost(f.side, new_id()),
    "ContradictionStore.undecided": lambda f: f.contradictions.undecided(f.side),
    "ContradictionStore.reopen": lambda f: f.contradictions.reopen(f.contradiction),
    "ContradictionStore.sides": lambda f: f.contradictions.sides([f.side]),
    "ContrastStore.queue_again": lambda f: f.contrasts.queue_again(f.contrast),
    "ContrastStore.browse": lambda f: f.contrasts.browse(ContrastFilter(), PAGE),
    "ContrastStore.claim": lambda f: f.contrasts.claim(NOON, NOON, [f.contrast]),
    "ContrastStore.finish": lambda f: f.contrasts.finish(f.contrast, FAILED, NOON),
    "ContrastStore.get": lambda f: f.contrasts.get(f.contrast),
    "ContrastStore.mark_waiting": lambda f: f.contrasts.mark_waiting("no_model", [f.contrast]),
    "ContrastStore.lock": lambda f: f.contrasts.lock(f.claimed),
    "ContrastStore.release": lambda f: f.contrasts.release(f.contrast, "budget", NOON, 1),
    "ContrastStore.of_pairs": lambda f: f.contrasts.of_pairs([f.pair]),
    "ContrastStore.is_paused": lambda f: f.contrasts.is_paused(NOON - DAY),
    "PairingStore.fresh_tasks": lambda f: f.pairing.fresh_tasks(NOON + DAY, 9),
    "PairingStore.groups": lambda f: f.pairing.groups([f.task], NOON + DAY),
    "PairingStore.known": lambda f: f.pairing.known([f.task]),
    "PairingStore.sketches": lambda f: f.pairing.sketches([f.trajectory]),
    "SupportStore.browse": lambda f: f.support.browse(f.side, PAGE),
    "SupportStore.counts": lambda f: f.support.counts([f.side]),
    "SupportStore.tasks_of": lambda f: f.support.tasks_of([f.side]),
    "ErasureStore.blank_lessons": lambda f: f.erasure.blank_lessons(
        Erasure(key_id=f.key), [f.memory]
    ),
    "ErasureStore.blank_rationales": lambda f: f.erasure.blank_rationales(
        Erasure(key_id=f.key), [f.task]
    ),
    "ErasureStore.find_targets": lambda f: f.erasure.find_targets(Erasure(key_id=f.key)),
    "ErasureStore.blank_memories": lambda f: f.erasure.blank_memories([f.memory], NOON),
    "ErasureStore.blank_lines": lambda f: f.erasure.blank_lines([f.memory]),
    "ErasureStore.blank_contrasts": lambda f: f.erasure.blank_contrasts(
        Erasure(key_id=f.key), [f.task], [f.trajectory]
    ),
    "ErasureStore.blank_runs": lambda f: f.erasure.blank_runs(
        Erasure(agent="solver"), [f.task], NOON
    ),
    "ErasureStore.blank_tasks": lambda f: f.erasure.blank_tasks([f.task], NOON),
    "ErasureStore.blank_llm_calls": lambda f: f.erasure.blank_llm_calls(
        Erasure(agent="solver"), ErasureTargets((f.memory,), (f.task,), 1), NOON
    ),
    "ErasureStore.hold_receipts": lambda f: f.erasure.hold_receipts([f.memory]),
    "ErasureStore.hold_memories": lambda f: f.erasure.hold_memories([f.memory]),
    "HealthStore.living": lambda f: f.health.living(NOON + 9 * DAY),
    "HealthStore.coverage": lambda f: f.health.coverage(NOON + 9 * DAY),
    "HealthStore.pending_outcomes": lambda f: f.health.pending_outcomes(NOON + 9 * DAY),
    "HealthStore.pending_receipts": lambda f: f.health.pending_receipts(NOON + 9 * DAY),
    "HealthStore.duplicates": lambda f: f.health.duplicates(NOON + 9 * DAY),
    "HealthStore.evidence": lambda f: f.health.evidence(NOON + 9 * DAY),
    "HealthStore.growth": lambda f: f.health.growth(NOON + 9 * DAY),
    "HealthStore.products": lambda f: f.health.products(NOON + 9 * DAY),
    "HealthStore.strengths": lambda f: f.health.strengths(),
    "HealthStore.delete_before": lambda f: f.health.delete_before(NOON + 999 * DAY),
    "HealthStore.newest": lambda f: f.health.newest(),
    "HealthStore.samples": lambda f: f.health.samples(PAGE),
    "MetaGuidelineStore.list_near": lambda f: f.guidance.list_near(f.near),
    "MetaGuidelineStore.list_held": lambda f: f.guidance.list_held(f.category, f.model, VECTOR),
    "MetaGuidelineStore.list_harmful_pairs": lambda f: f.guidance.list_harmful_pairs(0, -1.0),
    "MetaGuidelineStore.list_cited": lambda f: f.guidance.list_cited([f.retrieval]),
    "WeightEventStore.of_memory": lambda f: f.events.of_memory(f.memory, PAGE),
    "UnpairedStore.off_run": lambda f: f.unpaired.off_run(f.other_run()),
    "UnpairedStore.on_run": lambda f: f.unpaired.on_run(f.other_run()),
    "UnpairedStore.use": lambda f: f.unpaired.use(f.outcome, f.outcome),
    "UnpairedStore.count_credits": lambda f: f.unpaired.count_credits(
        f.key, [f.memory], since=NOON, until=NOON + 9 * DAY
    ),
    "LedgerStore.at": lambda f: f.ledger.at(10**6),
    "LedgerStore.known_at": lambda f: f.ledger.known_at(10**6),
    "LedgerStore.settled_before": lambda f: f.ledger.settled_before(0),
    "LedgerStore.supersede": lambda f: f.ledger.supersede([f.outcome], 1),
    "OutcomeStore.sets": lambda f: f.outcomes.sets(),
    "LedgerStore.everything": lambda f: f.ledger.everything(),
    "MemoryReader.get": lambda f: f.reader.get(f.memory),
    "MemoryReader.some": lambda f: f.reader.some([f.memory]),
    "MemoryReader.browse": lambda f: f.reader.browse(MemoryFilter(), PAGE),
    "MemoryReader.texts": lambda f: f.reader.texts({f.memory: 1}),
    "MemoryReader.versions": lambda f: f.reader.versions(f.memory),
    "MemoryStore.twins": lambda f: f.memories.twins([f.new()]),
    "MemoryStore.add_evidence": lambda f: f.memories.add_evidence([f.memory]),
    "MemoryStore.add": lambda f: f.memories.add([f.new()], f.stamp),
    "MemoryStore.edit": lambda f: f.memories.edit(f.memory, {"pinned": True}, 2),
    "TwinStore.find_changed": lambda f: f.twins.find_changed(START, NOON + 9 * DAY, 9),
    "TwinStore.find_pairs": lambda f: f.twins.find_pairs(
        START, EVERYTHING, NOON + 9 * DAY, cosine=-1.0
    ),
    "TwinStore.hold": lambda f: f.twins.hold([f.memory]),
    "TwinStore.merge": lambda f: f.twins.merge(f.union(), 1),
    "OutcomeStore.of_retrievals": lambda f: f.outcomes.of_retrievals([f.retrieval]),
    "OutcomeStore.lock_retrievals": lambda f: f.outcomes.lock_retrievals([f.retrieval]),
    "OutcomeStore.get": lambda f: f.outcomes.get(f.outcome),
    "OutcomeStore.browse": lambda f: f.outcomes.browse(OutcomeFilter(), PAGE),
    "OutcomeStore.pending": lambda f: f.outcomes.pending(10),
    "OutcomeStore.count_pending": lambda f: f.outcomes.count_pending(),
    "OutcomeStore.decide": lambda f: f.outcomes.decide(
        [replace(f.new_outcome, id=f.outcome, status=OutcomeStatus.IGNORED, applied_at=NOON)]
    ),
    "OutcomeStore.some": lambda f: f.outcomes.some([f.outcome]),
    "OutcomeStore.in_ledger": lambda f: f.outcomes.in_ledger(),
    "OutcomeStore.to_withdraw": lambda f: f.outcomes.to_withdraw(),
    "OutcomeStore.withdraw": lambda f: f.outcomes.withdraw([f.outcome], 1),
    "OutcomeStore.supersede": lambda f: f.outcomes.supersede([f.outcome], "superseded", NOON),
    "ReceiptStore.get": lambda f: f.receipts.get(f.retrieval),
    "ReceiptStore.browse": lambda f: f.receipts.browse(ReceiptFilter(), PAGE, NOON),
    "ReceiptStore.contexts": lambda f: f.receipts.contexts([f.retrieval]),
    "RelabelStore.tops": lambda f: f.relabelling.tops(),
    "RelabelStore.memories": lambda f: f.relabelling.memories(f.wanted),
    "RelabelStore.tasks": lambda f: f.relabelling.tasks(f.wanted),
    "RelabelStore.count_without_vector": lambda f: f.relabelling.count_without_vector(f.wanted),
    "RelabelStore.move_task": lambda f: f.relabelling.move_task(f.task, CategoryIds(f.category)),
    "SearchStore.bank": lambda f: f.search.bank(
        [PROBE.field], Scope(f.agent, private=True, as_of=NOON + 9 * DAY, model_id=f.model)
    ),
    "SearchStore.head": lambda f: f.search.head(
        [PROBE], Scope(f.agent, private=True, as_of=NOON + 9 * DAY, model_id=f.model), 64, 0.0
    ),
    "EchoStore.list_served": lambda f: f.echoes.list_served(f.key, NOON),
    "SharingStore.presence": lambda f: f.sharing.presence(),
    "SharingStore.strangers": lambda f: f.sharing.strangers(f.agent),
    "SharingStore.related": lambda f: f.sharing.related(f.category),
    "StateStore.lock": lambda f: f.states.lock(),
    "StateStore.load": lambda f: f.states.load([f.memory]),
    "StateStore.count": lambda f: f.states.count({f.memory: MemoryCounters(1, 1, 1)}),
    "StateStore.controls": lambda f: f.states.controls(f.agent, f.category),
    "StateStore.counts": lambda f: f.states.counts([f.memory]),
    "StateStore.load_all": lambda f: f.states.load_all(),
    "StateStore.load_cells": lambda f: f.states.load_cells(),
    "StateStore.load_for_cell": lambda f: f.states.load_for_cell(f.agent, f.category),
    "StateStore.add_controls": lambda f: f.states.add_controls({(f.agent, f.category): 1}),
    "PredictionStore.lock_events": lambda f: f.predictions.lock_events(["rain"]),
    "PredictionStore.of_attempts": lambda f: f.predictions.of_attempts(
        [AgentTask(f.agent, f.task)]
    ),
    "PredictionStore.of_tasks": lambda f: f.predictions.of_tasks([f.task]),
    "PredictionStore.some": lambda f: f.predictions.some([f.prediction]),
    "PredictionStore.get": lambda f: f.predictions.get(f.prediction),
    "PredictionStore.browse": lambda f: f.predictions.browse(PredictionFilter(), PAGE),
    "PredictionStore.settle": lambda f: f.predictions.settle(
        [ScoredPrediction(f.prediction, PredictionState.PENDING, f.settlement)]
    ),
    "ReceiptStore.owners": lambda f: f.receipts.owners([f.retrieval]),
    "ReceiptStore.of_attempts": lambda f: f.receipts.of_attempts([AgentTask(f.agent, f.task)]),
    "SettlementStore.windows": lambda f: f.settlements.windows(["rain"]),
    "SettlementStore.windows_of": lambda f: f.settlements.windows_of([f.task]),
    "SettlementStore.some": lambda f: f.settlements.some([f.settlement]),
    "SettlementStore.get": lambda f: f.settlements.get(f.settlement),
    "SettlementStore.browse": lambda f: f.settlements.browse(None, PAGE),
    "SettlementStore.supersede": lambda f: f.settlements.supersede({f.settlement: f.settlement}),
    "RollbackStore.list_outcomes": lambda f: f.sources.list_outcomes(
        RollbackSource(f.agent, None, None, None)
    ),
    "RollbackStore.list_memories": lambda f: f.sources.list_memories(
        RollbackSource(f.agent, None, None, None)
    ),
    "TaskStore.agree": lambda f: f.tasks.agree(
        f.known(), TaskDraft("rain", key="rain", closes_at=NOON)
    ),
    "TaskStore.some": lambda f: f.tasks.some([f.task], ["rain#1"]),
    "TaskStore.get": lambda f: f.tasks.get(f.task),
    "TaskStore.browse": lambda f: f.tasks.browse(None, PAGE),
    "TaxonomyStore.current": lambda f: f.taxonomies.current(),
    "TaxonomyStore.versions": lambda f: f.taxonomies.versions(),
    "TicketStore.blank": lambda f: f.tickets.blank([f.memory], NOON),
    "TicketStore.browse": lambda f: f.tickets.browse(TicketFilter(), PAGE, ["*"]),
    "TicketStore.change": lambda f: f.tickets.change([f.ticket], {"state": "expired"}),
    "TicketStore.get": lambda f: f.tickets.get(f.ticket, ["*"]),
    "TicketStore.lease": lambda f: f.tickets.lease(
        f.holder, Claimable(["*"], None, 9, NOON + 9 * DAY), NOON + 9 * DAY
    ),
    "TicketStore.lock": lambda f: f.tickets.lock(f.ticket, ["*"]),
    "TicketStore.of_memory": lambda f: f.tickets.of_memory(f.memory),
    "TicketStore.record": lambda f: f.tickets.record(
        f.ticket,
        [TrialRow(0, 0.9, None, {}, b"")],
        TrialStamp(f.holder, self_verified=False, known_at=NOON, now=NOON),
    ),
    "TicketStore.waiting": lambda f: f.tickets.waiting(),
    "TrajectoryStore.browse": lambda f: f.runs.browse(TrajectoryFilter(), PAGE),
    "TrajectoryStore.get": lambda f: f.runs.get(f.trajectory),
    "TrajectoryStore.mark_paired": lambda f: f.runs.mark_paired([f.trajectory], NOON),
    "TrajectoryStore.of_ids": lambda f: f.runs.of_ids([f.trajectory]),
    "TrajectoryStore.of_task": lambda f: f.runs.of_task(f.task),
    "TrajectoryStore.unpaired": lambda f: f.runs.unpaired(9),
    "MemoryReader.list_ever": lambda f: f.reader.list_ever(),
    "MemoryReader.list_living": lambda f: f.reader.list_living(),
    "StatusStore.mark_returned": lambda f: f.statuses.mark_returned(f.memory, NOON),
    "StatusStore.retire": lambda f: f.statuses.retire({f.memory: "disuse"}, f.stamp),
    "StatusStore.list_living": lambda f: f.statuses.list_living(NOON + 9 * DAY),
    "LlmCallStore.attach": lambda f: f.writings.attach(f.writing, memory_id=f.memory),
    "LlmCallStore.browse": lambda f: f.writings.browse(LlmCallFilter(), PAGE),
    "LlmCallStore.settle": lambda f: f.writings.settle(NOON.date(), 0, 5),
    "LlmCallStore.used": lambda f: f.writings.used(NOON.date()),
}

WRITES_HERE: dict[str, Ask] = {
    "ActorStore.add_agent": lambda f: f.actors.add_agent(AgentDraft("solver"), f.key, NOON),
    "ActorStore.ensure_agent": lambda f: f.actors.ensure_agent("solver", f.key, NOON),
    "ActorStore.ensure_category": lambda f: f.actors.ensure_category(
        CategoryName("weather"), f.key, NOON
    ),
    "CandidateStore.add": lambda f: f.candidates.add([f.outcome], NOON),
    "CentroidStore.move": lambda f: f.centroids.move([f.new()], f.model),
    "CentroidStore.describe": lambda f: f.centroids.describe({f.category: [1.0]}, f.model),
    "CompetenceStore.add": lambda f: f.competence.add(
        {AgentCategory(f.agent, f.category): VerifiedRuns(1, 1.0)}
    ),
    "ContrastStore.add": lambda f: f.contrasts.add([f.pair], PairingStamp(NOON)),
    "ContradictionStore.link": lambda f: f.contradictions.link(
        NewContradiction((f.memory, f.side), f.category, "negated", 1.0), NOON
    ),
    "SupportStore.add": lambda f: f.support.add(
        {
            "id": new_id(),
            "memory_id": f.side,
            "contrast_id": None,
            "task_id": f.task,
            "preferred_key_id": None,
            "verifier": "none",
            "counts": True,
            "known_at": NOON,
            "recorded_at": NOON,
        }
    ),
    "HealthStore.add": lambda f: f.health.add(HEALTH, NOON),
    "LedgerStore.append": lambda f: f.ledger.append([f.entry()], "belief", NOON),
    "MemoryStore.add_vectors": lambda f: f.memories.add_vectors(
        f.memory, 1, f.model, {"situation": VECTOR}
    ),
    "MemoryStore.add_first_vectors": lambda f: f.memories.add_first_vectors(
        [replace(f.new(), id=f.memory, vectors={"situation": VECTOR})], f.model
    ),
    "MemoryStore.add_version": lambda f: f.memories.add_version(
        NewVersion(f.memory, 1, "s", "l", NOON, {}), f.model, f.stamp
    ),
    "MemoryStore.set_status": lambda f: f.memories.set_status(
        f.memory, (Status.SUSPENDED, Status.RETIRED), None, f.stamp
    ),
    "MemoryStore.feed": lambda f: f.memories.feed(f.stamp, "added", [f.memory]),
    "OutcomeStore.add": lambda f: f.outcomes.add([f.new_outcome]),
    "PredictionStore.add": lambda f: f.predictions.add([], [f.revision()]),
    "SettlementStore.add": lambda f: f.settlements.add([f.new_settlement()]),
    "SettlementStore.score": lambda f: f.settlements.score([f.score()]),
    "ReceiptStore.add": lambda f: f.receipts.add([f.receipt]),
    "StateStore.save": lambda f: f.states.save(
        [
            StateChange(Subject("memory", memory_id=f.memory), None, STORED),
            StateChange(Subject("deviation", memory_id=f.memory, agent_id=f.agent), None, STORED),
            StateChange(Subject("cell", agent_id=f.agent, category_id=f.category), None, STORED),
            StateChange(Subject("record"), STORED, None),
        ]
    ),
    "TicketStore.open": lambda f: f.tickets.open(
        {
            "id": new_id(),
            "memory_id": f.memory,
            "version": 1,
            "guideline": "",
            "metric": "reward",
            "reward_kind": "continuous",
            "state": "open",
            "known_at": NOON,
            "recorded_at": NOON,
        },
        [{"task_id": f.task, "purpose": "source", "reference": None}],
    ),
    "TaskStore.ensure": lambda f: f.tasks.ensure(
        TaskDraft("a forecast of rain", key="rain", category="weather"),
        CategoryIds(f.category),
        Provenance(f.key, NOON, NOON),
    ),
    "TaxonomyStore.add": lambda f: f.taxonomies.add(
        TaxonomyDraft((Branch("weather", "rain and shine"),)), 1, f.key, NOON
    ),
    "TrajectoryStore.add": lambda f: f.runs.add([f.run()]),
    "LlmCallStore.add": lambda f: f.writings.add(f.tried(), NOON),
    "LlmCallStore.reserve": lambda f: f.writings.reserve(NOON.date(), 5, 1_000),
}
"""These may write rows of their own namespace, or be refused by the database."""


async def foreign(engine: Engine, both: Neighbours, connection: Connection) -> Foreign:
    full, empty = both.full, both.empty
    found: dict[str, UUID] = {}
    async with engine.database.transaction(full.namespace.id) as inside:
        for table in (
            memory,
            agent,
            category,
            task,
            retrieval,
            outcome,
            writing,
            prediction,
            settlement,
            trajectory,
            contrast,
        ):
            [first, *_] = await inside.scalars(select(table.c.id).order_by(table.c.id))
            found[table.name] = first
        found["candidate"] = (await inside.scalars(select(candidate.c.outcome_id))).one()
        pair = (await inside.execute(select(contradiction.c.id, contradiction.c.first_id))).one()
        found["contradiction"], found["side"] = pair
        found["ticket"] = (await inside.scalars(select(ticket.c.id))).one()
        receipt = await ReceiptStore(inside, full.namespace.id).get(found["retrieval"])
        known = await OutcomeStore(inside, full.namespace.id).get(found["outcome"])
    new_outcome = replace(known, id=new_id(), status=OutcomeStatus.SUPERSEDED)
    shared = {"here": empty.namespace.id, "key": full.key.id, "model": engine.model.id}
    return Foreign(
        connection=connection, receipt=receipt, new_outcome=new_outcome, **shared, **found
    )


DIGEST = " UNION ALL ".join(
    f"SELECT '{table.name}', count(*), md5(string_agg(t::text, '/' ORDER BY t::text)) "
    f"FROM {table.name} t WHERE namespace_id = :ns"
    for table in ISOLATED
)


async def digest(connection: Connection, call: Call) -> Sequence[object]:
    """Everything the namespace holds, in a few letters."""
    enter = text("SELECT set_config('memlift.namespace', :ns, true)")
    await connection.execute(enter, {"ns": str(call.namespace.id)})
    rows = await connection.execute(text(DIGEST), {"ns": call.namespace.id})
    return [tuple(row) for row in rows]


async def whole(engine: Engine, call: Call) -> Sequence[object]:
    async with engine.database.transaction(call.namespace.id) as connection:
        return await digest(connection, call)


async def answer_of(question: Awaitable[object]) -> object:
    """The answer; a refusal that knows of no such thing is as good as none."""
    try:
        return await question
    except (NotFound, Rejected) as fault:
        return None if fault.kind.endswith(("not_found", "unknown")) else fault


def nothing(answer: object) -> bool:
    """None, zero, or a container of nothing."""
    if is_dataclass(answer) and not isinstance(answer, type):
        return nothing(list(asdict(answer).values()))
    if isinstance(answer, Mapping):
        return not answer
    if isinstance(answer, list | tuple):
        return all(nothing(part) for part in answer)
    return not answer


def methods() -> set[str]:
    return {
        f"{store.__name__}.{name}"
        for store in STORES
        for name, _ in getmembers(store, isfunction)
        if not name.startswith("_")
    }


def test_every_method_of_every_store_is_asked() -> None:
    assert FINDS_NOTHING.keys() | WRITES_HERE.keys() == methods()


async def test_a_foreign_id_finds_and_changes_nothing(
    engine: Engine, neighbours: Neighbours, subtests: pytest.Subtests
) -> None:
    for method, ask in FINDS_NOTHING.items():
        with subtests.test(method):
            before = await whole(engine, neighbours.full)

            async with engine.database.transaction(neighbours.empty.namespace.id) as connection:
                asked = await foreign(engine, neighbours, connection)
                assert nothing(await answer_of(ask(asked)))
                assert await digest(connection, neighbours.full) == before


async def test_a_write_with_foreign_ids_stays_here_or_is_refused(
    engine: Engine, neighbours: Neighbours, subtests: pytest.Subtests
) -> None:
    for method, ask in WRITES_HERE.items():
        with subtests.test(method):
            await stays_here_or_is_refused(engine, neighbours, ask)


async def stays_here_or_is_refused(engine: Engine, neighbours: Neighbours, ask: Ask) -> None:
    before = await whole(engine, neighbours.full)

    async with engine.database.transaction(neighbours.empty.namespace.id) as connection:
        savepoint = await connection.begin_nested()
        try:
            await ask(await foreign(engine, neighbours, connection))
        except (DBAPIError, NotFound):
            await savepoint.rollback()
            return
        assert await digest(connection, neighbours.full) == before
        await savepoint.rollback()


def test_nothing_tells_something_from_nothing() -> None:
    assert nothing(([], {}, 0, None))
    assert not nothing(([], 1))
    assert not nothing([NOON])
