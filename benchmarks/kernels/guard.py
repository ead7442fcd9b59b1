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

from memory.belief.guard import (
    Losses,
    initial_record,
    learn_losses,
    probabilities,
    sampled_losses,
)
from memory.belief.rankers import RANKERS, Draw, draw_ranker, prior
from memory.belief.states import State

START = datetime(2026, 1, 1, tzinfo=UTC)
DATES, OUTCOMES, SEEDS = 60, 10, range(40)
LOSS, NOISE = 0.25, 0.25
GAPS = (-0.05, -0.02, 0.0, 0.02, 0.05)

Shown = Callable[[dict[str, float], Draw], Losses]


def all_scored(losses: dict[str, float], draw: Draw) -> Losses:  # noqa: ARG001 - one form of several
    """Every ranker answered, and every answer was scored."""
    return losses


def one_drawn(losses: dict[str, float], draw: Draw) -> Losses:
    """The drawn ranker's loss beyond the usual one."""
    return sampled_losses(draw, 1.0 - losses[draw.ranker], 1.0 - LOSS)


def one_drawn_whole(losses: dict[str, float], draw: Draw) -> Losses:
    """The drawn ranker's whole loss: as if the usual one were nought."""
    return sampled_losses(draw, 1.0 - losses[draw.ranker], 1.0)


def regret(shown: Shown, gap: float, chance: Random) -> Iterator[float]:
    """Of each retrieval, the expected loss of what served beyond that of flat."""
    record: State = initial_record(RANKERS)
    means = {name: LOSS + (gap if name.startswith("weighted") else 0.0) for name in RANKERS}
    for date in range(DATES):
        now = START + timedelta(days=date)
        shares = _shares(record, date, now)
        for _ in range(OUTCOMES):
            draw = draw_ranker(shares, chance)
            common = chance.gauss(0, NOISE)
            losses = {
                name: min(1.0, max(0.0, mean + common + chance.gauss(0, NOISE / 5)))
                for name, mean in means.items()
            }
            if shown is all_scored:
                yield gap * sum(shares[name] for name in RANKERS if name.startswith("weighted"))
            else:
                yield means[draw.ranker] - LOSS
            record = learn_losses(record, shown(losses, draw), now)


def _shares(record: State, dates: int, now: datetime) -> dict[str, float]:
    return probabilities(prior(dates), record, record, now)


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
