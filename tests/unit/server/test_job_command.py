"""What `memlift job run` says of a rebuild that found states that differ from the ledger."""

from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from memlift_client import MemLift

from server.cli import main


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
