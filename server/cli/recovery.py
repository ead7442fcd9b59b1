"""Ways in for whoever has the data directory or the database itself: a new operator's key, and a
link that logs in.
"""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import click

from memory.kernel.postgres.database import Database, PoolSettings
from memory.kernel.text import escape_controls
from memory.tenancy.entities import Key, Token
from memory.tenancy.service import recover_operator_key
from server import hosting
from server.banner import key_file, login_link
from server.operator_key import drafted_beside, given_token
from server.settings import Settings, load

data_option = click.option(
    "--data", type=click.Path(path_type=Path), help="Data directory (MEMLIFT_HOME)."
)


@click.command()
@click.option("--keep", is_flag=True, help="Leave the operator keys that the server made alive.")
@click.option("--json", "as_json", is_flag=True, help="As a JSON object.")
@data_option
def recover(*, data: Path | None, keep: bool, as_json: bool) -> None:
    """Make a new operator key with the data directory or the database alone.

    It is written to operator.key in the data directory; where MEMLIFT_OPERATOR_KEY_FILE names a
    file, the key in that file becomes the operator's. The operator keys that the server made or was
    given before are revoked, for nobody knows where they are; those that a key made are left.
    """
    settings = load({"data": data})
    with hosting.existing_database(settings) as url:
        hosting.require_head(url)
        token, ended = _recovered(settings, url, keep=keep)
    file = key_file(settings)
    if as_json:
        revoked = [str(old.id) for old in ended]
        made = {"key_id": str(token.key_id), "file": str(file), "revoked": revoked}
        click.echo(json.dumps(made, indent=2))
        return
    click.echo(f"operator key {token.key_id}: in {file}")
    for old in ended:
        click.echo(f"revoked {old.id} ({escape_controls(old.name)})")


def _recovered(settings: Settings, url: str, *, keep: bool) -> tuple[Token, list[Key]]:
    if (given := given_token(settings)) is not None:
        token = Token.parse(given)
        return token, asyncio.run(_stored(url, token, keep=keep))
    file = key_file(settings)
    beside, token = drafted_beside(file)
    try:
        ended = asyncio.run(_stored(url, token, keep=keep))
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    beside.replace(file)
    return token, ended


async def _stored(url: str, token: Token, *, keep: bool) -> list[Key]:
    database = Database(url, PoolSettings(size=1))
    try:
        return await recover_operator_key(database, token, datetime.now(UTC), keep=keep)
    finally:
        await database.close()


@click.command("open")
@click.option("--print", "only_print", is_flag=True, help="Print the link, open nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the link as a JSON object.")
@data_option
def open_dashboard(*, data: Path | None, only_print: bool, as_json: bool) -> None:
    """Open the dashboard of the server on this machine, by a link that logs in once.

    Without access to the operator's key or the database it opens the page that asks for a key.
    """
    settings = load({"data": data})
    url = hosting.left_address(settings) or hosting.near_url(settings)
    link = asyncio.run(login_link(settings, url)) or f"{url}/dashboard/"
    if as_json:
        click.echo(json.dumps({"link": link}))
        return
    if only_print or click.launch(link) != 0:
        click.echo(link)
