"""The grid by which constants are chosen, as decision 46 says: one row a variant, scene and seed.

    python -m benchmarks.kernels.credit.tuning --out DIR --notes DIR --vectors FILE --workers 16

Only tuning seeds and the tuning order of the notes are played. `--read FILE ...` prints the table
of rows that were played before.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import product
from pathlib import Path
from statistics import fmean

import numpy as np

from benchmarks.kernels.credit import banks, notes
from benchmarks.kernels.credit.policies import Tuned
from benchmarks.kernels.credit.product import FIRST_RELEASE, SLOT_RATE, Variant
from benchmarks.kernels.credit.rows import Job, Row, Source, Table, Variants, all_rows, split, table
from benchmarks.kernels.credit.targets import SCENARIOS as TEN
from memory.belief.belief import MEMORY_VARIANCE
from memory.belief.inclusion import InclusionRule

SEEDS = tuple(range(1000, 1010))
NOTES_SEEDS = SEEDS[:4]


LOWEST = 0.05
PART = 0.05**2  # variance of a memory's own part and of its author's
SMALL_PART = 0.03**2
COINS: Mapping[str, InclusionRule] = {
    f"{when} {added} {upper}": InclusionRule(
        added, LOWEST, upper, when == "always", all_below=False, outshines=None
    )
    for when, added, upper in product(("always", "seldom"), (0.5, 0.75, 1.0, 1.25), (0.95, 1.0))
}
FIRST, RAMP = "first release", "ramp"


def coin_variants() -> dict[str, Variant]:
    """No coins, without exposure and with it; then every coin, in place of the slot."""
    plain = {FIRST: FIRST_RELEASE, RAMP: replace(FIRST_RELEASE, exposure=True)}
    return plain | {name: Variant(rule) for name, rule in COINS.items()}


def slot_variants() -> dict[str, Variant]:
    """The same coins with the exploration slot kept."""
    return {f"{name} slot": Variant(rule, slot_rate=SLOT_RATE) for name, rule in COINS.items()}


CHOSEN = Variant(COINS["seldom 1.25 1.0"], slot_rate=SLOT_RATE)
YEAR = timedelta(days=360)


def belief_variants() -> dict[str, Variant]:
    """The chosen coins and slot, with one thing about the belief changed, and with two."""
    own = Tuned(variance=PART, author_variance=PART)
    policies = {
        "half-life 360": Tuned(half_life=YEAR),
        "optimism .25": Tuned(optimism=0.25),
        "both": Tuned(half_life=YEAR, optimism=0.25),
        "author": own,
        "author, 360": replace(own, half_life=YEAR),
        "author, both": replace(own, half_life=YEAR, optimism=0.25),
        "author split": Tuned(variance=MEMORY_VARIANCE - PART, author_variance=PART),
        "author beside": Tuned(author_variance=PART),
        "author small": Tuned(variance=MEMORY_VARIANCE - SMALL_PART, author_variance=SMALL_PART),
    }
    changed = {name: replace(CHOSEN, policy=policy) for name, policy in policies.items()}
    return {"chosen": CHOSEN} | changed


def standing_variants() -> dict[str, Variant]:
    """The chosen coins with the two additions of decision 53, each alone and both."""
    rules = {
        "empty": InclusionRule(outshines=None),
        "outshone": InclusionRule(all_below=False),
        "empty and outshone": InclusionRule(),
    }
    return {name: replace(CHOSEN, coins=rule) for name, rule in rules.items()}


VARIANTS: Variants = coin_variants() | slot_variants() | belief_variants() | standing_variants()


def jobs(variants: Variants, *, with_notes: bool) -> list[Job]:
    """Banks first, as they are quickest: what ends early still has a table."""
    found = [Job("bank", scene, seed, variants) for scene, seed in product(banks.SETTINGS, SEEDS)]
    found += [
        Job("notes", scene, seed, variants)
        for scene, seed in product(reversed(notes.SETTINGS), NOTES_SEEDS)
        if with_notes
    ]
    return [*found, *(Job("world", s, seed, variants) for s, seed in product(reversed(TEN), SEEDS))]


TWINS = tuple(s for s in banks.SETTINGS if banks.SETTINGS[s].notes == "twins")
UNNAMED_TWINS = tuple(s for s in TWINS if not banks.SETTINGS[s].used)
CLOSE = tuple(s for s in banks.SETTINGS if banks.SETTINGS[s].notes == "twins_close")
GOOD = tuple(s for s in banks.SETTINGS if banks.SETTINGS[s].notes == "good")


def utilities(found: Table, variant: str) -> dict[str, float]:
    """Five numbers, 1 is best: what is captured of twins, close twins, worlds and notes, each with
    the guard and by weight, and the share that good banks keep.
    """

    def mean(scenes: Sequence[str], measure: str) -> float:
        both = [found[variant, ranking] for ranking in ("guard", "weighted")]
        return fmean([t[s][measure] for t in both for s in scenes if s in t] or [float("nan")])

    return {
        "twins": mean(UNNAMED_TWINS, "captured"),
        "close": mean(CLOSE, "captured"),
        "good": mean(GOOD, "share"),
        "worlds": mean(TEN, "captured"),
        "notes": mean(tuple(notes.SETTINGS), "captured"),
    }


def lines(found: Table) -> Iterator[str]:
    """The table for people: what is asked for, then the utilities and their mean."""
    heads = (
        *("auc", "reward", "g.auc", "g.rew", "used", "u.rew", "good", "g.good"),
        *("worlds", "worst", "recov", "g.world", "n.gain", "gn.gain", "gn.first"),
        *("U.twin", "U.close", "U.good", "U.world", "U.note", "mean"),
    )
    yield f"{'':<24}" + "".join(f"{head:>9}" for head in heads)
    for variant in dict.fromkeys(name for name, _ in found):
        numbers = (*floors(found, variant).values(), *(u := utilities(found, variant)).values())
        shown = "".join(f"{number:>9.3f}" for number in (*numbers, fmean(u.values())))
        yield f"{variant:<24}{shown}"


def floors(found: Table, variant: str) -> dict[str, float]:
    """What decision 46 asks of a variant, in its order."""
    guard, weighted = found[variant, "guard"], found[variant, "weighted"]
    first = found[FIRST, "weighted"]
    worlds = [s for s in TEN if s in weighted]
    pairs = [s for s in notes.SETTINGS if s in guard]
    nan = float("nan")
    return {
        "auc": weighted["twins_single"]["auc_200"],
        "reward": weighted["twins_single"]["reward"],
        "guard_auc": guard["twins_single"]["auc_200"],
        "guard_reward": guard["twins_single"]["reward"],
        "used_auc": weighted["twins_used"]["auc_200"],
        "used_reward": weighted["twins_used"]["reward"],
        "good": weighted["good"]["share"],
        "guard_good": guard["good"]["share"],
        "worlds": fmean([weighted[s]["captured"] for s in worlds] or [nan]),
        "worst": min(
            [weighted[s]["captured"] - first[s]["captured"] for s in worlds if s in first] or [nan]
        ),
        "recovery": weighted.get("drift", {}).get("recovery", nan),
        "guard_worlds": fmean([guard[s]["captured"] for s in worlds] or [nan]),
        "notes": fmean([weighted[s]["gain"] for s in pairs] or [nan]),
        "guard_notes": fmean([guard[s]["gain"] for s in pairs] or [nan]),
        "guard_notes_first": fmean([guard[s]["gain_first"] for s in pairs] or [nan]),
    }


def main(words: Sequence[str]) -> int:
    given = _parser().parse_args(words)
    if given.read:
        rows = [json.loads(line) for file in given.read for line in file.open(encoding="utf-8")]
    else:
        rows = _played(given)
    for line in lines(table(rows)):
        print(line)
    return 0


def _played(given: argparse.Namespace) -> list[Row]:
    names = given.variants.split("; ") if given.variants else list(coin_variants())
    source = None if given.notes is None else Source(given.notes, given.vectors)
    some = jobs({name: VARIANTS[name] for name in names}, with_notes=source is not None)
    parts = [part for job in some for part in split(job, 4 if job.family == "notes" else 2)]
    given.out.mkdir(parents=True, exist_ok=True)
    with (given.out / f"{given.name}.jsonl").open("w", encoding="utf-8") as file:
        return list(all_rows(parts, source, file, workers=given.workers))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernels.credit.tuning")
    parser.add_argument("--out", type=Path, default=Path())
    parser.add_argument("--name", default="tuning", help="of the file of rows")
    parser.add_argument(
        "--variants", help="names, by semicolons; without: no coins, and every coin"
    )
    parser.add_argument("--notes", type=Path, help="the folder of the notes")
    parser.add_argument("--vectors", type=Path, help="their embeddings")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--read", type=Path, nargs="+", help="rows that were played before")
    return parser


if __name__ == "__main__":
    np.seterr(all="raise")
    sys.exit(main(sys.argv[1:]))
