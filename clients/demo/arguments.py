"""What the demonstration can be told, and which stream a replay takes."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clients.demo.streams import BadStream, Stream, read_stream
from clients.demo.weather import weather_stream

SAMPLE = 600
WEATHER = "weather"


@dataclass(frozen=True, slots=True)
class Asked:
    """The command line. `stream` None does tasks by notes; `url` None starts a server; `full` takes
    every question.
    """

    data: Path | None
    stream: str | None
    seed: int
    full: bool
    leave: bool
    url: str | None
    key: str | None


def parse(words: Sequence[str]) -> Asked:
    parser = argparse.ArgumentParser(
        prog="python -m clients.demo",
        description="Do tasks by what notes say, or forecast a stream; see what a server learns.",
    )
    parser.add_argument("--seed", type=int, default=0, help="deals the notes and the tasks (0)")
    parser.add_argument(
        "--stream",
        help=f"replay questions instead: {WEATHER}, or NAME of NAME_questions.jsonl.gz",
    )
    parser.add_argument("--data", type=Path, help="folder of streams (MEMLIFT_DATA, ./data)")
    parser.add_argument("--full", action="store_true", help="every question, not the sample")
    parser.add_argument("--exit", action="store_true", dest="leave", help="end after the report")
    parser.add_argument("--url", help="use this server instead of starting one")
    parser.add_argument("--key", default=os.environ.get("MEMLIFT_KEY"), help="its operator key")
    given = parser.parse_args(words)
    if given.url and not given.key:
        parser.error("--url needs --key (or MEMLIFT_KEY)")
    if given.stream is None and (given.data or given.full):
        parser.error("--data and --full need --stream")
    return Asked(
        data=given.data,
        stream=given.stream,
        seed=given.seed,
        full=given.full,
        leave=given.leave,
        url=given.url,
        key=given.key,
    )


def choose(asked: Asked, environment: str | None) -> Stream:
    """The stream that was named: the weather that an installed package carries, or one in the
    folder given by option, by `environment` (the value of MEMLIFT_DATA) or by lying in ./data.
    Raises BadStream where it cannot be read.
    """
    if asked.stream is None or asked.stream == WEATHER:
        stream = weather_stream()
    else:
        folder = asked.data or (Path(environment) if environment else Path("data"))
        stream = read_stream(folder, asked.stream)
    if not stream.questions:
        raise BadStream(f"{stream.description} holds no questions")
    return stream if asked.full else stream.sample(SAMPLE)
