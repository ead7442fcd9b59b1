"""What the suites of notes have in common: a run that goes on where it was ended, arm by arm.

OUT/run.json                settings, revisions, hardware, the server's folder while it is needed
OUT/PLAY/ARM/tasks.jsonl    every task: the answer with and without memory, what was served
OUT/PLAY/ARM/weights.jsonl  every note's weight at the end; an arm that has it is done
OUT/PLAY/curve-light.svg    accuracy over the tasks; also curve-dark.svg
OUT/measurements.jsonl      the figures, for `compare`
OUT/summary.json            figures and targets, computed from the rows as they were written

PLAY is such as `bank-1000-order-1`. Where a run is ended between a date's outcomes and its rows,
that date is played twice; nothing else is.
"""

import argparse
import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

from memlift_client import MemLift, RetryPolicy

from benchmarks import harness
from benchmarks.hardware import revision
from benchmarks.notes import curve
from benchmarks.notes.arms import Arm
from benchmarks.notes.data import Deal, Question
from benchmarks.notes.figures import Play, Played, Summary
from benchmarks.notes.player import A_DATE, Bank, Done, Player, Weight, open_bank
from benchmarks.notes.vote import Rates, Seat
from benchmarks.streams.artefacts import read_lines, write_lines
from clients.demo.server import fresh_folder, start

RETRY_POLICY = RetryPolicy(timeout=600.0)
TASKS, WEIGHTS, RUN = "tasks.jsonl", "weights.jsonl", "run.json"
SAID_EVERY = 10
UNLIMITED = {"MEMLIFT_REQUEST_RATE": "1000000", "MEMLIFT_REQUEST_BURST": "1000000"}

Say = Callable[[str], None]
Row = Mapping[str, Any]
Stamp = dict[str, Any]


def options(parser: argparse.ArgumentParser) -> None:
    """What the commands have in common."""
    parser.add_argument("--data", type=Path, required=True, help="the folder of the questions")
    parser.add_argument("--out", type=Path, required=True, help="folder for the artefacts")
    parser.add_argument("--order", type=int, help="this order alone; 0 is for trying things out")
    parser.add_argument("--tasks", type=int, help="the first so many tasks alone")
    parser.add_argument("--full", action="store_true", help="all that is reported")
    parser.add_argument("--url", help="use this server instead of starting one")
    parser.add_argument("--key", help="its operator key")


@dataclass(frozen=True, slots=True)
class Part:
    """One arm of one play. An arm that remembers nothing is none."""

    play: Play
    name: str
    arm: Arm | None


@dataclass(frozen=True, slots=True)
class Stage:
    """A run: its suite, its folder, how it deals, and what is known of it."""

    name: str
    given: argparse.Namespace
    deal: Callable[[Play], Deal]
    settings: Mapping[str, Any]
    say: Say

    @property
    def out(self) -> Path:
        out: Path = self.given.out
        return out

    def run(self, seat: Seat, parts: Sequence[Part]) -> None:
        """Every part that is not done; the arms of a play in turns of a date, so that they can be
        compared wherever the run is ended.
        """
        stamp = self._open()
        open_ = [part for part in parts if not (self._folder(part) / WEIGHTS).exists()]
        if open_:
            run = "".join(character for character in stamp["started_at"] if character.isdigit())
            with self._client(stamp) as client:
                for _, play in groupby(open_, key=lambda part: part.play):
                    some = list(play)
                    self._play(some, [self._fill(part, client, run) for part in some], seat)
        stamp.pop("server", None)
        harness.write(self.out / RUN, stamp | harness.closing())

    def conclude(self, summarise: Callable[[Mapping[Play, Mapping[str, Played]]], Summary]) -> None:
        """Figures, targets and curves of everything in the folder."""
        plays = read_plays(self.out)
        result = summarise(plays)
        rows = [{"operation": n, "value": v, "unit": ""} for n, v in result.numbers.items()]
        write_lines(self.out / harness.MEASUREMENTS, rows)
        stamp = json.loads((self.out / RUN).read_text(encoding="utf-8"))
        harness.write(self.out / "summary.json", {**stamp, **asdict(result)})
        for play, arms in plays.items():
            for theme, drawn in curve.draw(arms).items():
                (self.out / str(play) / f"curve-{theme}.svg").write_bytes(drawn)
        for line in render(result):
            self.say(line)

    def _open(self) -> Stamp:
        """A run that goes on keeps its server's folder; each revision that played is named."""
        self.out.mkdir(parents=True, exist_ok=True)
        path = self.out / RUN
        kept: Stamp = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        before = (kept.get("suite", self.name), kept.get("settings", self.settings))
        if before != (self.name, self.settings):
            raise SystemExit(f"{self.out} holds another run: {before[0]}, {before[1]}")
        stamp: Stamp = {**harness.opening(self.name, {}), "settings": dict(self.settings), **kept}
        stamp["revisions"] = [*dict.fromkeys([*kept.get("revisions", []), revision()])]
        if self.given.url is None and "server" not in stamp:
            stamp["server"] = str(fresh_folder(f"memlift-{self.name}"))
        harness.write(path, stamp)
        return stamp

    def _folder(self, part: Part) -> Path:
        return self.out / str(part.play) / part.name

    def _fill(self, part: Part, client: MemLift, run: str) -> Bank | None:
        if part.arm is None:
            return None
        slug = f"{self.name}-{part.play.bank}-{part.play.order}-{part.name}-{run}"
        return open_bank(client, slug, part.arm, self.deal(part.play).notes)

    def _play(self, parts: Sequence[Part], banks: Sequence[Bank | None], seat: Seat) -> None:
        """The parts of one play, a date each in turn, then the weights."""
        began, tasks = time.monotonic(), self.deal(parts[0].play).tasks
        turns = [
            play_dates(self._folder(part), Player(seat, bank), tasks)
            for part, bank in zip(parts, banks, strict=True)
        ]
        for done in zip_longest(*turns, fillvalue=0):
            if max(done) % (SAID_EVERY * A_DATE) == 0:
                seconds = time.monotonic() - began
                self.say(f"{parts[0].play}: {max(done)} tasks, {seconds:.0f} s")
        for part, bank in zip(parts, banks, strict=True):
            weights = bank.weights() if bank else ()
            write_lines(self._folder(part) / WEIGHTS, (asdict(one) for one in weights))

    @contextmanager
    def _client(self, stamp: Stamp) -> Generator[MemLift]:
        """Of the given server, or of one whose data stay until everything asked for is played."""
        if self.given.url is not None:
            if self.given.key is None:
                raise SystemExit("--url needs --key")
            with MemLift(self.given.url, self.given.key, retry_policy=RETRY_POLICY) as client:
                yield client
            return
        own = start(Path(stamp["server"]), UNLIMITED, self.say)
        try:
            with MemLift(own.url, own.key(), retry_policy=RETRY_POLICY) as client:
                yield client
        finally:
            own.stop()
        own.remove()


def play_dates(folder: Path, player: Player, tasks: Sequence[Question]) -> Iterator[int]:
    """Date by date from the first whose rows are not whole; yields how many tasks are done."""
    folder.mkdir(parents=True, exist_ok=True)
    dates = [tasks[n : n + A_DATE] for n in range(0, len(tasks), A_DATE)]
    kept = read_lines(folder / TASKS)
    whole = len(tasks) if len(kept) >= len(tasks) else len(kept) // A_DATE * A_DATE
    write_lines(folder / TASKS, kept[:whole])
    rates = Rates()
    for date, some in enumerate(dates):
        if date * A_DATE >= whole:
            done = player.play(date, some, rates.shares())
            with (folder / TASKS).open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(asdict(one)) + "\n" for one in done)
            yield date * A_DATE + len(some)
        rates.learn(task.kind for task in some)


def read_plays(out: Path) -> dict[Play, dict[str, Played]]:
    """What each arm of each play has written."""
    plays: dict[Play, dict[str, Played]] = {}
    for path in sorted(out.glob(f"bank-*-order-*/*/{TASKS}")):
        arm, (_, bank, _, order) = path.parent, path.parent.parent.name.split("-")
        tasks = [read_done(row) for row in read_lines(path)]
        weights = [Weight(**row) for row in read_lines(arm / WEIGHTS)]
        if tasks:
            played = Played(tasks, weights, whole=(arm / WEIGHTS).exists())
            plays.setdefault(Play(int(bank), int(order)), {})[arm.name] = played
    return plays


def read_done(row: Row) -> Done:
    """A task as it was written."""
    members: dict[str, Any] = {**row, "used": tuple(row["used"])}
    return Done(**members)


def render(result: Summary) -> Iterator[str]:
    """The summary for people."""
    for name, value in result.numbers.items():
        yield f"{name:<72}{value:>10.4f}"
    for target in result.targets:
        measured = "not run" if target.measured is None else f"{target.measured:+.4f}"
        yield f"{target.name}: {measured}, target {target.target:g}: {target.status}"
