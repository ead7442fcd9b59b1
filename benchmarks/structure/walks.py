"""The walks that a page of the docs describes: its form, and what a walk costs its reader.

A walk is a `##` section with numbered steps, each a file and a function in backquotes, a colon and
what happens there; a step that stands below another, indented, is called by it. A line of the
section names the types that the thing which walks takes, in order:

    ## A retrieval, from route to receipt

    1. `server/routes/retrievals.py` `create_retrieval`: reads the task.
    2. `memory/retrieval/service.py` `retrieve`: tells the story.
       1. `memory/retrieval/rules.py` `rank`: orders what was found.

    Types: `RetrievalRequest`, `Task`, `Guideline`.

A method is written `Class.method`. Text may go on in the next line; a section without numbered
steps is prose.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

SECTION = re.compile(r"^## +", re.MULTILINE)
NUMBERED = re.compile(r"^( *)\d+\. +(.*)$")
STEP = re.compile(r"`([\w./-]+\.py)` `([\w.]+)`: \S.*")
TYPES = re.compile(r"^Types: ((?:`\w+`(?:, |\.$))+)$", re.MULTILINE)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
# What a walk may pass through without its reader having to hold it.
UNCOUNTED = re.compile(r"memory/(kernel/|.*\b(entities|tables|store(_\w+)?)(\.py$|/))")


@dataclass(frozen=True, slots=True)
class Step:
    """A function that the walk enters. `caller` is the place of the step that calls it, if any."""

    path: str
    function: str
    caller: int | None

    @property
    def folder(self) -> str:
        """The folder of its capability, such as `memory/retrieval`."""
        return "/".join(self.path.split("/")[:-1][:2])

    @property
    def is_counted(self) -> bool:
        """Whether it is more than a noun, a table, a store or the kernel."""
        return UNCOUNTED.match(self.path) is None


@dataclass(frozen=True, slots=True)
class Walk:
    """One walk of the page."""

    title: str
    steps: tuple[Step, ...]
    types: tuple[str, ...]

    @property
    def modules(self) -> list[str]:
        """The counted modules of `memory` that it enters, each once, in order."""
        entered = [s.path for s in self.steps if s.is_counted and s.path.startswith("memory/")]
        return list(dict.fromkeys(entered))

    @property
    def returns(self) -> list[Step]:
        """The steps that climb into a folder which the walk had left.

        A step in its caller's folder, or in that of the step before under the same caller, goes on
        where the reader is. Any other enters a folder, and must be the first to.
        """
        seen: set[str] = set()
        latest: dict[int | None, str] = {}
        found: list[Step] = []
        for step in self.steps:
            if not step.is_counted:
                continue
            here = {latest.get(step.caller)}
            if step.caller is not None:
                here.add(self.steps[step.caller].folder)
            if step.folder in seen and step.folder not in here:
                found.append(step)
            seen.add(step.folder)
            latest[step.caller] = step.folder
        return found


def read_walks(page: str) -> list[Walk]:
    """The walks of a page. Raises ValueError where a numbered line or a section breaks the form."""
    sections = SECTION.split(FENCE.sub("", page))[1:]
    return [walk for section in sections if (walk := _walk(section)) is not None]


def _walk(section: str) -> Walk | None:
    title = section.partition("\n")[0].strip()
    numbered = [m for line in section.splitlines() if (m := NUMBERED.match(line))]
    if not numbered:
        return None
    types = TYPES.findall(section)
    if len(types) != 1:
        raise ValueError(f"{title}: needs one line 'Types: `A`, `B`.', has {len(types)}")
    return Walk(title, _steps(title, numbered), tuple(re.findall(r"`(\w+)`", types[0])))


def _steps(title: str, numbered: Sequence[re.Match[str]]) -> tuple[Step, ...]:
    steps: list[Step] = []
    open_steps: list[Indented] = []
    for line in numbered:
        step = STEP.fullmatch(line[2])
        if step is None:
            raise ValueError(f"{title}: not '`file` `function`: what happens': {line[0].strip()}")
        indent = len(line[1])
        open_steps = [above for above in open_steps if above.indent < indent]
        caller = open_steps[-1].place if open_steps else None
        open_steps.append(Indented(indent, len(steps)))
        steps.append(Step(step[1], step[2], caller))
    return tuple(steps)


@dataclass(frozen=True, slots=True)
class Indented:
    """A step that those further to the right stand below."""

    indent: int
    place: int
