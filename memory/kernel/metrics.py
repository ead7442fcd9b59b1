"""Turns a metric into a reward, in one place: a number in [0, 1], larger is better.

* `reward`: the number itself.
* `brier`: 1 - mean over outcomes of (p - y)², for forecasts p and what came true y, both in [0, 1]
  (Brier, Monthly Weather Review 78, 1950; the mean form, so that the number of outcomes cancels).
"""

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Literal, cast

from memory.kernel.errors import Rejected

METRICS = ("brier", "reward")


RewardKind = Literal["continuous", "binary"]
"""Whether a reward is a degree, or 0 or 1."""


MAX_OUTCOMES = 256


def reward_of(metric: str, value: object, truth: object = None) -> float:
    """The reward of `value`, judged by `truth` where the metric asks for one.

    Raises Rejected naming the field that cannot be taken: NaN, infinity, a boolean or a text is
    never a number. `brier` takes value `{"p": [...]}` and truth `{"y": [...]}`.
    """
    match metric:
        case "reward":
            return _fraction(value, "value")
        case "brier":
            return _brier(_fractions(value, "value", "p"), _fractions(truth, "truth", "y"))
        case _:
            raise Rejected(
                f"There is no metric {metric!r}; there are {', '.join(METRICS)}.",
                field="metric",
                limit=list(METRICS),
            )


def numeric_pair(followed: object, without: object, truth: object) -> tuple[float, float]:
    """(d·e, d²), means over the outcomes of a forecast: d from the forecast without memory to the
    one had memory been followed wholly, e from the forecast without memory to what came true.

    Their sums give how far memory should be followed, by least squares.
    """
    p, off = _fractions(followed, "full", "p"), _fractions(without, "without", "p")
    y = _fractions(truth, "truth", "y")
    if not len(p) == len(off) == len(y):
        raise Rejected(
            "The two forecasts of a pair and the truth must be equally long.",
            field="without.p",
            limit=len(y),
        )
    shifts = [a - b for a, b in zip(p, off, strict=True)]
    errors = [a - b for a, b in zip(y, off, strict=True)]
    return (
        fsum(d * e for d, e in zip(shifts, errors, strict=True)) / len(y),
        fsum(d * d for d in shifts) / len(y),
    )


def _brier(forecast: Sequence[float], truth: Sequence[float]) -> float:
    if len(forecast) != len(truth):
        raise Rejected(
            f"{len(truth)} outcomes came true or not, {len(forecast)} were forecast.",
            field="value.p",
            limit=len(truth),
        )
    return 1.0 - fsum((p - y) ** 2 for p, y in zip(forecast, truth, strict=True)) / len(truth)


def _fractions(holder: object, field: str, name: str) -> list[float]:
    """The list `name` inside `holder`, each a number in [0, 1], at least one, at most 256."""
    path = f"{field}.{name}"
    numbers = cast("Mapping[str, object]", holder).get(name) if _is_mapping(holder) else None
    if not isinstance(numbers, (list, tuple)):
        raise Rejected(f"A list of numbers is expected in {path}.", field=path)
    listed = cast("Sequence[object]", numbers)
    if not 1 <= len(listed) <= MAX_OUTCOMES:
        raise Rejected(
            f"{path} holds 1 to {MAX_OUTCOMES} numbers, not {len(listed)}.",
            field=path,
            limit=MAX_OUTCOMES,
        )
    return [_fraction(number, f"{path}[{place}]") for place, number in enumerate(listed)]


def _is_mapping(holder: object) -> bool:
    return isinstance(holder, Mapping)


def _fraction(number: object, field: str) -> float:
    # The range is checked before the conversion: an integer may be too large for a float.
    if isinstance(number, (int, float)) and not isinstance(number, bool) and 0 <= number <= 1:
        return float(number)
    raise Rejected(f"{field} must be a number from 0 to 1.", field=field, limit=[0, 1])
