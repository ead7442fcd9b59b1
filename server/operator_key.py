"""The operator's key: made at first start, shown once, kept in a file only its owner reads.

The file is written before the key is stored. A start that dies between the two leaves a file whose
key the next start stores; the other order would leave a key that nobody has.
"""

import logging
import os
import sys
from datetime import datetime
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from memory.kernel.engine import Engine
from memory.kernel.errors import MemoryFault, Rejected, Unauthenticated
from memory.kernel.ids import new_id
from memory.tenancy.entities import Token
from memory.tenancy.service import authenticate, ensure_operator_key
from server.settings import Settings

FILE = "operator.key"
GIVEN = "MEMLIFT_OPERATOR_KEY_FILE"
FORM = "ml_, 32 hexadecimal digits, _ and 64 more"
logger = logging.getLogger("memlift")


async def introduce(engine: Engine, settings: Settings, now: datetime) -> None:
    """Makes sure that there is an operator key, and that a new one can be found."""
    given = given_token(settings)
    if given is not None:
        await ensure_operator_key(engine, given, now)
        await _warn_of_strange(engine, settings, given, now)
        return
    file, drafted = _drafted(settings.data.expanduser() / FILE)
    made = await ensure_operator_key(engine, file.read_text().strip(), now)
    if made is None and drafted:
        file.unlink(missing_ok=True)
    if made is not None and sys.stdout.isatty():
        sys.stdout.write(f"operator key (also in {file}): {made}\n")


async def _warn_of_strange(engine: Engine, settings: Settings, given: str, now: datetime) -> None:
    try:
        await authenticate(engine, given, now)
    except Unauthenticated:
        logger.warning(
            "the key in %s opens nothing, as the database has another operator's: "
            "`memlift key recover` makes it one",
            settings.operator_key_file,
        )


def require_loopback(url: str) -> None:
    """Raises Rejected where the operator's key of this machine would be sent to another."""
    try:
        host = urlsplit(url).hostname or ""
        near = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        near = False
    if not near:
        raise Rejected(
            f"the operator's key of this machine is not sent to {url}: name a key of that server,"
            " by --key-file or MEMLIFT_KEY",
            field="--key-file",
        )


def given_token(settings: Settings) -> str | None:
    """The key that the deployment brings as a secret. Raises Rejected where the file holds none."""
    file = settings.operator_key_file
    if file is None:
        return None
    advice = f"write one of the form {FORM} (deploy/make-secrets does), or unset {GIVEN}"
    return _read(file.expanduser(), GIVEN, advice)


def local_token(settings: Settings) -> str | None:
    """The operator's key where this machine has it; None where it has none. Raises Rejected where
    the file holds something else.
    """
    given = given_token(settings)
    file = settings.data.expanduser() / FILE
    if given is None and file.exists():
        return _read(file, "MEMLIFT_HOME", "`memlift key recover` writes a new one")
    return given


def _read(file: Path, name: str, advice: str) -> str:
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as fault:
        why = fault.strerror if isinstance(fault, OSError) else "it is no text"
        raise Rejected(f"{name}: {file} cannot be read ({why}): {advice}", field=name) from fault
    try:
        Token.parse(text)
    except MemoryFault as fault:
        raise Rejected(f"{name}: {file} holds no operator key: {advice}", field=name) from fault
    return text


def drafted_beside(file: Path) -> tuple[Path, Token]:
    """A new key in a file beside `file`, to be put in its place when it is stored."""
    token = Token.fresh(new_id())
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = file.with_name(f"{file.name}.new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as handle:
        handle.write(f"{token}\n")
    return beside, token


def _drafted(file: Path) -> tuple[Path, bool]:
    """The file, and whether it was written just now."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        return file, False
    with os.fdopen(descriptor, "w") as handle:
        handle.write(f"{Token.fresh(new_id())}\n")
    return file, True
