"""Checks of written arithmetic: which quantities were used, and where numbers come from.

A step of arithmetic is `operands = result` in what the agent said. A quantity is a number in the
task.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from memory.constraints.checks.observations import CheckFinding, ObservableCheck, ObservedRun, only
from memory.constraints.entities import Wording

_PLAIN = re.compile(r"\d[\d,]*(?:\.\d+)?|\.\d+")


_TERM = re.compile(
    r"(\d[\d,]*(?:\.\d+)?|\.\d+)|([-+*/\u00d7\u00f7]|(?<![^\W\d_])x(?![^\W\d_]))", re.IGNORECASE
)


_RESULT = re.compile(r"[\s$(-]{0,6}(\d[\d,]*(?:\.\d+)?|\.\d+)")


_SIGNS = {"x": "*", "X": "*", "\u00d7": "*", "\u00f7": "/"}


FREE = frozenset(map(float, (0, 1, 2, 3, 4, 7, 10, 12, 24, 30, 52, 60, 100, 365, 1000)))
"""Numbers that need no source: small ones, and those of the calendar, the clock and the metre."""


CLOSE = 0.01
"""So far, as a share, a result may be rounded."""


MOST_GIVEN, MOST_STEPS = 60, 200
"""So many numbers of a task and so many steps of a run are looked at, the first ones."""


@dataclass(frozen=True, slots=True)
class Equation:
    """One step of arithmetic: operands, the signs between them, and what it came to. `plain`: it is
    without brackets and shares, so that it can be worked out from these.
    """

    operands: tuple[float, ...]
    signs: tuple[str, ...]
    result: float
    plain: bool

    @property
    def value(self) -> float | None:
        """What it comes to; None where that cannot be told."""
        if not self.plain:
            return None
        terms = [self.operands[0]]
        for sign, operand in zip(self.signs, self.operands[1:], strict=True):
            if sign == "/" and not operand:
                return None
            if sign in "*/":
                terms[-1] = terms[-1] * operand if sign == "*" else terms[-1] / operand
            else:
                terms.append(operand if sign == "+" else -operand)
        return sum(terms)


@dataclass(frozen=True, slots=True)
class Calculation:
    """The arithmetic of a run."""

    given: tuple[float, ...]
    percents: tuple[float, ...]
    equations: tuple[Equation, ...]
    answer: float | None

    @property
    def operands(self) -> frozenset[float]:
        return frozenset(one for step in self.equations for one in step.operands)


def _value(text: str) -> float:
    return float(text.replace(",", ""))


def numbers_in(text: str) -> tuple[float, ...]:
    """The plain numbers of a text, in order."""
    return tuple(_value(found) for found in _PLAIN.findall(text))


def _equations(text: str) -> tuple[Equation, ...]:
    """Each left side that ends before an equals sign, with the number behind the sign."""
    found: list[Equation] = []
    for line in text.splitlines():
        left, *rest = line.split("=")
        for right in rest:
            result = _RESULT.match(right)
            step = None if result is None else _step(left, _value(result[1]))
            if step is not None:
                found.append(step)
            left = right
    return tuple(found[:MOST_STEPS])


def _step(left: str, result: float) -> Equation | None:
    """The numbers with signs between them at the end of a text; None where no sign is."""
    operands: list[float] = []
    signs: list[str] = []
    start = len(left)
    for term in reversed(list(_TERM.finditer(left))):
        if term[1] is not None and len(operands) == len(signs):
            operands.append(_value(term[1]))
        elif term[2] is not None and operands and len(signs) < len(operands):
            signs.append(_SIGNS.get(term[2], term[2]))
        elif term[1] is not None:
            break
        start = term.start()
    signs = signs[: len(operands) - 1]
    if not signs:
        return None
    plain = not any(mark in left[max(0, start - 1) :] for mark in "()%^")
    return Equation(tuple(reversed(operands)), tuple(reversed(signs)), result, plain)


@lru_cache(maxsize=64)
def calculation_of(run_task: str, said: str, result: str | None) -> Calculation:
    """The arithmetic of a run that said this and handed in that."""
    answers = numbers_in(result or "")
    negative = (result or "").strip().startswith("-")
    answer = answers[-1] if answers else None
    return Calculation(
        given=numbers_in(run_task)[:MOST_GIVEN],
        percents=tuple(_value(one) for one in _PERCENT.findall(run_task)[:MOST_GIVEN]),
        equations=_equations(said),
        answer=-answer if negative and answer is not None else answer,
    )


_PERCENT = re.compile(r"(?<!\d)(?<!\d,)(\d++(?:,\d++)*+(?:\.\d++)?+)\s*+%")


def _of(run: ObservedRun) -> Calculation | None:
    """The arithmetic of a run that calculates what a task with numbers asks for."""
    if run.is_dialogue or run.calls or "def " in run.task:
        return None
    found = calculation_of(run.task, run.said, run.result)
    return found if found.given and found.equations else None


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= CLOSE / 10 * max(1.0, abs(other))


def _used(number: float, operands: Iterable[float]) -> bool:
    """Whether a quantity stands among the operands, as it is or as a share of a hundred."""
    return any(_near(number, one) or _near(number / 100, one) for one in operands)


def _unused_given(run: ObservedRun) -> Mapping[str, CheckFinding]:
    found = _of(run)
    if found is None:
        return {}
    told = [number for number in found.given if number not in (0, 1)]
    unused = any(not _used(number, found.operands) for number in told)
    return only(applies=bool(told), violated=unused)


def _unused_result(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """What a step came to is used in no later step, and is not the answer."""
    found = _of(run)
    if found is None:
        return {}
    steps = found.equations
    lost = False
    for place, step in enumerate(steps[:-1]):
        later = [one for after in steps[place + 1 :] for one in after.operands]
        is_answer = found.answer is not None and _near(step.result, found.answer)
        lost = lost or not (is_answer or _used(step.result, later))
    return only(applies=len(steps) > 1, violated=lost)


def _from_nowhere(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """An operand that is neither given nor the result of an earlier step."""
    found = _of(run)
    if found is None:
        return {}
    known = [*found.given, *(one / 100 for one in found.given), *FREE]
    nowhere = False
    for step in found.equations:
        nowhere = nowhere or any(not _known(one, known) for one in step.operands)
        known.append(step.result)
    return only(applies=True, violated=nowhere)


def _known(number: float, known: Iterable[float]) -> bool:
    return any(_near(number, one) or _near(1 - number, one) for one in known)


def _false_equation(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """A step whose result is another one."""
    found = _of(run)
    if found is None:
        return {}
    pairs = [(step.result, step.value) for step in found.equations if step.value is not None]
    wrong = any(abs(abs(one) - abs(two)) > CLOSE * max(1, abs(two)) for one, two in pairs)
    return only(applies=bool(pairs), violated=wrong)


def _answer_elsewhere(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """The answer is not what the last step came to."""
    found = _of(run)
    if found is None or found.answer is None:
        return {}
    return only(applies=True, violated=not _near(found.equations[-1].result, found.answer))


def _answer_given(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """The answer is a number of the task."""
    found = _of(run)
    if found is None or found.answer is None:
        return {}
    return only(applies=True, violated=found.answer in found.given)


def _negative(run: ObservedRun) -> Mapping[str, CheckFinding]:
    found = _of(run)
    if found is None or found.answer is None:
        return {}
    return only(applies=True, violated=found.answer < 0)


def _fraction(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """An answer with a fraction, where every given number is whole."""
    found = _of(run)
    if found is None or found.answer is None:
        return {}
    whole = all(one.is_integer() for one in found.given) and not found.percents
    return only(applies=whole, violated=not found.answer.is_integer())


def _percent_whole(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """A percentage that was reckoned with as if it were a plain number."""
    found = _of(run)
    if found is None:
        return {}
    told = [one for one in found.percents if one != 100]  # noqa: PLR2004 - all of it
    shares = (100.0, *(one / 100 for one in told), *(1 - one / 100 for one in told))
    more = tuple(1 + one / 100 for one in told)
    read = any(_near(one, share) for one in found.operands for share in (*shares, *more))
    marked = "%" in run.said
    return only(applies=bool(told), violated=not read and not marked)


def _few_steps(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """Fewer operations than it takes to bring all quantities together."""
    found = _of(run)
    if found is None:
        return {}
    told = len(set(found.given))
    operations = sum(max(1, len(step.operands) - 1) for step in found.equations)
    return only(applies=told > 2, violated=operations < told - 1)  # noqa: PLR2004 - one step does


def _repeated(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """The same operands were taken together twice."""
    found = _of(run)
    if found is None:
        return {}
    steps = [(*sorted(step.operands), step.result) for step in found.equations]
    return only(applies=len(steps) > 1, violated=len(set(steps)) < len(steps))


def _used_twice(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """A result that went into two later steps."""
    found = _of(run)
    if found is None:
        return {}
    steps = found.equations
    twice = any(
        sum(step.result in after.operands for after in steps[place + 1 :]) > 1
        for place, step in enumerate(steps)
        if step.result not in FREE and step.result not in found.given
    )
    return only(applies=len(steps) > 2, violated=twice)  # noqa: PLR2004 - two later steps


def _unknown_named(run: ObservedRun) -> Mapping[str, CheckFinding]:
    """An unknown was named, and the equation was to be solved."""
    found = _of(run)
    return only(applies=found is not None, violated=_UNKNOWN.search(run.said) is not None)


_UNKNOWN = re.compile(r"(?<![\w.])\d*[xyzn]\s*[-+=]|[-+*/=]\s*\d*[xyzn](?!\w)")


ARITHMETIC = (
    ObservableCheck(
        "given_unused",
        Wording(
            "a calculation starts from quantities that the task gives",
            "using every given quantity, or saying why one does not matter",
            "a result that leaves a given quantity out without a word",
        ),
        "never used a quantity that the task gives",
        _unused_given,
    ),
    ObservableCheck(
        "result_unused",
        Wording(
            "a calculation takes several steps",
            "carrying each intermediate result into a later step",
            "working something out and then leaving it aside",
        ),
        "worked something out and never used it",
        _unused_result,
    ),
    ObservableCheck(
        "number_from_nowhere",
        Wording(
            "a number enters a calculation",
            "taking it from the task or from an earlier step",
            "a number that is neither given nor worked out before",
        ),
        "used a number that was neither given nor worked out",
        _from_nowhere,
    ),
    ObservableCheck(
        "equation_false",
        Wording(
            "a step of a calculation is written down",
            "working it out again before its result is used",
            "going on from a sum or product that does not come to what is written",
        ),
        "wrote down a step that does not come to its result",
        _false_equation,
    ),
    ObservableCheck(
        "answer_not_last_step",
        Wording(
            "the last step of a calculation is done",
            "giving what it came to as the answer",
            "an answer that no step arrives at",
        ),
        "gave an answer that its last step does not come to",
        _answer_elsewhere,
    ),
    ObservableCheck(
        "answer_is_given",
        Wording(
            "the answer of a calculation is a number that the task already gives",
            "checking against the question whether something else was asked for",
            "handing in a given quantity as the result",
        ),
        "handed in a number that the task gives",
        _answer_given,
    ),
    ObservableCheck(
        "answer_negative",
        Wording(
            "a calculation of an amount comes out below zero",
            "going back to the step that turned it, for an amount is not negative",
            "handing in a negative amount",
        ),
        "handed in a negative amount",
        _negative,
    ),
    ObservableCheck(
        "answer_fraction",
        Wording(
            "all given quantities are whole and the result is not",
            "checking which quantity was divided and whether it can be shared",
            "handing in a fraction unchecked",
        ),
        "handed in a fraction though all quantities were whole",
        _fraction,
    ),
    ObservableCheck(
        "percent_as_number",
        Wording(
            "the task gives a percentage",
            "taking that share of its base by dividing by a hundred",
            "reckoning with the percentage as with a plain number, or leaving it out",
        ),
        "never turned the percentage into a share",
        _percent_whole,
    ),
    ObservableCheck(
        "steps_missing",
        Wording(
            "a task gives several quantities",
            "a step for each relation between them before the answer",
            "an answer after fewer steps than the quantities need",
        ),
        "took fewer steps than the quantities need",
        _few_steps,
    ),
    ObservableCheck(
        "step_repeated",
        Wording(
            "a calculation goes on",
            "a new relation in each step",
            "working out the same numbers a second time",
        ),
        "worked out the same numbers twice",
        _repeated,
    ),
    ObservableCheck(
        "result_used_twice",
        Wording(
            "an intermediate result has been used",
            "checking that it is not counted a second time",
            "adding what is already contained in a later result",
        ),
        "used one intermediate result in two later steps",
        _used_twice,
    ),
    ObservableCheck(
        "unknown_named",
        Wording(
            "a quantity can be worked out step by step",
            "calculating with the numbers directly",
            "naming an unknown and rearranging an equation",
        ),
        "set up an equation with an unknown",
        _unknown_named,
    ),
)
