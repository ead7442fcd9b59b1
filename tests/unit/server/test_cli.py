"""The command line says in one line what is wrong, before anything is started."""

import socket
from collections.abc import Generator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from server.cli import main
from server.settings import Settings, variable


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An environment that holds none of our variables."""
    for field in Settings.model_fields:
        monkeypatch.setenv(variable(field), "")
    monkeypatch.setenv("MEMLIFT_HOME", str(tmp_path / "data"))


@pytest.fixture
def taken() -> Generator[int]:
    """A port that somebody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def memlift(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def refused_in_one_line(result: Result) -> str:
    assert result.exit_code == 1
    [line] = result.stderr.splitlines()
    return line


def test_without_keys_only_loopback_is_served(tmp_path: Path) -> None:
    line = refused_in_one_line(memlift("serve", "--insecure-local", "--host", "0.0.0.0"))

    assert "loopback only" in line
    assert not (tmp_path / "data").exists()


def test_a_taken_port_is_named_before_a_database_is_started(taken: int, tmp_path: Path) -> None:
    line = refused_in_one_line(memlift("serve", "--port", taken))

    assert f"port {taken} on 127.0.0.1 is taken" in line
    assert not (tmp_path / "data").exists()


def test_a_host_that_is_not_here_is_named() -> None:
    assert "cannot listen on 192.0.2.1" in refused_in_one_line(
        memlift("serve", "--host", "192.0.2.1")
    )


def test_an_invalid_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMLIFT_WORKERS", "many")

    assert "MEMLIFT_WORKERS" in refused_in_one_line(memlift("serve"))


def test_more_connections_than_the_embedded_database_has_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MEMLIFT_POOL_SIZE", "50")

    line = refused_in_one_line(memlift("serve", "--workers", 2, "--port", free_port()))

    assert "lower MEMLIFT_POOL_SIZE" in line
    assert not (tmp_path / "data").exists()


def test_a_database_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"postgresql://memlift:hidden@127.0.0.1:{free_port()}/memlift"
    monkeypatch.setenv("MEMLIFT_DATABASE_URL", url)

    line = refused_in_one_line(memlift("serve", "--port", free_port()))

    assert "the database does not answer" in line
    assert "hidden" not in line


def test_the_version_is_said() -> None:
    assert memlift("version").exit_code == 0


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
