"""What is known of a memory's worth, in sentences. Pure.

An operator reads them to decide whether a memory is to stay, so each says what was compared, of how
many outcomes, and how sure that is; and where nothing can be said, why, and what would change it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from memory.belief.worth import SHOWN_FROM, SHOWN_INFORMATION, PlaceEffect
from memory.insight.worth_entities import BelievedEffect, Companion, Verdict
from memory.kernel.quoting import quote

NAMED = 3
"""So many companions are named; of more it is said how many they are."""


NAME = 60
"""Characters of a lesson that name it."""


UNLIKE = 0.10
"""Shares of missing outcomes that differ by more may make the difference themselves."""


FEW_UNITS = 10
"""Of fewer dates or groups an interval is rough."""


@dataclass(frozen=True, slots=True)
class _Words:
    """How one memory is spoken of, or many."""

    it: str
    cannot: str
    place: str
    coin: str
    empty: str


_ONE = _Words("it", "It cannot", "its place", "Its coin", "an empty place")
_MANY = _Words("them", "They cannot", "their places", "Their coins", "empty places")


def verdict(place: PlaceEffect) -> Verdict:
    """What the comparison says; an effect without an interval says nothing."""
    if place.low is None or place.high is None:
        return "unknown"
    if place.low > 0.0:
        return "helps"
    return "harms" if place.high < 0.0 else "no_difference"


def summarise(place: PlaceEffect, companions: Sequence[Companion], *, came_up: int) -> str:
    """What is known of one memory that came up so often in retrievals with memory."""
    if not came_up:
        return (
            "It has not come up in a retrieval with memory yet, so nothing is known of its worth."
        )
    if place.effect is not None:
        return _joined(_effect(place, _ONE), _vacancy(place, _ONE), _missing(place, _ONE))
    return _joined(_apart(companions), _progress(place, _ONE), _waiting(place))


def summarise_class(place: PlaceEffect) -> str:
    """What is known of the memories of one class of weight, taken together."""
    if place.effect is not None:
        return _joined(_effect(place, _MANY), _vacancy(place, _MANY), _missing(place, _MANY))
    return _joined(_progress(place, _MANY), _waiting(place))


def explain_belief(place: PlaceEffect, believed: BelievedEffect | None) -> str:
    """What the belief says beside it, and why the two may differ; empty where there is none."""
    if believed is None:
        return ""
    match signed(believed.mean):
        case "0.00":
            adds = "add nothing"
        case cost if believed.mean < 0:
            adds = f"cost {cost[1:]}"
        case gain:
            adds = f"add {gain[1:]}"
    said = (
        f"It is believed to {adds} against an empty place "
        f"(standard deviation {believed.standard_deviation:.2f})"
    )
    if place.low is None or place.high is None:
        return f"{said}."
    if place.low <= believed.mean <= place.high:
        return f"{said}; that lies within the interval."
    if place.vacant == place.left_out:
        return f"{said}. That lies outside the interval."
    return (
        f"{said}. That lies outside the interval, which asks something else: "
        "what took its place adds something too, or takes something away."
    )


def signed(value: float) -> str:
    """Two decimals with a true minus, so that nobody takes it for a dash."""
    shown = f"{value:+.2f}"
    return "0.00" if float(shown) == 0.0 else shown.replace("-", "\N{MINUS SIGN}")


def _effect(place: PlaceEffect, words: _Words) -> str:
    assert place.effect is not None
    of = f"over {_outcomes(place.kept)} with {words.it} and {_number(place.left_out)} without"
    if place.low is None or place.high is None:
        return (
            f"Rewards were {signed(place.effect)} with {words.it} against without, {of}; one side "
            f"comes from one {_unit(place)} alone, so nothing is known of how far that may vary."
        )
    interval = f"95 % interval {signed(place.low)} to {signed(place.high)}, {of}"
    rough = (
        f" The outcomes come from {_units(place)} alone, so the interval is a rough one."
        if place.units < FEW_UNITS
        else ""
    )
    against = f"what took {words.place}" if place.vacant < place.left_out else words.empty
    match verdict(place):
        case "helps":
            said = f"Serving {words.it} added {place.effect:.2f} to the reward"
        case "harms":
            said = f"Serving {words.it} cost {-place.effect:.2f} of the reward"
        case _:
            return (
                f"{words.cannot} be told from {against}: rewards differ by "
                f"{signed(place.effect)} ({interval}).{rough}"
            )
    return f"{said}, against {against} ({interval}).{rough}"


def _vacancy(place: PlaceEffect, words: _Words) -> str:
    if not place.vacant:
        return ""
    if place.vacant == place.left_out:
        return f"Nothing took {words.place} in any of those without."
    return f"In {_number(place.vacant)} of those without, nothing took {words.place}."


def _missing(place: PlaceEffect, words: _Words) -> str:
    """Of retrievals without an outcome, where they could have made the difference."""
    missing = place.kept_missing + place.left_out_missing
    if not missing:
        return ""
    with_it = _share(place.kept_missing, place.kept)
    without = _share(place.left_out_missing, place.left_out)
    first = f"{100 * with_it:.0f} % of the retrievals with {words.it}" if with_it else ""
    second = f"{100 * without:.0f} % of those without" if without else ""
    if not first:
        second = f"{100 * without:.0f} % of the retrievals without {words.it}"
    said = f"No outcome counts yet for {' and '.join(part for part in (first, second) if part)}"
    if abs(with_it - without) > UNLIKE:
        return f"{said}: if those went otherwise, the effect is not what it seems."
    return f"{said}."


def _waiting(place: PlaceEffect) -> str:
    missing = place.kept_missing + place.left_out_missing
    if not missing:
        return ""
    verb = "waits" if missing == 1 else "wait"
    noun = "retrieval" if missing == 1 else "retrievals"
    return f"{_number(missing)} more such {noun} {verb} for an outcome that counts."


def _apart(companions: Sequence[Companion]) -> str:
    if not companions:
        return ""
    together = companions[0].together
    fewest = min(one.together for one in companions)
    most = max(one.apart for one in companions)
    came = (
        f"{_times(together)}" if fewest == together else f"{_number(fewest)} to {_times(together)}"
    )
    never = "never served one without the other"
    rarely = (
        f"served one without the other {'at most ' if len(companions) > 1 else ''}{_times(most)}"
    )
    return (
        f"It cannot be told apart from {_names(companions)}: "
        f"they came up together {came}, and retrievals {rarely if most else never}."
    )


def _names(companions: Sequence[Companion]) -> str:
    named = [quote(_brief(one.lesson)) for one in companions if one.lesson is not None]
    private = len(companions) - len(named)
    more = len(named) - NAMED
    parts = named[:NAMED]
    if more > 0:
        parts.append("one more memory" if more == 1 else f"{more} more memories")
    if private:
        parts.append("a private memory" if private == 1 else f"{private} private memories")
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _progress(place: PlaceEffect, words: _Words) -> str:
    """How far the comparison is from being told."""
    if not (place.kept or place.left_out):
        return (
            f"No coin has decided about {words.place} in an outcome that counts, so nothing is "
            "compared."
        )
    if min(place.kept, place.left_out) < SHOWN_FROM:
        return _too_early(place, words)
    return (
        f"{words.coin} kept {words.it} in {_outcomes(place.kept)} and left {words.it} out in "
        f"{_number(place.left_out)}, but the coins were nearly certain or fell long ago: the "
        f"overlap is {place.information:.1f}, and an effect is told from {SHOWN_INFORMATION:.0f}."
    )


def _too_early(place: PlaceEffect, words: _Words) -> str:
    """What there is on either side, and what is missing; sides without any are left out."""
    sides = ((place.kept, f"with {words.it}"), (place.left_out, f"without {words.it}"))
    have = [f"{_outcomes(n)} {side}" for n, side in sides if n]
    need = [
        f"{_number(SHOWN_FROM - n)} {'more ' if n else ''}{side}"
        for n, side in sides
        if n < SHOWN_FROM
    ]
    one = len(need) == 1 and max(n for n, _ in sides if n < SHOWN_FROM) == SHOWN_FROM - 1
    return f"Too early: {', '.join(have)}; {' and '.join(need)} {'is' if one else 'are'} needed."


def _joined(*sentences: str) -> str:
    return " ".join(sentence for sentence in sentences if sentence)


def _brief(lesson: str) -> str:
    line = " ".join(lesson.split())
    return line if len(line) <= NAME else f"{line[: NAME - 1].rstrip()}…"


def _share(part: int, rest: int) -> float:
    return part / (part + rest) if part else 0.0


def _unit(place: PlaceEffect) -> str:
    return "feedback date" if place.unit == "date" else "group of tasks"


def _units(place: PlaceEffect) -> str:
    one = _unit(place)
    many = "feedback dates" if place.unit == "date" else "groups of tasks"
    return f"{place.units} {one if place.units == 1 else many}"


def _outcomes(n: int) -> str:
    return f"{_number(n)} {'outcome' if n == 1 else 'outcomes'}"


def _times(n: int) -> str:
    return "once" if n == 1 else f"{_number(n)} times"


def _number(n: int) -> str:
    return f"{n:,}"
