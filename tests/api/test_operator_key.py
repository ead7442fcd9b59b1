"""The operator's key is made once, and only its owner finds it."""

import stat

import pytest

from memory.kernel.errors import Unauthenticated
from memory.kernel.ids import new_id
from memory.tenancy.entities import Token
from memory.tenancy.service import authenticate
from server.app import create_app
from server.operator_key import introduce
from server.settings import Settings
from tests.fixtures.engine import NOON, an_engine
from tests.fixtures.http import a_client


@pytest.fixture
async def first_start(migrated_database):
    """An engine over a database that has seen no start."""
    engine = an_engine(migrated_database())
    yield engine
    await engine.close()


async def test_the_first_start_writes_the_key_where_only_its_owner_reads(first_start, tmp_path):
    data = tmp_path / "data"

    await introduce(first_start, Settings(data=data), NOON)

    file = data / "operator.key"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (await authenticate(first_start, file.read_text().strip(), NOON)).role == "operator"


async def test_the_next_start_changes_nothing(first_start, tmp_path):
    settings = Settings(data=tmp_path)
    await introduce(first_start, settings, NOON)
    before = (tmp_path / "operator.key").read_text()

    await introduce(first_start, settings, NOON)

    assert (tmp_path / "operator.key").read_text() == before


async def test_a_process_with_another_data_directory_leaves_no_key_that_opens_nothing(
    first_start, tmp_path
):
    await introduce(first_start, Settings(data=tmp_path / "one"), NOON)

    await introduce(first_start, Settings(data=tmp_path / "other"), NOON)

    assert not (tmp_path / "other" / "operator.key").exists()


async def test_a_key_from_a_secret_is_taken_and_written_nowhere_else(first_start, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(f"{Token.fresh(new_id())}\n")
    settings = Settings(data=tmp_path / "data", operator_key_file=secret)

    await introduce(first_start, settings, NOON)

    key = await authenticate(first_start, secret.read_text().strip(), NOON)
    assert key.role == "operator"
    assert not (tmp_path / "data").exists()


async def test_a_file_whose_key_was_never_stored_is_stored_by_the_next_start(first_start, tmp_path):
    token = str(Token.fresh(new_id()))
    (tmp_path / "operator.key").write_text(token)
    with pytest.raises(Unauthenticated):
        await authenticate(first_start, token, NOON)

    await introduce(first_start, Settings(data=tmp_path), NOON)

    assert (await authenticate(first_start, token, NOON)).role == "operator"


async def test_nothing_is_printed_unless_to_a_terminal(first_start, tmp_path, capsys):
    await introduce(first_start, Settings(data=tmp_path), NOON)

    assert capsys.readouterr().out == ""


async def test_without_keys_this_machine_is_the_operator(first_start, tmp_path):
    settings = Settings(data=tmp_path, insecure_local=True)

    async def opened(_):
        return first_start

    app = create_app(settings, opened, jobs=None)
    async with app.router.lifespan_context(app), a_client(app, None) as here:
        near = await here.get("/v1/me", headers={"Host": "localhost"})
        named = await here.get("/v1/me", headers={"Host": "localhost", "Authorization": "Bearer x"})
        foreign = await here.get("/v1/me")

    assert (near.status_code, near.json()["role"]) == (200, "operator")
    assert named.status_code == 401
    assert foreign.json()["code"] == "foreign_host"
