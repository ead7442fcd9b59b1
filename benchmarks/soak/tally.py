"""What was done and how it was answered, by kind and status; and what should not have been."""

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import cast

LOST = 0
"""The status of a request whose connection broke."""

PASSING = frozenset({LOST, 429, 503})
"""Answers that any request may get: come back later."""

LOST_WRITE, DOUBLED, STALE, OTHER = "lost", "doubled", "stale", "other"
"""Classes of violations."""

SHOWN = 20


@dataclass(slots=True)
class Tally:
    """Counts of one soak, from many threads."""

    counts: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    later: Counter[tuple[int, str]] = field(default_factory=Counter[tuple[int, str]])
    violations: Counter[str] = field(default_factory=Counter[str])
    by_class: Counter[str] = field(default_factory=Counter[str])
    _told: set[str] = field(default_factory=set[str])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def count(self, kind: str, status: int, allowed: frozenset[int], detail: object = "") -> None:
        """One operation was answered so; any other answer than those is a violation."""
        with self._lock:
            self.counts[kind, status] += 1
            if status in PASSING - {LOST}:
                self.later[status, _code(detail)] += 1
        if status not in allowed | PASSING:
            self.violate(f"{kind} was answered {status}: {detail}")

    def violate(self, what: str, of: str = OTHER) -> None:
        """Something that must not be: of one of the classes, LOST_WRITE and its like."""
        with self._lock:
            self.violations[what[:500]] += 1
            self.by_class[of] += 1

    @property
    def answered(self) -> int:
        """How many were answered for good, so that time without a server counts for nothing."""
        with self._lock:
            return sum(n for (_, status), n in self.counts.items() if status not in PASSING)

    @property
    def done(self) -> int:
        with self._lock:
            return self.counts.total()

    @property
    def wrong(self) -> int:
        with self._lock:
            return self.violations.total()

    def table(self) -> list[str]:
        """Operations by kind and status, for people."""
        kinds = sorted({kind for kind, _ in self.counts})
        statuses = sorted({status for _, status in self.counts})
        heads = ["lost" if status == LOST else str(status) for status in statuses]
        lines = [f"{'operation':<26}{'n':>8}" + "".join(f"{head:>8}" for head in heads)]
        for kind in kinds:
            row = [self.counts[kind, status] for status in statuses]
            shown = "".join(f"{n or '-':>8}" for n in row)
            lines.append(f"{kind:<26}{sum(row):>8}{shown}")
        sums = [sum(self.counts[kind, status] for kind in kinds) for status in statuses]
        lines.append(f"{'all':<26}{sum(sums):>8}" + "".join(f"{n:>8}" for n in sums))
        return lines

    def reasons(self) -> list[str]:
        """Why callers were asked to come back later."""
        return [f"{times} x {status} {code}" for (status, code), times in self.later.most_common()]

    def fresh(self) -> list[str]:
        """Violations that this has not told before."""
        with self._lock:
            found = [what for what in self.violations if what not in self._told]
            self._told |= set(found)
        return found[:SHOWN]

    def complaints(self) -> list[str]:
        """The violations, the most frequent first."""
        found = self.violations.most_common(SHOWN)
        return [f"{times} x {what}" for what, times in found]


def _code(problem: object) -> str:
    return str(cast("dict[str, object]", problem).get("code")) if problem else "?"
