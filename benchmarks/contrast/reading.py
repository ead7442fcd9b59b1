"""What a bank holds after contrasting, as numbers: classes, yield, lint, merges, literals."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.contrast.bank import Bank
from benchmarks.contrast.groups import CATEGORIES, Group

Row = Mapping[str, Any]

NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
QUOTED = re.compile(r"\"([^\"\n]+)\"|'([^'\n]{2,})'(?!\w)|“([^”\n]+)”")
TOKEN = re.compile(r"\w+")
INNER = re.compile(r"_|\d|[a-z][A-Z]|[A-Z]{2}[a-z]")
ALLOWED = {"0", "1", "2"}


def counted(
    groups: Sequence[Group], bank: Bank, tasks: Mapping[str, str]
) -> Iterator[tuple[str, float]]:
    """The names and values of every count."""
    contrasts = list(bank.every("contrasts"))
    constraints = list(bank.every("constraints"))
    yield from _classes(groups, contrasts, tasks)
    yield from _yields(groups, contrasts, constraints, tasks)
    yield from _kept(constraints)
    yield "contradictions", float(sum(1 for _ in bank.every("contradictions", state="all")))
    by_id = {tasks[group.task]: group for group in groups}
    sources: dict[str, list[Group]] = {}
    for row in contrasts:
        for memory_id in row["memory_ids"]:
            sources.setdefault(memory_id, []).append(by_id[row["task_id"]])
    admitted = [row for row in constraints if row["status"] in LIVING]
    held = [row for row in admitted if _literals(row, sources.get(row["id"], ()))]
    yield "admitted_with_literals", float(len(held))


LIVING = ("active", "proposed", "probation", "suspended")


def _classes(
    groups: Sequence[Group], contrasts: Sequence[Row], tasks: Mapping[str, str]
) -> Iterator[tuple[str, float]]:
    for name, n in sorted(Counter(row["pair_class"] for row in contrasts).items()):
        yield f"pairs_{name}", n
    for name, n in sorted(Counter(row["state"] for row in contrasts).items()):
        yield f"contrasts_{name}", n
    differing = {row["task_id"] for row in contrasts if row["pair_class"] == "discordant"}
    for suite in CATEGORIES:
        some = [group for group in groups if group.suite == suite]
        yield f"groups_differ_{suite}", sum(group.differs for group in some)
        yield f"groups_discordant_{suite}", sum(tasks[g.task] in differing for g in some)
    yield "groups_distillable", sum(group.distillable for group in groups)
    yield "groups_no_text", sum(group.differs and not group.distillable for group in groups)


def _yields(
    groups: Sequence[Group],
    contrasts: Sequence[Row],
    constraints: Sequence[Row],
    tasks: Mapping[str, str],
) -> Iterator[tuple[str, float]]:
    living = {row["id"] for row in constraints if row["status"] in LIVING}
    found = {
        row["task_id"]
        for row in contrasts
        if row["pair_class"] == "discordant" and living & set(row["memory_ids"])
    }
    for suite in CATEGORIES:
        told = [group for group in groups if group.suite == suite and group.distillable]
        yield f"groups_yielding_{suite}", sum(tasks[group.task] in found for group in told)
    told = [group for group in groups if group.distillable]
    yield "groups_yielding", sum(tasks[group.task] in found for group in told)


def _kept(constraints: Sequence[Row]) -> Iterator[tuple[str, float]]:
    for name, n in sorted(Counter(row["status"] for row in constraints).items()):
        yield f"constraints_{name}", n
    reasons = Counter(code for row in constraints for code in row["lint"])
    for name, n in sorted(reasons.items()):
        yield f"lint_{name}", n
    support = [row["support"] for row in constraints if row["status"] in LIVING]
    yield "support_rows", sum(row["contrasts"] for row in support)
    yield "merges", sum(row["contrasts"] - 1 for row in support if row["contrasts"])
    yield "constraints_of_two_tasks", sum(row["tasks"] > 1 for row in support)
    yield "constraints_of_two_families", sum(row["families"] > 1 for row in support)


def _literals(row: Row, sources: Sequence[Group]) -> list[str]:
    """Literals of its source tasks in a constraint, found by rules of this file, not the
    server's: numbers, quoted strings and identifiers; names are the server's lint to find.
    """
    said = " ".join(part for part in (row["trigger"], row["enforce"], row["avoid"]) if part)
    return [
        one
        for group in sources
        for one in literals_of(group)
        if re.search(rf"(?<!\w){re.escape(one)}(?!\w)", said)
    ]


def literals_of(group: Group) -> set[str]:
    """What of a task must not stand in a constraint: numbers other than 0, 1, 2, quoted strings,
    identifiers, the entry point.
    """
    quoted = {part for parts in QUOTED.findall(group.prompt) for part in parts if part.strip()}
    identifiers = {token for token in TOKEN.findall(group.prompt) if INNER.search(token)}
    numbers = set(NUMBER.findall(group.prompt))
    own = {group.entry_point} if group.entry_point else set[str]()
    return (quoted | identifiers | numbers | own) - ALLOWED
