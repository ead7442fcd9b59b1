"""Suite `notes`: notes of unreliable authors, by an agent that votes or by a language model.

The votes go by all that is served, so the reports do not say what was used. What is written where:
`benchmarks.notes.stage`; OUT/answers.jsonl keeps the language model's answers by prompt.
"""

import argparse
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path

from benchmarks.notes import figures, stage
from benchmarks.notes.arms import (
    ARMS,
    MEMLIFT,
    NONE,
    OPEN,
    ORACLE,
    PAPER,
    REMEMBERING,
    SIMILARITY,
    Arm,
)
from benchmarks.notes.data import deal, read
from benchmarks.notes.figures import BANK, MODEL_BANK, REPORTED, SMALL_BANK, Play
from benchmarks.notes.model import Model
from benchmarks.notes.stage import Part, Say, Stage
from benchmarks.notes.vote import Seat, Voter

NAME = "notes"
VOTE, SMOLLM2 = "vote", "smollm2"
# With 150 notes the gates let three of them through: open, there are always eight in the context.
MODEL_ARMS: Mapping[str, Arm | None] = {NONE: None} | {
    name: replace(REMEMBERING[name], settings=REMEMBERING[name].settings | OPEN)
    for name in (SIMILARITY, MEMLIFT, PAPER, ORACLE)
}
MODEL_TASKS = 1200
ANSWERS = "answers.jsonl"


def options(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    stage.options(parser)
    parser.add_argument("--agent", choices=[VOTE, SMOLLM2], default=VOTE, help="who answers")
    parser.add_argument("--bank", type=int, help="this many notes instead of the usual banks")
    parser.add_argument("--arms", nargs="+", choices=ARMS, help="these arms alone")
    parser.add_argument("--python", type=Path, help="the Python that has the language model")
    parser.add_argument("--processes", type=int, default=1, help="of the language model")
    parser.add_argument(
        "--seat-device",
        choices=["cpu", "cuda"],
        help="the language model by torch on this device, instead of by llama.cpp",
    )


def run(given: argparse.Namespace, say: Say) -> None:
    """Play what is not played yet, and say what everything in the folder amounts to."""
    model = given.agent == SMOLLM2
    if model and given.python is None:
        raise SystemExit("--agent smollm2 needs --python, of an environment with the model")
    if model and not set(given.arms or ()) <= set(MODEL_ARMS):
        raise SystemExit(f"--agent smollm2 plays the arms {', '.join(MODEL_ARMS)}")
    data, tasks = read(given.data), given.tasks or (MODEL_TASKS if model else None)
    device = {"seat_device": given.seat_device} if given.seat_device else {}
    running = Stage(
        name=NAME,
        given=given,
        deal=lambda play: deal(data, play.bank, play.order, tasks),
        settings={"agent": given.agent, "tasks": tasks, **device},
        say=say,
    )
    arms = MODEL_ARMS if model else {name: REMEMBERING.get(name) for name in ARMS}
    chosen = {name: arms[name] for name in given.arms or arms}
    parts = [Part(play, name, arm) for play in plan(given) for name, arm in chosen.items()]
    given.out.mkdir(parents=True, exist_ok=True)
    with _seat(given) as seat:
        running.run(seat, parts)
    running.conclude(partial(figures.summarise, model=model))


def plan(given: argparse.Namespace) -> list[Play]:
    """The plays of a command: one bank and order, or all that are reported. A language model
    answers both orders.
    """
    model = given.agent == SMOLLM2
    banks = [MODEL_BANK] if model else [BANK, SMALL_BANK][: 1 + given.full]
    orders = REPORTED[: 1 + (given.full or model)]
    if given.bank is not None:
        banks = [given.bank]
    if given.order is not None:
        orders = (given.order,)
    return [Play(bank, order) for order, bank in product(orders, banks)]


@contextmanager
def _seat(given: argparse.Namespace) -> Generator[Seat]:
    if given.agent == VOTE:
        yield Voter()
        return
    kept: Path = given.out / ANSWERS
    with Model(given.python, given.processes, kept, given.seat_device) as model:
        yield model
