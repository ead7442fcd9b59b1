"""One Postgres cluster on disk: made, started, stopped, and cleared of what a crash left behind."""

import contextlib
import shlex
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from memory.kernel.errors import Unavailable
from memory.kernel.postgres.embedded.account import Account, major_version

START_SECONDS = 120


STOP_SECONDS = 60


# After kill -9 the old processes hold the files until they are reaped; that takes a second or two.
RELEASE_SECONDS = 15


PAUSE_SECONDS = 0.3


STILL_HELD = ("lock file", "pre-existing shared memory block")


LOG_CAP_BYTES = 16 * 1024 * 1024


SETTINGS = {
    "max_connections": "100",
    "shared_buffers": "256MB",
    "maintenance_work_mem": "256MB",
    "max_wal_size": "2GB",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "password_encryption": "scram-sha-256",
}


@dataclass(frozen=True, slots=True)
class Listening:
    """Where the server listens: a folder for its socket, or a port on loopback."""

    socket: Path | None
    port: int

    def options(self) -> dict[str, str]:
        if self.socket is None:
            return {"listen_addresses": "127.0.0.1", "unix_socket_directories": ""}
        return {
            "listen_addresses": "",
            "unix_socket_directories": str(self.socket),
            "unix_socket_permissions": "0700",
        }


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster in `folder`, run by `account` with the binaries of `installation`."""

    folder: Path
    installation: Path
    account: Account

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    def exists(self) -> bool:
        return (self.folder / "PG_VERSION").exists()

    def create(self, superuser_password: str) -> None:
        """Make the cluster beside its place, then rename it: one that exists is complete."""
        unfinished = self.folder.with_name(self.folder.name + ".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        self.account.own(unfinished)
        password = self.folder.with_name("initdb.password")
        try:
            self._hand_over(password, superuser_password)
            self._initialise(unfinished, password)
        finally:
            password.unlink(missing_ok=True)
        unfinished.rename(self.folder)

    def _hand_over(self, path: Path, text: str) -> None:
        path.unlink(missing_ok=True)
        path.touch(mode=0o600, exist_ok=False)
        path.write_text(text + "\n", encoding="utf-8")
        self.account.own(path)

    def _initialise(self, folder: Path, password: Path) -> None:
        done = self.account.run(
            [
                *(self.installation / "bin" / "initdb", "-D", folder, "-U", "postgres"),
                *("--encoding=UTF8", "--locale=C.UTF-8", "--auth=scram-sha-256"),
                f"--pwfile={password}",
            ],
            timeout=START_SECONDS,
        )
        if done.returncode != 0:
            raise Unavailable(f"initdb could not make {self.folder}: {_last_line(done.stdout)}")

    def refuse_another_version(self) -> None:
        """A cluster is read only by the major version that wrote it."""
        wrote = (self.folder / "PG_VERSION").read_text(encoding="ascii").strip()
        ours = major_version(self.account, self.installation)
        if wrote != str(ours):
            raise Unavailable(
                f"{self.folder} was written by Postgres {wrote}, this MemLift brings Postgres "
                f"{ours}: back up with the MemLift that wrote it, then restore into an empty folder"
            )

    def start(self, listening: Listening) -> None:
        """Start and wait until it answers, crash recovery included."""
        self._bound_the_log()
        deadline = time.monotonic() + RELEASE_SECONDS
        while (said := self._try_to_start(listening)) is not None:
            if time.monotonic() > deadline or not any(sign in said for sign in STILL_HELD):
                raise Unavailable(f"Postgres did not start: {_reason(said)} (see {self.log})")
            time.sleep(PAUSE_SECONDS)

    def _try_to_start(self, listening: Listening) -> str | None:
        """None when it runs, else what it said."""
        length = self.log.stat().st_size if self.log.exists() else 0
        settings = SETTINGS | listening.options()
        options = [f"-c {shlex.quote(f'{name}={value}')}" for name, value in settings.items()]
        done = self.account.run(
            [
                *(self.installation / "bin" / "pg_ctl", "start", "-D", self.folder, "-w"),
                *("-t", str(START_SECONDS), "-l", self.log),
                *("-o", " ".join([*options, f"-p {listening.port}"])),
            ],
            timeout=START_SECONDS + 10,
        )
        if done.returncode == 0:
            return None
        with contextlib.suppress(FileNotFoundError), self.log.open("rb") as log:
            log.seek(length)
            return log.read().decode(errors="replace")
        return done.stdout

    def _bound_the_log(self) -> None:
        if self.log.exists() and self.log.stat().st_size > LOG_CAP_BYTES:
            self.log.replace(self.log.with_name("server.log.1"))

    def stop(self) -> None:
        """End all sessions and write everything down; failing that, leave it to crash recovery."""
        for mode in ("fast", "immediate"):
            if not (self.folder / "postmaster.pid").exists():
                return
            pg_ctl = self.installation / "bin" / "pg_ctl"
            wait = ("-w", "-t", str(STOP_SECONDS))
            done = self.account.run(
                [pg_ctl, "stop", "-D", self.folder, "-m", mode, *wait], timeout=STOP_SECONDS + 10
            )
            if done.returncode == 0:
                return

    def clear_leftovers(self) -> None:
        """End a server that outlived its owner, and remove a stale `postmaster.pid`.

        Call it only while holding the owner's lock. A stale file is dangerous where process numbers
        are reused, as in a container: Postgres would wait for, and pg_ctl would signal, whoever has
        the number now.
        """
        file = self.folder / "postmaster.pid"
        if not file.exists() or not Path("/proc/self/cwd").exists():
            return
        if _first_number(file) in self._processes():
            self.stop()
        deadline = time.monotonic() + RELEASE_SECONDS
        while left := self._processes():
            if time.monotonic() > deadline:
                raise Unavailable(f"{self.folder} is still in use by processes {sorted(left)}")
            time.sleep(PAUSE_SECONDS)
        file.unlink(missing_ok=True)

    def _processes(self) -> set[int]:
        """Processes that work in this folder: every process of Postgres does, and no other."""
        home = self.folder.resolve()
        found: set[int] = set()
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdecimal() and (entry / "cwd").readlink() == home:
                    found.add(int(entry.name))
        return found


def _first_number(file: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(file.read_text(encoding="ascii").splitlines()[0])
    return None


def _reason(said: str) -> str:
    """The first line that Postgres itself calls fatal, else its last word."""
    fatal = [line for line in said.splitlines() if "FATAL" in line or "PANIC" in line]
    return fatal[0].partition("FATAL:")[2].strip() or fatal[0] if fatal else _last_line(said)


def _last_line(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1] if lines else "it said nothing"
