"""What an operator does by the command line, against a server that runs."""

import json
from collections.abc import Callable
from uuid import uuid4

import httpx
import pytest
from click.testing import CliRunner, Result
from memlift_client import MemLift

from server.cli import main
from server.settings import Settings, variable
from tests.acceptance.servers import Server

Memlift = Callable[..., Result]
CLIENTS = ("MEMLIFT_URL", "MEMLIFT_KEY", "MEMLIFT_NAMESPACE")


@pytest.fixture
def memlift(shared_server: Server, monkeypatch: pytest.MonkeyPatch) -> Memlift:
    """`memlift WORDS` beside the server of the run."""
    shared_server.await_ready()
    for field in Settings.model_fields:
        monkeypatch.setenv(variable(field), "")
    for name in CLIENTS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MEMLIFT_HOME", str(shared_server.home.data))

    def run(*words: object, **more: str) -> Result:
        return CliRunner().invoke(main, [str(word) for word in words], **more)

    return run


@pytest.fixture
def slug(memlift: Memlift) -> str:
    slug = f"cli-{uuid4().hex[:8]}"
    done(memlift("namespace", "create", slug, "coins=false"))
    return slug


def done(result: Result) -> str:
    assert result.exit_code == 0, result.output
    return result.stdout


def read(result: Result) -> object:
    return json.loads(done(result))


def sentence(result: Result) -> str:
    """The one line on standard error of a command that failed."""
    assert (result.exit_code, result.stdout) == (1, ""), result.output
    [line] = result.stderr.splitlines()
    assert line.startswith("memlift: ")
    return line


def test_a_key_is_made_listed_used_and_ended(
    memlift: Memlift, slug: str, shared_server: Server
) -> None:
    words = ("key", "create", "bot", "--namespace", slug, "--agent", "bot")
    token = done(memlift(*words)).strip()
    with shared_server.client(slug, key=token) as client:
        key_id = client.me().key_id
        assert client.me().agents == ("bot",)

    keys = read(memlift("key", "list", "--json"))
    assert [one["role"] for one in keys if one["id"] == key_id] == ["agent"]  # pyright: ignore[reportIndexIssue, reportGeneralTypeIssues] - JSON
    assert key_id in done(memlift("key", "list"))
    assert read(memlift("key", "revoke", key_id, "--json")) == {"revoked": key_id}
    [line] = [one for one in done(memlift("key", "list")).splitlines() if key_id in one]
    assert line.endswith("revoked")


def test_a_namespace_is_set_frozen_and_deleted(memlift: Memlift, slug: str) -> None:
    done(memlift("namespace", "settings", slug, "coins=true", "slot_rate=0"))
    foreseen = memlift("namespace", "settings", slug, "--policy", "paper", "--dry-run")
    assert "0 outcomes refolded under paper instead of belief" in done(foreseen)
    assert "policy=steps" in done(memlift("namespace", "settings", slug, "--policy", "steps"))
    done(memlift("namespace", "settings", slug, "--policy", "belief"))
    assert memlift("namespace", "settings", slug, "--dry-run").exit_code == 2
    settings = read(memlift("namespace", "settings", slug, "--json"))
    assert settings["coins"] is True  # pyright: ignore[reportIndexIssue] - JSON

    assert "learning frozen" in done(memlift("namespace", "freeze", slug))
    assert "learning on" in done(memlift("namespace", "resume", slug))
    assert slug in done(memlift("namespace", "list"))

    assert memlift("namespace", "delete", slug, input="another\n").exit_code == 2
    done(memlift("namespace", "delete", slug, input=f"{slug}\n"))
    assert slug in sentence(memlift("namespace", "settings", slug))


def test_a_setting_that_there_is_none_of_is_refused_by_name(memlift: Memlift, slug: str) -> None:
    assert "colour" in sentence(memlift("namespace", "settings", slug, "colour=red"))
    assert memlift("namespace", "settings", slug, "colour").exit_code == 2


def test_jobs_are_listed_tried_and_run(memlift: Memlift, slug: str) -> None:
    assert "merge" in done(memlift("job", "list"))
    tried = read(memlift("job", "dry-run", "merge", "--namespace", slug, "--json"))
    ran = read(memlift("job", "run", "merge", "--namespace", slug, "--json"))
    assert (tried["dry_run"], ran["dry_run"]) == (True, False)  # pyright: ignore[reportIndexIssue] - JSON
    assert "merge" in done(memlift("job", "runs", "--namespace", slug))
    assert "nonsense" in sentence(memlift("job", "run", "nonsense", "--namespace", slug))
    stopped = memlift("job", "stop", ran["id"], "--namespace", slug)  # pyright: ignore[reportIndexIssue, reportArgumentType] - JSON
    assert "nothing of this run is left to stop" in sentence(stopped)


def test_runs_are_listed_newest_first_and_outcomes_applied(memlift: Memlift, slug: str) -> None:
    for name in ("merge", "decay"):
        done(memlift("job", "run", name, "--namespace", slug))

    found = read(memlift("job", "runs", "--limit", "1", "--namespace", slug, "--json"))
    assert [one["job"] for one in found] == ["decay"]  # pyright: ignore[reportIndexIssue, reportGeneralTypeIssues] - JSON
    assert " no " in done(memlift("job", "runs", "--namespace", slug))
    said = done(memlift("job", "apply", "--retry", "--namespace", slug))
    assert said.startswith("0 applied, 0 wait, 0 set aside; bank version ")


def test_a_rollback_is_looked_at_first(memlift: Memlift, slug: str) -> None:
    done(memlift("key", "create", "bot", "--namespace", slug))
    [key] = [one for one in read(memlift("key", "list", "--json")) if one["namespace"] == slug]  # pyright: ignore[reportGeneralTypeIssues] - JSON
    words = ("rollback", "--key-id", key["id"], "--namespace", slug)

    said = done(memlift(*words, "--dry-run"))
    assert said.startswith("would withdraw 0 outcomes")
    assert "no weight would change" in said
    by_name = ("rollback", "--namespace", slug, "--dry-run", "--key-id")
    assert done(memlift(*by_name, "bot")) == said
    assert "`memlift key list` has names and ids" in sentence(memlift(*by_name, "liar"))
    done(memlift("key", "create", "bot", "--namespace", slug))
    assert "2 keys are called bot, name one: " in sentence(memlift(*by_name, "bot"))
    # The id is nobody's credential.
    mistaken = memlift("rollback", "--key", key["id"], "--namespace", slug)
    assert mistaken.exit_code == 2
    assert "--key-id" in mistaken.output
    assert done(memlift(*words)).startswith("withdrew 0 outcomes")


def test_a_rollback_is_undone(memlift: Memlift, slug: str, shared_server: Server) -> None:
    with MemLift.from_home(shared_server.home.data, slug) as client:
        lesson = {"situation": "a refund", "lesson": "look at the method"}
        client.remember(agent="bot", category="billing", **lesson)
    words = ("rollback", "--namespace", slug)
    undo = done(memlift(*words, "--agent", "bot")).rpartition("--undo ")[2].strip()

    assert "goes alone" in memlift(*words, "--undo", undo, "--agent", "bot").output
    assert "withdraw it again" in memlift(*words, "--undo", undo, "--dry-run").output
    said = done(memlift(*words, "--undo", undo))
    assert said == "gave back 0 outcomes and 0 runs, restored 1 memory\n"
    assert "undone already" in sentence(memlift(*words, "--undo", undo))


def test_status_says_whether_it_serves_and_for_whom(memlift: Memlift, slug: str) -> None:
    said = done(memlift("status"))
    found = read(memlift("status", "--json"))

    assert ": ready" in said
    assert slug in said
    assert (found["status"], found["key"]["role"]) == ("ready", "operator")  # pyright: ignore[reportIndexIssue] - JSON


def test_open_prints_a_link_that_logs_in(memlift: Memlift, shared_server: Server) -> None:
    link = done(memlift("open", "--print")).strip()
    address, _, code = link.partition("/dashboard/login?link=")

    assert address == shared_server.url
    answer = httpx.post(f"{address}/dashboard/login", data={"link": code}, timeout=60)
    assert answer.status_code == 303


@pytest.mark.parametrize(
    "words",
    [("key", "create"), ("key", "create", "x", "--role", "king"), ("nonsense",), ("job", "run")],
)
def test_wrong_use_is_exit_code_two(memlift: Memlift, words: tuple[str, ...]) -> None:
    assert memlift(*words).exit_code == 2


def test_data_says_which_server_whatever_key_is_named(
    memlift: Memlift, shared_server: Server, slug: str, monkeypatch, tmp_path
) -> None:
    boss, data = tmp_path / "boss.key", shared_server.home.data
    boss.write_text((data / "operator.key").read_text())
    monkeypatch.setenv("MEMLIFT_HOME", str(tmp_path))
    monkeypatch.setenv("MEMLIFT_URL", "http://127.0.0.1:9")
    here = ("--data", data, "--key-file", boss)

    assert shared_server.url in done(memlift("status", *here))
    assert slug in done(memlift("namespace", "list", *here))
    both = memlift("status", "--url", shared_server.url, *here)
    assert (both.exit_code, "give one of the two" in both.stderr) == (2, True)


def test_what_the_server_or_the_client_refuses_is_one_sentence(memlift: Memlift, tmp_path) -> None:
    (tmp_path / "key").write_text(f"ml_{'0' * 32}_{'0' * 64}")

    assert "key" in sentence(memlift("status", "--key-file", tmp_path / "key"))
    assert "nowhere" in sentence(memlift("key", "list", "--key-file", tmp_path / "nowhere"))
    assert "operator.key" in sentence(memlift("status", "--data", tmp_path))
