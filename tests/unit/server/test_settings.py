"""What an operator writes into the environment, and what the server makes of it."""

import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from memory.kernel.errors import Rejected, Unavailable
from memory.tenancy.namespace_settings import MAX_COST
from server.settings import (
    Settings,
    load,
    meant,
    prepare_environment,
    prepare_processes,
    publish,
    unknown_variables,
    variable,
)
from server.settings_page import page

ROOT = Path(__file__).parents[3]
Put = Callable[[str, str], None]


@pytest.fixture(autouse=True)
def put(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Put:
    """Set a variable in an environment that holds none of ours."""
    for field in Settings.model_fields:
        for name in (variable(field), variable(field) + "_FILE"):
            monkeypatch.setenv(name, "")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return monkeypatch.setenv


@pytest.mark.parametrize("value", ["", "  ", "\r"])
def test_an_empty_variable_counts_as_unset(put: Put, value: str) -> None:
    put("MEMLIFT_PORT", value)

    assert load().port == 8000


@pytest.mark.parametrize("value", ["8100", "8100\r", '"8100"', "'8100'\r", " 8100 "])
def test_a_value_is_read_without_its_wrapping(put: Put, value: str) -> None:
    put("MEMLIFT_PORT", value)

    assert load().port == 8100


@pytest.mark.parametrize("value", ["pa#ss", 'a"b', "'", '"open', "x\\y"])
def test_what_is_inside_a_value_stays(value: str) -> None:
    assert meant(value) == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MEMLIFT_PORT", "8000 # the usual one"),
        ("MEMLIFT_PORT", "70000"),
        ("MEMLIFT_WORKERS", "0"),
        ("MEMLIFT_LEADER_BEAT", "soon"),
        ("MEMLIFT_EMBEDDING_DTYPE", "int4"),
        ("MEMLIFT_INSECURE_LOCAL", "perhaps"),
    ],
)
def test_an_invalid_value_gives_one_line_that_names_the_variable(
    put: Put, name: str, value: str
) -> None:
    put(name, value)

    with pytest.raises(Rejected) as caught:
        load()

    assert caught.value.detail.startswith(f"{name}: ")
    assert "\n" not in caught.value.detail
    assert caught.value.field == name


@pytest.mark.parametrize("value", ["1.5", "PT1.5S", "00:00:01.5"])
def test_a_duration_is_seconds_or_iso(put: Put, value: str) -> None:
    put("MEMLIFT_LEADER_BEAT", value)

    assert load().leader_beat == timedelta(seconds=1.5)


def test_the_command_line_wins_over_the_environment(put: Put) -> None:
    put("MEMLIFT_PORT", "8100")

    assert load({"port": 8200, "host": None}).port == 8200
    assert load({"port": None}).port == 8100


def test_what_was_published_is_what_workers_load(put: Put, tmp_path: Path) -> None:
    publish({"data": tmp_path, "port": 8300, "insecure_local": True, "host": None})

    loaded = load()

    assert (loaded.data, loaded.port, loaded.insecure_local) == (tmp_path, 8300, True)


def test_a_secret_is_read_from_the_file_that_is_named(put: Put, tmp_path: Path) -> None:
    (tmp_path / "url").write_text("postgresql://memlift@db/memlift\r\n")
    put("MEMLIFT_DATABASE_URL_FILE", str(tmp_path / "url"))

    assert load().database() == "postgresql://memlift@db/memlift"


def test_a_secret_file_that_is_missing_is_named(put: Put, tmp_path: Path) -> None:
    put("MEMLIFT_DATABASE_PASSWORD_FILE", str(tmp_path / "absent"))

    with pytest.raises(Rejected, match="MEMLIFT_DATABASE_PASSWORD_FILE"):
        load()


def test_a_password_kept_apart_is_put_into_the_url(put: Put) -> None:
    put("MEMLIFT_DATABASE_URL", "postgresql://memlift@pooler:6432/memlift?sslmode=disable")
    put("MEMLIFT_DATABASE_PASSWORD", "a#b/@ c")

    loaded = load()

    assert loaded.database() == (
        "postgresql://memlift:a%23b%2F%40%20c@pooler:6432/memlift?sslmode=disable"
    )


def test_without_a_url_the_address_in_the_data_directory_is_used(tmp_path: Path) -> None:
    loaded = load({"data": tmp_path})
    with pytest.raises(Unavailable, match="no database"):
        loaded.database()

    (tmp_path / "address").write_text("postgresql://memlift@/memlift?host=x\n")

    assert loaded.database() == loaded.database() == "postgresql://memlift@/memlift?host=x"


def test_settings_show_no_secret_and_do_not_change(put: Put) -> None:
    put("MEMLIFT_DATABASE_URL", "postgresql://memlift:hidden@db/memlift")

    loaded = load()

    assert "hidden" not in repr(loaded)
    with pytest.raises(ValidationError):
        loaded.port = 1


def test_a_slip_of_the_pen_is_noticed(put: Put) -> None:
    put("MEMLIFT_DATABSE_URL", "postgresql://db")

    assert unknown_variables() == ["MEMLIFT_DATABSE_URL"]


def test_no_library_asks_a_hub_unless_the_operator_says_so(
    monkeypatch: pytest.MonkeyPatch, put: Put
) -> None:

    put("HF_HUB_OFFLINE", "0")
    monkeypatch.delenv("TOKENIZERS_PARALLELISM", raising=False)

    prepare_environment()

    assert os.environ["HF_HUB_OFFLINE"] == "0"
    assert os.environ["TOKENIZERS_PARALLELISM"] == "false"


@pytest.mark.parametrize(
    ("workers", "given", "threads"), [(2, None, "3"), (9, None, "1"), (2, "5", "5")]
)
def test_workers_share_the_cores_unless_the_operator_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, put: Put, workers: int, given: str | None, threads: str
) -> None:
    monkeypatch.setattr("server.settings.usable_cores", lambda: 6)
    put("PYTHONSAFEPATH", "")
    put("OMP_NUM_THREADS", given or "")
    if given is None:
        monkeypatch.delenv("OMP_NUM_THREADS")

    prepare_processes(workers)

    assert os.environ["OMP_NUM_THREADS"] == threads


PARENT = """
import multiprocessing
from server.settings import prepare_processes

if __name__ == "__main__":
    prepare_processes(2)
    child = multiprocessing.get_context("spawn").Process(target=print, args=("served",))
    child.start()
    child.join()
"""


def test_workers_run_no_file_of_the_current_folder(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "started").write_text(PARENT)
    (tmp_path / "multiprocessing.py").write_text("open('was run', 'w')")

    done = subprocess.run(
        [sys.executable, tmp_path / "bin" / "started"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "served\n"
    assert not (tmp_path / "was run").exists()


def test_the_reference_page_lists_the_settings_as_they_are() -> None:
    written = (ROOT / "docs/reference/settings.md").read_text(encoding="utf-8")

    assert written == page(), "run: python -m server.settings_page > docs/reference/settings.md"


def test_a_price_is_given_for_a_million_tokens(put: Put) -> None:
    assert load().named_price() is None
    put("MEMLIFT_LLM_PRICE", "0.25,0.5")
    assert load().named_price() == (0.25e-6, 0.5e-6)
    for price in ("0.15", "free,0", "0.15,-1", "inf,0", "9999999,1"):
        put("MEMLIFT_LLM_PRICE", price)
        with pytest.raises(
            Rejected, match=r"MEMLIFT_LLM_PRICE: must be two .* such as 0\.15,0\.60$"
        ):
            load()


@pytest.mark.parametrize("name", ["MEMLIFT_EMBEDDING_URL", "MEMLIFT_RERANKER_URL"])
def test_an_address_that_is_none_is_told_what_one_looks_like(put: Put, name: str) -> None:
    put(name, "host:8080")
    with pytest.raises(Rejected, match=f"{name}: must be an address such as http://host:8080/v1"):
        load()


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        ("inf", "finite number"),
        ("nan", "finite number"),
        ("1e9", "less than or equal to 1000000"),
        ("-1", "greater than or equal to 0"),
    ],
)
def test_a_daily_cost_is_finite_and_within_what_a_namespace_may_have(
    put: Put, cost: str, said: str
) -> None:
    put("MEMLIFT_LLM_DAILY_COST", f"{MAX_COST}")
    assert load().llm_daily_cost == MAX_COST
    put("MEMLIFT_LLM_DAILY_COST", cost)
    with pytest.raises(Rejected, match=f"MEMLIFT_LLM_DAILY_COST: Input should be .*{said}"):
        load()
