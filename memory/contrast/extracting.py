"""The distiller that needs no model: it aligns two runs, finds where they part, and says what
either did there. It adds nothing of its own and yields nothing when there is no clean parting.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from memory.contrast import calculating, programs, telling
from memory.contrast.abstracting import kind_of_task
from memory.contrast.aligning import Parting, parting
from memory.contrast.lint import lint
from memory.contrast.literals import Literals, literals_of
from memory.contrast.material import Distilled, Material
from memory.contrast.quantities import quantities_of
from memory.contrast.steps import Step
from memory.domain.constraint import MAX_ENTRIES, PART, PairClass, Wording

STOPPING = "stopping there"
_KEEPING = re.compile(r"^(?:working out|returning|collecting|starting from) ")
OVERLONG = "overlong"


@dataclass(frozen=True, slots=True)
class _Sides:
    """What either run does where they part, and when that is."""

    preferred: str
    unpreferred: str
    situation: str


def extract(material: Material) -> Distilled:
    """The wordings that the two runs show; equal materials give equal wordings.

    A pair of right runs yields something only where the preferred one saved steps, a pair of wrong
    ones only what to avoid.
    """
    literals = literals_of(material.task, material.identifiers)
    # What is a name in a run must not be told either, though it is no literal of the task.
    whole = f"{material.task}\n\n{material.preferred}\n\n{material.unpreferred}"
    private = literals_of(whole, material.identifiers)
    preferred, unpreferred = _steps(material, private)
    apart = parting(preferred, unpreferred)
    asked = kind_of_task(material.task, private)
    if apart is None or asked is None or not preferred or not unpreferred:
        return Distilled()
    if material.pair_class is PairClass.BOTH_RIGHT and len(preferred) >= len(unpreferred):
        return Distilled()
    return _linted(_worded(material.pair_class, asked, _partings(apart)), material, literals)


def _steps(material: Material, literals: Literals) -> tuple[list[Step], list[Step]]:
    """The steps of either run, both read as programs, as calculations or as prose."""
    runs = material.preferred, material.unpreferred
    if all(programs.is_program(run) for run in runs):
        first, second = (programs.steps_of(run, material.task) for run in runs)
        return first, second
    words = {word for run in runs for word in telling.words_of(run)}
    quantities = quantities_of(material.task, words)
    first, second = (calculating.steps_of(run, quantities) for run in runs)
    if first and second:
        return first, second
    first, second = (telling.steps_of(run, literals) for run in runs)
    return first, second


def _partings(apart: Parting) -> Iterator[_Sides]:
    """Where they part, and, where that is another step, how they end."""
    first = _phrase(apart.preferred, 0), _phrase(apart.unpreferred, 0)
    # "After doing so, enforce doing so" tells nobody where he is.
    told = apart.shared is not None and apart.shared.phrase not in first
    yield _Sides(*first, f", after {apart.shared.phrase}" if told and apart.shared else "")
    if apart.preferred and apart.unpreferred:
        yield _Sides(
            _phrase(apart.preferred, -1), _phrase(apart.unpreferred, -1), ", at the last step"
        )


def _phrase(steps: Sequence[Step], at: int) -> str:
    return steps[at].phrase if steps else STOPPING


def _plain(phrase: str) -> str:
    """A phrase without what is no difference to learn from: which of two alike is meant, and
    whether a value is returned or kept.
    """
    return _KEEPING.sub("", phrase.replace("the other ", "the "))


def _worded(
    pair_class: PairClass, asked: str, partings: Iterator[_Sides]
) -> list[Mapping[str, str | None]]:
    found: dict[tuple[str, str], Mapping[str, str | None]] = {}
    for sides in partings:
        if _plain(sides.preferred) == _plain(sides.unpreferred):
            continue
        enforce = None if pair_class is PairClass.BOTH_WRONG else sides.preferred
        found.setdefault(
            (sides.preferred, sides.unpreferred),
            {"trigger": asked + sides.situation, "enforce": enforce, "avoid": sides.unpreferred},
        )
    return list(found.values())[:MAX_ENTRIES]


def _linted(
    found: Sequence[Mapping[str, str | None]], material: Material, literals: Literals
) -> Distilled:
    wordings: list[Wording] = []
    rejected: list[Mapping[str, object]] = []
    required = material.pair_class is not PairClass.BOTH_WRONG
    for parts in found:
        text = _text(parts)
        if any(len(part or "") > PART for part in parts.values()):
            rejected.append({"text": text[:PART], "reason": OVERLONG})
            continue
        wording = Wording(parts["trigger"] or "", parts["enforce"], parts["avoid"])
        reasons = lint(wording, literals, (), enforce_required=required)
        if reasons:
            rejected.append({"text": text, "reason": ", ".join(reasons)})
        else:
            wordings.append(wording)
    return Distilled(tuple(wordings), tuple(rejected))


def _text(parts: Mapping[str, str | None]) -> str:
    said = [f"When {parts['trigger']}"]
    said += [f"{name} {parts[name]}" for name in ("enforce", "avoid") if parts[name]]
    return "; ".join(said)
