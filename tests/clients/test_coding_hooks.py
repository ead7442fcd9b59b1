"""Whatever goes wrong in a hook, the agent goes on."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from coding_transcripts import transcript

from memory.kernel.postgres.embedded.ports import find_free_port
from tests.acceptance.servers import ROOT, environment

PROMPT = {
    "session_id": "s-1",
    "hook_event_name": "UserPromptSubmit",
    "prompt": "Make the parser accept empty lists",
    "cwd": "/repo",
    "permission_mode": "default",
}


def hook(tool: str, event: object, url: str, *more: str) -> "subprocess.CompletedProcess[str]":
    paths = (ROOT / "clients" / "python", ROOT / "clients" / "coding")
    return subprocess.run(
        [sys.executable, "-m", "memlift_coding", "hook", tool, *more],
        input=event if isinstance(event, str) else json.dumps(event),
        env=environment(
            {
                "MEMLIFT_URL": url,
                "MEMLIFT_KEY": "ml_any",
                "PYTHONPATH": ":".join(map(str, paths)),
            }
        ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def nowhere() -> str:
    return f"http://127.0.0.1:{find_free_port()}"


@pytest.mark.parametrize("tool", ["claude-code", "codex"])
def test_a_server_that_is_away_costs_a_line(tool: str, nowhere: str, tmp_path: Path):
    stop = PROMPT | {"hook_event_name": "Stop", "last_assistant_message": "Done."}
    stop["transcript_path"] = str(transcript(tmp_path, "codex"))

    for event in (PROMPT, stop if tool == "codex" else PROMPT):
        ran = hook(tool, event, nowhere)

        assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr
        [line] = ran.stderr.splitlines()
        assert line.startswith("memlift: ")


def test_a_server_that_never_answers_is_not_waited_for_long():
    with socket.create_server(("127.0.0.1", find_free_port())) as silent:
        ran = hook("codex", PROMPT, f"http://127.0.0.1:{silent.getsockname()[1]}")

    assert (ran.returncode, ran.stdout) == (0, "")
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    "event",
    [
        PROMPT | {"prompt": "/clear all of it"},
        PROMPT | {"prompt": "/review"},
        PROMPT | {"prompt": "!ls -l"},
        PROMPT | {"prompt": "yes"},
        PROMPT | {"prompt": "<command-name>/model</command-name> a b"},
        PROMPT | {"session_id": "s-\0"},
        PROMPT | {"session_id": "s-\ud800"},
        PROMPT | {"session_id": None},
        PROMPT | {"prompt": "<task-notification>it is done</task-notification>"},
        PROMPT | {"agent_id": "a-1", "agent_type": "explorer"},
        PROMPT | {"hook_event_name": "SessionStart"},
        PROMPT | {"hook_event_name": "Stop", "transcript_path": None},
        PROMPT | {"hook_event_name": "Stop", "transcript_path": "/nowhere.jsonl"},
    ],
)
def test_what_is_no_task_and_no_test_run_asks_nothing(event: object, nowhere: str):
    ran = hook("claude-code", event, nowhere)

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.parametrize("event", ["", "no JSON", "[]", "[" * 100_000, '{"a":' * 100_000])
def test_an_event_that_is_none_costs_a_line(event: str, nowhere: str):
    ran = hook("claude-code", event, nowhere)

    assert (ran.returncode, ran.stdout) == (0, "")
    [line] = ran.stderr.splitlines()
    assert line == "memlift: the event is no JSON object"


@pytest.mark.parametrize(
    "prompt",
    [
        "# Task\nMake the parser accept empty lists",
        "/src/parser.py must accept empty lists",
        "<ul> parser: accept empty lists",
    ],
)
def test_a_prompt_is_asked_about_however_it_begins(prompt: str, nowhere: str):
    ran = hook("claude-code", PROMPT | {"prompt": prompt}, nowhere)

    assert (ran.returncode, ran.stdout) == (0, "")
    assert len(ran.stderr.splitlines()) == 1  # it was asked, and nobody was there


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--patience", value) for value in ("nan", "inf", "-1", "0", "1e9", "soon")),
        ("--tests", "("),
        ("--tests", "a{99999999999999999999}"),
    ],
)
def test_an_option_that_is_out_of_range_costs_a_line_that_names_it(
    option: str, value: str, nowhere: str
):
    ran = hook("codex", PROMPT, nowhere, f"{option}={value}")

    assert (ran.returncode, ran.stdout) == (0, "")
    [line] = ran.stderr.splitlines()
    assert option in line


def test_options_that_are_not_known_do_not_block_a_prompt(nowhere: str):
    ran = hook("codex", PROMPT, nowhere, "--from-a-later-version", "1")

    assert (ran.returncode, ran.stdout) == (0, "")
    assert "--from-a-later-version" in ran.stderr
