"""What the guard costs and saves: all rankers scored, one drawn, one drawn without the usual loss.

A category with ten rankers whose true mean losses are known: the weighted ones are worse, equal or
better than the flat ones by `gap`. Each date brings outcomes; the guard learns from what its form
is shown. Printed is the regret of a retrieval against always serving flat: below zero weights paid.

    python -m benchmarks.kernels.guard
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from random import Random
from statistics import fmean

from memory.learning.guard import Lot, initial_record, learn_losses, probabilities, sampled_losses
from memory.learning.states import State
from memory.retrieval.rankers import RANKERS, draw_ranker, prior

START = datetime(2026, 1, 1, tzinfo=UTC)
DATES, OUTCOMES, SEEDS = 60, 10, range(40)
LOSS, NOISE = 0.25, 0.25
GAPS = (-0.05, -0.02, 0.0, 0.02, 0.05)
NAMES = tuple(RANKERS)

Shown = Callable[[list[float], Lot], tuple[float | None, ...]]


def all_scored(losses: list[float], lot: Lot) -> tuple[float | None, ...]:  # noqa: ARG001 - one form of several
    """Every ranker answered, and every answer was scored."""
    return tuple(losses)


def one_drawn(losses: list[float], lot: Lot) -> tuple[float | None, ...]:
    """The drawn ranker's loss beyond the usual one."""
    return sampled_losses(len(NAMES), lot, 1.0 - losses[lot.ranker], 1.0 - LOSS)


def one_drawn_whole(losses: list[float], lot: Lot) -> tuple[float | None, ...]:
    """The drawn ranker's whole loss: as if the usual one were nought."""
    return sampled_losses(len(NAMES), lot, 1.0 - losses[lot.ranker], 1.0)


def regret(shown: Shown, gap: float, chance: Random) -> Iterator[float]:
    """Of each retrieval, the expected loss of what served beyond that of flat."""
    record: State = initial_record(len(NAMES))
    means = [LOSS + (gap if name.startswith("weighted") else 0.0) for name in NAMES]
    for date in range(DATES):
        now = START + timedelta(days=date)
        shares = _shares(record, date, now)
        for _ in range(OUTCOMES):
            drawn = draw_ranker(shares, chance)
            lot = Lot(NAMES.index(drawn.ranker), drawn.propensity)
            common = chance.gauss(0, NOISE)
            losses = [min(1.0, max(0.0, m + common + chance.gauss(0, NOISE / 5))) for m in means]
            if shown is all_scored:
                yield gap * sum(shares[name] for name in NAMES if name.startswith("weighted"))
            else:
                yield means[lot.ranker] - LOSS
            record = learn_losses(record, shown(losses, lot), now)


def _shares(record: State, dates: int, now: datetime) -> dict[str, float]:
    believed = prior(dates)
    found = probabilities([believed[name] for name in NAMES], record, record, now)
    return dict(zip(NAMES, found, strict=True))


def main() -> None:
    """Print one line a gap: mean regret by form, in thousandths of a reward."""
    forms: dict[str, Shown] = {
        "all scored": all_scored,
        "one drawn": one_drawn,
        "one drawn, whole loss": one_drawn_whole,
    }
    print(f"regret against flat x 1000, {DATES} dates x {OUTCOMES} outcomes, {len(SEEDS)} seeds")
    print("weighted loses more by", *(f"{name:>22}" for name in forms))
    for gap in GAPS:
        means = [
            fmean(fmean(regret(form, gap, Random(seed))) for seed in SEEDS)  # noqa: S311 - a simulation
            for form in forms.values()
        ]
        print(f"{gap:>22.2f}", *(f"{1000 * mean:>22.2f}" for mean in means))


if __name__ == "__main__":
    main()
