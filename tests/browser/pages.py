"""The pages of the shop: those that the header offers, and those that lie below them."""

from collections.abc import Sequence

from memlift_client import MemLift

from server.dashboard.navigation import NAVIGATION
from tests.browser.story import Story

BELOW = (
    "/search?q=invoice",
    "/receipts/outcomes",
    "/candidates/lessons",
    "/candidates/changesets",
    "/settings/what-if?policy=steps",
    "/agents/clerk",
)


def every_page(shop: MemLift, told: Story) -> Sequence[str]:
    """Paths after that of the namespace; one page of each kind."""
    runs = [run.id for run in shop.each_trajectory()]
    [contrast, *_] = shop.list_contrasts(limit=1).items
    constraints = [one.id for one in shop.list_constraints(limit=2).items]
    [contradiction, *_] = shop.list_contradictions(state="all", limit=1).items
    [ticket] = shop.list_tickets(limit=1).items
    return (
        *(entry.path for entry in NAVIGATION),
        *BELOW,
        f"/memories/{told.memory_id}",
        f"/memories/{told.hostile_id}",
        f"/receipts/{told.receipts[0]}",
        f"/runs/{runs[0]}",
        f"/runs/{runs[0]}/compared/{runs[1]}",
        f"/constraints/contrasts/{contrast.id}",
        f"/constraints/{constraints[0]}",
        f"/contradictions/{contradiction.id}",
        f"/candidates/{ticket.id}",
    )
