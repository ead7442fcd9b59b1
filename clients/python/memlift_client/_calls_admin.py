"""Calls about namespaces, keys, agents, categories, tasks, jobs and health."""

from typing import Unpack
from urllib.parse import quote

from memlift_client import _fields as f
from memlift_client import _results_bank as bank
from memlift_client import _results_loop as loop
from memlift_client._building import deleted, get, listed, nothing, one, page, patched, posted
from memlift_client._reading import read
from memlift_client._wire import Call, Reply


def live() -> Call[bank.Liveness]:
    """Whether the process answers at all; touches neither database nor model."""
    return get("/health/live", one(bank.Liveness), scoped=False)


def ready() -> Call[bank.Readiness]:
    """Whether the server can serve, and what is missing. Not ready is an answer, no problem."""
    return get("/health/ready", one(bank.Readiness), scoped=False, accepted=frozenset({503}))


def me() -> Call[bank.Me]:
    """Whom the server takes this key for."""
    return get("/v1/me", one(bank.Me), scoped=False)


def create_namespace(slug: str, **fields: Unpack[f.NamespaceFields]) -> Call[bank.Namespace]:
    """Make a namespace. Its slug and clock never change."""
    return posted("/v1/namespaces", {"slug": slug, **fields}, one(bank.Namespace), scoped=False)


def get_namespace() -> Call[bank.Namespace]:
    """The namespace this client is bound to."""
    return get("", one(bank.Namespace))


def change_namespace(
    version: int, **fields: Unpack[f.NamespaceChangeFields]
) -> Call[bank.Namespace]:
    """Change learning or settings of the namespace, as `version` of it was seen."""
    return patched("", fields, version, one(bank.Namespace))


def list_namespaces(**filters: Unpack[f.PageFields]) -> Call[bank.Page[bank.Namespace]]:
    """The namespaces this key reaches."""
    return listed("/v1/namespaces", filters, page(bank.Namespace), scoped=False)


def request_deletion() -> Call[bank.Deletion]:
    """First of two steps to delete the namespace."""
    return posted("/deletion", None, one(bank.Deletion))


def delete_namespace(confirmation: str) -> Call[None]:
    """Second step: deletes the namespace and all in it."""
    return deleted("", nothing, confirmation=confirmation)


def create_key(**fields: Unpack[f.KeyFields]) -> Call[bank.NewKey]:
    """Make a key; the token is in this answer and never again."""
    return posted("/v1/keys", fields, one(bank.NewKey), scoped=False)


def list_keys(**filters: Unpack[f.PageFields]) -> Call[bank.Page[bank.Key]]:
    """The keys this key may manage."""
    return listed("/v1/keys", filters, page(bank.Key), scoped=False)


def revoke_key(key_id: str) -> Call[None]:
    """Revoke a key, at once and for good."""
    return deleted(f"/v1/keys/{key_id}", nothing, scoped=False)


def add_agent(name: str, **fields: Unpack[f.AgentFields]) -> Call[bank.Agent]:
    """Describe an agent before its first use."""
    return posted("/agents", {"name": name, **fields}, one(bank.Agent))


def get_agent(name: str) -> Call[bank.Agent]:
    return get(_agent(name), one(bank.Agent))


def list_agents(**filters: Unpack[f.PageFields]) -> Call[bank.Page[bank.Agent]]:
    return listed("/agents", filters, page(bank.Agent))


def change_agent(name: str, version: int, **fields: Unpack[f.AgentFields]) -> Call[bank.Agent]:
    """Change what is known of an agent, as `version` of it was seen."""
    return patched(_agent(name), fields, version, one(bank.Agent))


def add_category(name: str, subcategory: str | None = None) -> Call[bank.Category]:
    return posted("/categories", {"name": name, "subcategory": subcategory}, one(bank.Category))


def list_categories(**filters: Unpack[f.PageFields]) -> Call[bank.Page[bank.Category]]:
    return listed("/categories", filters, page(bank.Category))


def add_task(**fields: Unpack[f.TaskFields]) -> Call[bank.Task]:
    """Store a task; the same key and text give the task that is there."""
    return posted("/tasks", fields, one(bank.Task))


def get_task(task_id: str) -> Call[bank.Task]:
    return get(f"/tasks/{task_id}", one(bank.Task))


def list_tasks(**filters: Unpack[f.TaskFilterFields]) -> Call[bank.Page[bank.Task]]:
    return listed("/tasks", filters, page(bank.Task))


def list_jobs() -> Call[tuple[loop.Job, ...]]:
    """The timetable."""
    return get("/v1/jobs", _jobs, scoped=False)


def run_job(job: str, **fields: Unpack[f.JobFields]) -> Call[loop.JobRun]:
    """Run a job now; a dry run changes nothing and says what it would change."""
    return posted(f"/jobs/{job}/runs", fields, one(loop.JobRun))


def list_job_runs(**filters: Unpack[f.PageFields]) -> Call[bank.Page[loop.JobRun]]:
    return listed("/jobs/runs", filters, page(loop.JobRun))


def audit(**filters: Unpack[f.PageFields]) -> Call[bank.Page[bank.AuditEntry]]:
    """Who did what in this namespace."""
    return listed("/audit", filters, page(bank.AuditEntry))


def erase(**fields: Unpack[f.ErasureFields]) -> Call[bank.Erased]:
    """Erase the texts of a memory, an agent, a key or a task."""
    return posted("/erasures", fields, _erased)


def erase_experience(memory_id: str) -> Call[bank.Erased]:
    """Erase one memory's texts and all that carries them."""
    return deleted(f"/experiences/{memory_id}", _erased)


def _agent(name: str) -> str:
    """A name may hold any sign; a path may not."""
    return f"/agents/{quote(name, safe='')}"


def _erased(reply: Reply) -> bank.Erased:
    body = reply.body()
    erased = body.get("erased")
    return read(bank.Erased, erased if isinstance(erased, dict) else body)


def _jobs(reply: Reply) -> tuple[loop.Job, ...]:
    return page(loop.Job)(reply).items
