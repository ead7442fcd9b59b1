"""What one field of an experience costs: the files that a diff which adds one touches."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.structure.source import is_generated

RECORDED = "benchmarks/structure/note_field.json"
NUMSTAT = re.compile(r"(?:\d+|-)\t(?:\d+|-)\t(?P<path>.+)")
STAT = re.compile(r" (?P<path>\S.*?) +\| +(?:\d+|Bin)\b")
MOVED_WITHIN = re.compile(r"\{[^{}]* => ([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class FieldFile:
    """A file that the diff touches."""

    path: str
    generated: bool


def read_field(root: Path, diff: Path | None) -> list[FieldFile]:
    """From a diff's `--numstat` or `--stat`, else from the list that the checkout carries; none
    where there is neither.
    """
    if diff is not None:
        paths = touched(diff.read_text(encoding="utf-8"))
        return [FieldFile(path, _is_generated(root, path)) for path in paths]
    if not (root / RECORDED).exists():
        return []
    recorded = json.loads((root / RECORDED).read_text(encoding="utf-8"))
    return [
        *(FieldFile(path, generated=False) for path in recorded["files"]),
        *(FieldFile(path, generated=True) for path in recorded["generated"]),
    ]


def touched(text: str) -> list[str]:
    """The paths in the output of `git diff --numstat` or `git diff --stat`, by new name. Raises
    ValueError where there are none, or where git has cut one short.
    """
    found = [m for line in text.splitlines() if (m := NUMSTAT.fullmatch(line) or STAT.match(line))]
    paths = [_new_name(m["path"]) for m in found]
    if not paths:
        raise ValueError("the diff names no file: give the output of `git diff --numstat`")
    if cut := [path for path in paths if path.startswith("...")]:
        raise ValueError(f"git cut {cut[0]} short: give the output of `git diff --numstat`")
    return paths


def hand_written(files: Iterable[FieldFile]) -> list[str]:
    return [file.path for file in files if not file.generated]


def _new_name(path: str) -> str:
    """Of `a/{old => new}/b.py` and `old.py => new.py`."""
    return MOVED_WITHIN.sub(r"\1", path).rpartition(" => ")[2].replace("//", "/")


def _is_generated(root: Path, path: str) -> bool:
    """By its name alone where the checkout does not have it as text."""
    try:
        text = (root / path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    return is_generated(path, text)
