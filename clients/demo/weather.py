"""A small real stream that an installed package carries: will it rain in Seattle or not.

The daily readings of Seattle, 2012 on, come with vega_datasets. Once a week, from the readings of
that day and the day before, the stream asks about each of the three days that follow: one event a
week, for its three questions share what is known. That gives 180 questions over 60 weeks.
"""

import csv
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from importlib.util import find_spec
from pathlib import Path

from clients.demo.streams import BadStream, Question, Resolution, Stream

SOURCE = "seattle-weather"
WEEKS = 60
AHEAD = {1: "tomorrow", 2: "the day after tomorrow", 3: "in three days"}

Reading = Mapping[str, str]


def weather_stream() -> Stream:
    """Raises BadStream where vega_datasets is not installed."""
    readings = _readings(_file())
    days = sorted(readings)[1:]
    asked = [day for day in days[::7] if day + timedelta(days=max(AHEAD)) in readings][:WEEKS]
    pairs = [_asked(readings, day, ahead) for day in asked for ahead in AHEAD]
    return Stream(
        "weather",
        "daily weather of Seattle from the package vega_datasets (will it rain?)",
        tuple(question for question, _ in pairs),
        tuple(resolution for _, resolution in pairs),
    )


def _asked(readings: Mapping[date, Reading], day: date, ahead: int) -> tuple[Question, Resolution]:
    target = day + timedelta(days=ahead)
    seen = f"{_told(readings[day])} The day before: {_told(readings[day - timedelta(days=1)])}"
    question = Question(
        id=f"rain-{day}-{ahead}",
        event_id=f"rain-{day}",
        source=SOURCE,
        topic="weather",
        text=f"Seattle, {day:%d %B %Y}: {seen} Will it rain {AHEAD[ahead]}, on {target:%d %B}?",
        asked_on=day,
        week=day - timedelta(days=day.weekday()),
        reference=f"{readings[day]['precipitation']} mm",
    )
    return question, Resolution(question.id, target, int(_rain(readings[target]) > 0))


def _told(reading: Reading) -> str:
    rain = _rain(reading)
    fell = f"rain, {rain:g} mm" if rain > 0 else "dry"
    return (
        f"{fell}, {reading['temp_min']} to {reading['temp_max']} °C, "
        f"wind {reading['wind']} m/s, {reading['weather']}."
    )


def _rain(reading: Reading) -> float:
    return float(reading["precipitation"])


def _readings(path: Path) -> dict[date, Reading]:
    with path.open(encoding="utf-8", newline="") as lines:
        rows: Sequence[Reading] = list(csv.DictReader(lines))
    return {date.fromisoformat(row["date"].replace("/", "-")): row for row in rows}


def _file() -> Path:
    """Found without importing the package, which would load pandas for one small file."""
    found = find_spec("vega_datasets")
    if found is None or not found.submodule_search_locations:
        raise BadStream("no data was given, and the package vega_datasets is not installed")
    return Path(found.submodule_search_locations[0]) / "_data" / "seattle-weather.csv"
