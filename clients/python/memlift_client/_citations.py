"""Which of the served memories a text cites, for the `used` of a report."""

import re
from collections.abc import Mapping
from typing import Protocol

HIDDEN = "00000000-0000-0000-0000-000000000000"
"""Stands for a memory that the key may not read."""

_QUOTED = re.compile(
    r"```.*?(?:```|\Z)|«[^«»]*»|“[^“”]*”|\"[^\"\n]*\"|`[^`\n]*`|^[ \t]*(?:>|\|[ ])[^\n]*$",
    re.DOTALL | re.MULTILINE,
)
"""What a text says in other words than its own: code, quotations, lines behind a mark."""

_BRACKETS = re.compile(r"\[([^\[\]]{1,400})\]")
_BETWEEN = re.compile(r"[\s,;]+")


class Cites(Protocol):
    """A guideline, as far as it says what its citations stand for."""

    @property
    def citations(self) -> Mapping[str, str]: ...


class Served(Protocol):
    """A retrieval or a receipt."""

    @property
    def guideline(self) -> Cites: ...


def cited(text: str, served: Served) -> list[str]:
    """The ids of the served memories that an agent's own text cites, each once, in the order of
    their first citation: for `used` of a report or a prediction.

    A citation is what the guideline maps to a memory, such as `[m1]`, or the memory's id; several
    may stand between two brackets, as in `[m1, m3]`. Within a quotation or code it is not the
    agent's own, and a memory that the key may not read has no id to be named by. Empty where the
    text cites nothing: this says that nothing was used only of an agent that cites what it uses.
    """
    labels = served.guideline.citations
    known = dict(labels) | {memory_id: memory_id for memory_id in labels.values()}
    names = (
        name
        for group in _BRACKETS.findall(_QUOTED.sub(" ", text))
        for name in _BETWEEN.split(group)
    )
    found = dict.fromkeys(known[name] for name in names if name in known)
    return [memory_id for memory_id in found if memory_id != HIDDEN]
