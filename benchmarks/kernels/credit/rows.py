"""What is played, in which scenes, and the rows that come of it: shared by suite and tuning."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Literal, TextIO

import numpy as np

from benchmarks.kernels.credit import banks, notes
from benchmarks.kernels.credit.measures import auc, measured
from benchmarks.kernels.credit.play import Played as WorldPlayed
from benchmarks.kernels.credit.product import NOBODY, Played, Ranking, Variant, play
from benchmarks.kernels.credit.scene import WorldScene
from benchmarks.kernels.credit.world import SCENARIOS, draw
from benchmarks.notes.data import Data, read

CHECKPOINTS = (50, 100, 200)
NAMED = ("family", "scene", "seed", "variant", "ranking")
Row = dict[str, float | str | int | None]
Variants = Mapping[str, Variant]


@dataclass(frozen=True, slots=True)
class Job:
    """A scene at a seed, in which every variant is played."""

    family: Literal["world", "bank", "notes"]
    scene: str
    seed: int
    variants: Variants
    rankings: tuple[Ranking, ...] = ("guard", "weighted")


@dataclass(frozen=True, slots=True)
class Source:
    """Where the notes are, for the processes that play them; None: notes are left out."""

    data: Path
    vectors: Path


def played(job: Job, source: Source | None) -> Iterator[Row]:
    """Each variant in the job's scene, with the guard and by weight."""
    ask: Callable[[Variant], Row] = {"world": _world, "bank": _bank, "notes": _notes}[job.family](
        job, source
    )
    for name, ranking in product(job.variants, job.rankings):
        row = ask(replace(job.variants[name], ranking=ranking))
        named: Row = {"family": job.family, "scene": job.scene, "seed": job.seed}
        yield named | {"variant": name, "ranking": ranking} | row


def _world(job: Job, source: Source | None) -> Callable[[Variant], Row]:  # noqa: ARG001 - drawn
    world = draw(SCENARIOS[job.scene], job.seed)
    scene = WorldScene(world, job.seed)

    def ask(variant: Variant) -> Row:
        found = play(scene, variant, job.seed)
        values = found.values[: world.scenario.honest]
        row = measured(world, WorldPlayed(found.served, values, values))
        return {name: row[name] for name in ("captured", "auc", "recovery", "owned_served")}

    return ask


def _bank(job: Job, source: Source | None) -> Callable[[Variant], Row]:  # noqa: ARG001 - drawn
    scene = banks.draw_bank(banks.SETTINGS[job.scene], job.seed)

    def ask(variant: Variant) -> Row:
        found = play(scene, variant, job.seed, snapshots=CHECKPOINTS)
        return bank_figures(scene, found)

    return ask


def bank_figures(scene: banks.Bank, found: Played) -> Row:
    """Mean reward, the share of the best lift, and how often the good outweigh the harmful."""
    added = scene.added(found.served)
    always, best = scene.everything, scene.best
    row: Row = {
        "reward": float(added.mean()) + banks.BASE,
        "reward_last": float(added[-100:].mean()) + banks.BASE,
        "captured": float(added.sum() / best.sum()),
        **_places(scene, found),
    }
    if scene.setting.notes == "good":
        row["share"] = float(added[:100].sum() / always[:100].sum())
    else:
        told = scene.effect != 0.0
        for task, values in (*found.snapshots.items(), (scene.tasks, found.values[0])):
            row[f"auc_{task}"] = auc(values[told], scene.effect[told])
    return row


def _places(scene: banks.Bank, found: Played) -> Row:
    """Of the last half: harmful memories a task, and the share of tasks with nothing served."""
    served = found.served[scene.tasks // 2 :]
    filled = served != NOBODY
    harmful = filled & (scene.effect[np.where(filled, served, 0)] < 0.0)
    return {
        "harmful_last": float(harmful.sum(axis=1).mean()),
        "empty_last": float((~filled.any(axis=1)).mean()),
    }


@cache
def _notes_of(source: Source) -> tuple[Data, notes.Vectors]:
    return read(source.data), notes.Vectors.load(source.vectors)


def _notes(job: Job, source: Source | None) -> Callable[[Variant], Row]:
    assert source is not None
    data, vectors = _notes_of(source)
    setting = notes.SETTINGS[job.scene]
    scene = notes.draw_notes(setting, data, vectors, order=notes.TUNING_ORDER, seed=job.seed)
    base = notes.figures(scene, play(scene, Variant(None, ranking="flat"), job.seed))
    best = notes.oracle(scene)

    def ask(variant: Variant) -> Row:
        row = notes.figures(scene, play(scene, variant, job.seed))
        return {
            "gain": base["loss"] - row["loss"],
            "gain_first": base["loss_first"] - row["loss_first"],
            "captured": (base["loss"] - row["loss"]) / (base["loss"] - best["loss"]),
            "accuracy_last": row["accuracy_last"],
            "similarity_last": base["accuracy_last"],
            "oracle_last": best["accuracy_last"],
        }

    return ask


def split(job: Job, parts: int) -> Iterator[Job]:
    """The job in parts by variant."""
    for part in range(parts):
        if some := dict(list(job.variants.items())[part::parts]):
            yield replace(job, variants=some)


def _all_played(source: Source | None, job: Job) -> list[Row]:
    return list(played(job, source))


def all_rows(
    some: Sequence[Job], source: Source | None, file: TextIO, *, workers: int
) -> Iterator[Row]:
    """Every row, written as it comes."""
    with ProcessPoolExecutor(workers) as players:
        for done in players.map(partial(_all_played, source), some):
            file.writelines(json.dumps(row) + "\n" for row in done)
            file.flush()
            yield from done


Table = Mapping[tuple[str, str], Mapping[str, Mapping[str, float]]]
"""By variant and ranking, then scene, then measure: means over seeds."""


def table(rows: Sequence[Row]) -> Table:
    """Means over seeds."""
    found: dict[tuple[str, str], dict[str, dict[str, list[float]]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(list))
    )
    for row in rows:
        here = found[str(row["variant"]), str(row["ranking"])][str(row["scene"])]
        for name, value in row.items():
            if name not in NAMED and isinstance(value, (int, float)):
                here[name].append(value)
    return {
        key: {s: {m: fmean(v) for m, v in measures.items()} for s, measures in scenes.items()}
        for key, scenes in found.items()
    }
