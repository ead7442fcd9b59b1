"""Times and moments of the bank as people write them in forms: UTC, unless they say a zone."""

from collections.abc import Callable
from datetime import UTC, datetime

from memory.kernel.errors import Rejected
from memory.kernel.fields import FIRST_YEAR, LAST_YEAR
from memory.memories.browse_entities import BankMoment
from server.dashboard.forms import Form
from server.schemas.insight import MAX_VERSION

Given = Callable[[str], str]


def time_of(form: Form, name: str) -> datetime | None:
    """The time in a field, None where it is blank."""
    return time_in(form.get(name), name)


def time_in(text: str, name: str) -> datetime | None:
    """Raises Rejected for what is no time."""
    if not text.strip():
        return None
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError as fault:
        raise Rejected(f"{name} is no time; write it as 2026-03-01T12:00", field=name) from fault
    if not FIRST_YEAR <= at.year < LAST_YEAR:
        raise Rejected(f"{name} must lie in {FIRST_YEAR}…{LAST_YEAR - 1}", field=name)
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def moment_in(given: Given, prefix: str = "") -> BankMoment:
    """A moment by its time, or by its version of the bank; with neither: now."""
    as_of = time_in(given(f"{prefix}as_of"), f"{prefix}as_of")
    digits = given(f"{prefix}bank_version").strip()
    if not digits:
        return BankMoment(as_of)
    if not (digits.isascii() and digits.isdigit() and int(digits) <= MAX_VERSION):
        raise Rejected("a bank version is a whole number", field=f"{prefix}bank_version")
    return BankMoment(as_of, int(digits))
