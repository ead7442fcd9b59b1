"""The SQL that prepares a server of one's own, run by psql as a database container runs it."""

import os
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from memory.kernel.postgres.compatibility import complaints, facts
from memory.kernel.postgres.embedded import EmbeddedPostgres
from memory.kernel.postgres.embedded.account import current_account, installation

ROOT = Path(__file__).parents[2]
BEFORE = (
    "DROP DATABASE memlift WITH (FORCE)",
    "DROP ROLE memlift",
    "DROP ROLE memlift_owner",
    "DROP ROLE memlift_app",
)


def test_the_init_script_makes_a_server_fit_for_use_and_may_run_again(
    used: Path, tmp_path: Path
) -> None:
    (tmp_path / "password").write_text("it's #1\n")
    with EmbeddedPostgres(used, tcp=True) as address:
        with psycopg.connect(address.superuser_url, autocommit=True) as connection:
            for statement in BEFORE:
                connection.execute(statement)

        for _ in range(2):
            assert initialised(used, address.superuser_url, tmp_path / "password") == ""

        port = urlsplit(address.superuser_url).port
        url = f"postgresql://memlift:it%27s%20%231@127.0.0.1:{port}/memlift"
        assert complaints(facts(url)) == []


@pytest.mark.parametrize("content", ["", "\n"])
def test_the_init_script_refuses_an_empty_password(tmp_path: Path, content: str) -> None:
    (tmp_path / "password").write_text(content)

    with pytest.raises(subprocess.CalledProcessError):
        initialised(tmp_path, "postgresql://postgres@127.0.0.1:1/postgres", tmp_path / "password")


def test_a_superuser_is_told_not_to_serve(used: Path) -> None:
    with EmbeddedPostgres(used) as address:
        said = complaints(facts(address.superuser_url))

    assert any("connect as memlift instead" in complaint for complaint in said)


def initialised(data: Path, superuser_url: str, password: Path) -> str:
    """What the script says on its way; it is started as the image of the database starts it."""
    parts = urlsplit(superuser_url)
    binaries = installation(current_account(), data) / "bin"
    environment = {
        "PATH": f"{binaries}:{os.defpath}",
        "PGHOST": parts.hostname or "",
        "PGPORT": str(parts.port),
        "PGPASSWORD": parts.password or "",
        "MEMLIFT_PASSWORD_FILE": str(password),
        "MEMLIFT_PREPARE": str(ROOT / "deploy/prepare.sql"),
    }
    script = ROOT / "deploy/database/10-memlift.sh"
    done = subprocess.run([script], env=environment, check=True, capture_output=True, text=True)
    return done.stdout.replace("\n", "")
