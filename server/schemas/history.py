"""Queries that name moments of the bank."""

from pydantic import Field

from memory.memories.browse_entities import BankMoment
from server.schemas.base import In, ListQuery, Moment

MAX_VERSION = 2**62


class MomentQuery(ListQuery):
    """A moment of the bank: what was known by `as_of`, or as recorded in `bank_version`.

    Differs from `BankMoment`: it is a query, and pages.
    """

    as_of: Moment | None = None
    bank_version: int | None = Field(None, ge=0, le=MAX_VERSION)

    def to_moment(self) -> BankMoment:
        return BankMoment(self.as_of, self.bank_version)


class DifferenceQuery(In):
    """Two moments, each by time or by version; a moment without either is now."""

    from_as_of: Moment | None = None
    from_bank_version: int | None = Field(None, ge=0, le=MAX_VERSION)
    to_as_of: Moment | None = None
    to_bank_version: int | None = Field(None, ge=0, le=MAX_VERSION)

    def first_moment(self) -> BankMoment:
        return BankMoment(self.from_as_of, self.from_bank_version)

    def second_moment(self) -> BankMoment:
        return BankMoment(self.to_as_of, self.to_bank_version)
