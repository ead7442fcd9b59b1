"""Files that somebody made by hand: a good one, with something changed in it."""

import gzip
import hashlib
import io
import json
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Members = dict[str, bytes]
Json = dict[str, Any]


def members_of(file: Path) -> Members:
    with tarfile.open(file) as tar:
        return {one.name: _read(tar, one) for one in tar.getmembers()}


def _read(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    opened = tar.extractfile(member)
    assert opened is not None
    return opened.read()


def write_members(file: Path, members: Mapping[str, bytes]) -> Path:
    with tarfile.open(file, "w", format=tarfile.GNU_FORMAT) as tar:
        for name, text in members.items():
            header = tarfile.TarInfo(name)
            header.size = len(text)
            tar.addfile(header, io.BytesIO(text))
    return file


def manifest_of(members: Members) -> Json:
    return json.loads(members["manifest.json"])


def with_manifest(members: Members, change: Callable[[Json], object]) -> Members:
    told = manifest_of(members)
    change(told)
    return members | {"manifest.json": json.dumps(told).encode()}


def with_lines(
    members: Members, table: str, change: Callable[[list[bytes]], list[bytes]]
) -> Members:
    """Other lines, of which the manifest tells the truth."""
    name = f"{table}.jsonl"
    lines = change(members[name].splitlines(keepends=True))
    text = b"".join(lines)

    def tell(told: Json) -> None:
        [facts] = [one for one in told["members"] if one["table"] == table]
        facts |= {
            "rows": len(lines),
            "bytes": len(text),
            "sha256": hashlib.sha256(text).hexdigest(),
        }

    return with_manifest(members | {name: text}, tell)


def with_row(members: Members, table: str, number: int = 1, /, **columns: object) -> Members:
    """One row of a table says something else."""

    def change(lines: list[bytes]) -> list[bytes]:
        row = json.loads(lines[number - 1]) | columns
        lines[number - 1] = json.dumps(row).encode() + b"\n"
        return lines

    return with_lines(members, table, change)


def with_line(members: Members, table: str, line: bytes) -> Members:
    """The first line of a table is another."""
    return with_lines(members, table, lambda lines: [line + b"\n", *lines[1:]])


def first_row(members: Members, table: str) -> Json:
    return json.loads(members[f"{table}.jsonl"].splitlines()[0])


def packed(file: Path, data: bytes) -> Path:
    file.write_bytes(gzip.compress(data))
    return file
