"""Runs and their pairs, valid by default."""

from datetime import UTC, datetime
from itertools import count
from uuid import UUID

from memory.constraints.contrast_entities import RunSketch
from memory.constraints.proof import Voice
from memory.tenancy.entities import Role

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
_ids = count(1)


def an_id(name: str) -> UUID:
    """The same for the same name."""
    return UUID(int=int.from_bytes(name.encode()[:12].ljust(12, b".")))


def a_voice(name: str, role: Role = Role.AGENT, **changes: object) -> Voice:
    """The key of an agent, bound to it alone, or one of another role."""
    is_agent = role is Role.AGENT
    fields: dict[str, object] = {
        "id": an_id(name),
        "role": role,
        "agents": (name,) if is_agent else None,
        "party_id": an_id(name) if is_agent else None,
        "verifies": "test" if is_agent else "human",
    }
    return Voice(**(fields | changes))  # pyright: ignore[reportArgumentType] - fields by name


def a_run(agent: str = "alpha", *, right: bool | None = True, **changes: object) -> RunSketch:
    """A verified run; the agent's name is its family and its key as well."""
    fields: dict[str, object] = {
        "id": UUID(int=next(_ids)),
        "task_id": an_id("task"),
        "agent_id": an_id(agent),
        "agent": agent,
        "family": agent,
        "reward": None if right is None else float(right),
        "verifier": "none" if right is None else "test",
        "cost": None,
        "n_steps": 4,
        "wordless": False,
        "known_at": NOON,
        "voice": a_voice(agent),
    }
    return RunSketch(**(fields | changes))  # pyright: ignore[reportArgumentType] - fields by name
