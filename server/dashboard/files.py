"""Styles and scripts, read once; their addresses carry a hash, so that browsers may keep them."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

FOLDER = Path(__file__).parent / "static"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".LICENSE": "text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is sent."""

    body: bytes
    media_type: str
    url: str


def _assets() -> dict[str, Asset]:
    found = {path.relative_to(FOLDER).as_posix(): path for path in FOLDER.rglob("*.*")}
    return {name: _asset(name, path) for name, path in found.items() if path.suffix in TYPES}


def _asset(name: str, path: Path) -> Asset:
    body = path.read_bytes()
    version = sha256(body).hexdigest()[:12]
    return Asset(body, TYPES[path.suffix], f"/dashboard/static/{name}?v={version}")


ASSETS = _assets()


def asset_url(name: str) -> str:
    """The address of a file under static/."""
    return ASSETS[name].url
