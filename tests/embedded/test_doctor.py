"""The doctor: what is wrong, all of it, and nothing where nothing is."""

import socket
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from server.cli import main
from server.settings import Settings, variable


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    """An environment that holds none of our variables but the data directory."""
    for field in Settings.model_fields:
        monkeypatch.setenv(variable(field), "")
    monkeypatch.setenv("MEMLIFT_HOME", str(data))


def examined(*arguments: object) -> tuple[Result, dict[str, str]]:
    """What the doctor said, and its verdict by check."""
    result = CliRunner().invoke(main, ["doctor", *map(str, arguments)])
    lines = result.stdout.splitlines()
    return result, {line[6:].partition(":")[0]: line[:4] for line in lines}


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_a_fresh_machine_is_found_well() -> None:
    result, verdicts = examined("--port", free_port())

    assert result.exit_code == 0, result.stdout
    assert set(verdicts.values()) == {"ok  "}
    assert verdicts.keys() >= {"python", "database", "clock", "migrations", "torch", "model"}


def test_every_fault_is_found_in_one_go(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    monkeypatch.setenv("MEMLIFT_DATABASE_URL", f"postgresql://127.0.0.1:{free_port()}/memlift")
    monkeypatch.setenv("MEMLIFT_DATABSE_URL", "misspelt")
    monkeypatch.setenv("MEMLIFT_EMBEDDING_MODEL", "/nowhere")
    data.mkdir(mode=0o755)

    with socket.create_server(("127.0.0.1", 0)) as taken:
        result, verdicts = examined("--port", taken.getsockname()[1])

    assert result.exit_code == 1
    assert {name for name, verdict in verdicts.items() if verdict == "FAIL"} == {
        "settings",
        "data directory",
        "port",
        "database",
        "model",
    }
    assert verdicts["python"] == verdicts["torch"] == "ok  "


def test_a_data_directory_of_another_version_is_a_finding_not_a_crash(data: Path) -> None:
    (data / "pg").mkdir(parents=True, mode=0o700)
    (data / "pg" / "PG_VERSION").write_text("17\n")
    (data / "owner.lock").touch(mode=0o600)

    result, verdicts = examined("--port", free_port())

    assert result.exit_code == 1
    assert verdicts["database"] == "FAIL"
    assert "written by Postgres 17" in result.stdout
