"""Constraints and what they come from: runs, contrasts, contradictions, the taxonomy."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.constraints import bank, competence, contradictions, service, taxonomy
from memory.constraints.contrast_entities import Contrast, ContrastRequest, Contrasts
from memory.constraints.entities import (
    AddedConstraint,
    Constraint,
    ConstraintDraft,
    Contradiction,
    Resolution,
    Support,
)
from memory.constraints.taxonomy_entities import TaxonomyVersion
from memory.constraints.trajectory_entities import (
    AddedTrajectory,
    Competence,
    Trajectory,
    TrajectoryDraft,
    TrajectorySummary,
)
from memory.curation import service as curation
from memory.kernel.errors import MemoryFault
from server.answers import Batch, BatchDep, PagesDep, all_of, answered, only, rejoined
from server.dependencies import EngineDep, Manages, Reads, Remembers, SeenVersion
from server.errors import status_of
from server.routing import INSIDE, router_at
from server.schemas.base import Listing, ListQuery
from server.schemas.constraints import (
    AddedTrajectories,
    AddedTrajectoryItem,
    CompetenceQuery,
    ConstraintQuery,
    ContradictionQuery,
    ContrastQuery,
    TaxonomyPut,
    TrajectoryBatch,
    TrajectoryQuery,
)
from server.schemas.experiences import StatusReason

taxonomy_router = router_at(f"{INSIDE}/taxonomy", "categories")


@taxonomy_router.put("", response_model=TaxonomyVersion)
async def bring_taxonomy(
    engine: EngineDep, call: Manages, seen: SeenVersion, body: TaxonomyPut
) -> Response:
    """Bring the next version; the same again makes none. `If-Match` is heeded where given."""
    made = await taxonomy.replace_taxonomy(engine, call, body.to_draft(), seen)
    return answered(made, version=made.version)


@taxonomy_router.get("", response_model=TaxonomyVersion)
async def get_taxonomy(engine: EngineDep, call: Reads) -> Response:
    """The version in force."""
    known = await taxonomy.get_taxonomy(engine, call)
    return answered(known, version=known.version)


@taxonomy_router.get("/versions", response_model=Listing[TaxonomyVersion])
async def list_taxonomies(engine: EngineDep, call: Reads) -> Response:
    """All versions that were brought, oldest first."""
    return all_of(TaxonomyVersion, await taxonomy.list_taxonomies(engine, call))


trajectories_router = router_at(INSIDE, "trajectories")


@trajectories_router.post("/trajectories", status_code=201, response_model=AddedTrajectory)
async def add_trajectory(engine: EngineDep, call: Remembers, body: TrajectoryDraft) -> Response:
    """Keep a run of a task."""
    return answered(only(await service.add_trajectories(engine, call, [body])), 201)


@trajectories_router.post("/trajectories/batch", status_code=207, response_model=AddedTrajectories)
async def add_trajectories(
    engine: EngineDep, call: Remembers, batch: BatchDep, body: TrajectoryBatch
) -> Response:
    """Keep many; each item has its own status."""
    drafts: list[TrajectoryDraft | MemoryFault] = [*body.items]
    good = [draft for draft in drafts if isinstance(draft, TrajectoryDraft)]
    results = rejoined(
        body.items, await service.add_trajectories(engine, call, good) if good else []
    )
    items = [_item(batch, index, result) for index, result in enumerate(results)]
    return batch.answered(AddedTrajectories(items=items), (item.status for item in items))


def _item(batch: Batch, index: int, result: service.AddedOrFault) -> AddedTrajectoryItem:
    if isinstance(result, MemoryFault):
        problem = batch.problem(result)
        return AddedTrajectoryItem(index=index, status=status_of(result), problem=problem)
    return AddedTrajectoryItem(
        index=index,
        status=201,
        id=result.id,
        task_id=result.task_id,
        category=result.category,
        subcategory=result.subcategory,
        right=result.right,
    )


@trajectories_router.get("/trajectories", response_model=Listing[TrajectorySummary])
async def list_trajectories(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[TrajectoryQuery, Query()]
) -> Response:
    """Runs, oldest first, without their words."""
    listed = await service.list_trajectories(engine, call, query.to_filter(), pages.page(query))
    return pages.page_of(TrajectorySummary, listed)


@trajectories_router.get("/trajectories/{trajectory_id}", response_model=Trajectory)
async def get_trajectory(engine: EngineDep, call: Reads, trajectory_id: UUID) -> Response:
    """A run with its words."""
    return answered(await service.get_trajectory(engine, call, trajectory_id))


@trajectories_router.get("/competence", response_model=Listing[Competence])
async def list_competences(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[CompetenceQuery, Query()]
) -> Response:
    """How every agent fares in every category, by its verified runs."""
    page = pages.page(query)
    return pages.page_of(
        Competence, await competence.list_competences(engine, call, query.as_of, page)
    )


contrasts_router = router_at(f"{INSIDE}/contrasts", "contrasts")


@contrasts_router.post(
    "", status_code=201, response_model=Contrasts, responses={200: {"model": Contrasts}}
)
async def add_contrasts(engine: EngineDep, call: Remembers, body: ContrastRequest) -> Response:
    """Pair runs and distil the pairs at once, as far as the time goes; 200 where no pair is new."""
    contrasts = await service.contrast_runs(engine, call, body)
    return answered(contrasts, 201 if contrasts.new else 200)


@contrasts_router.get("", response_model=Listing[Contrast])
async def list_contrasts(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ContrastQuery, Query()]
) -> Response:
    """Pairs of runs, oldest first."""
    listed = await service.list_contrasts(engine, call, query.to_filter(), pages.page(query))
    return pages.page_of(Contrast, listed)


@contrasts_router.get("/{contrast_id}", response_model=Contrast)
async def get_contrast(engine: EngineDep, call: Reads, contrast_id: UUID) -> Response:
    """A pair with the constraints it yielded, and what was rejected."""
    return answered(await service.get_contrast(engine, call, contrast_id))


@contrasts_router.post("/{contrast_id}/redo", response_model=Contrast)
async def redo_contrast(engine: EngineDep, call: Manages, contrast_id: UUID) -> Response:
    """Distil a pair again of which nothing came."""
    return answered(await service.distil_again(engine, call, contrast_id))


constraints_router = router_at(f"{INSIDE}/constraints", "constraints")
NO_REASON = StatusReason()


@constraints_router.post(
    "", status_code=201, response_model=AddedConstraint, responses={200: {"model": AddedConstraint}}
)
async def add_constraint(engine: EngineDep, call: Remembers, body: ConstraintDraft) -> Response:
    """Say what a task taught for others like it; 200 where it supports one that says the same."""
    made = await bank.add_constraint(engine, call, body)
    status = 200 if made.deduplicated else 201
    return answered(made, status)


@constraints_router.get("", response_model=Listing[Constraint])
async def list_constraints(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ConstraintQuery, Query()]
) -> Response:
    """Browse the bank of constraints, oldest first."""
    listed = await bank.list_constraints(engine, call, query.to_filter(), pages.page(query))
    return pages.page_of(Constraint, listed)


@constraints_router.get("/{memory_id}", response_model=Constraint)
async def get_constraint(engine: EngineDep, call: Reads, memory_id: UUID) -> Response:
    """A constraint as it stands, with its support in numbers."""
    return answered(await bank.get_constraint(engine, call, memory_id))


@constraints_router.get("/{memory_id}/support", response_model=Listing[Support])
async def list_support(
    engine: EngineDep,
    call: Reads,
    pages: PagesDep,
    memory_id: UUID,
    query: Annotated[ListQuery, Query()],
) -> Response:
    """The contrasts a constraint rests on, and its author's word."""
    listed = await bank.list_support(engine, call, memory_id, pages.page(query))
    return pages.page_of(Support, listed)


@constraints_router.post("/{memory_id}/vouch", response_model=Constraint)
async def vouch_for_constraint(
    engine: EngineDep, call: Manages, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Bring a proposal into use on a manager's word."""
    return answered(await bank.vouch_for(engine, call, memory_id, body.reason))


@constraints_router.post("/{memory_id}/suspend", response_model=Constraint)
async def suspend_constraint(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Stop using a constraint for now."""
    change = body.to_change("suspend")
    return answered(await curation.change_constraint(engine, call, memory_id, change))


@constraints_router.post("/{memory_id}/retire", response_model=Constraint)
async def retire_constraint(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Stop using a constraint; its record stays."""
    change = body.to_change("retire")
    return answered(await curation.change_constraint(engine, call, memory_id, change))


@constraints_router.post("/{memory_id}/restore", response_model=Constraint)
async def restore_constraint(
    engine: EngineDep, call: Remembers, memory_id: UUID, body: StatusReason = NO_REASON
) -> Response:
    """Use a constraint again; while it is not proven it waits as proposed."""
    change = body.to_change("restore")
    return answered(await curation.change_constraint(engine, call, memory_id, change))


contradictions_router = router_at(f"{INSIDE}/contradictions", "contradictions")


@contradictions_router.get("", response_model=Listing[Contradiction])
async def list_contradictions(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[ContradictionQuery, Query()]
) -> Response:
    """Browse contradictions, oldest first; the open ones unless asked otherwise."""
    page = pages.page(query)
    listed = await contradictions.list_contradictions(engine, call, query.wanted_state, page)
    return pages.page_of(Contradiction, listed)


@contradictions_router.get("/{contradiction_id}", response_model=Contradiction)
async def get_contradiction(engine: EngineDep, call: Reads, contradiction_id: UUID) -> Response:
    """A contradiction as it stands."""
    return answered(await contradictions.get_contradiction(engine, call, contradiction_id))


@contradictions_router.post("/{contradiction_id}/resolve", response_model=Contradiction)
async def resolve_contradiction(
    engine: EngineDep, call: Manages, contradiction_id: UUID, body: Resolution
) -> Response:
    """Decide which of the two stays in use: the first, the second, both or neither."""
    return answered(
        await contradictions.resolve_contradiction(engine, call, contradiction_id, body)
    )
