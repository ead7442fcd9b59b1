"""A file that a command writes is whole or not there, whoever else writes it at the same time."""

from pathlib import Path

import pytest

from memory.kernel.errors import Conflict
from server.cli.files import new_file


def test_of_two_commands_that_write_one_file_the_first_to_end_has_it(tmp_path: Path) -> None:
    out = tmp_path / "backup.tar"

    def write_slowly() -> None:
        with new_file(out) as slow:
            slow.write(b"slow, ")
            with new_file(out) as quick:
                quick.write(b"quick")
            slow.write(b"and late")

    with pytest.raises(Conflict) as late:
        write_slowly()

    assert late.value.field == "out"
    assert out.read_bytes() == b"quick"
    assert list(tmp_path.iterdir()) == [out]
    assert out.stat().st_mode & 0o777 == 0o600


def test_a_command_that_fails_leaves_no_file(tmp_path: Path) -> None:
    def fail() -> None:
        with new_file(tmp_path / "backup.tar") as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()

    assert not list(tmp_path.iterdir())
