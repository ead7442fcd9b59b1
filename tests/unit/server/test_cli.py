"""The command line says in one line what is wrong, before anything is started."""

import json
import socket
from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result
from memlift_client import MemLift

from memory.kernel.postgres.embedded.ports import find_free_port
from server.cli import main
from server.cli.namespaces import learning_or_place
from server.hosting import refuse_too_many_connections
from server.settings import Settings, load, variable


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

    line = refused_in_one_line(memlift("serve", "--workers", 2, "--port", find_free_port()))

    assert "2 workers may open 50 + 5 connections each, 110 in all" in line
    assert "1 worker with that pool, or MEMLIFT_POOL_SIZE=40 with so many workers" in line
    assert not (tmp_path / "data").exists()

    monkeypatch.setenv("MEMLIFT_POOL_SIZE", "41")
    refused_in_one_line(memlift("serve", "--workers", 2, "--port", find_free_port()))
    refuse_too_many_connections(load({"workers": 2, "pool_size": 40}))


def test_a_pause_is_a_number() -> None:
    moved = memlift("move", "river", "--to", "postgresql://x", "--pause", "nan")

    assert moved.exit_code == 2
    assert "nan is not a number of seconds" in moved.output


def test_a_database_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"postgresql://memlift:hidden@127.0.0.1:{find_free_port()}/memlift"
    monkeypatch.setenv("MEMLIFT_DATABASE_URL", url)

    line = refused_in_one_line(memlift("serve", "--port", find_free_port()))

    assert "the database does not answer" in line
    assert "hidden" not in line


def test_the_version_is_said() -> None:
    assert memlift("version").exit_code == 0


def test_config_says_what_is_set_and_where_and_shows_no_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text("hidden-in-a-file")
    monkeypatch.setenv("MEMLIFT_PORT", "8123")
    monkeypatch.setenv("MEMLIFT_LLM_API_KEY_FILE", str(tmp_path / "key"))
    monkeypatch.setenv("MEMLIFT_DATABASE_URL", "postgresql://me:hidden@db/memlift")
    monkeypatch.setenv("MEMLIFT_EMBEDDING_URL", "http://me:hidden@embeddings/v1")

    result = memlift("config", "--json", "--data", tmp_path)

    assert result.exit_code == 0
    assert "hidden" not in result.stdout + memlift("config").stdout
    chosen = {one["variable"]: (one["value"], one["source"]) for one in json.loads(result.stdout)}
    assert chosen["MEMLIFT_HOME"] == (str(tmp_path), "command line")
    assert chosen["MEMLIFT_PORT"] == ("8123", "environment")
    assert chosen["MEMLIFT_LLM_API_KEY"] == ("(set, not shown)", "MEMLIFT_LLM_API_KEY_FILE")
    assert chosen["MEMLIFT_EMBEDDING_URL"] == ("http://…@embeddings/v1", "environment")
    assert chosen["MEMLIFT_WORKERS"] == ("1", "default")
    assert chosen["MEMLIFT_LLM_MODEL"] == (None, "default")


@pytest.mark.parametrize("words", ["mysecretkey", "", "ml_" + "0" * 95])
def test_a_secret_that_is_no_key_is_refused_at_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: str
) -> None:
    (tmp_path / "secret").write_text(words)
    monkeypatch.setenv("MEMLIFT_OPERATOR_KEY_FILE", str(tmp_path / "secret"))

    line = refused_in_one_line(memlift("serve", "--port", find_free_port()))

    assert f"MEMLIFT_OPERATOR_KEY_FILE: {tmp_path / 'secret'} holds no operator key" in line
    assert words == "" or words not in line
    assert not (tmp_path / "data").exists()


def test_a_secret_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MEMLIFT_OPERATOR_KEY_FILE", str(tmp_path / "nowhere"))

    assert "nowhere cannot be read" in refused_in_one_line(memlift("serve"))


def test_a_malformed_operator_key_is_one_sentence_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "operator.key").write_text("edited by mistake")

    line = refused_in_one_line(memlift("serve", "--port", find_free_port()))

    assert "operator.key holds no operator key: `memlift key recover`" in line


def test_config_prints_values_as_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMLIFT_POOL_TIMEOUT", "90.5")

    chosen = {
        one["variable"]: one["value"] for one in json.loads(memlift("config", "--json").stdout)
    }

    assert chosen["MEMLIFT_RECEIPT_EXPIRY"] == "P180D"
    assert chosen["MEMLIFT_POOL_TIMEOUT"] == "PT1M30.5S"
    assert chosen["MEMLIFT_TRACING"] == "false"
    for name, value in chosen.items():
        if value is not None:
            monkeypatch.setenv(name, value)
    again = json.loads(memlift("config", "--json").stdout)
    assert {one["variable"]: one["value"] for one in again} == chosen


def test_a_list_prints_stored_names_so_that_they_move_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old = SimpleNamespace(
        id="k1", role="agent", namespace="default", name="\x1b[2J\nroot\u202e", verifies="self",
        last_used_at=None, expires_at=None, revoked_at=None,
    )  # fmt: skip
    monkeypatch.setattr(MemLift, "each_key", lambda _: iter([old]))
    monkeypatch.setenv("MEMLIFT_KEY", "ml_key")

    result = memlift("key", "list", "--url", "http://127.0.0.1:9")

    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 2
    assert r"\u{1b}[2J\u{a}root\u{202e}" in result.stdout
    assert not {"\x1b", "\u202e"} & set(result.stdout)


@pytest.mark.parametrize("command", [("namespace", "list"), ("ask", "how to begin")])
def test_a_command_says_where_no_server_answers_and_what_to_do(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMLIFT_KEY", "ml_key")
    monkeypatch.setattr("memlift_client._client.time.sleep", lambda _: None)
    url = f"http://127.0.0.1:{find_free_port()}"

    said = refused_in_one_line(memlift(*command, "--url", url))

    assert said == (
        f"memlift: no server answers at {url}; start one with `memlift serve`, or name another"
        " with --url"
    )


def test_a_change_is_foreseen_in_words_that_count_well(monkeypatch: pytest.MonkeyPatch) -> None:
    foreseen = SimpleNamespace(
        outcomes=1, policy="paper", instead_of="belief",
        moves=SimpleNamespace(rising=0, falling=1, below_floor=0, returning=0),
        difference=SimpleNamespace(weights=()),
    )  # fmt: skip
    monkeypatch.setattr(MemLift, "get_namespace", lambda _: SimpleNamespace(version=1))
    monkeypatch.setattr(MemLift, "what_if", lambda *_, **__: foreseen)
    monkeypatch.setenv("MEMLIFT_KEY", "ml_key")
    asked = ("namespace", "settings", "acme", "--policy", "paper", "--dry-run")

    said = memlift(*asked, "--url", "http://127.0.0.1:9").stdout

    assert said.startswith(
        "1 outcome refolded under paper instead of belief: 0 memories would rise"
    )


def test_lists_say_where_a_namespace_is_that_is_not_here() -> None:
    placed = [None, "arriving", "https://new.example"]

    shown = [learning_or_place(SimpleNamespace(learning="on", elsewhere=one)) for one in placed]  # pyright: ignore[reportArgumentType] - what it reads

    assert shown == ["on", "being moved here", "moved to https://new.example"]


def test_the_demonstration_is_found_in_the_source_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = memlift("demo", "--help")
    monkeypatch.setattr("server.cli.demo.SOURCE", tmp_path)

    assert (found.exit_code, "--stream" in found.stdout) == (0, True)
    assert "in the source alone" in refused_in_one_line(memlift("demo"))
