"""What goes wrong on a first start is said in one line, and ends the command (honcho#822)."""

import socket
from collections.abc import Callable, Generator
from pathlib import Path
from subprocess import CompletedProcess
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from memory.storage.embedded import EmbeddedPostgres
from memory.storage.embedded.bootstrap import LOGIN
from tests.acceptance.servers import Home, Server, command, free_port
from tests.fixtures.database import login_url

NOWHERE = "postgresql://memlift:secret-of-theirs@127.0.0.1:{port}/memlift"

Begin = Callable[..., Server]


@pytest.fixture
def bare_database(fresh_database: Callable[[], str], superuser_url: str) -> Generator[str]:
    """A database without the vector extension, on a server that has MemLift's roles."""
    fresh_database()
    name = f"memlift_bare_{uuid4().hex[:12]}"
    statement = sql.SQL("CREATE DATABASE {} OWNER {}")
    with psycopg.connect(superuser_url, autocommit=True) as server:
        server.execute(statement.format(sql.Identifier(name), sql.Identifier(LOGIN)))
        yield login_url(superuser_url, name)
        drop = sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
        server.execute(drop)


def said(run: "CompletedProcess[str]") -> str:
    """The one line that a command which cannot go on ends with."""
    assert run.returncode == 1, run.stdout + run.stderr
    assert "Traceback" not in run.stderr
    [line] = run.stderr.strip().splitlines()
    assert line.startswith("memlift: ")
    return line


def verdicts(run: "CompletedProcess[str]") -> dict[str, str]:
    """The doctor's findings that are bad, by check."""
    lines = [line.removeprefix("FAIL  ") for line in run.stdout.splitlines() if "FAIL" in line]
    return {name: detail for name, _, detail in (line.partition(": ") for line in lines)}


def test_a_taken_port_is_named_before_anything_is_made(home: Home) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        line = said(command("serve", MEMLIFT_HOME=home.data, MEMLIFT_PORT=port))

    assert f"port {port}" in line
    assert "MEMLIFT_PORT" in line
    assert not home.data.exists()


def test_a_database_without_vectors_is_refused_with_what_to_run(
    home: Home, bare_database: str
) -> None:
    surroundings = {
        "MEMLIFT_HOME": home.data,
        "MEMLIFT_PORT": free_port(),
        "MEMLIFT_DATABASE_URL": bare_database,
    }
    line = said(command("serve", **surroundings))
    examined = command("doctor", **surroundings)

    assert "CREATE EXTENSION vector" in line
    assert examined.returncode == 1
    assert "CREATE EXTENSION vector" in verdicts(examined)["database"]


@pytest.mark.parametrize("word", ["serve", "migrate"])
def test_a_database_that_does_not_answer_is_named_without_its_password(
    home: Home, word: str
) -> None:
    url = NOWHERE.format(port=free_port())
    surroundings = {"MEMLIFT_HOME": home.data, "MEMLIFT_DATABASE_URL": url}
    line = said(command(word, MEMLIFT_PORT=free_port(), **surroundings))

    assert "database" in line
    assert "secret-of-theirs" not in line


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        ({"MEMLIFT_PORT": "eighty"}, "MEMLIFT_PORT"),
        ({"MEMLIFT_WORKERS": "0"}, "MEMLIFT_WORKERS"),
        ({"MEMLIFT_DATABASE_PASSWORD_FILE": "/nowhere"}, "MEMLIFT_DATABASE_PASSWORD_FILE"),
        ({"MEMLIFT_DATABASE_URL": "not a url"}, "database"),
        ({"MEMLIFT_INSECURE_LOCAL": "true", "MEMLIFT_HOST": "0.0.0.0"}, "--insecure-local"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_by_name(
    home: Home, variables: dict[str, str], name: str
) -> None:
    surroundings = {"MEMLIFT_HOME": home.data, "MEMLIFT_PORT": free_port()} | variables
    line = said(command("serve", **surroundings))

    assert name in line


def test_what_an_editor_leaves_around_values_does_not_keep_it_from_serving(
    above: Path, begin: Begin
) -> None:
    """Quotes, carriage returns, empty variables and a `#` in a value, as in an edited `.env`."""
    place = above / "with # sign"
    server = begin(
        Home(place),
        MEMLIFT_HOME=f'"{place}"\r',
        MEMLIFT_DATABASE_URL="",
        MEMLIFT_DATABASE_PASSWORD="\r",
        MEMLIFT_OPERATOR_KEY_FILE='""',
        MEMLIFT_EMBEDDING_MODEL="'all-MiniLM-L6-v2'\r",
        MEMLIFT_LEADER_BEAT=" 1 \r",
        MEMLIFT_DATABSE_URL="misspelt",
    )
    server.await_ready()

    memory = server.client()
    kept = memory.remember(agent="solver", situation="an edited file", lesson="it still serves")

    assert memory.get_experience(kept.id).lesson == "it still serves"


def test_the_doctor_names_a_variable_that_sets_nothing_and_a_model_that_is_not_there(
    home: Home,
) -> None:
    examined = command(
        "doctor",
        MEMLIFT_HOME=home.data,
        MEMLIFT_PORT=free_port(),
        MEMLIFT_DATABASE_URL=NOWHERE.format(port=free_port()),
        MEMLIFT_DATABSE_URL="misspelt",
        MEMLIFT_EMBEDDING_MODEL="/nowhere/model",
    )

    found = verdicts(examined)
    assert examined.returncode == 1
    assert set(found) == {"settings", "database", "model"}
    assert "MEMLIFT_DATABSE_URL" in found["settings"]
    assert "/nowhere/model" in found["model"]
    assert "secret-of-theirs" not in examined.stdout + examined.stderr


def test_a_data_directory_in_use_is_refused_by_the_number_of_its_owner(above: Path) -> None:
    data = above / "owned"
    with EmbeddedPostgres(data):
        owner = (data / "owner.lock").read_text().strip()
        line = said(command("serve", MEMLIFT_HOME=data, MEMLIFT_PORT=free_port()))

    assert f"in use by process {owner}" in line
