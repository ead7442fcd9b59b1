"""What `memlift serve` says once it listens: where it is, where its key is, what to try.

A link that logs in is printed to a terminal alone, as the operator's key is: what goes to a log may
be read by many.
"""

import shlex
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from memory.kernel.errors import MemoryFault
from memory.kernel.postgres.database import Database, PoolSettings
from memory.tenancy.service import create_login_link
from memory.tenancy.session_entities import LINK_LIFE
from server.operator_key import FILE, local_token
from server.settings import Settings, default_data

LOGIN = "/dashboard/login"
LESSON = (
    'memlift remember --situation "When shipping glass to Norway"'
    ' --lesson "Ask for the customs form before booking."'
)
ASK = 'memlift ask "Ship a vase to Oslo" --key first-task'
REPORT = "memlift report --key first-task --reward 1"


@dataclass(frozen=True, slots=True)
class Banner:
    """The words for one server; `link` logs in once, None where there is none."""

    settings: Settings
    url: str
    link: str | None = None

    def lines(self, *, to_person: bool) -> list[str]:
        """All of it for a person, the first lines for a log."""
        minutes = LINK_LIFE // timedelta(minutes=1)
        once = "" if self.link is None else f"  (logs in once, within {minutes} minutes)"
        said = [
            f"MemLift serves on {self.url}",
            f"  dashboard  {self.link or self.url + '/dashboard/'}{once}",
            f"  key        {self._key()}",
        ]
        if not to_person:
            return said
        return [*said, "  try it     in another terminal:", *(f"    {one}" for one in self._try())]

    def _key(self) -> str:
        if self.settings.insecure_local:
            return "none is asked for, as --insecure-local says"
        file = key_file(self.settings)
        if file.exists():
            return f"{file}  (operator)"
        return (
            f"none in {file.parent}, for the database had one: copy it from where it was made, or"
            " `memlift key recover --keep` makes one more"
        )

    def _try(self) -> list[str]:
        """Lines to paste; a first one where the client would not find this server by itself."""
        return [*self._setting_up(), LESSON, ASK, REPORT]

    def _setting_up(self) -> list[str]:
        if self.settings.operator_key_file is not None:
            file = shlex.quote(str(key_file(self.settings)))
            return [f'export MEMLIFT_URL={self.url} MEMLIFT_KEY="$(cat {file})"']
        data = self.settings.data.expanduser().absolute()
        if data != default_data():
            return [f"export MEMLIFT_HOME={shlex.quote(str(data))}"]
        return []


def key_file(settings: Settings) -> Path:
    """Where the operator's key of this deployment lies, or would lie."""
    given = settings.operator_key_file
    return settings.data.expanduser().absolute() / FILE if given is None else given.expanduser()


async def login_link(settings: Settings, url: str) -> str | None:
    """The address that logs the holder of the operator's key in, once; None where there is no such
    key here, or the database does not know it.
    """
    try:
        token = local_token(settings)
        if token is None:
            return None
        database = Database(settings.database(), PoolSettings(size=1))
        try:
            code = await create_login_link(database, token, datetime.now(UTC))
        finally:
            await database.close()
    except (MemoryFault, OSError):
        return None
    return f"{url}{LOGIN}?link={code}"
