"""What `memlift rollback --dry-run` says of the weights."""

from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from memlift_client import MemLift

from server.cli import main


def test_the_weights_that_would_change_most_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    weights = [SimpleNamespace(memory_id=f"m{n}", before=1.5, after=None) for n in range(12)]
    done = SimpleNamespace(
        dry_run=True,
        rollback_id=None,
        difference=SimpleNamespace(total=1200, weights=weights),
        **dict.fromkeys(("outcomes", "trajectories", "retired", "weakened"), ()),
    )
    monkeypatch.setattr(MemLift, "rollback", lambda *_, **__: done)

    words = ["rollback", "--agent", "liar", "--dry-run", "--url", "http://127.0.0.1:9"]
    said = CliRunner().invoke(main, words, env={"MEMLIFT_KEY": "ml_key"}).stdout.splitlines()

    assert said[1:4] == [
        "1,200 weights would change, these 10 most:",
        "MEMORY  FROM  TO",
        "m0      1.50  -",
    ]
    assert len(said) == 3 + 10
