"""What the header offers: a few pages by themselves, the others under a heading. And what the
overview answers: the questions that an operator comes with, each a link to where its answer stands.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from memory.tenancy.entities import Act

LEARNING, CONSTRAINTS, TASKS, OPERATION = "Learning", "Constraints", "Tasks", "Operation"


@dataclass(frozen=True, slots=True)
class MenuEntry:
    """A page of a namespace, shown to whoever may `act`; `path` follows that of the namespace.

    `section`: the heading it stands under; None where it stands by itself. `g` and then `letter`
    opens it from the keyboard, where it has one of its own.
    """

    title: str
    path: str
    act: Act = Act.READ
    section: str | None = OPERATION
    letter: str = ""


NAVIGATION = (
    MenuEntry("Overview", "/", section=None, letter="o"),
    MenuEntry("Memories", "/memories", section=None, letter="m"),
    MenuEntry("Playground", "/playground", Act.RETRIEVE, None, "p"),
    MenuEntry("Receipts", "/receipts", section=None, letter="r"),
    MenuEntry("Agents", "/agents", section=LEARNING, letter="u"),
    MenuEntry("Guard and rankers", "/rankers", section=LEARNING),
    MenuEntry("Health over time", "/health", section=LEARNING, letter="h"),
    MenuEntry("Candidates", "/candidates", section=LEARNING, letter="n"),
    MenuEntry("Time travel", "/time-travel", section=LEARNING, letter="t"),
    MenuEntry("Influence", "/influences", Act.INSPECT, LEARNING, "i"),
    MenuEntry("Constraints", "/constraints", section=CONSTRAINTS, letter="c"),
    MenuEntry("Contradictions", "/contradictions", section=CONSTRAINTS, letter="x"),
    MenuEntry("Runs", "/runs", section=CONSTRAINTS),
    MenuEntry("Predictions", "/predictions", section=TASKS),
    MenuEntry("Settlements", "/settlements", section=TASKS),
    MenuEntry("Categories", "/categories", section=TASKS, letter="g"),
    MenuEntry("Taxonomy", "/taxonomy", section=TASKS),
    MenuEntry("Jobs", "/jobs", letter="j"),
    MenuEntry("Model calls", "/llm-calls", Act.INSPECT, letter="l"),
    MenuEntry("Settings", "/settings", letter="s"),
    MenuEntry("Keys", "/keys", Act.MANAGE, letter="k"),
    MenuEntry("Webhooks", "/webhooks", Act.MANAGE, letter="w"),
    MenuEntry("Exports", "/exports", Act.MANAGE, letter="e"),
    MenuEntry("Audit", "/audit", Act.MANAGE, letter="a"),
)


@dataclass(frozen=True, slots=True)
class MenuSection:
    """Pages under one heading, or the pages that need none."""

    title: str | None
    entries: tuple[MenuEntry, ...]


def group_entries(entries: Sequence[MenuEntry]) -> list[MenuSection]:
    """Sections in the order of their first entries; in each, entries as they came."""
    titles = dict.fromkeys(entry.section for entry in entries)
    return [
        MenuSection(title, tuple(entry for entry in entries if entry.section == title))
        for title in titles
    ]


@dataclass(frozen=True, slots=True)
class OverviewQuestion:
    """What an operator wants to know, and the page that says it; `path` follows the namespace's."""

    words: str
    path: str
    act: Act = Act.READ


QUESTIONS = (
    OverviewQuestion("What changed since yesterday?", "/#movers"),
    OverviewQuestion("Why did an agent get this advice?", "/receipts"),
    OverviewQuestion("Why did a memory lose weight?", "/memories?sort=weight&status=active"),
    OverviewQuestion("Whose reports move memories?", "/influences", Act.INSPECT),
    OverviewQuestion("Which constraints contradict each other?", "/contradictions"),
    OverviewQuestion("Which job failed, and why?", "/jobs"),
    OverviewQuestion("What does the language model cost?", "/llm-calls", Act.INSPECT),
    OverviewQuestion("Would another policy have done better?", "/settings/what-if"),
    OverviewQuestion("Who did what here?", "/audit", Act.MANAGE),
)
