"""Suite `credit`: what the product's rules find out where the truth is known; no server.

The ten worlds by weight, small banks with the guard and by weight, honest parties and liars; each
by the rules of the first release, by exposure without coins, and by the product as it is.

OUT/run.json            revision, seeds, hardware, load average before and after
OUT/measurements.jsonl  {family, scene, seed, variant, ranking, and each measure}
OUT/summary.json        means with intervals by variant, ranking and scene, and targets
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TextIO, cast

from benchmarks import harness
from benchmarks.kernels.credit import banks, parties
from benchmarks.kernels.credit.measures import Mean, mean_of
from benchmarks.kernels.credit.product import FIRST_RELEASE, SLOT_RATE, Variant
from benchmarks.kernels.credit.rows import NAMED, Job, Row, all_rows
from benchmarks.kernels.credit.targets import SCENARIOS as TEN
from benchmarks.metrics import Target, at_least, at_most, written

NAME = "credit"
SEEDS, FEWER = range(24), range(8)
FIRST, RAMP, PRODUCT = "first release", "exposure, no coins", "product"
VARIANTS: Mapping[str, Variant] = {
    FIRST: FIRST_RELEASE,
    RAMP: replace(FIRST_RELEASE, exposure=True),
    PRODUCT: Variant(slot_rate=SLOT_RATE),
}
LIARS = "2 liars, 1 honest"

Summary = Mapping[str, Mapping[str, Mapping[str, Mapping[str, Mean]]]]
"""By variant, ranking, scene and measure."""


def options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("--out", type=Path, required=True, help="folder for the artefacts")
    parser.add_argument(
        "--full", action="store_true", help="24 seeds of the ten worlds; without it the first 8"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes")


def run(options: argparse.Namespace, say: Callable[[str], None]) -> None:
    """Play, keep what was measured, and say what it amounts to."""
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    worlds = SEEDS if options.full else FEWER
    stamp = harness.opening(NAME, {"worlds": len(worlds), "banks": len(SEEDS)})
    with (out / harness.MEASUREMENTS).open("w", encoding="utf-8") as file:
        _play(worlds, file, options.workers, say)
    stamp |= harness.closing()
    rows = cast("list[Row]", harness.read_rows(out))
    harness.write(out / "run.json", stamp)
    harness.write(out / "summary.json", {**stamp, **summary(rows)})
    for line in render(rows):
        say(line)


def _play(worlds: Sequence[int], file: TextIO, workers: int, say: Callable[[str], None]) -> None:
    file.writelines(json.dumps(row) + "\n" for row in _parties())
    some = jobs(worlds)
    say(f"{len(some)} scenes, each by {len(VARIANTS)} variants, in {workers} processes")
    for count, _ in enumerate(all_rows(some, None, file, workers=workers), start=1):
        if count % 500 == 0:
            say(f"{count} plays")


def jobs(worlds: Sequence[int]) -> list[Job]:
    """The banks with the guard too; the ten worlds by weight, as they were always reported."""
    found = [Job("bank", scene, seed, VARIANTS) for scene, seed in product(banks.SETTINGS, SEEDS)]
    ten = [Job("world", s, seed, VARIANTS, ("weighted",)) for s, seed in product(TEN, worlds)]
    return [*found, *ten]


def _parties() -> Iterator[Row]:
    for (name, case), seed, bounded in product(parties.CASES.items(), SEEDS, (False, True)):
        found = parties.believed(case, seed, bounded=bounded)
        yield {
            "family": "parties",
            "scene": name,
            "seed": seed,
            "variant": PRODUCT if bounded else "no bound",
            "ranking": "none",
            "common": found.common,
            "honest": found.honest,
        }


# What the rows amount to


def means(rows: Sequence[Row]) -> Summary:
    """Means over seeds with half the width of their 95 % intervals."""
    found: dict[tuple[str, str, str], dict[str, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in rows:
        here = found[str(row["variant"]), str(row["ranking"]), str(row["scene"])]
        for name, value in row.items():
            if name not in NAMED and isinstance(value, (int, float)):
                here[name].append(value)
    result: dict[str, dict[str, dict[str, dict[str, Mean]]]] = {}
    for (variant, ranking, scene), measures in found.items():
        by_scene = result.setdefault(variant, {}).setdefault(ranking, {})
        by_scene[scene] = {name: mean_of(numbers) for name, numbers in measures.items()}
    return result


def summary(rows: Sequence[Row]) -> dict[str, object]:
    """Tables and targets, as they are written down."""
    found = means(rows)
    tables = {
        variant: {
            ranking: {
                scene: {m: _plain(mean) for m, mean in row.items()} for scene, row in s.items()
            }
            for ranking, s in rankings.items()
        }
        for variant, rankings in found.items()
    }
    return {"tables": tables, "targets": written(targets(found))}


def targets(found: Summary) -> list[Target]:
    """What the product is held to; what was not played is not run."""
    at = _Reader(found)
    reward = at(PRODUCT, "weighted", "twins_used", "reward")
    before = at(FIRST, "weighted", "twins_used", "reward")
    common, honest = (at(PRODUCT, "none", LIARS, name) for name in ("common", "honest"))
    truth = parties.CASES[LIARS].truth
    twins = "twins_single"
    return [
        at_least(
            "twins, by weight: auc at 200", 0.94, at(PRODUCT, "weighted", twins, "auc_200"), {}
        ),
        at_least("twins, by weight: reward", 0.715, at(PRODUCT, "weighted", twins, "reward"), {}),
        at_least(
            "twins, with the guard: auc at 200", 0.90, at(PRODUCT, "guard", twins, "auc_200"), {}
        ),
        at_least("twins, with the guard: reward", 0.65, at(PRODUCT, "guard", twins, "reward"), {}),
        at_least(
            "twins, used named: auc at 200",
            0.97,
            at(PRODUCT, "weighted", "twins_used", "auc_200"),
            {},
        ),
        at_most(
            "twins, used named: reward below the first release", 0.005, _less(before, reward), {}
        ),
        at_least(
            "good: share of always serving", 0.88, at(PRODUCT, "weighted", "good", "share"), {}
        ),
        at_most(f"parties, {LIARS}: common mean", 0.05, common, {}),
        at_least(f"parties, {LIARS}: felt of the truth", 0.5, _share(honest, truth), {}),
        *_worlds(at),
    ]


def _worlds(at: "_Reader") -> Iterator[Target]:
    both = {
        scene: tuple(at(v, "weighted", scene, "captured") for v in (PRODUCT, FIRST))
        for scene in TEN
    }
    known = {s: (new, old) for s, (new, old) in both.items() if new is not None and old is not None}
    parts = {scene: new for scene, (new, _) in known.items()}
    whole = len(known) == len(TEN)
    mean = sum(parts.values()) / len(TEN) if whole else None
    before = sum(old for _, old in known.values()) / len(TEN) if whole else 0.507
    worst = max(old - new for new, old in known.values()) if whole else None
    yield at_least("ten worlds: captured, not below the first release", before, mean, parts)
    yield at_most("ten worlds: most that one is below the first release", 0.03, worst, {})
    recovery = at(PRODUCT, "weighted", "drift", "recovery")
    yield at_most("ten worlds: recovery, tasks", 829.0, recovery, {})


class _Reader:
    """Means by their place; None where nothing was played."""

    def __init__(self, found: Summary) -> None:
        self._found = found

    def __call__(self, variant: str, ranking: str, scene: str, measure: str) -> float | None:
        mean = self._found.get(variant, {}).get(ranking, {}).get(scene, {}).get(measure)
        return None if mean is None else mean.mean


def _less(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _share(part: float | None, whole: float) -> float | None:
    return None if part is None else part / whole


def render(rows: Sequence[Row]) -> Iterator[str]:
    """The tables for people."""
    found = means(rows)
    yield from _block(found, "weighted", TEN, ("captured", "recovery"))
    shown = ("auc_50", "auc_100", "auc_200", "auc_400", "reward", "reward_last", "share")
    for ranking in ("weighted", "guard"):
        yield from _block(found, ranking, tuple(banks.SETTINGS), shown)
    yield from _block(found, "none", tuple(parties.CASES), ("common", "honest"))
    yield ""
    for one in targets(found):
        measured = "not run" if one.measured is None else f"{one.measured:.3f}"
        yield f"{one.name:<56}{one.target:>9.3f}{measured:>9}  {one.status}"


def _block(
    found: Summary, ranking: str, scenes: Sequence[str], measures: Sequence[str]
) -> Iterator[str]:
    names = {"weighted": "by weight", "guard": "with the guard", "none": "parties"}
    for variant, rankings in found.items():
        table = rankings.get(ranking, {})
        if not any(scene in table for scene in scenes):
            continue
        yield f"\n{variant}, {names[ranking]}"
        yield f"{'':<36}" + "".join(f"{measure:>16}" for measure in measures)
        for scene in scenes:
            if scene in table:
                yield f"{scene:<36}" + "".join(_cell(table[scene].get(m)) for m in measures)


def _cell(mean: Mean | None) -> str:
    return f"{'-':>16}" if mean is None else f"{mean.mean:>10.3f} ±{mean.half:.3f}"


def _plain(mean: Mean) -> dict[str, float]:
    return {"mean": mean.mean, "half": mean.half, "n": mean.n}
