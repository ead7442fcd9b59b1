"""One owner for a data directory: starts Postgres, keeps it running, stops it.

DATA/                 0700; under root 0710, so that the account of Postgres may pass, not look
  owner.lock          flock held by the owner; the number of its process inside
  address             the URL, 0600, there while the server runs
  secrets/            postgres.password, memlift.password
  pg/                 the cluster
  socket/             its socket, when the path is short enough
"""

import contextlib
import fcntl
import logging
import os
import socket
import threading
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from urllib.parse import quote, urlencode

from psycopg.conninfo import make_conninfo

from memory.kernel.errors import Conflict, Unavailable
from memory.kernel.postgres.embedded.account import Account, current_account, installation
from memory.kernel.postgres.embedded.bootstrap import DATABASE, LOGIN, prepare_database
from memory.kernel.postgres.embedded.cluster import Cluster, Listening
from memory.kernel.postgres.embedded.ports import find_free_port
from memory.kernel.postgres.embedded.secrets import password, write_private

SOCKET_PATH_LIMIT = 100


SOCKET_PORT = 5432


WATCH_SECONDS = 1.0


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Address:
    """How to reach the server: as MemLift does, and as its superuser (never for serving)."""

    url: str
    superuser_url: str

    def __repr__(self) -> str:
        return "Address(...)"  # it carries passwords, and reprs end up in logs


class EmbeddedPostgres:
    """Postgres in a data directory, owned by this process from `start()` to `stop()`."""

    def __init__(self, data: Path, *, tcp: bool = False) -> None:
        self._data = data.expanduser().absolute()
        self._tcp = tcp
        self._lock: int | None = None
        self._cluster: Cluster | None = None
        self._stopping = threading.Event()
        self._watcher: threading.Thread | None = None

    def __enter__(self) -> Address:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> Address:
        """Start and prepare the server.

        Raises Conflict when another process owns the data directory, Unavailable otherwise.
        """
        try:
            return self._start()
        except OSError as fault:
            self.stop()
            raise Unavailable(f"the data directory {self._data} cannot be used: {fault}") from fault
        except BaseException:
            self.stop()
            raise

    def _start(self) -> Address:
        account = current_account()
        _make_data(self._data, account)
        self._lock = _owned(self._data)
        cluster = Cluster(self._data / "pg", installation(account, self._data), account)
        superuser = password(self._data / "secrets" / "postgres.password")
        if not cluster.exists():
            cluster.create(superuser)
        cluster.refuse_another_version()
        cluster.clear_leftovers()
        listening = self._listening(account)
        self._cluster = cluster
        cluster.start(listening)
        address = self._address(listening, superuser)
        prepare_database(
            address.superuser_url,
            password=password(self._data / "secrets" / "memlift.password"),
        )
        write_private(self._data / "address", address.url)
        self._watch(cluster, listening)
        return address

    def _listening(self, account: Account) -> Listening:
        folder = self._data / "socket"
        longest = folder / f".s.PGSQL.{SOCKET_PORT}"
        if self._tcp or len(os.fsencode(longest)) >= SOCKET_PATH_LIMIT:
            return Listening(None, find_free_port())
        folder.mkdir(mode=0o700, exist_ok=True)
        account.own(folder)
        return Listening(folder, SOCKET_PORT)

    def _address(self, listening: Listening, superuser: str) -> Address:
        ours = password(self._data / "secrets" / "memlift.password")
        return Address(
            _url(LOGIN, ours, DATABASE, listening),
            _url("postgres", superuser, "postgres", listening),
        )

    def stop(self) -> None:
        """Stop cleanly and give up ownership; harmless when nothing runs."""
        self._stopping.set()
        if self._watcher is not None:
            self._watcher.join()
            self._watcher = None
        if self._cluster is not None:
            self._cluster.stop()
            self._cluster = None
        if self._lock is not None:
            (self._data / "address").unlink(missing_ok=True)
            os.close(self._lock)
            self._lock = None
        self._stopping.clear()

    def _watch(self, cluster: Cluster, listening: Listening) -> None:
        self._watcher = threading.Thread(
            target=self._keep_running, args=(cluster, listening), name="postgres-watch", daemon=True
        )
        self._watcher.start()

    def _keep_running(self, cluster: Cluster, listening: Listening) -> None:
        """Start the server again when it no longer listens; what was acknowledged is on disk."""
        while not self._stopping.wait(WATCH_SECONDS):
            if _listens(listening):
                continue
            log.warning("the embedded Postgres no longer listens; starting it again")
            try:
                cluster.clear_leftovers()
                cluster.start(listening)
            except (Unavailable, OSError) as fault:
                log.error("the embedded Postgres could not be started again: %s", fault)  # noqa: TRY400 - the line says it all


@contextlib.contextmanager
def reached(data: Path) -> Generator[str]:
    """The URL of this data directory's server: the running one, else one started for the while."""
    server = EmbeddedPostgres(data)
    try:
        url = server.start().url
    except Conflict:
        url = _running(data)
    try:
        yield url
    finally:
        server.stop()


def as_superuser(data: Path, url: str) -> str:
    """The same database of this data directory's server, as its superuser: never for serving."""
    secret = password(data.expanduser() / "secrets" / "postgres.password")
    return make_conninfo(url, user="postgres", password=secret)


def _running(data: Path) -> str:
    try:
        return (data.expanduser() / "address").read_text(encoding="utf-8").strip()
    except OSError as fault:
        raise Unavailable(
            f"the server of {data} is just starting or stopping: try again in a few seconds"
        ) from fault


def _make_data(data: Path, account: Account) -> None:
    data.mkdir(mode=0o700, parents=True, exist_ok=True)
    if account.is_another and not account.reaches(data):
        _let_pass(data, account)
    if not account.reaches(data):
        raise Unavailable(
            f"the account that runs Postgres cannot reach {data}, which lies under a folder closed "
            "to others: choose a data directory such as /var/lib/memlift (--data), or start "
            "MemLift as the user who owns that folder"
        )
    (data / "secrets").mkdir(mode=0o700, exist_ok=True)


def _let_pass(data: Path, account: Account) -> None:
    """Let the account of Postgres pass through our folder: the files beside the cluster stay ours.

    Only a folder that is ours is changed: `--data /root` by mistake must not open anything.
    """
    names = {entry.name for entry in data.iterdir()}
    if data.stat().st_uid == os.geteuid() and (not names or "owner.lock" in names):
        os.chown(data, -1, account.gid)
        data.chmod(0o710)


def _owned(data: Path) -> int:
    """Take the owner's lock; the system drops it with the process, however that ends."""
    path = data / "owner.lock"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = path.read_text(encoding="ascii").strip() or "unknown"
        os.close(descriptor)
        raise Conflict(
            f"the data directory {data} is in use by process {owner}: stop it, or choose another "
            "directory with --data"
        ) from None
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode("ascii"))
    return descriptor


def _listens(listening: Listening) -> bool:
    """Whether anyone accepts a connection there; a full queue counts as yes."""
    family = socket.AF_INET if listening.socket is None else socket.AF_UNIX
    with contextlib.closing(socket.socket(family)) as probe:
        probe.settimeout(5)
        try:
            probe.connect(_endpoint(listening))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
        return True


def _endpoint(listening: Listening) -> str | tuple[str, int]:
    if listening.socket is None:
        return ("127.0.0.1", listening.port)
    return str(listening.socket / f".s.PGSQL.{listening.port}")


def _url(role: str, secret: str, database: str, listening: Listening) -> str:
    signed = f"{role}:{quote(secret, safe='')}"
    if listening.socket is None:
        return f"postgresql://{signed}@127.0.0.1:{listening.port}/{database}"
    # Not `+` for a space: libpq takes that for itself, and finds no socket.
    where = urlencode({"host": str(listening.socket), "port": listening.port}, quote_via=quote)
    return f"postgresql://{signed}@/{database}?{where}"
