"""Which receipts to list."""

from typing import Literal

from memory.receipts.entities import Arm, ReceiptFilter
from server.schemas.base import AgentQuery, Name, named


class ReceiptQuery(AgentQuery):
    """pending: neither answered nor expired; answered: with an outcome in effect; expired: without
    one, too late; all: every receipt. `order` is by when they were made.
    """

    state: Literal["pending", "answered", "expired", "all"] = "all"
    category: Name | None = None
    arm: Arm | None = None
    order: Literal["oldest", "newest"] = "oldest"

    def to_filter(self) -> ReceiptFilter:
        return ReceiptFilter(
            state=self.state,
            agent=self.agent_name(),
            category=named(self.category, "category"),
            arm=self.arm,
            newest_first=self.order == "newest",
        )
