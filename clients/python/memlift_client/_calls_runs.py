"""Calls about runs of tasks, what they say of agents, and the kinds of task there are."""

from collections.abc import Sequence
from typing import Unpack

from memlift_client import _fields_runs as f
from memlift_client import _results_bank as bank
from memlift_client import _results_runs as runs
from memlift_client._building import batch, get, listed, one, page, posted, replaced
from memlift_client._wire import Call


def add_trajectory(**fields: Unpack[f.TrajectoryFields]) -> Call[runs.KeptRun]:
    """Keep a run of a task by an agent."""
    return posted("/trajectories", fields, one(runs.KeptRun))


def add_all_trajectories(
    items: Sequence[f.TrajectoryFields],
) -> Call[tuple[bank.BatchItem[runs.KeptRun], ...]]:
    """Up to 256 runs at once; each is taken or refused by itself."""
    return posted("/trajectories/batch", {"items": items}, batch(runs.KeptRun))


def get_trajectory(trajectory_id: str) -> Call[runs.Trajectory]:
    """A run with its words."""
    return get(f"/trajectories/{trajectory_id}", one(runs.Trajectory))


def list_trajectories(
    **filters: Unpack[f.TrajectoryFilterFields],
) -> Call[bank.Page[runs.Trajectory]]:
    """Runs, oldest first, without their words."""
    return listed("/trajectories", filters, page(runs.Trajectory))


def competence(**filters: Unpack[f.CompetenceFilterFields]) -> Call[bank.Page[runs.Competence]]:
    """How every agent fares in every category, by its verified runs."""
    return listed("/competence", filters, page(runs.Competence))


def bring_taxonomy(
    seen: int | None = None, **fields: Unpack[f.TaxonomyFields]
) -> Call[runs.Taxonomy]:
    """Bring the next version, over the version `seen` where one is given."""
    return replaced("/taxonomy", fields, seen, one(runs.Taxonomy))


def taxonomy() -> Call[runs.Taxonomy]:
    """The version in force."""
    return get("/taxonomy", one(runs.Taxonomy))


def list_taxonomies() -> Call[bank.Page[runs.Taxonomy]]:
    """All versions that were brought, oldest first."""
    return get("/taxonomy/versions", page(runs.Taxonomy))
