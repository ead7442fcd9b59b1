"""The file itself: a tar, plain or with gzip, whose first member is the manifest. Written so that
any tar reads it; read by these lines alone, which know plain files and nothing else of what a tar
can hold: no links, no folders, no long names, and no member is ever written anywhere.
"""

import gzip
import hashlib
import io
import json
import tarfile
import tempfile
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from pydantic import TypeAdapter, ValidationError

from memory.kernel.errors import NotFound, Rejected, Unavailable
from memory.transfer.entities import (
    FORMAT,
    MANIFEST,
    MAX_LINE_BYTES,
    MAX_MANIFEST_BYTES,
    Manifest,
    MemberFacts,
)

BLOCK = 512
_READ_AT_ONCE = 1024 * 1024
_COMPRESSION = 6
_MANIFEST = TypeAdapter(Manifest)


@dataclass(frozen=True, slots=True)
class NumberedLine:
    """A line of a member, its end included; the first has number 1."""

    number: int
    text: bytes


class Spool:
    """One member while its size is not known yet; it lies in a file without a name, beside the
    file that it will be in, and is gone when closed.
    """

    def __init__(self, folder: Path) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by `close`
        self._sha256 = hashlib.sha256()
        self._rows = self._bytes = 0

    def add(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.add_line(line.encode())

    def add_line(self, line: bytes) -> None:
        """`line` without its end."""
        whole = line + b"\n"
        self._file.write(whole)
        self._sha256.update(whole)
        self._rows += 1
        self._bytes += len(whole)

    def facts(self, table: str, columns: Sequence[str]) -> MemberFacts:
        return MemberFacts(table, tuple(columns), self._rows, self._bytes, self._sha256.hexdigest())

    def opened(self) -> IO[bytes]:
        """The member from its start."""
        self._file.seek(0)
        return self._file

    def lines(self) -> Iterator[NumberedLine]:
        return (NumberedLine(n, line) for n, line in enumerate(self.opened(), start=1))

    def close(self) -> None:
        self._file.close()


def write_archive(out: IO[bytes], manifest: Manifest, spools: Sequence[Spool], *, gz: bool) -> None:
    """All of the file, the manifest first."""
    moment = int(manifest.exported_at.timestamp())
    if gz:
        with gzip.GzipFile("", "wb", _COMPRESSION, out, mtime=moment) as packed:
            _write_tar(packed, manifest, spools, moment)
    else:
        _write_tar(out, manifest, spools, moment)


def _write_tar(
    out: IO[bytes] | gzip.GzipFile, manifest: Manifest, spools: Sequence[Spool], moment: int
) -> None:
    text = _MANIFEST.dump_json(manifest, indent=1) + b"\n"
    with tarfile.open(fileobj=out, mode="w|", format=tarfile.GNU_FORMAT) as tar:
        tar.addfile(_header(MANIFEST, len(text), moment), io.BytesIO(text))
        for member, spool in zip(manifest.members, spools, strict=True):
            tar.addfile(_header(member.name, member.bytes, moment), spool.opened())


def _header(name: str, size: int, moment: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.size, header.mtime, header.mode = size, moment, 0o600
    return header


class Archive:
    """A file of a namespace, read once from its start. Raises Rejected for whatever is not as the
    manifest says; a fault names the member, and its line.
    """

    def __init__(self, stream: IO[bytes] | gzip.GzipFile) -> None:
        self._stream = stream
        self.manifest = self._read_manifest()

    def lines(self, member: MemberFacts) -> Iterator[NumberedLine]:
        """The lines of the next member, numbered from 1; all of them, or Rejected."""
        self._enter(member.name, member.bytes)
        digest, left, number = hashlib.sha256(), member.bytes, 0
        while left:
            number += 1
            line = self._line(min(left, MAX_LINE_BYTES + 1))
            if not line.endswith(b"\n"):
                raise _unended(member, number, line, left)
            if number > member.rows:
                raise fault_at(member, number, f"is beyond the {member.rows} of the manifest")
            digest.update(line)
            left -= len(line)
            yield NumberedLine(number, line)
        if number != member.rows:
            raise Rejected(f"{member.name} has {number} lines, its manifest says {member.rows}")
        if digest.hexdigest() != member.sha256:
            raise Rejected(f"{member.name} is not what its manifest says: another sha256")
        self._skip_padding(member.bytes)

    def skip(self, member: MemberFacts) -> None:
        """Read over the next member."""
        exhaust(self.lines(member))

    def require_end(self) -> None:
        """Raises Rejected where more follows than the manifest names."""
        if any(self._read(BLOCK)):
            raise Rejected("the file has a member that its manifest does not name")

    def _read_manifest(self) -> Manifest:
        size = self._enter(MANIFEST, None)
        text = self._read(size)
        self._skip_padding(size)
        try:
            told = json.loads(text)
            if isinstance(told, dict) and "dump" in told:
                raise Rejected(
                    "the file is a backup of a whole database, not an export of a namespace: "
                    "`memlift restore` reads it"
                )
            found = told.get("format") if isinstance(told, dict) else None
            if found != FORMAT:
                raise Rejected(
                    f"the file's format is {str(found)[:20]}, this version of memlift reads "
                    f"{FORMAT}",
                    field="format",
                )
            return _MANIFEST.validate_python(told, strict=False)
        except ValidationError as fault:
            first = fault.errors(include_input=False, include_url=False)[0]
            path = ".".join(str(part) for part in first["loc"])
            raise Rejected(f"{MANIFEST}: {path}: {first['msg']}", field=path) from fault
        except (ValueError, RecursionError) as fault:
            raise Rejected(f"{MANIFEST} is not JSON") from fault

    def _enter(self, name: str, size: int | None) -> int:
        """Read the header of the next member, which has to be a plain file of this name."""
        header = self._read(BLOCK)
        if not any(header):
            raise Rejected(f"the file ends where {name} should be: it was cut short")
        if header[257:262] != b"ustar":
            raise Rejected("the file is no export: it is no tar, or a damaged one")
        told = header[:100].rstrip(b"\0")
        if told != name.encode():
            what = told.decode("ascii", "replace")[:60]
            raise Rejected(f"where {name} should be, the file has {what!r}")
        if header[156:157] not in (b"0", b"\0"):
            what = "a link" if header[156:157] in (b"1", b"2") else "no plain file"
            raise Rejected(f"{name} is {what}: an export holds plain files alone")
        if int(sum(header[:148]) + sum(header[156:]) + 8 * 32) != _octal(header[148:156], name):
            raise Rejected(f"the header of {name} is damaged")
        found = _size(header[124:136], name)
        if size is None and found > MAX_MANIFEST_BYTES:
            raise Rejected(
                f"{name} has more than {MAX_MANIFEST_BYTES} bytes", limit=MAX_MANIFEST_BYTES
            )
        if size is not None and found != size:
            raise Rejected(f"{name} has {found} bytes, its manifest says {size}")
        return found

    def _skip_padding(self, size: int) -> None:
        self._read(-size % BLOCK)

    def _read(self, size: int) -> bytes:
        with _unpacking():
            found = self._stream.read(size)
        if len(found) != size:
            raise _cut_off()
        return found

    def _line(self, most: int) -> bytes:
        with _unpacking():
            line = self._stream.readline(most)
        if not line:
            raise _cut_off()
        return line


def _unended(member: MemberFacts, number: int, line: bytes, left: int) -> Rejected:
    if len(line) > MAX_LINE_BYTES:
        return fault_at(member, number, f"has more than {MAX_LINE_BYTES} bytes")
    if len(line) < left:
        return fault_at(member, number, "the file ends within it: it was cut short")
    return fault_at(member, number, "does not end in a line break")


def exhaust(lines: Iterator[NumberedLine]) -> None:
    """Read all lines, so that they are checked against the manifest."""
    for _ in lines:
        pass


@contextmanager
def open_archive(path: Path) -> Generator[Archive]:
    """Raises NotFound where there is no such file."""
    try:
        file = path.open("rb")
    except FileNotFoundError as fault:
        raise NotFound(f"there is no file {path}") from fault
    except OSError as fault:
        raise Unavailable(f"{path} cannot be read: {fault.strerror}") from fault
    with file:
        if not file.peek(1):
            raise Rejected("the file is empty")
        packed = file.peek(2)[:2] == b"\x1f\x8b"
        yield Archive(gzip.GzipFile(fileobj=file) if packed else file)


def fault_at(member: MemberFacts, number: int, why: str) -> Rejected:
    """What is wrong with a line."""
    return Rejected(f"{member.name}, line {number}: {why}", field=member.name)


def _cut_off() -> Rejected:
    return Rejected("the file ends before all of it was read: it was cut short")


@contextmanager
def _unpacking() -> Generator[None]:
    try:
        yield
    except EOFError as fault:
        raise _cut_off() from fault
    except (zlib.error, gzip.BadGzipFile) as fault:
        raise Rejected(f"the file is damaged: {fault}") from fault


def _size(field: bytes, name: str) -> int:
    # Beyond 8 GiB tar writes the number in bytes, and says so in the first bit.
    if field[0] == 0x80:  # noqa: PLR2004 - of the format
        return int.from_bytes(field[1:], "big")
    return _octal(field, name)


def _octal(field: bytes, name: str) -> int:
    digits = field.strip(b" \0")
    if not digits or not all(48 <= digit < 56 for digit in digits):  # noqa: PLR2004 - 0…7
        raise Rejected(f"the header of {name} is damaged")
    return int(digits, 8)
