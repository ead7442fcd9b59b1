"""The one list of what the header offers."""

from dataclasses import dataclass

from memory.tenancy.entities import Act


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """A page of a namespace, shown to whoever may `act`; `path` follows that of the namespace."""

    title: str
    path: str
    act: Act = Act.READ


NAVIGATION = (
    MenuEntry("Overview", "/"),
    MenuEntry("Memories", "/memories"),
    MenuEntry("Playground", "/playground", Act.RETRIEVE),
    MenuEntry("Receipts", "/receipts"),
    MenuEntry("Candidates", "/candidates"),
    MenuEntry("Constraints", "/constraints"),
    MenuEntry("Contradictions", "/contradictions"),
    MenuEntry("Jobs", "/jobs"),
    MenuEntry("Time travel", "/time-travel"),
    MenuEntry("Keys", "/keys", Act.MANAGE),
)
