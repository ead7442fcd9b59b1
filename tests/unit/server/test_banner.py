"""What the start says: enough for a person, and no secret for a log."""

from pathlib import Path

import pytest

from memory.kernel.ids import new_id
from memory.tenancy.entities import Token
from server.banner import ASK, LESSON, REPORT, Banner
from server.settings import Settings, default_data, variable

URL = "http://127.0.0.1:8000"


@pytest.fixture(autouse=True)
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that holds none of our variables."""
    for field in Settings.model_fields:
        monkeypatch.setenv(variable(field), "")


def text(settings: Settings, link: str | None = None) -> str:
    return "\n".join(Banner(settings, URL, link).lines(to_person=True))


def test_a_log_gets_the_address_the_dashboard_and_where_the_key_is(tmp_path: Path) -> None:
    (tmp_path / "operator.key").write_text(token := str(Token.fresh(new_id())))

    lines = Banner(Settings(data=tmp_path), URL).lines(to_person=False)

    assert len(lines) == 3
    assert f"{URL}/dashboard/" in lines[1]
    assert str(tmp_path / "operator.key") in lines[2]
    assert token not in "".join(lines)


def test_a_person_gets_three_lines_to_paste_and_where_the_server_is(tmp_path: Path) -> None:
    said = text(Settings(data=tmp_path / "with space"), f"{URL}/dashboard/login?link=x")

    assert said.endswith(f"{LESSON}\n    {ASK}\n    {REPORT}")
    assert f"export MEMLIFT_HOME='{tmp_path}/with space'" in said
    assert "login?link=x  (logs in once, within 10 minutes)" in said


def test_where_the_client_finds_the_server_by_itself_nothing_is_set() -> None:
    assert "export" not in text(Settings(data=default_data()))


def test_a_key_from_a_secret_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text(str(Token.fresh(new_id())))
    said = text(Settings(data=tmp_path, operator_key_file=tmp_path / "secret"))

    assert f'export MEMLIFT_URL={URL} MEMLIFT_KEY="$(cat {tmp_path}/secret)"' in said


def test_a_key_that_is_not_here_is_said_to_be_missing(tmp_path: Path) -> None:
    assert "`memlift key recover --keep` makes one more" in text(Settings(data=tmp_path))


def test_without_keys_none_is_named(tmp_path: Path) -> None:
    assert "none is asked for" in text(Settings(data=tmp_path, insecure_local=True))
