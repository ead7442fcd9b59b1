"""The one list of what the header offers."""

from dataclasses import dataclass

from memory.tenancy.entities import Act


@dataclass(frozen=True, slots=True)
class Entry:
    """A page of a namespace, shown to whoever may `act`; `path` follows that of the namespace."""

    title: str
    path: str
    act: Act = Act.READ


NAVIGATION = (
    Entry("Overview", "/"),
    Entry("Memories", "/memories"),
    Entry("Playground", "/playground", Act.RETRIEVE),
    Entry("Receipts", "/receipts"),
    Entry("Candidates", "/candidates"),
    Entry("Constraints", "/constraints"),
    Entry("Contradictions", "/contradictions"),
    Entry("Jobs", "/jobs"),
    Entry("Time travel", "/time-travel"),
    Entry("Keys", "/keys", Act.MANAGE),
)
