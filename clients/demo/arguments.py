"""What the demonstration can be told, and which stream it takes."""

import argparse
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from clients.demo.streams import BadStream, Stream, read_stream
from clients.demo.weather import weather_stream

SAMPLE = 600
REFERENCE = "dataset"


@dataclass(frozen=True, slots=True)
class Asked:
    """The command line. `url` None starts a server; `full` takes every question."""

    data: Path | None
    stream: str
    full: bool
    leave: bool
    url: str | None
    key: str | None


def parse(words: Sequence[str]) -> Asked:
    parser = argparse.ArgumentParser(
        prog="python -m clients.demo",
        description="Replay real resolved questions through a memory server; see what it learns.",
    )
    parser.add_argument("--data", type=Path, help="folder of streams (MEMLIFT_DATA, ./data)")
    parser.add_argument("--stream", default=REFERENCE, help="NAME of NAME_questions.jsonl.gz")
    parser.add_argument("--full", action="store_true", help="every question, not the sample")
    parser.add_argument("--exit", action="store_true", dest="leave", help="end after the report")
    parser.add_argument("--url", help="use this server instead of starting one")
    parser.add_argument("--key", default=os.environ.get("MEMLIFT_KEY"), help="its operator key")
    given = parser.parse_args(words)
    if given.url and not given.key:
        parser.error("--url needs --key (or MEMLIFT_KEY)")
    return Asked(given.data, given.stream, given.full, given.leave, given.url, given.key)


def choose(asked: Asked, environment: str | None) -> Stream:
    """The stream that was named, by option, by `environment` (the value of MEMLIFT_DATA) or by
    lying in ./data; else the one that an installed package carries. Raises BadStream where a
    named one cannot be read.
    """
    named = asked.data or (Path(environment) if environment else None)
    if named is not None:
        stream = read_stream(named, asked.stream)
    elif (Path("data") / f"{asked.stream}_questions.jsonl.gz").exists():
        stream = read_stream(Path("data"), asked.stream)
    else:
        stream = weather_stream()
    if not stream.questions:
        raise BadStream(f"{stream.description} holds no questions")
    return stream if asked.full else stream.sample(SAMPLE)
