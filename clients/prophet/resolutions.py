"""Who knows how events came out: the arena, or records at hand."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Protocol, cast

from clients.prophet.event import Probabilities, same

Ruling = Literal["yes", "no", "void"]
RULINGS: Mapping[str, Ruling] = {"yes": "yes", "no": "no", "void": "void"}

Record = Mapping[str, object]


class BadRecords(Exception):
    """A file of records cannot be read; the message says where."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """How an event came out. crowds: what the crowd said, by window (a task's key), as far as it is
    known.
    """

    rulings: Mapping[str, Ruling]
    resolved_at: datetime | None = None
    crowds: Mapping[str, Probabilities] = field(default_factory=dict[str, Probabilities])


class Resolutions(Protocol):
    """None where the event is not resolved, or not known here."""

    def resolution_of(self, slug: str) -> Resolution | None: ...


@dataclass(frozen=True, slots=True)
class LocalResolutions:
    """From lines of JSON: a dataset of the SDK (`slug`, `outcomes` with a `resolution` each), or
    tasks of the older contract (`task_id`, `resolved_outcome`).
    """

    records: Mapping[str, Record]

    @classmethod
    def of(cls, records: Iterable[Record]) -> "LocalResolutions":
        return cls({str(one.get("slug") or one.get("task_id")): one for one in records})

    @classmethod
    def read(cls, path: Path) -> "LocalResolutions":
        return cls.of(read_records(path))

    def resolution_of(self, slug: str) -> Resolution | None:
        record = self.records.get(slug)
        if record is None:
            return None
        return _of_dataset(record) if "slug" in record else _of_task(record)


def read_records(path: Path) -> list[Record]:
    """The objects of a file with one a line. Raises BadRecords naming a line that holds none."""
    records: list[Record] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record: object = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            raise BadRecords(f"{path}:{number} is no JSON object")
        records.append(cast("Record", record))
    return records


def ruled(names: Mapping[str, str]) -> dict[str, Ruling] | None:
    """By name of outcome; None while one of them is open."""
    known: dict[str, Ruling] = {}
    for name, said in names.items():
        ruling = RULINGS.get(said.casefold())
        if ruling is None:
            return None
        known[name] = ruling
    return known or None


def _of_dataset(record: Record) -> Resolution | None:
    outcomes = cast("Sequence[Record]", record.get("outcomes") or ())
    rulings = ruled({str(o["name"]): str(o.get("resolution") or "") for o in outcomes})
    if rulings is None:
        return None
    windows = cast("Sequence[Record]", record.get("windows") or ())
    crowds = {
        f"{record['slug']}#{window['round']}": cast("Probabilities", window["crowd"])
        for window in windows
        if window.get("crowd")
    }
    return Resolution(rulings, _moment(record.get("resolved_at") or record.get("close_at")), crowds)


def _of_task(record: Record) -> Resolution | None:
    resolved = cast("Record | None", record.get("resolved_outcome"))
    if not resolved or resolved.get("value") is None:
        return None
    came = _names(resolved["value"])
    asked = _names(record.get("outcomes")) or ["Yes", "No"]
    if not all(any(same(name, one) for one in asked) for name in came):
        return None
    rulings: dict[str, Ruling] = {n: "yes" if _among(n, came) else "no" for n in asked}
    return Resolution(rulings, _moment(resolved.get("resolved_at")))


def _among(name: str, names: Sequence[str]) -> bool:
    return any(same(name, other) for other in names)


def _names(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [str(name) for name in cast("Sequence[object]", value or ())]


def _moment(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    moment = datetime.fromisoformat(value)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
