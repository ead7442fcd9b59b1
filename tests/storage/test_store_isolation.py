"""Every method of every store that is born in a namespace: foreign ids find and change nothing."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, is_dataclass, replace
from functools import partial
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
from memory.belief.store.ledger import Closing, LedgerStore
from memory.belief.store.states import StateStore
from memory.belief.tables import rollback
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
from memory.constraints.store.examined import ExaminedRunStore
from memory.constraints.store.near import NearConstraintStore, PlacedConstraint
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
from memory.erasure.store.erasures import ErasurePreviewStore, ErasureStore, ErasureTargets
from memory.erasure.store.rollbacks import (
    KeptRollback,
    NewRollback,
    RollbackSource,
    RollbackStore,
    TakenParts,
    TakenState,
    TakenSupport,
    UndoStore,
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
from memory.insight.change_entities import FeedPosition
from memory.insight.entities import (
    DuplicateTexts,
    ItemVariance,
    LearningHealth,
    OutcomeCoverage,
    WaitingByAge,
    WeightShares,
)
from memory.insight.store.browsing import BrowsingStore
from memory.insight.store.changes import ChangeStore
from memory.insight.store.episodes import EpisodeStore
from memory.insight.store.events import WeightEventStore
from memory.insight.store.health import HealthStore
from memory.insight.store.lookup import LookupStore
from memory.insight.store.memory_details import MemoryDetailStore
from memory.insight.store.over_time import OverTimeStore
from memory.insight.store.overview import OverviewStore
from memory.insight.store.pulse import PulseStore
from memory.kernel.engine import Engine
from memory.kernel.errors import NotFound, Rejected
from memory.kernel.ids import new_id
from memory.kernel.paging import Page
from memory.kernel.ports import Embedding
from memory.kernel.postgres.database import Connection, look_inside
from memory.llm.cost_entities import NOTHING
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
from memory.receipts.entities import Outcome, OutcomeStatus, Receipt
from memory.receipts.guideline_entities import PastError
from memory.receipts.key_entities import AgentTask, ReceiptsOfKey
from memory.receipts.list_entities import OutcomeFilter, ReceiptFilter
from memory.receipts.store.blanking import BlankingStore, ReceiptWords
from memory.receipts.store.operations import OperationStore
from memory.receipts.store.outcomes import OutcomeStore
from memory.receipts.store.receipts import ReceiptStore
from memory.receipts.tables import outcome, retrieval
from memory.reembedding.store import FIRST, ReembeddingStore, UnembeddedText, VectorKey
from memory.retention.entities import Ages
from memory.retention.store.closing import ClosingStore
from memory.retention.store.figures import FiguresStore
from memory.retention.store.removal import RemovalStore
from memory.retrieval.store.past_errors import PastErrorStore
from memory.retrieval.store.search import Probe, Scope, SearchStore
from memory.schema import ISOLATED
from memory.tasks.entities import AgentDraft, CategoryIds, CategoryName, Measure, Task, TaskDraft
from memory.tasks.store.actors import ActorStore
from memory.tasks.store.tasks import Provenance, TaskStore
from memory.tasks.tables import agent, category, task, trajectory
from memory.tenancy.entities import Call
from memory.verification.entities import Run, TicketFilter
from memory.verification.store.candidates import CandidateStore, CaseEnd, LessonCase
from memory.verification.store.changesets import ChangesetStore, NewChangeset
from memory.verification.store.tickets import Claimable, Holder, TicketStore, TrialRow, TrialStamp
from memory.verification.tables import candidate, changeset, ticket
from memory.webhooks.entities import Sent, Webhook
from memory.webhooks.store import DueDelivery, Outbox, WebhookStore
from memory.webhooks.tables import webhook
from tests.fixtures.builders import a_draft
from tests.fixtures.engine import DAY, NOON
from tests.storage.neighbours import REJECTED, Neighbours

# From before the first transaction to after the last.
ALL_CHANGES = FeedPosition("1:1:", 0, NOON, f"{10**9}:{10**9}:")
# Everything is old.
AGES = Ages(NOON + 999 * DAY, NOON + 999 * DAY, NOON + 999 * DAY)


STORES = (
    ActorStore,
    StatusStore,
    NearConstraintStore,
    BlankingStore,
    BrowsingStore,
    CandidateStore,
    CentroidStore,
    ChangeStore,
    ChangesetStore,
    ConstraintStore,
    ContradictionStore,
    ContrastStore,
    CompetenceStore,
    EpisodeStore,
    ErasureStore,
    MetaGuidelineStore,
    HealthStore,
    LedgerStore,
    ClosingStore,
    FiguresStore,
    RemovalStore,
    WeightEventStore,
    MemoryDetailStore,
    OverTimeStore,
    OverviewStore,
    LookupStore,
    PulseStore,
    MemoryReader,
    MemoryStore,
    TwinStore,
    OperationStore,
    OutcomeStore,
    UnpairedStore,
    SnapshotStore,
    ExaminedRunStore,
    PairingStore,
    PastErrorStore,
    PredictionStore,
    ReceiptStore,
    ReembeddingStore,
    RelabelStore,
    ErasurePreviewStore,
    SearchStore,
    SettlementStore,
    RollbackStore,
    UndoStore,
    WebhookStore,
    Outbox,
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
    changeset: UUID
    ticket: UUID
    writing: UUID
    prediction: UUID
    settlement: UUID
    trajectory: UUID
    contrast: UUID
    contradiction: UUID
    side: UUID
    rollback: UUID
    webhook: UUID
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
    def closings(self) -> ClosingStore:
        return ClosingStore(self.connection, self.here)

    @property
    def figures(self) -> FiguresStore:
        return FiguresStore(self.connection, self.here)

    @property
    def removals(self) -> RemovalStore:
        return RemovalStore(self.connection, self.here, AGES, 10**6)

    async def closed_places(self) -> object:
        return (await self.closings.load(10**6)).places

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
    def changes(self) -> ChangeStore:
        return ChangeStore(self.connection, self.here)

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
    def details(self) -> MemoryDetailStore:
        return MemoryDetailStore(self.connection, self.here)

    @property
    def over_time(self) -> OverTimeStore:
        return OverTimeStore(self.connection, self.here)

    @property
    def overview(self) -> OverviewStore:
        return OverviewStore(self.connection, self.here)

    @property
    def pulse(self) -> PulseStore:
        return PulseStore(self.connection, self.here)

    @property
    def lookup(self) -> LookupStore:
        return LookupStore(self.connection, self.here)

    @property
    def twins(self) -> TwinStore:
        return TwinStore(self.connection, self.here)

    @property
    def near_constraints(self) -> NearConstraintStore:
        return NearConstraintStore(partial(look_inside, self.connection), self.here)

    @property
    def echoes(self) -> EchoStore:
        return EchoStore(partial(look_inside, self.connection), self.here)

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

    @property
    def webhooks(self) -> WebhookStore:
        return WebhookStore(self.connection, self.here)

    @property
    def due(self) -> DueDelivery:
        return DueDelivery(self.webhook, self.webhook, "ticket.open", {}, NOON, 1, "", "")

    @property
    def undos(self) -> UndoStore:
        return UndoStore(self.connection, self.here)

    @property
    def kept_rollback(self) -> KeptRollback:
        taken = TakenParts((TakenState(self.outcome, "applied", None),))
        return KeptRollback(self.rollback, NOON - DAY, taken, 1, None)

    def other_run(self) -> OtherRun:
        return OtherRun(new_id(), self.agent, None, self.task, NOON, NOON + 9 * DAY)

    @property
    def statuses(self) -> StatusStore:
        return StatusStore(self.connection, self.here)

    @property
    def candidates(self) -> CandidateStore:
        return CandidateStore(self.connection, self.here)

    @property
    def changesets(self) -> ChangesetStore:
        return ChangesetStore(self.connection, self.here)

    @property
    def past_errors(self) -> PastErrorStore:
        return PastErrorStore(self.connection, self.here)

    def past_error(self) -> PastError:
        return PastError(
            retrieval_id=self.retrieval,
            outcome_id=self.outcome,
            task_id=self.task,
            similarity=1.0,
            reward=0.1,
            said_by="run",
            known_at=NOON,
            text="it went wrong",
            run_id=self.trajectory,
        )

    @property
    def tickets(self) -> TicketStore:
        return TicketStore(self.connection, self.here)

    @property
    def runs(self) -> TrajectoryStore:
        return TrajectoryStore(self.connection, self.here)

    @property
    def examined(self) -> ExaminedRunStore:
        return ExaminedRunStore(self.connection, self.here)

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
    def reembedding(self) -> ReembeddingStore:
        return ReembeddingStore(self.connection, self.here)

    def unembedded(self) -> list[UnembeddedText]:
        return [UnembeddedText(VectorKey(self.memory, 1, "situation"), "")]

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
            self.candidate,
            self.retrieval,
            0,
            None,
            0.5,
            "reward",
            "continuous",
            *ids,
            NOON,
            self.key,
            None,
            {},
            None,
            (),
            None,
            None,
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
BINARY_BRIER = Measure("brier", "binary")
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
    "ActorStore.change_agent": lambda f: f.actors.change_agent("solver", {"model": "m"}, 1),
    "ActorStore.list_agents": lambda f: f.actors.list_agents(PAGE),
    "ActorStore.find_category": lambda f: f.actors.find_category("weather"),
    "ActorStore.require_category": lambda f: f.actors.require_category(CategoryName("weather")),
    "ActorStore.get_category": lambda f: f.actors.get_category(f.category),
    "ActorStore.list_categories": lambda f: f.actors.list_categories(PAGE),
    "ActorStore.names": lambda f: f.actors.names(),
    "ActorStore.fix_metric": lambda f: f.actors.fix_metric(f.category, BINARY_BRIER),
    "ActorStore.rename_category": lambda f: f.actors.rename_category(f.category, "renamed"),
    "ActorStore.set_measure": lambda f: f.actors.set_measure(f.category, BINARY_BRIER),
    "StatusStore.set_trust": lambda f: f.statuses.set_trust(
        f.memory, Trust.TRUSTED, f.stamp, was=Trust.UNVERIFIED
    ),
    "StatusStore.hold": lambda f: f.statuses.hold([f.memory]),
    "StatusStore.move": lambda f: f.statuses.move(
        [f.memory], StatusTransition(tuple(Status), Status.ACTIVE, None), f.stamp
    ),
    "StatusStore.find_near": lambda f: f.statuses.find_near(
        {"situation": VECTOR, "lesson": VECTOR}, f.model, -2.0
    ),
    "StatusStore.list_on_probation": lambda f: f.statuses.list_on_probation(),
    "StatusStore.get_origin": lambda f: f.statuses.get_origin(f.memory),
    "NearConstraintStore.find": lambda f: f.near_constraints.find(f.near, 1.0),
    "NearConstraintStore.load": lambda f: f.near_constraints.load(
        f.near, [PlacedConstraint(f.memory, 1, 0, 1, ())]
    ),
    "NearConstraintStore.links": lambda f: f.near_constraints.links(f.model),
    "NearConstraintStore.vectors": lambda f: f.near_constraints.vectors([f.task], f.model),
    "BrowsingStore.lines": lambda f: f.browsing.lines(
        Browse(), {f.memory: Snapshot(1, Status.ACTIVE)}
    ),
    "BrowsingStore.nearest": lambda f: f.browsing.nearest(f.memory, f.model, 8),
    "BrowsingStore.part": lambda f: f.browsing.part(Browse(), PAGE),
    "ChangeStore.read": lambda f: f.changes.read(ALL_CHANGES, 9),
    "EpisodeStore.by_cell": lambda f: f.episodes.by_cell(f.memory),
    "EpisodeStore.of_memory": lambda f: f.episodes.of_memory(f.memory, PAGE),
    "SnapshotStore.take": lambda f: f.past.take(BankMoment(), replay=True),
    "ErasurePreviewStore.list_derived": lambda f: f.preview.list_derived(f.targets()),
    "ErasurePreviewStore.list_receipts": lambda f: f.preview.list_receipts(f.targets()),
    "CandidateStore.before": lambda f: f.candidates.before(50),
    "CandidateStore.browse": lambda f: f.candidates.browse(None, PAGE),
    "CandidateStore.claim": lambda f: f.candidates.claim(NOON + 9 * DAY, NOON + 9 * DAY),
    "CandidateStore.case": lambda f: f.candidates.case(f.candidate),
    "CandidateStore.of_ticket": lambda f: f.candidates.of_ticket(f.ticket),
    "ChangesetStore.browse": lambda f: f.changesets.browse(None, PAGE),
    "ChangesetStore.change": lambda f: f.changesets.change(f.changeset, state="nothing"),
    "ChangesetStore.claim": lambda f: f.changesets.claim(NOON + 9 * DAY, NOON + 9 * DAY),
    "ChangesetStore.failures": lambda f: f.changesets.failures(NOON - 9 * DAY, 50),
    "ChangesetStore.get": lambda f: f.changesets.get(f.changeset),
    "ChangesetStore.has_fresh": lambda f: f.changesets.has_fresh(),
    "ChangesetStore.hold": lambda f: f.changesets.hold(f.changeset),
    "ChangesetStore.hold_by_ticket": lambda f: f.changesets.hold_by_ticket(f.ticket),
    "ChangesetStore.let_go": lambda f: f.changesets.let_go(f.changeset, NOON),
    "ChangesetStore.note_compared": lambda f: f.changesets.note_compared(NOON),
    "ChangesetStore.notes": lambda f: f.changesets.notes([f.outcome], 9),
    "ChangesetStore.resting_on": lambda f: f.changesets.resting_on(
        {"task": f.task, "agent": "solver", "key": f.key}
    ),
    "ChangesetStore.tried_under": lambda f: f.changesets.tried_under([f.ticket]),
    "PastErrorStore.failures": lambda f: f.past_errors.failures(
        f.agent, f.category, NOON + 9 * DAY, 50
    ),
    "PastErrorStore.hold_reports": lambda f: f.past_errors.hold_reports([f.outcome]),
    "PastErrorStore.hold_runs": lambda f: f.past_errors.hold_runs([f.past_error()]),
    "CandidateStore.finish": lambda f: f.candidates.finish(
        f.candidate, CaseEnd("nothing", None, None), NOON
    ),
    "MetaGuidelineStore.list_runs": lambda f: f.guidance.list_runs([f.outcome]),
    "CandidateStore.is_erased": lambda f: f.candidates.is_erased(f.case()),
    "CandidateStore.cells_before": lambda f: f.candidates.cells_before([f.outcome]),
    "CandidateStore.has_fresh": lambda f: f.candidates.has_fresh(),
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
    "ExaminedRunStore.checked": lambda f: f.examined.checked([f.category]),
    "ExaminedRunStore.fresh": lambda f: f.examined.fresh(NOON + DAY, UUID(int=0), 9),
    "ExaminedRunStore.in_use_untested": lambda f: f.examined.in_use_untested(),
    "ExaminedRunStore.keep": lambda f: f.examined.keep({f.trajectory: {"found": {}}}),
    "ExaminedRunStore.of_category": lambda f: f.examined.of_category(f.category, NOON + DAY, 9),
    "ExaminedRunStore.proposed": lambda f: f.examined.proposed(f.category, 9),
    "ExaminedRunStore.reasons": lambda f: f.examined.reasons([f.memory]),
    "ExaminedRunStore.tell": lambda f: f.examined.tell(f.memory, {"check": None}),
    "PairingStore.fresh_tasks": lambda f: f.pairing.fresh_tasks(NOON + DAY, 9),
    "PairingStore.groups": lambda f: f.pairing.groups([f.task], NOON + DAY),
    "PairingStore.known": lambda f: f.pairing.known([f.task]),
    "PairingStore.sketches": lambda f: f.pairing.sketches([f.trajectory]),
    "SupportStore.browse": lambda f: f.support.browse(f.side, PAGE),
    "SupportStore.counts": lambda f: f.support.counts([f.side]),
    "SupportStore.pieces": lambda f: f.support.pieces([f.side]),
    "SupportStore.tasks_of": lambda f: f.support.tasks_of([f.side]),
    "ErasureStore.blank_lessons": lambda f: f.erasure.blank_lessons(
        Erasure(key_id=f.key), [f.memory]
    ),
    "ErasureStore.blank_rationales": lambda f: f.erasure.blank_rationales(
        Erasure(key_id=f.key), [f.task]
    ),
    "ErasureStore.blank_resolutions": lambda f: f.erasure.blank_resolutions([f.memory], f.key),
    "ErasureStore.find_targets": lambda f: f.erasure.find_targets(Erasure(key_id=f.key)),
    "ErasureStore.blank_memories": lambda f: f.erasure.blank_memories([f.memory], NOON),
    "ErasureStore.blank_lines": lambda f: f.erasure.blank_lines([f.memory]),
    "ErasureStore.blank_contrasts": lambda f: f.erasure.blank_contrasts(
        Erasure(key_id=f.key), [f.task], [f.trajectory]
    ),
    "ErasureStore.blank_runs": lambda f: f.erasure.blank_runs(
        Erasure(agent="solver"), ErasureTargets((f.memory,), (f.task,), 1), NOON
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
    "HealthStore.expired_receipts": lambda f: f.health.expired_receipts(NOON + 9 * DAY),
    "HealthStore.duplicates": lambda f: f.health.duplicates(NOON + 9 * DAY),
    "HealthStore.evidence": lambda f: f.health.evidence(NOON + 9 * DAY),
    "HealthStore.growth": lambda f: f.health.growth(NOON + 9 * DAY),
    "HealthStore.products": lambda f: f.health.products(NOON + 9 * DAY),
    "HealthStore.strengths": lambda f: f.health.strengths(),
    "HealthStore.delete_before": lambda f: f.health.delete_before(NOON + 999 * DAY),
    "HealthStore.newest": lambda f: f.health.newest(),
    "HealthStore.newest_samples": lambda f: f.health.newest_samples(9),
    "HealthStore.samples": lambda f: f.health.samples(PAGE),
    "MemoryDetailStore.gains": lambda f: f.details.gains([f.outcome]),
    "MemoryDetailStore.moved_by": lambda f: f.details.moved_by(f.outcome, [f.memory]),
    "MemoryDetailStore.relations": lambda f: f.details.relations(f.memory, replay=False),
    "OverTimeStore.counts": lambda f: f.over_time.counts(UUID(int=0), NOON - 9 * DAY),
    "OverTimeStore.last_weights": lambda f: f.over_time.last_weights([f.memory], 9),
    "OverviewStore.measured_days": lambda f: f.overview.measured_days(),
    "OverviewStore.first_steps": lambda f: f.overview.first_steps(),
    "OverviewStore.movers": lambda f: f.overview.movers(NOON - 9 * DAY, NOON + 9 * DAY, ["*"], 9),
    "OverviewStore.concerns": lambda f: f.overview.concerns(
        NOON - 9 * DAY, NOON - 9 * DAY, ["expired", "observational"]
    ),
    "PulseStore.pulse": lambda f: f.pulse.pulse(["decay"], 9),
    "LookupStore.receipts": lambda f: f.lookup.receipts("", 9),
    "LookupStore.memories_by_id": lambda f: f.lookup.memories_by_id("", 9),
    "MetaGuidelineStore.has_any": lambda f: f.guidance.has_any(),
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
    "LedgerStore.policy_change": lambda f: f.ledger.policy_change(),
    "LedgerStore.policy_at": lambda f: f.ledger.policy_at(10**6),
    "LedgerStore.supersede": lambda f: f.ledger.supersede([f.outcome], 1),
    "LedgerStore.reinstate": lambda f: f.ledger.reinstate([f.outcome]),
    "OperationStore.between": lambda f: OperationStore(f.connection, f.here).between(),
    "LedgerStore.everything": lambda f: f.ledger.everything(),
    "LedgerStore.hold": lambda f: f.ledger.hold(),
    "LedgerStore.closing": lambda f: f.ledger.closing(),
    "ClosingStore.load": lambda f: f.closed_places(),
    "ClosingStore.last_closable": lambda f: f.closings.last_closable(0, AGES),
    "ClosingStore.step_to": lambda f: f.closings.step_to(0, 0, 9),
    "ClosingStore.standing": lambda f: f.closings.standing(0, 10**6),
    "ClosingStore.drop_unpublished": lambda f: f.closings.drop_unpublished(0, 10**6),
    "ClosingStore.first_free": lambda f: f.closings.first_free(1),
    "ClosingStore.remove_events": lambda f: f.closings.remove_events([(1, 0), (2, 0)]),
    "FiguresStore.count": lambda f: f.figures.count(AGES, 10**6),
    "RemovalStore.remove_events": lambda f: f.removals.remove_events((-1, 0), 99),
    "RemovalStore.remove_outcomes": lambda f: f.removals.remove_outcomes(99),
    "RemovalStore.remove_receipts": lambda f: f.removals.remove_receipts(99),
    "RemovalStore.blank_runs": lambda f: f.removals.blank_runs(99),
    "RemovalStore.remove_tasks": lambda f: f.removals.remove_tasks(UUID(int=0), 99),
    "RemovalStore.remove_llm_calls": lambda f: f.removals.remove_llm_calls(99),
    "MemoryReader.get": lambda f: f.reader.get(f.memory),
    "MemoryReader.tell_apart": lambda f: f.reader.tell_apart([f.memory]),
    "MemoryReader.some": lambda f: f.reader.some([f.memory]),
    "MemoryReader.browse": lambda f: f.reader.browse(MemoryFilter(), PAGE),
    "MemoryReader.texts": lambda f: f.reader.texts({f.memory: 1}),
    "MemoryReader.versions": lambda f: f.reader.versions(f.memory),
    "MemoryStore.twins": lambda f: f.memories.twins([f.new()]),
    "MemoryStore.add_evidence": lambda f: f.memories.add_evidence([f.memory]),
    "MemoryStore.touch_category": lambda f: f.memories.touch_category(f.category, 7),
    "MemoryStore.edit": lambda f: f.memories.edit(f.memory, {"pinned": True}, 2),
    "TwinStore.find_changed": lambda f: f.twins.find_changed(START, NOON + 9 * DAY, 9),
    "TwinStore.find_pairs": lambda f: f.twins.find_pairs(
        START, EVERYTHING, NOON + 9 * DAY, cosine=-1.0
    ),
    "TwinStore.complete_texts": lambda f: f.twins.complete_texts(9),
    "TwinStore.hold": lambda f: f.twins.hold([f.memory]),
    "TwinStore.merge": lambda f: f.twins.merge(f.union(), 1),
    "OutcomeStore.of_retrievals": lambda f: f.outcomes.of_retrievals([f.retrieval]),
    "OutcomeStore.lock_retrievals": lambda f: f.outcomes.lock_retrievals([f.retrieval]),
    "OutcomeStore.others_took_part": lambda f: f.outcomes.others_took_part(f.memory),
    "OutcomeStore.get": lambda f: f.outcomes.get(f.outcome),
    "OutcomeStore.browse": lambda f: f.outcomes.browse(OutcomeFilter(), PAGE),
    "OutcomeStore.pending": lambda f: f.outcomes.pending(10, {f.outcome}),
    "OutcomeStore.hold_pending": lambda f: f.outcomes.hold_pending(10),
    "OutcomeStore.count_pending": lambda f: f.outcomes.count_pending(),
    "OutcomeStore.count_set_aside": lambda f: f.outcomes.count_set_aside(),
    "OutcomeStore.set_aside": lambda f: f.outcomes.set_aside(f.outcome, "a reason", NOON),
    "OutcomeStore.take_up_again": lambda f: f.outcomes.take_up_again(),
    "OutcomeStore.decide": lambda f: f.outcomes.decide(
        [replace(f.new_outcome, id=f.outcome, status=OutcomeStatus.IGNORED, applied_at=NOON)]
    ),
    "OutcomeStore.claimed_too_high": lambda f: f.outcomes.claimed_too_high(),
    "OutcomeStore.some": lambda f: f.outcomes.some([f.outcome]),
    "OutcomeStore.in_ledger": lambda f: f.outcomes.in_ledger(),
    "OutcomeStore.to_withdraw": lambda f: f.outcomes.to_withdraw(),
    "OutcomeStore.withdraw": lambda f: f.outcomes.withdraw([f.outcome], 1),
    "OutcomeStore.lost_replacements": lambda f: f.outcomes.lost_replacements({f.outcome}),
    "OutcomeStore.reinstate": lambda f: f.outcomes.reinstate([f.outcome]),
    "OutcomeStore.free_categories": lambda f: f.outcomes.free_categories([f.retrieval]),
    "OutcomeStore.waiting_measures": lambda f: f.outcomes.waiting_measures([f.category]),
    "OutcomeStore.supersede": lambda f: f.outcomes.supersede([f.outcome], "superseded", NOON),
    "ReceiptStore.get": lambda f: f.receipts.get(f.retrieval),
    "ReceiptStore.browse": lambda f: f.receipts.browse(ReceiptFilter(), PAGE, NOON),
    "ReceiptStore.contexts": lambda f: f.receipts.contexts([f.retrieval]),
    "RelabelStore.tops": lambda f: f.relabelling.tops(),
    "RelabelStore.memories": lambda f: f.relabelling.memories(f.wanted),
    "RelabelStore.tasks": lambda f: f.relabelling.tasks(f.wanted),
    "ReembeddingStore.count_missing": lambda f: f.reembedding.count_missing(new_id()),
    "ReembeddingStore.lacks": lambda f: f.reembedding.lacks(new_id()),
    "ReembeddingStore.list_missing": lambda f: f.reembedding.list_missing(new_id(), FIRST, 9),
    "ReembeddingStore.list_missing_tasks": lambda f: f.reembedding.list_missing_tasks(
        new_id(), FIRST, 9
    ),
    "ReembeddingStore.add": lambda f: f.reembedding.add(f.unembedded(), [VECTOR], f.model),
    "ReembeddingStore.sample": lambda f: f.reembedding.sample(f.model, None, 0.3, 9),
    "ReembeddingStore.drop_some": lambda f: f.reembedding.drop_some(f.model),
    "ReembeddingStore.forget_former": lambda f: f.reembedding.forget_former(f.model),
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
    "StateStore.load_usage": lambda f: f.states.load_usage(f.agent, f.category),
    "StateStore.set_controls": lambda f: f.states.set_controls({(f.agent, f.category): 1}),
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
    "BlankingStore.blank_words": lambda f: BlankingStore(f.connection, f.here).blank_words(
        ReceiptWords((f.task,), (f.memory,), "solver", f.key)
    ),
    "ReceiptStore.of_key": lambda f: f.receipts.of_key(
        ReceiptsOfKey(trace_id="trace"), 9, living_at=None
    ),
    "ReceiptStore.owners": lambda f: f.receipts.owners([f.retrieval]),
    "ReceiptStore.some": lambda f: f.receipts.some([f.retrieval]),
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
    "RollbackStore.list_runs": lambda f: f.sources.list_runs(
        RollbackSource(f.agent, None, None, None)
    ),
    "RollbackStore.list_words": lambda f: f.sources.list_words(
        RollbackSource(f.agent, None, None, None)
    ),
    "RollbackStore.list_supported": lambda f: f.sources.list_supported([f.trajectory], []),
    "RollbackStore.withdraw_support": lambda f: f.sources.withdraw_support(
        [f.trajectory], [], NOON
    ),
    "RollbackStore.list_memory_states": lambda f: f.sources.list_memory_states([f.memory]),
    "WebhookStore.browse": lambda f: f.webhooks.browse(f.webhook, PAGE),
    "WebhookStore.claim_due": lambda f: f.webhooks.claim_due(NOON + 9 * DAY),
    "WebhookStore.count": lambda f: f.webhooks.count(f.webhook, delivered=False),
    "WebhookStore.delete": lambda f: f.webhooks.delete(f.webhook),
    "WebhookStore.disable": lambda f: f.webhooks.disable(f.webhook, "gone", NOON),
    "WebhookStore.enable": lambda f: f.webhooks.enable(f.webhook),
    "WebhookStore.forget": lambda f: f.webhooks.forget(NOON + 99 * DAY),
    "WebhookStore.get": lambda f: f.webhooks.get(f.webhook),
    "WebhookStore.get_secret": lambda f: f.webhooks.get_secret(f.webhook),
    "WebhookStore.hold": lambda f: f.webhooks.hold(),
    "WebhookStore.list_all": lambda f: f.webhooks.list_all(),
    "WebhookStore.note_sent": lambda f: f.webhooks.note_sent(
        f.due, Sent(delivered=True, status=200), NOON, again_at=None
    ),
    "Outbox.put": lambda f: Outbox(f.connection, f.here).put("ticket.open", {"id": "x"}),
    "UndoStore.browse": lambda f: f.undos.browse(PAGE),
    "UndoStore.get": lambda f: f.undos.get(f.rollback),
    "UndoStore.newest": lambda f: f.undos.newest(),
    "UndoStore.list_overtaken": lambda f: f.undos.list_overtaken(f.kept_rollback),
    "UndoStore.was_erased_since": lambda f: f.undos.was_erased_since(NOON - DAY),
    "UndoStore.give_back_outcomes": lambda f: f.undos.give_back_outcomes(
        [TakenState(f.outcome, "accepted", "reinstated")]
    ),
    "UndoStore.give_back_support": lambda f: f.undos.give_back_support(
        TakenSupport((f.trajectory,), (f.contrast,), (f.contrast,), (f.side,))
    ),
    "UndoStore.list_still_retired": lambda f: f.undos.list_still_retired([f.memory]),
    "UndoStore.note_undone": lambda f: f.undos.note_undone(f.rollback, 9, f.key, NOON),
    "TaskStore.agree": lambda f: f.tasks.agree(
        f.known(), TaskDraft("rain", key="rain", closes_at=NOON)
    ),
    "TaskStore.some": lambda f: f.tasks.some([f.task], ["rain#1"]),
    "TaskStore.get": lambda f: f.tasks.get(f.task),
    "TaskStore.hold": lambda f: f.tasks.hold(f.task),
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
    "TicketStore.claim_repair": lambda f: f.tickets.claim_repair(NOON),
    "TicketStore.give_back_repair": lambda f: f.tickets.give_back_repair(f.ticket),
    "TicketStore.waiting": lambda f: f.tickets.waiting(),
    "TrajectoryStore.browse": lambda f: f.runs.browse(TrajectoryFilter(), PAGE),
    "TrajectoryStore.count_of_receipt": lambda f: f.runs.count_of_receipt(f.retrieval),
    "TrajectoryStore.get": lambda f: f.runs.get(f.trajectory),
    "TrajectoryStore.mark_paired": lambda f: f.runs.mark_paired([f.trajectory], NOON),
    "TrajectoryStore.of_ids": lambda f: f.runs.of_ids([f.trajectory]),
    "TrajectoryStore.of_receipt": lambda f: f.runs.of_receipt(f.retrieval, f.key),
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
    "LlmCallStore.cost_of": lambda f: f.writings.cost_of(NOON.date()),
    "LlmCallStore.days_since": lambda f: f.writings.days_since(NOON.date()),
    "LlmCallStore.use_since": lambda f: f.writings.use_since(NOON - 9 * DAY),
}

WRITES_HERE: dict[str, Ask] = {
    "MemoryStore.add": lambda f: f.memories.add([f.new()], f.stamp),
    "ChangeStore.head": lambda f: f.changes.head(),
    "ActorStore.add_agent": lambda f: f.actors.add_agent(AgentDraft("solver"), f.key, NOON),
    "ActorStore.ensure_agent": lambda f: f.actors.ensure_agent("solver", f.key, NOON),
    "ActorStore.ensure_category": lambda f: f.actors.ensure_category(
        CategoryName("weather"), f.key, NOON
    ),
    "CandidateStore.add": lambda f: f.candidates.add([Run(f.outcome, f.task, "task:x", 0.1)], NOON),
    "ChangesetStore.add": lambda f: f.changesets.add(
        NewChangeset(new_id(), (f.outcome,), "owl", 0.9), NOON
    ),
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
    "SupportStore.add_contrasts": lambda f: f.support.add_contrasts(
        [
            {
                "id": new_id(),
                "memory_id": f.side,
                "contrast_id": None,
                "task_id": f.task,
                "preferred_key_id": None,
                "verifier": "test",
                "counts": True,
                "known_at": NOON,
                "recorded_at": NOON,
            }
        ]
    ),
    "UndoStore.add": lambda f: f.undos.add(
        NewRollback(new_id(), {}, TakenParts(), None, 1), f.key, NOON
    ),
    "WebhookStore.add": lambda f: f.webhooks.add(
        Webhook(new_id(), "https://hooks.invalid/", (), NOON, None, 0, None, None), "whsec_"
    ),
    "HealthStore.add": lambda f: f.health.add(HEALTH, NOON),
    "ClosingStore.try_alone": lambda f: f.closings.try_alone(),
    "ClosingStore.publish": lambda f: f.closings.publish(Closing(1, NOON, None, NOON)),
    "RemovalStore.take_turn": lambda f: f.removals.take_turn(),
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
    "ReembeddingStore.switch": lambda f: f.reembedding.switch(f.model),
    # It names the models that the namespace itself is on or was on.
    "ReembeddingStore.models": lambda f: f.reembedding.models(),
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
    "TrajectoryStore.withdraw": lambda f: f.runs.withdraw([f.trajectory], NOON),
    "TrajectoryStore.add": lambda f: f.runs.add([f.run()]),
    "LlmCallStore.add": lambda f: f.writings.add(f.tried(), NOON),
    "LlmCallStore.give_back": lambda f: f.writings.give_back(NOON.date(), 5, NOTHING),
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
        found["webhook"] = (await inside.scalars(select(webhook.c.id))).one()
        found["rollback"] = (await inside.scalars(select(rollback.c.id))).one()
        found["changeset"] = (await inside.scalars(select(changeset.c.id))).one()
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
# Tables that are read in parallel come in any order.
DIGEST += " ORDER BY 1"


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
