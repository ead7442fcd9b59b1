"""Curves of success in the terminal, drawn again after every day."""

import os
from collections.abc import Mapping, Sequence
from typing import TextIO

from clients.demo.snippets.play import ARMS, MEMLIFT, NONE, SIMILARITY, Attempt
from clients.demo.snippets.summary import WINDOW, curves

COLUMNS = 60
LOWEST, HIGHEST, STEP = 0.20, 1.00, 0.05
MARKS: Mapping[str, str] = {NONE: "·", SIMILARITY: "+", MEMLIFT: "●"}
COLOURS: Mapping[str, str] = {NONE: "90", SIMILARITY: "34", MEMLIFT: "1;31"}
UP = "\x1b[{}F\x1b[J"


def chart(lines: Mapping[str, Sequence[float]], tasks: int, *, colour: bool = False) -> list[str]:
    """A picture of `tasks` from left to right, success from bottom to top; the arm that comes last
    lies above the others.
    """
    rows = round((HIGHEST - LOWEST) / STEP)
    cells = [[" "] * COLUMNS for _ in range(rows + 1)]
    for arm, values in lines.items():
        for column in range(COLUMNS):
            end = round((column + 1) * tasks / COLUMNS)
            if 0 < end <= len(values):
                height = min(max(values[end - 1], LOWEST), HIGHEST)
                row = round((HIGHEST - height) / STEP)
                cells[row][column] = _painted(MARKS[arm], arm, colour=colour)
    picture = [f"{_label(row)} │{''.join(found)}" for row, found in enumerate(cells)]
    picture.append(f"     └{'─' * COLUMNS}")
    picture.append(f"      {'0':<{COLUMNS - 10}}{f'{tasks} tasks':>10}")
    now = (
        f"{_painted(MARKS[arm], arm, colour=colour)} {arm} {lines[arm][-1]:.0%}"
        for arm in ARMS
        if lines.get(arm)
    )
    return [*picture, f"      success over the last {WINDOW} tasks:  {'   '.join(now)}"]


def _label(row: int) -> str:
    """The height of every second row."""
    return f"{HIGHEST - row * STEP:>4.0%}" if row % 2 == 0 else " " * 4


def _painted(text: str, arm: str, *, colour: bool) -> str:
    return f"\x1b[{COLOURS[arm]}m{text}\x1b[0m" if colour else text


class Screen:
    """Where the curves are drawn. A terminal shows one picture that grows; any other file gets a
    line a day, and the picture at the end.
    """

    def __init__(self, file: TextIO, tasks: int) -> None:
        self._file = file
        self._tasks = tasks
        self._grows = file.isatty()
        self._colour = self._grows and "NO_COLOR" not in os.environ
        self._drawn = 0
        self._attempts: list[Attempt] = []

    def show(self, day: Sequence[Attempt]) -> None:
        """Take in what one more day brought."""
        self._attempts += day
        if self._grows:
            self._draw()
        else:
            lines = curves(self._attempts)
            known = "  ".join(f"{arm} {lines[arm][-1]:.0%}" for arm in ARMS)
            self._file.write(f"  {len(lines[MEMLIFT]):>4} tasks  {known}\n")
            self._file.flush()

    def finish(self) -> None:
        """Leave the whole picture behind."""
        if not self._grows:
            self._draw()

    def _draw(self) -> None:
        picture = chart(curves(self._attempts), self._tasks, colour=self._colour)
        if self._drawn:
            self._file.write(UP.format(self._drawn))
        self._file.write("".join(f"{line}\n" for line in picture))
        self._file.flush()
        self._drawn = len(picture)
