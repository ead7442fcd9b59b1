"""Runs and their pairs, valid by default."""

from datetime import UTC, datetime
from itertools import count
from uuid import UUID

from memory.constraints.contrast_entities import RunSketch

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
_ids = count(1)


def an_id(name: str) -> UUID:
    """The same for the same name."""
    return UUID(int=int.from_bytes(name.encode()[:12].ljust(12, b".")))


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
        "key_id": an_id(agent),
        "in_charge": False,
    }
    return RunSketch(**(fields | changes))  # pyright: ignore[reportArgumentType] - fields by name
