"""The operator's key: made at first start, shown once, kept in a file only its owner reads.

The file is written before the key is stored. A start that dies between the two leaves a file whose
key the next start stores; the other order would leave a key that nobody has.
"""

import os
import sys
from datetime import datetime
from pathlib import Path

from memory.kernel.engine import Engine
from memory.kernel.ids import new_id
from memory.tenancy.entities import Token
from memory.tenancy.service import ensure_operator_key
from server.settings import Settings

FILE = "operator.key"


async def introduce(engine: Engine, settings: Settings, now: datetime) -> None:
    """Makes sure that there is an operator key, and that a new one can be found."""
    given = given_token(settings)
    if given is not None:
        await ensure_operator_key(engine, given, now)
        return
    file, drafted = _drafted(settings.data.expanduser() / FILE)
    made = await ensure_operator_key(engine, file.read_text().strip(), now)
    if made is None and drafted:
        file.unlink(missing_ok=True)
    if made is not None and sys.stdout.isatty():
        sys.stdout.write(f"operator key (also in {file}): {made}\n")


def given_token(settings: Settings) -> str | None:
    """The key that the deployment brings as a secret."""
    given = settings.operator_key_file
    return None if given is None else given.expanduser().read_text().strip()


def local_token(settings: Settings) -> str | None:
    """The operator's key where this machine has it, for serving without keys."""
    given = given_token(settings)
    file = settings.data.expanduser() / FILE
    if given is None and file.exists():
        return file.read_text().strip()
    return given


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
