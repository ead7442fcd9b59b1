"""Calls about constraints: bring one, see what supports it, resolve contradictions."""

from typing import Literal, Unpack

from memlift_client import _fields_constraints as f
from memlift_client import _results_bank as bank
from memlift_client import _results_constraints as constraints
from memlift_client._building import get, listed, one, page, posted
from memlift_client._fields import PageFields
from memlift_client._wire import Call


def add_constraint(**fields: Unpack[f.ConstraintFields]) -> Call[constraints.AddedConstraint]:
    """Say what a task taught for others like it; what says the same already gains this support."""
    return posted("/constraints", fields, one(constraints.AddedConstraint))


def get_constraint(memory_id: str) -> Call[constraints.Constraint]:
    return get(f"/constraints/{memory_id}", one(constraints.Constraint))


def list_constraints(
    **filters: Unpack[f.ConstraintFilterFields],
) -> Call[bank.Page[constraints.Constraint]]:
    return listed("/constraints", filters, page(constraints.Constraint))


def constraint_support(
    memory_id: str, **filters: Unpack[PageFields]
) -> Call[bank.Page[constraints.Support]]:
    """The contrasts a constraint rests on, and its author's word."""
    return listed(f"/constraints/{memory_id}/support", filters, page(constraints.Support))


def suspend_constraint(memory_id: str, reason: str | None = None) -> Call[constraints.Constraint]:
    """Use it no more until it is restored."""
    return _status(memory_id, "suspend", reason)


def retire_constraint(memory_id: str, reason: str | None = None) -> Call[constraints.Constraint]:
    """Use it no more; its record stays."""
    return _status(memory_id, "retire", reason)


def restore_constraint(memory_id: str, reason: str | None = None) -> Call[constraints.Constraint]:
    """Use it again; without support that counts it waits as proposed."""
    return _status(memory_id, "restore", reason)


def list_contradictions(
    **filters: Unpack[f.ContradictionFilterFields],
) -> Call[bank.Page[constraints.Contradiction]]:
    return listed("/contradictions", filters, page(constraints.Contradiction))


def get_contradiction(contradiction_id: str) -> Call[constraints.Contradiction]:
    return get(f"/contradictions/{contradiction_id}", one(constraints.Contradiction))


def resolve_contradiction(
    contradiction_id: str,
    keep: Literal["first", "second", "both", "neither"],
    reason: str | None = None,
) -> Call[constraints.Contradiction]:
    """Decide which of the two stays in use."""
    body = {"keep": keep, "reason": reason}
    return posted(
        f"/contradictions/{contradiction_id}/resolve", body, one(constraints.Contradiction)
    )


def _status(memory_id: str, action: str, reason: str | None) -> Call[constraints.Constraint]:
    return posted(
        f"/constraints/{memory_id}/{action}", {"reason": reason}, one(constraints.Constraint)
    )
