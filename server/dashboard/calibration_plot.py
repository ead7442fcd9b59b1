"""A reliability diagram, drawn as a picture without scripts."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from memory.forecasts.calibration_entities import CalibrationBin

SIZE = 100.0
SMALLEST, LARGEST = 1.2, 3.6
"""Radii of the points, in the same unit."""


@dataclass(frozen=True, slots=True)
class CalibrationPoint:
    """One bin in the picture, whose y axis runs down."""

    x: float
    y: float
    top: float
    bottom: float
    radius: float
    bin: CalibrationBin


def points_of(bins: Sequence[CalibrationBin]) -> list[CalibrationPoint]:
    """A point's area grows with the number of its forecasts."""
    most = max((one.n for one in bins), default=1)
    return [_point(one, most) for one in bins]


def _point(one: CalibrationBin, most: int) -> CalibrationPoint:
    low, high = one.interval
    return CalibrationPoint(
        x=SIZE * one.probability,
        y=SIZE * (1 - one.frequency),
        top=SIZE * (1 - high),
        bottom=SIZE * (1 - low),
        radius=SMALLEST + (LARGEST - SMALLEST) * sqrt(one.n / most),
        bin=one,
    )
