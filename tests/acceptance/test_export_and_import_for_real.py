"""A namespace leaves a running server as a file, and another one on another Postgres serves it."""

import stat
import tarfile
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from memlift_client import MemLift

from tests.acceptance.servers import Home, Server, command

RAIN = "Will it rain in the dry month?"
LESSONS = {
    "rain is forecast in a dry month": "start from the base rate of the month",
    "two forecasts of rain differ": "trust the one that was made later",
    "a storm was seen on the radar": "look at the wind before the rain",
}
SETTINGS = {"control_rate": 0, "slot_rate": 0, "coins": False, "meta_guidelines": False}


def test_a_namespace_moves_to_another_server(
    shared_server: Server, begin: Callable[..., Server], tmp_path: Path
) -> None:
    slug = f"moves-{uuid4().hex[:8]}"
    shared_server.client().create_namespace(slug, settings=SETTINGS)
    here = shared_server.client(slug)
    for situation, lesson in LESSONS.items():
        here.remember(agent="keeper", situation=situation, lesson=lesson)
    open_one = here.retrieve(RAIN, agent="asker", arm="on", explore=False)
    whole, small = tmp_path / "whole.tar.gz", tmp_path / "small.tar"
    other = Home(shared_server.home.data.with_name(slug))
    from_here = {"MEMLIFT_HOME": shared_server.home.data}
    to_there = {"MEMLIFT_HOME": other.data}

    left = command("export", slug, "--out", whole, **from_here)
    again = command("export", slug, "--out", whole, **from_here)
    bare = command("export", slug, "--out", small, "--no-vectors", **from_here)
    came = [
        command("import", whole, "--namespace", "arrived", **to_there),
        command("import", small, "--namespace", "anew", "--conflict", "new_ids", **to_there),
    ]
    server = begin(other).await_ready()

    for one in (left, bare, *came):
        assert one.returncode == 0, one.stderr
    assert left.stdout.startswith(f"exported {slug}: ")
    assert (again.returncode, again.stderr) == (1, f"memlift: there is a file {whole} already\n")
    assert stat.S_IMODE(whole.stat().st_mode) == 0o600
    assert {one.name for one in tmp_path.iterdir()} == {whole.name, small.name}
    with tarfile.open(whole) as tar:
        assert tar.getnames()[:2] == ["manifest.json", "api_key.jsonl"]
    assert came[0].stdout.splitlines()[-1].endswith("rows into arrived")
    there, anew = server.client("arrived"), server.client("anew")
    ids, scores = zip(*(served(one) for one in (here, there, anew)), strict=True)
    assert ids[0] == ids[1] != []
    assert not set(ids[0]) & set(ids[2])
    # The query is embedded anew by another process, beside whatever else it is asked.
    assert scores[1] == pytest.approx(scores[0], abs=1e-6)
    assert scores[2] == pytest.approx(scores[0], abs=1e-6)
    assert there.report(open_one.retrieval_id, reward=0.9).status == "accepted"
    assert there.apply_outcomes().pending == 0


def served(client: MemLift) -> tuple[list[str], list[float]]:
    answer = client.retrieve(RAIN, agent="asker", arm="on", explore=False)
    items = client.get_retrieval(answer.retrieval_id).items
    return [str(item.memory_id) for item in items], [item.score for item in items]
