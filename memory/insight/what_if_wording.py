"""Whether another policy would have done better, in a sentence with its bound. Pure."""

from dataclasses import dataclass
from typing import Literal

from memory.belief.effect import SHOWN_FROM
from memory.insight.what_if_entities import Foresight, WhatIfResult
from memory.kernel.text import counted

MINUS = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True)
class WhatIfVerdict:
    """What a what-if found; `told` is None where nothing says yet which policy is better."""

    told: Literal["better", "worse", "same"] | None
    headline: str


def judge_what_if(found: WhatIfResult) -> WhatIfVerdict:
    """Whose weights told the outcomes better: as far as records say whether it did better."""
    seen, n = found.foresight, counted(found.outcomes, "recorded outcome")
    if not found.outcomes:
        return WhatIfVerdict(None, "Nothing to compare: no outcome has moved a weight here yet.")
    if not found.difference.total and not found.difference.strengths:
        return WhatIfVerdict("same", f"No: {found.policy} makes the same weights of {n}.")
    if not seen.outcomes:
        return WhatIfVerdict(
            None,
            f"Not known: of {n}, none was better or worse than without memory, so none says whose"
            " weights are right.",
        )
    return _compare(found)


def _compare(found: WhatIfResult) -> WhatIfVerdict:
    """Where outcomes say something: which policy, by how much, within which bound."""
    seen = found.foresight
    if seen.low is None or seen.high is None:
        return WhatIfVerdict(None, f"Not known yet: {_shares(found)}, {_missing(seen)}.")
    said = f"{_shares(found)} ({_points(seen)} ± {(seen.high - seen.low) * 50:.0f} points)"
    if seen.low > 0.0:
        return WhatIfVerdict("better", f"Yes, by its weights: {said}.")
    if seen.high < 0.0:
        return WhatIfVerdict("worse", f"No, by its weights: {said}.")
    more = "" if seen.needed is None else f"; about {seen.needed:,} such outcomes would tell"
    return WhatIfVerdict("same", f"No difference that can be told: {said}{more}.")


def _shares(found: WhatIfResult) -> str:
    seen = found.foresight
    return (
        f"the weights of {found.policy} foresaw {_percent(seen.after)} of"
        f" {counted(seen.outcomes, 'outcome')}, those of {found.instead_of}"
        f" {_percent(seen.before)}"
    )


def _missing(seen: Foresight) -> str:
    """Why there is no interval yet."""
    if seen.dates < SHOWN_FROM:
        return f"and {seen.dates} of the {SHOWN_FROM} days are there that a bound takes"
    return "and all days are alike, so nothing was seen of how far they may differ"


def _percent(share: float | None) -> str:
    return f"{(share or 0.0) * 100:.0f} %"


def _points(seen: Foresight) -> str:
    gain = (seen.after or 0.0) - (seen.before or 0.0)
    return f"{'+' if gain >= 0.0 else MINUS}{abs(gain) * 100:.0f}"
