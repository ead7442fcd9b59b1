"""What `memlift job` says: of a rebuild whose states differ, and of a run that is stopped."""

from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from memlift_client import MemLift

from server.cli import main

RUN = "0190a3f0-0000-7000-8000-000000000001"


@pytest.mark.parametrize(
    ("differing", "said"),
    [
        (["m1"], "1 state differs from the ledger: m1"),
        ([f"m{n}" for n in range(7)], "7 states differ from the ledger: m0, m1, m2, m3, m4 and 2"),
    ],
)
def test_states_that_differ_end_the_command_with_1_and_a_sentence(
    monkeypatch: pytest.MonkeyPatch, differing: list[str], said: str
) -> None:
    run = SimpleNamespace(state="done", result={"exact": False, "differing": differing})
    monkeypatch.setattr(MemLift, "run_job", lambda *_, **__: run)

    words = ["job", "run", "rebuild", "--url", "http://127.0.0.1:9"]
    result = CliRunner().invoke(main, words, env={"MEMLIFT_KEY": "ml_key"})

    assert result.exit_code == 1
    assert '"exact": false' in result.stdout
    assert said in result.stderr


def test_a_run_that_is_stopped_is_named_with_what_it_has_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stopped: list[str] = []

    def stop(_: MemLift, run_id: str) -> SimpleNamespace:
        stopped.append(run_id)
        return SimpleNamespace(job="retention", result={"rows_removed": 1200, "stopped": True})

    monkeypatch.setattr(MemLift, "stop_job_run", stop)
    words = ["job", "stop", RUN, "--url", "http://127.0.0.1:9"]
    result = CliRunner().invoke(main, words, env={"MEMLIFT_KEY": "ml_key"})

    assert stopped == [RUN]
    assert result.stdout.startswith("retention is stopped; the next run does the rest:")
    assert '"rows_removed": 1200' in result.stdout


def test_what_is_no_id_of_a_run_is_refused_before_the_server_is_asked() -> None:
    assert CliRunner().invoke(main, ["job", "stop", "retention"]).exit_code == 2
