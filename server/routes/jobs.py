"""Jobs: the timetable, runs by hand, and the record of runs."""

from typing import Annotated

from fastapi import Query, Response

from memory.jobs import service as flow
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Manager, Manages, Reads
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.learning import JobOut, JobRunIn, JobRunOut, JobsOut, RunQuery

router = router_at("", "jobs")


@router.get("/v1/jobs", response_model=JobsOut)
async def list_jobs(_: Manager) -> Response:
    """The timetable."""
    return answered(
        JobsOut(
            items=[
                JobOut(
                    name=job.name,
                    every_seconds=job.every.total_seconds(),
                    description=job.description,
                )
                for job in flow.JOBS
            ]
        )
    )


@router.post(f"{INSIDE}/jobs/{{job}}/runs", response_model=JobRunOut)
async def run_job(engine: EngineDep, call: Manages, job: str, body: JobRunIn) -> Response:
    """Run a job on this namespace now; a dry run changes nothing and says what would change."""
    return answered(JobRunOut.of(await flow.run_job(engine, call, job, body.to_request())))


@router.get(f"{INSIDE}/jobs/runs", response_model=Listing[JobRunOut])
async def list_runs(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[RunQuery, Query()]
) -> Response:
    """Runs of jobs on this namespace."""
    return pages.answered(await flow.list_runs(engine, call, pages.page(query)), JobRunOut.of)
