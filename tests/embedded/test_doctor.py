"""The doctor: what is wrong, all of it, and nothing where nothing is."""

import socket
import threading
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from memory.kernel.errors import Rejected, Unavailable
from memory.kernel.ids import new_id
from memory.kernel.postgres import compatibility
from memory.kernel.postgres.embedded.ports import find_free_port
from memory.tenancy.entities import Token
from server import doctor
from server.cli import main
from server.doctor import check_cards, check_clock, check_workers
from server.settings import Settings, load, variable


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


def test_a_fresh_machine_is_found_well_and_no_file_of_the_current_folder_is_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for module in ("numpy", "h2", "memory", "torch"):
        mark = tmp_path / f"{module} was run"
        (tmp_path / f"{module}.py").write_text(f"open({str(mark)!r}, 'w')")
    monkeypatch.chdir(tmp_path)

    result, verdicts = examined("--port", find_free_port())

    assert result.exit_code == 0, result.stdout
    assert set(verdicts.values()) == {"ok  "}
    assert verdicts.keys() >= {"python", "database", "clock", "migrations", "torch", "model"}
    assert not list(tmp_path.glob("* was run"))


def test_every_fault_is_found_in_one_go(monkeypatch: pytest.MonkeyPatch, data: Path) -> None:
    monkeypatch.setenv("MEMLIFT_DATABASE_URL", f"postgresql://127.0.0.1:{find_free_port()}/memlift")
    monkeypatch.setenv("MEMLIFT_DATABSE_URL", "misspelt")
    monkeypatch.setenv("MEMLIFT_EMBEDDING_MODEL", "/nowhere")
    data.mkdir()
    data.chmod(0o777)
    (data / "operator.key").write_text("edited by mistake")
    (data / "operator.key").chmod(0o644)

    with socket.create_server(("127.0.0.1", 0)) as taken:
        result, verdicts = examined("--port", taken.getsockname()[1])

    assert result.exit_code == 1
    assert {name for name, verdict in verdicts.items() if verdict == "FAIL"} == {
        "settings",
        "data directory",
        "secrets",
        "operator key",
        "port",
        "database",
        "model",
    }
    assert verdicts["python"] == verdicts["torch"] == "ok  "


@pytest.fixture
def without_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is loaded where a test is about something else."""
    monkeypatch.setenv("MEMLIFT_EMBEDDING_MODEL", "/nowhere")


@pytest.mark.usefixtures("without_model")
def test_a_data_directory_of_another_version_is_a_finding_not_a_crash(data: Path) -> None:
    (data / "pg").mkdir(parents=True, mode=0o700)
    (data / "pg" / "PG_VERSION").write_text("17\n")
    (data / "owner.lock").touch(mode=0o600)

    result, verdicts = examined("--port", find_free_port())

    assert result.exit_code == 1
    assert verdicts["database"] == "FAIL"
    assert "written by Postgres 17" in result.stdout


@pytest.mark.usefixtures("without_model")
def test_a_folder_that_was_made_by_hand_is_found_well(data: Path) -> None:
    data.mkdir(mode=0o755)
    (data / "operator.key").write_text(str(Token.fresh(new_id())))
    (data / "operator.key").chmod(0o600)

    _, verdicts = examined("--port", find_free_port())

    assert {verdicts[name] for name in ("data directory", "secrets", "operator key")} == {"ok  "}


def test_a_model_that_there_is_not_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMLIFT_EMBEDDING_MODEL", "nobody/there-is-no-such-model")
    monkeypatch.setenv("MEMLIFT_RERANKER_MODEL", "nobody/there-is-no-such-reranker")

    result, verdicts = examined("--port", find_free_port())

    assert (verdicts["model"], verdicts["reranker"]) == ("FAIL", "FAIL")
    [line] = [one for one in result.stdout.splitlines() if "no-such-model" in one]
    assert "MEMLIFT_EMBEDDING_MODEL" in line


@pytest.mark.usefixtures("without_model")
def test_a_server_of_the_same_directory_is_told_with_its_address(data: Path) -> None:
    class Alive(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"status": "live"}')

    with HTTPServer(("127.0.0.1", 0), Alive) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        data.mkdir(mode=0o700)
        (data / "url").write_text(f"{url}\n")
        told = [doctor._port(load({"port": one})) for one in (server.server_port, 9)]
        (data / "url").unlink()
        strange = doctor._port(load({"port": server.server_port}))
        server.shutdown()

    runs = f"a server of {data} runs at {url}"
    assert told == [runs, f"{runs}; 9 is free"]
    assert strange.endswith(f"with another data directory than {data}")


def test_what_does_not_load_in_time_says_what_to_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "TORCH_SECONDS", 0)

    with pytest.raises(Unavailable, match="within 0 s: run this again while"):
        doctor._torch(load())


def test_a_clock_that_is_apart_from_the_databases_is_a_finding() -> None:
    now = datetime.now(UTC)
    facts = compatibility.ServerFacts(
        server=18,
        vector="0.8.0",
        login="memlift",
        login_is_mighty=False,
        missing_roles=(),
        application_is_mighty=False,
        now=now,
    )

    assert "agrees" in check_clock(facts, now + timedelta(seconds=1))
    with pytest.raises(Unavailable, match="synchronise both clocks"):
        check_clock(facts, now + timedelta(minutes=1))


def test_what_several_workers_share_is_told_and_more_than_cores_are_a_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(doctor, "usable_cores", lambda: 4)

    told = check_workers(load({"workers": 4, "pool_size": 5}))

    assert "one process more holds the model" in told
    assert "up to 40 database connections" in told
    assert check_workers(load({"workers": 1})) == "one process serves"
    with pytest.raises(Unavailable, match="more workers than cores"):
        check_workers(load({"workers": 5}))
    with pytest.raises(Rejected, match="MEMLIFT_POOL_SIZE"):
        check_workers(load({"workers": 4, "pool_size": 30}))


def test_it_says_where_copies_are_searched() -> None:
    assert check_cards(load(), 0) == "copies of namespaces are searched by the processor"
    assert "on the card from 2,048 memories on" in check_cards(load(), 1)
    assert "on the card from 20,000 memories on" in check_cards(load({"workers": 2}), 1)
    assert "the database searches" in check_cards(load({"resident_bytes": 0}), 1)
    with pytest.raises(Unavailable, match="1 cards are visible: set MEMLIFT_CARDS, which is 2"):
        check_cards(load({"workers": 2, "cards": 2}), 1)
