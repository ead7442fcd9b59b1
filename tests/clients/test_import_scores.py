"""Scores become outcomes, at a scripted server: which are the same, what is said of each."""

import json
import logging
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from memlift_client import MemLift, OutcomeBound, Receipt
from memlift_client._import_scores import (
    Imported,
    ImportOptions,
    ScoreImport,
    Source,
    Tally,
)
from memlift_client._score_sources import Wanted, from_lines
from memlift_client._scores import RewardScale
from memlift_client.command import main
from scripted_server import QUICK, Script, a_page, a_problem, an_answer

from tests.fixtures.answers import a_document

Command = Callable[[list[str]], int]
URL = "http://memlift.test"
ROW = {"id": "s-1", "trace_id": "a", "name": "correctness", "value": 1}
BOUND = an_answer(202, {"items": [a_document(OutcomeBound, retrieval_id="r-1", warnings=[])]})


@pytest.fixture
def command(caplog: pytest.LogCaptureFixture):
    """The command line, whose log is as quiet as it wishes for this test alone."""
    caplog.set_level(logging.ERROR, logger="memlift_client")
    return main


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "scores.jsonl"


def lines(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def taken(
    file: Path,
    script: Script,
    *,
    agent: str | None = None,
    dry: bool = False,
    name: str | None = None,
) -> Tally:
    """What becomes of the file's scores, with one record of what was imported."""
    wanted = Wanted(name)
    options = ImportOptions(RewardScale(), agent, "judge", None, dry)
    source = Source("jsonl", from_lines(file, wanted), "jsonl")
    with MemLift(URL, "ml_k", retry_policy=QUICK, transport=script.transport()) as memory:
        imported = Imported(file.with_suffix(".state"))
        return ScoreImport(memory, source, options, imported).run(wanted)


def counts(tally: Tally) -> dict[str, int]:
    return {state: len(found) for state, found in tally.lines.items()}


@pytest.mark.parametrize(
    "other",
    [{"trace_id": "b"}, {"name": "helpfulness"}, {"id": "s-2"}],
    ids=["trace", "name", "id"],
)
def test_a_score_is_another_by_its_id_trace_or_name(file: Path, other: dict[str, str]):
    script = Script(BOUND)
    file.write_bytes(lines(ROW))
    taken(file, script)
    file.write_bytes(lines(ROW, ROW | other))

    tally = taken(file, script)

    assert counts(tally) == {"imported before": 1, "reported": 1}
    assert len(set(script.heads("idempotency-key"))) == len(script.requests) == 2


def test_a_score_is_reported_for_each_agent(file: Path):
    script = Script(BOUND)
    file.write_bytes(lines(ROW))

    told = [counts(taken(file, script, agent=agent)) for agent in ("bot", "other", "bot")]

    assert told == [{"reported": 1}, {"reported": 1}, {"imported before": 1}]
    assert len(set(script.heads("idempotency-key"))) == 2


def test_what_is_passed_over_is_counted_and_named(file: Path):
    nameless = {"trace_id": "b", "value": 1, "name": "tone"}
    file.write_bytes(lines(ROW, ROW | {"value": 0}, nameless, nameless))

    tally = taken(file, Script(BOUND))

    assert counts(tally) == {"reported": 2, "repeated": 2}
    assert tally.lines["repeated"] == [
        "correctness 0 of trace a (s-1): 1 was taken",
        "tone 1 of trace b (line 4): 1 was taken",
    ]
    assert counts(taken(file, Script(BOUND), name="tone")) == {
        "not wanted": 2,
        "imported before": 1,
        "repeated": 1,
    }


def test_a_line_that_is_no_score_is_named_and_the_rest_goes_on(file: Path):
    bad = [
        b"not JSON",
        b"[1]",
        b'{"value": 1}',
        b'{"trace_id": "a"}',
        b'{"trace_id": "caf\xe9", "value": 1}',
        b"[" * 100_000,
        b'{"trace_id": "a", "value": 1, "made_at": "tuesday"}',
        b"1" * 5_000,
    ]
    file.write_bytes(b"\n".join([*bad, lines(ROW)]))

    tally = taken(file, Script(BOUND))

    assert counts(tally) == {"unreadable": 8, "reported": 1}
    assert tally.has_failed
    assert tally.lines["unreadable"] == [
        "line 1: it is no JSON",
        "line 2: it is no object",
        "line 3: it needs trace_id and value",
        "line 4: it needs trace_id and value",
        "line 5: it is not UTF-8",
        "line 6: it is nested too deeply",
        "line 7: 'tuesday' is no time, such as 2026-11-01",
        "line 8: it is no JSON",
    ]


@pytest.mark.parametrize("member", ["id", "name", "trace_id"])
def test_half_a_character_is_refused_by_name(file: Path, member: str):
    file.write_bytes(lines(ROW | {member: "\ud800"}))

    tally = taken(file, Script(BOUND))

    assert counts(tally) == {"refused": 1}
    assert "half a character" in tally.lines["refused"][0]


def test_a_number_beyond_all_measure_is_refused(file: Path):
    file.write_bytes(lines(ROW | {"value": 10**400}))

    assert counts(taken(file, Script(BOUND))) == {"refused": 1}


def test_a_byte_order_mark_is_read(file: Path):
    file.write_bytes(b"\xef\xbb\xbf" + lines(ROW))

    assert counts(taken(file, Script(BOUND))) == {"reported": 1}


@pytest.mark.parametrize(
    "fault",
    [httpx.ConnectError("refused"), a_problem(503, "unavailable"), a_problem(429, "overloaded")],
    ids=["lost", "503", "429"],
)
def test_a_server_that_goes_away_leaves_a_tally(file: Path, fault: object):
    file.write_bytes(lines(ROW, ROW | {"id": "s-2"}, ROW | {"id": "s-3"}))

    tally = taken(file, Script(BOUND, fault))

    assert counts(tally) == {"reported": 1, "waiting": 1}
    assert tally.fault is not None
    assert "1 score could not be taken just now: try again" in list(tally.told())


def test_a_call_that_still_runs_is_for_another_time(file: Path):
    file.write_bytes(lines(ROW, ROW | {"id": "s-2"}))

    tally = taken(file, Script(a_problem(409, "idempotency_running")))

    assert counts(tally) == {"waiting": 2}
    assert tally.fault is None
    assert tally.has_failed


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (
            a_problem(409, "ambiguous_key", limit=[{"agent": "b"}, {"agent": "a"}]),
            ["1 score fits several runs: say whose by --agent", "of agents a, b"],
        ),
        (
            a_problem(409, "no_open_receipt"),
            ["1 score has a receipt with a result as good, or expired: correct it under"],
        ),
        (
            a_problem(422, "idempotency_mismatch"),
            ["its value, verifier or reward kind was another (now judge)"],
        ),
    ],
    ids=["ambiguous", "answered", "mismatch"],
)
def test_a_refusal_is_told_in_words_that_fit(file: Path, problem: httpx.Response, words: list[str]):
    file.write_bytes(lines(ROW))

    told = "\n".join(taken(file, Script(problem)).told())

    assert all(one in told for one in words), told


def test_a_dry_run_says_what_would_be(file: Path):
    file.write_bytes(lines(ROW, ROW | {"trace_id": "b"}))
    script = Script(a_page([a_document(Receipt, retrieval_id="r-1", agent="bot")], 1, None))

    told = list(taken(file, script, dry=True).told(dry=True))

    assert told[0] == "2 scores would be reported"
    assert told[1] == "  correctness 1 of trace a (s-1): reward 1 for r-1"
    assert not file.with_suffix(".state").exists()


def test_a_state_that_is_no_text_is_named(tmp_path: Path):
    state = tmp_path / "state"
    state.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(Exception, match=re.escape(f"--state: {state} is not UTF-8")):
        Imported(state)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["report", "--reward", "nan"], "--reward: 'nan' must be a number from 0 to 1"),
        (["report", "--reward", "2"], "--reward: '2' must be a number from 0 to 1"),
        (["report", "--reward", "well"], "--reward: 'well' must be a number from 0 to 1"),
        (["verify", "--limit", "0", "--run", "--", "true"], "must be a whole number, at least 1"),
    ],
)
def test_a_number_out_of_bounds_is_refused_by_name(
    words: list[str], why: str, command: Command, capsys: pytest.CaptureFixture[str]
):
    with pytest.raises(SystemExit) as ended:
        command(words)

    assert ended.value.code == 2
    assert why in capsys.readouterr().err


@pytest.mark.parametrize(("mode", "status"), [(None, 127), (0o644, 126)])
def test_a_command_that_cannot_be_started_reports_nothing(
    tmp_path: Path,
    command: Command,
    capsys: pytest.CaptureFixture[str],
    mode: int | None,
    status: int,
):
    program = tmp_path / "program"
    if mode is not None:
        program.touch(mode)
    # Nobody listens there, so a report would be told of.
    words = ["report", "--url", "http://127.0.0.1:9", "--receipt", "r", "--run", "--", str(program)]

    assert command(words) == status

    assert capsys.readouterr().err.endswith("it could not be started: nothing is reported\n")


@pytest.mark.parametrize("status", [126, 127])
def test_a_shell_that_had_nothing_to_run_is_no_failure_of_the_task(
    command: Command, capsys: pytest.CaptureFixture[str], status: int
):
    words = ["report", "--url", "http://127.0.0.1:9", "--receipt", "r", "--run", "--"]

    assert command([*words, "sh", "-c", f"exit {status}"]) == status

    assert capsys.readouterr().err.endswith(f"(exit {status}): nothing is reported\n")
