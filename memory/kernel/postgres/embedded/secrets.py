"""Passwords and addresses on disk, for the owner's eyes only."""

import contextlib
import os
import secrets
from pathlib import Path

OWNER_ONLY = 0o600


def write_private(path: Path, text: str) -> None:
    """Replace the file whole: its owner reads the old text or the new one, others neither."""
    fresh = path.with_name(path.name + ".new")
    with contextlib.suppress(FileNotFoundError):
        fresh.unlink()
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, OWNER_ONLY)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def password(path: Path) -> str:
    """The password kept in the file; made at random when there is none."""
    if not path.exists():
        write_private(path, secrets.token_urlsafe(32))
    return path.read_text(encoding="utf-8").strip()
