"""What the server says of its own learning, as plain text: lift, strength and the guard's record.

Each part is a table at most 100 wide, and a line that reads it out.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import fsum

from memlift_client import Effect, RankerRecord

from clients.demo.replay import WITHOUT
from clients.demo.report import LEARNING
from clients.demo.statistics import Difference, Scored, by_source, paired

MODES = ("flat", "weighted")
HALF_LIVES = ("none", "180d", "60d", "30d", "15d")
WEIGHTED_START = 0.2
SHOWN_FROM = 10
EVERYWHERE = "all"

Bounds = tuple[float, float] | None


def lift(effects: Sequence[Effect], rows: Sequence[Scored]) -> Iterator[str]:
    """What memory added to the reward, as the server has it and as this replay scored it."""
    yield f"{'':<15}{'by the server, over dates':>45}{'here, over events':>38}"
    server = f"{'pairs':>8}{'dates':>6}{'mean':>9}{'95 % interval':>22}"
    yield f"{'category':<15}{server}{'mean':>9}{'95 % interval':>22}{'events':>7}"
    own = {source: paired(some, WITHOUT, LEARNING) for source, some in by_source(rows)}
    for effect in effects:
        yield _lift_line(effect, own.get(effect.category))
    everywhere = _own(paired(rows, WITHOUT, LEARNING))
    yield f"{EVERYWHERE:<15}{sum(e.paired.n for e in effects):>8}{'':>37}{everywhere}"
    yield ""
    yield from _lift_read(effects)


def _lift_line(effect: Effect, own: Difference | None) -> str:
    found = effect.paired
    bounds = None if found.low is None or found.high is None else (found.low, found.high)
    counts = f"{effect.category:<15}{found.n:>8}{found.dates:>6}"
    return f"{counts}{_signed(found.mean)}{_span(bounds)}{'' if own is None else _own(own)}"


def _own(gap: Difference) -> str:
    return f"{_signed(gap.mean)}{_span(gap.interval)}{gap.events:>7}"


def _signed(number: float | None) -> str:
    return f"{'-':>9}" if number is None else f"{number:>+9.4f}"


def _span(bounds: Bounds) -> str:
    return f"{'-' if bounds is None else f'{bounds[0]:+.4f} … {bounds[1]:+.4f}':>22}"


def _lift_read(effects: Sequence[Effect]) -> Iterator[str]:
    pairs = [effect.paired for effect in effects]
    above = sum(one.low is not None and one.low > 0 for one in pairs)
    below = sum(one.high is not None and one.high < 0 for one in pairs)
    yield (
        f"Above zero memory helped. By the server's interval it helped in {above} and harmed in "
        f"{below} of {len(pairs)} categories."
    )
    yield (
        f"That interval holds however often one looks, so it is wide; below {SHOWN_FROM} dates "
        "there is none."
    )
    yield "A forecast for which no memory was near enough is no pair; here it counts with lift 0."


def strengths(effects: Sequence[Effect]) -> Iterator[str]:
    """How far memory is followed in each category."""
    yield f"{'category':<15}{'strength':>10}{'feedback dates':>17}{'suspended':>12}"
    for effect in effects:
        counted = f"{effect.strength:>10.2f}{effect.feedback_dates:>17}"
        yield f"{effect.category:<15}{counted}{'yes' if effect.suspended else 'no':>12}"
    yield ""
    yield "At 1 memory is followed wholly, at 0 not at all; every category starts at 1."
    if effects:
        least = min(effects, key=lambda effect: effect.strength)
        most = max(effects, key=lambda effect: effect.strength)
        yield (
            f"It has earned least in {least.category} ({least.strength:.2f}) and most in "
            f"{most.category} ({most.strength:.2f})."
        )


def guard(records: Sequence[RankerRecord]) -> Iterator[str]:
    """How far the rankers are believed now: without and with weights, and by knowledge age."""
    ages = "".join(f"{_age(name):>12}" for name in HALF_LIVES)
    yield f"{'category':<15}{'dates':>6}{'flat':>8}{'weighted':>10}{ages}"
    for record in records:
        yield _guard_line(record)
    yield ""
    yield from _guard_read([record for record in records if record.category is not None])


def _age(half_life: str) -> str:
    return "no ageing" if half_life == "none" else half_life


def _guard_line(record: RankerRecord) -> str:
    shares = record.probabilities
    flat, weighted = (_share(shares, mode, 0) for mode in MODES)
    ages = "".join(f"{_share(shares, name, 1):>12.3f}" for name in HALF_LIVES)
    counted = f"{record.category or EVERYWHERE:<15}{record.feedback_dates:>6}"
    return f"{counted}{flat:>8.3f}{weighted:>10.3f}{ages}"


def _share(shares: Mapping[str, float], part: str, place: int) -> float:
    """Of all rankers that have this mode (place 0) or half-life (place 1)."""
    return fsum(share for name, share in shares.items() if _parts(name)[place] == part)


def _parts(ranker: str) -> list[str]:
    """Its mode and half-life; `plain` is flat and ageless without coins."""
    return ["flat", "none"] if ranker == "plain" else ranker.split("/")


def _guard_read(records: Sequence[RankerRecord]) -> Iterator[str]:
    gained = sum(_share(one.probabilities, "weighted", 0) > WEIGHTED_START for one in records)
    yield (
        f"Weights start with {WEIGHTED_START:.3f}; by their record they have more now in {gained} "
        f"of {len(records)} categories."
    )
    yield (
        f"Ages start with .600 for none and .100 for each other; from {SHOWN_FROM} dates on with "
        ".200 each."
    )
