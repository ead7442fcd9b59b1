"""Jobs: the timetable, runs by hand, and the record of runs."""

from typing import Annotated
from uuid import UUID

from fastapi import Query, Response

from memory.jobs import service as jobs
from memory.jobs import stopping
from memory.jobs.service import JobRequest
from memory.kernel.postgres.leadership import JobRun
from server.answers import PagesDep, answered
from server.dependencies import EngineDep, Manager, Manages, Reads
from server.routing import INSIDE, router_at
from server.schemas.base import Listing
from server.schemas.insight import JobTimetable, RunQuery, TimetableEntry

router = router_at("", "jobs")


@router.get("/v1/jobs", response_model=JobTimetable)
async def list_jobs(_: Manager) -> Response:
    """The timetable."""
    return answered(
        JobTimetable(
            items=[
                TimetableEntry(
                    name=job.name,
                    every_seconds=job.every.total_seconds(),
                    description=job.description,
                )
                for job in jobs.JOBS
            ]
        )
    )


@router.post(f"{INSIDE}/jobs/{{job}}/runs", response_model=JobRun)
async def run_job(engine: EngineDep, call: Manages, job: str, body: JobRequest) -> Response:
    """Run a job on this namespace now; a dry run changes nothing and says what would change."""
    return answered(await jobs.run_job(engine, call, job, body))


@router.post(f"{INSIDE}/jobs/runs/{{run_id}}/stop", response_model=JobRun)
async def stop_run(engine: EngineDep, call: Manages, run_id: UUID) -> Response:
    """Stop a run that works in parts (`retention`) after the part under way; the next run does the
    rest.
    """
    return answered(await stopping.stop_run(engine, call, run_id))


@router.get(f"{INSIDE}/jobs/runs", response_model=Listing[JobRun])
async def list_runs(
    engine: EngineDep, call: Reads, pages: PagesDep, query: Annotated[RunQuery, Query()]
) -> Response:
    """Runs of jobs on this namespace, newest first."""
    found = await jobs.list_runs(engine, call, pages.page(query), newest_first=True)
    return pages.page_of(JobRun, found)
