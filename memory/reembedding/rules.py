"""Whether a model fits the texts of a namespace: what it finds alike, and what its gate lets by."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from memory.reembedding.entities import ModelFit

MAX_Q99 = 0.95
"""Unrelated sentences may look so similar to a model at most: of random weights it is .999, of the
models that were measured at most .82.
"""


NEIGHBOURS = 10
MIN_AGREEMENT = 0.2
"""Measured on questions of the benchmarks against the bundled model: in another dtype .99, cut down
to one of its six layers .37, with random weights .09.
"""


MIN_REACH = 0.5
"""Of the memories that had another one above the gate, so many must still have one."""


MAX_MORE_UNREAD = 0.05
"""So much of the texts may be in a script that the model does not know, beyond what was before."""


MIN_COMPARED = 20
"""With fewer memories than this nothing is said of neighbours."""


Matrix = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class SituationSample:
    """Vectors of the same situations, a row each, by one model; how many of them it cannot read."""

    vectors: Matrix
    q99: float
    unread: float


def judge_fit(
    q99: float, before: SituationSample | None, after: SituationSample | None
) -> ModelFit:
    """What a model, calibrated to `q99`, finds of a sample, and the one before; None where nothing
    is stored, or was searched by one.
    """
    found = ModelFit(q99, 0)
    if after is not None:
        found = replace(found, compared=len(after.vectors), unread=after.unread)
        if found.compared >= MIN_COMPARED:
            found = replace(found, reach=_reach(after))
    if before is not None and after is not None:
        found = replace(found, unread_before=before.unread)
        if found.compared >= MIN_COMPARED:
            agreement = _agreement(before.vectors, after.vectors)
            found = replace(found, agreement=agreement, reach_before=_reach(before))
    return replace(found, misfits=tuple(_misfits(found)))


def _misfits(fit: ModelFit) -> list[str]:
    said: list[str] = []
    if fit.q99 > MAX_Q99:
        said.append(
            f"unrelated sentences have a cosine of up to {fit.q99:.3f} (99th percentile), and at "
            f"most {MAX_Q99} tells them apart"
        )
    if fit.agreement is not None and fit.agreement < MIN_AGREEMENT:
        said.append(
            f"of the {NEIGHBOURS} nearest of each memory both models agree on {fit.agreement:.0%} "
            f"beyond chance, and at least {MIN_AGREEMENT:.0%} is asked for"
        )
    if fit.reach_before and fit.reach is not None and fit.reach < MIN_REACH * fit.reach_before:
        said.append(
            f"{fit.reach:.0%} of the memories have another one above the gate, where it was "
            f"{fit.reach_before:.0%}; at least {MIN_REACH * fit.reach_before:.0%} is asked for"
        )
    unread, before = fit.unread or 0.0, fit.unread_before or 0.0
    if unread > before + MAX_MORE_UNREAD:
        said.append(
            f"{unread:.0%} of the texts are in a script that the model does not know, where it was "
            f"{before:.0%}"
        )
    return said


def _reach(sample: SituationSample) -> float:
    """The share of rows with another one at the gate or above it."""
    return float((_cosines(sample.vectors).max(axis=1) >= sample.q99).mean())


def _agreement(before: Matrix, after: Matrix) -> float:
    """The shared part of the nearest, 0 where it is what chance gives, 1 where all are the same."""
    nearest = [np.argsort(-_cosines(one), axis=1)[:, :NEIGHBOURS] for one in (before, after)]
    shared = [len(np.intersect1d(*rows)) for rows in zip(*nearest, strict=True)]
    chance = NEIGHBOURS / (len(before) - 1)
    return (float(np.mean(shared)) / NEIGHBOURS - chance) / (1 - chance)


def _cosines(vectors: Matrix) -> Matrix:
    """Between all rows; none is its own neighbour."""
    found = vectors @ vectors.T
    np.fill_diagonal(found, -2.0)
    return found
