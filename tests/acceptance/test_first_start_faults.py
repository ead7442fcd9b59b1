"""What goes wrong on a first start is said in one line, and ends the command (honcho#822)."""

import socket
from collections.abc import Callable, Generator
from subprocess import CompletedProcess
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from memory.kernel.postgres.embedded.bootstrap import LOGIN
from memory.kernel.postgres.embedded.ports import find_free_port
from tests.acceptance.servers import Home, command
from tests.fixtures.database import login_url

NOWHERE = "postgresql://memlift:secret-of-theirs@127.0.0.1:{port}/memlift"


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


def test_a_database_without_vectors_is_refused_and_the_doctor_names_that_and_all_else(
    home: Home, bare_database: str
) -> None:
    surroundings = {
        "MEMLIFT_HOME": home.data,
        "MEMLIFT_PORT": find_free_port(),
        "MEMLIFT_DATABASE_URL": bare_database,
    }
    line = said(command("serve", **surroundings))
    misspelt = {"MEMLIFT_DATABSE_URL": "?", "MEMLIFT_EMBEDDING_MODEL": "/nowhere/model"}
    examined = command("doctor", **surroundings, **misspelt)
    found = verdicts(examined)

    assert "CREATE EXTENSION vector" in line
    assert examined.returncode == 1
    assert set(found) == {"settings", "database", "model"}
    assert "CREATE EXTENSION vector" in found["database"]
    assert "MEMLIFT_DATABSE_URL" in found["settings"]
    assert "/nowhere/model" in found["model"]


@pytest.mark.parametrize("word", ["serve", "migrate"])
def test_a_database_that_does_not_answer_is_named_without_its_password(
    home: Home, word: str
) -> None:
    url = NOWHERE.format(port=find_free_port())
    surroundings = {"MEMLIFT_HOME": home.data, "MEMLIFT_DATABASE_URL": url}
    line = said(command(word, MEMLIFT_PORT=find_free_port(), **surroundings))

    assert "database" in line
    assert "secret-of-theirs" not in line


@pytest.mark.parametrize(
    ("variables", "name"),
    [
        ({"MEMLIFT_PORT": "eighty"}, "MEMLIFT_PORT"),
        ({"MEMLIFT_DATABASE_URL": "not a url"}, "database"),
        ({"MEMLIFT_INSECURE_LOCAL": "true", "MEMLIFT_HOST": "0.0.0.0"}, "--insecure-local"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_by_name(
    home: Home, variables: dict[str, str], name: str
) -> None:
    surroundings = {"MEMLIFT_HOME": home.data, "MEMLIFT_PORT": find_free_port()} | variables
    line = said(command("serve", **surroundings))

    assert name in line
