"""The report of an evaluation: `report.json`, and `calibration.svg` beside it."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from clients.prophet.figures import BINS, Bin
from clients.prophet.usage import Usage

SIZE, EDGE = 320, 40
"""Pixels: of the square, and of the margin for its labels."""


@dataclass(frozen=True, slots=True)
class Report:
    """The arena's figures, ours beside them, and what it cost. None: not to be computed."""

    dataset: str
    n_events: int
    failures: list[str]
    brier: float | None
    skill: float | None
    ece: float | None
    market_return: float | None
    calibration: list[Bin]
    usage: Usage

    def lines(self) -> list[str]:
        """As it is printed."""
        figures = (
            ("Brier", self.brier),
            ("skill", self.skill),
            ("ECE", self.ece),
            ("market return", self.market_return),
        )
        return [
            f"{self.n_events} events of {self.dataset}, {len(self.failures)} failures",
            *(f"{name}: {'none' if value is None else f'{value:.4f}'}" for name, value in figures),
            f"cost: {self.usage.told()}",
            *self.failures,
        ]

    def write(self, out: Path) -> None:
        document = asdict(self)
        (out / "report.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        (out / "calibration.svg").write_text(plot(self.calibration), encoding="utf-8")


def plot(bins: Sequence[Bin]) -> str:
    """What was said against what came, with the number of outcomes at each point."""
    points = "".join(_point(one) for one in bins if one.n)
    ticks = "".join(_tick(number / BINS) for number in range(0, BINS + 1, 5))
    whole = SIZE + 2 * EDGE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {whole} {whole}" '
        'font-family="sans-serif" font-size="11" fill="#444">\n'
        "<title>Calibration: what was said against what came</title>\n"
        f'<rect width="{whole}" height="{whole}" fill="#fff"/>\n'
        f'<path d="M{EDGE} {EDGE}V{EDGE + SIZE}H{EDGE + SIZE}" fill="none" stroke="#444"/>\n'
        f'<path d="M{EDGE} {EDGE + SIZE}L{EDGE + SIZE} {EDGE}" stroke="#bbb"/>\n'
        f"{ticks}{points}"
        f'<text x="{EDGE + SIZE / 2}" y="{whole - 4}" text-anchor="middle">said</text>\n'
        f'<text x="{EDGE}" y="{EDGE - 12}" text-anchor="middle">came</text>\n'
        "</svg>\n"
    )


def _x(share: float) -> float:
    return round(EDGE + share * SIZE, 1)


def _y(share: float) -> float:
    return round(EDGE + (1 - share) * SIZE, 1)


def _point(one: Bin) -> str:
    x, y = _x(one.said), _y(one.came)
    circle = f'<circle cx="{x}" cy="{y}" r="4" fill="#1f6feb"/>'
    return f'{circle}<text x="{x + 7}" y="{y + 4}">{one.n}</text>\n'


def _tick(share: float) -> str:
    below = f'<text x="{_x(share)}" y="{_y(0) + 16}" text-anchor="middle">{share:g}</text>'
    beside = f'<text x="{_x(0) - 6}" y="{_y(share) + 4}" text-anchor="end">{share:g}</text>'
    return f"{below}{beside}\n"
