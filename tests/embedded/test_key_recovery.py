"""An operator's key that is lost is had back by whoever has the database."""

import asyncio
import json
import stat
from pathlib import Path

import psycopg
import pytest
from click.testing import CliRunner, Result

from memory.kernel.engine import Engine
from memory.kernel.errors import Unauthenticated
from memory.kernel.ids import new_id
from memory.tenancy.entities import KeyDraft, Role, Token
from memory.tenancy.service import authenticate, create_key
from server.cli import main
from server.operator_key import introduce
from server.settings import Settings, variable
from tests.fixtures.database import Databases
from tests.fixtures.engine import NOON, an_engine


@pytest.fixture
async def engine(migrated_database: Databases, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """The memory of a server that was started once and is given no other settings."""
    url = migrated_database()
    for field in Settings.model_fields:
        monkeypatch.setenv(variable(field), "")
    engine = an_engine(url)
    await introduce(engine, Settings(data=tmp_path), NOON)
    monkeypatch.setenv("MEMLIFT_DATABASE_URL", url)
    monkeypatch.setenv("MEMLIFT_HOME", str(tmp_path))
    yield engine
    await engine.close()


async def recover(*words: str) -> Result:
    """`memlift key recover`, which has a loop of its own."""
    return await asyncio.to_thread(CliRunner().invoke, main, ["key", "recover", *words])


async def opens(engine: Engine, token: str) -> bool:
    try:
        return (await authenticate(engine, token, NOON)).role is Role.OPERATOR
    except Unauthenticated:
        return False


async def test_a_lost_key_is_replaced_ended_and_the_fact_kept(engine: Engine, tmp_path: Path):
    file = tmp_path / "operator.key"
    lost = file.read_text().strip()
    first = await authenticate(engine, lost, NOON)
    _, kept = await create_key(engine, first, KeyDraft(Role.OPERATOR, "by hand"), NOON)
    file.unlink()

    result = await recover("--json")

    made = json.loads(result.stdout)
    assert made == {"key_id": made["key_id"], "file": str(file), "revoked": [str(first.id)]}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not file.with_name("operator.key.new").exists()
    assert await opens(engine, file.read_text().strip())
    assert await opens(engine, str(kept))
    assert not await opens(engine, lost)
    with psycopg.connect(engine.settings.database_url) as connection:
        row = connection.execute("SELECT subject, detail FROM audit WHERE action = 'key.recover'")
        assert row.fetchall() == [(made["key_id"], {"revoked": [str(first.id)]})]


async def test_the_keys_before_may_be_kept(engine: Engine, tmp_path: Path):
    before = (tmp_path / "operator.key").read_text().strip()

    result = await recover("--keep")

    assert result.exit_code == 0
    assert "revoked" not in result.output
    assert await opens(engine, before)
    assert await opens(engine, (tmp_path / "operator.key").read_text().strip())


async def test_a_file_that_holds_no_key_is_replaced(engine: Engine, tmp_path: Path):
    (tmp_path / "operator.key").write_text("not a key")

    assert (await recover()).exit_code == 0
    assert await opens(engine, (tmp_path / "operator.key").read_text().strip())


async def test_a_key_from_a_secret_becomes_the_operators_once(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (secret := tmp_path / "secret").write_text(token := str(Token.fresh(new_id())))
    monkeypatch.setenv("MEMLIFT_OPERATOR_KEY_FILE", str(secret))

    assert (await recover()).exit_code == 0
    assert await opens(engine, token)
    again = await recover()
    assert again.exit_code == 1
    assert "has this key already" in again.stderr


async def test_an_empty_database_is_said_to_be_one(
    fresh_database: Databases, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv("MEMLIFT_DATABASE_URL", fresh_database())

    result = await recover("--data", str(tmp_path / "data"))

    assert result.exit_code == 1
    assert result.stderr.startswith("memlift: the database is empty")
    assert not (tmp_path / "data").exists()
