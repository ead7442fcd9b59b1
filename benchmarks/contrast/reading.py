"""What a bank holds after contrasting, as numbers: pairs by class and state; and literals."""

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
    yield from _classes(groups, list(bank.every("contrasts")), tasks)


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
    yield "groups_differ", sum(group.differs for group in groups)
    yield "groups_discordant", sum(tasks[group.task] in differing for group in groups)
    yield "groups_distillable", sum(group.distillable for group in groups)
    yield "groups_no_text", sum(group.differs and not group.distillable for group in groups)


def literals_of(group: Group) -> set[str]:
    """What of a task must not stand in a constraint: numbers other than 0, 1, 2, quoted strings,
    identifiers, the entry point. Found by rules of this file, not the server's.
    """
    quoted = {part for parts in QUOTED.findall(group.prompt) for part in parts if part.strip()}
    identifiers = {token for token in TOKEN.findall(group.prompt) if INNER.search(token)}
    numbers = set(NUMBER.findall(group.prompt))
    own = {group.entry_point} if group.entry_point else set[str]()
    return (quoted | identifiers | numbers | own) - ALLOWED
