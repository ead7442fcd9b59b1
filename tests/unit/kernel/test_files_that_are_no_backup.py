"""A restore reads a file that anybody may have made: what is no backup is refused in a sentence."""

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest

from memory.kernel.errors import Rejected
from memory.kernel.postgres.backup import DUMP, MANIFEST, verify


def a_link(name: str, kind: bytes, to: str) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, to
    return member


def a_file(name: str, text: bytes) -> tuple[tarfile.TarInfo, io.BytesIO]:
    member = tarfile.TarInfo(name)
    member.size = len(text)
    return member, io.BytesIO(text)


@pytest.mark.parametrize(
    "first",
    [
        (a_link(MANIFEST, tarfile.SYMTYPE, "/etc/passwd"),),
        (a_link(MANIFEST, tarfile.LNKTYPE, f"../{DUMP}"),),
        (a_link(MANIFEST, tarfile.SYMTYPE, DUMP),),
        (a_link(MANIFEST, tarfile.DIRTYPE, ""),),
        a_file(f"../{MANIFEST}", b"{}"),
        a_file(f"/{MANIFEST}", b"{}"),
        a_file(MANIFEST, b"["),
        a_file(MANIFEST, b"[" * 500_000),
        a_file(MANIFEST, b"[]"),
    ],
    ids=["symlink", "hardlink", "inner link", "folder", "up", "root", "cut", "deep", "list"],
)
def test_a_file_with_another_member_in_a_place_is_refused(
    tmp_path: Path, first: tuple[Any, ...]
) -> None:
    file = tmp_path / "made.backup"
    with tarfile.open(file, "w") as tar:
        tar.addfile(*first)
        tar.addfile(*a_file(DUMP, b"PGDMP"))

    with pytest.raises(Rejected) as refused:
        verify(file)

    assert refused.value.field == "file"
    assert "is no backup" in refused.value.detail


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_an_export_is_told_from_a_backup(tmp_path: Path, mode: Any) -> None:
    file = tmp_path / "shop.tar"
    with tarfile.open(file, mode) as tar:
        tar.addfile(*a_file(MANIFEST, b'{"format": 1, "members": []}'))

    with pytest.raises(Rejected, match=r"is an export of a namespace.*`memlift import` reads it"):
        verify(file)
