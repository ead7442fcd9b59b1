"""Where a server of this machine listens, and its key: from the environment, else from its data."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from memlift_client._faults import ConfigurationError

DEFAULT_URL = "http://127.0.0.1:8000"


@dataclass(frozen=True, slots=True)
class LocalServer:
    """What it takes to speak to a server."""

    url: str
    key: str | None = field(repr=False)


def find_local(
    home: str | Path | None = None, url: str | None = None, key: str | None = None
) -> LocalServer:
    """`url`, or `MEMLIFT_URL`, and `MEMLIFT_KEY` where they are set; else what a server on this
    machine left in its data directory: `MEMLIFT_HOME`, or where it lies by custom. Where `home` is
    given, its server alone. A `key` goes there in the place of any that is found. The key of this
    machine goes to no other. Raises ConfigurationError that names the places which hold no key, the
    directory that no server runs in, or the address that a key has to be named for.
    """
    if home is not None:
        return _find_in(Path(home).expanduser(), key)
    url, key = url or os.environ.get("MEMLIFT_URL"), key or os.environ.get("MEMLIFT_KEY")
    if key:
        left = (_read(place / "url") for place in _places())
        return LocalServer(url or next(filter(None, left), DEFAULT_URL), key)
    places = [*_places()]
    found = next((place for place in places if (place / "operator.key").exists()), None)
    if found is None:
        raise _no_key(*places)
    own = _read(found / "url") or DEFAULT_URL
    if url and url.rstrip("/") != own.rstrip("/") and not _is_loopback(url):
        raise ConfigurationError(
            f"the operator's key of this machine is not sent to {url}: name a key of that server,"
            " by a key file or MEMLIFT_KEY"
        )
    return LocalServer(url or own, _key(found))


def _find_in(home: Path, key: str | None) -> LocalServer:
    """The server of this directory, wherever others listen."""
    if key is None and not (home / "operator.key").exists():
        raise _no_key(home)
    url = _read(home / "url")
    if url is None:
        raise ConfigurationError(
            f"no server runs in {home}: start `memlift serve` with that data directory, or name"
            " the server by its address"
        )
    return LocalServer(url, key or _key(home))


def _no_key(*places: Path) -> ConfigurationError:
    return ConfigurationError(
        f"no operator.key in {' or '.join(map(str, places))}: start `memlift serve` on this"
        " machine, name its data directory, or set MEMLIFT_URL and MEMLIFT_KEY; where the key was"
        " lost, `memlift key recover` makes one"
    )


def _is_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _places() -> Iterator[Path]:
    """As the server chooses: what is named, else the system's place for root, else the user's."""
    if named := os.environ.get("MEMLIFT_HOME"):
        yield Path(named).expanduser()
        return
    state = os.environ.get("XDG_STATE_HOME")
    yield (Path(state) if state else Path("~/.local/state").expanduser()) / "memlift"
    yield Path("/var/lib/memlift")


def _key(place: Path) -> str:
    path = place / "operator.key"
    try:
        return path.read_text(encoding="utf-8")
    except OSError as fault:
        raise ConfigurationError(f"{path} cannot be read: {fault.strerror}") from None


def _read(path: Path) -> str | None:
    """The text of a file; None where there is none."""
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except OSError:
        return None
