"""What Claude Code, Codex and Hermes wrote down, read into the same moments."""

from pathlib import Path

import pytest
from coding_transcripts import ONE, TWO, hermes_messages, transcript
from memlift_coding.hooks import READERS
from memlift_coding.session import run_of, said_under
from memlift_coding.transcripts import Moment, last_turn, read_codex, read_messages, read_rows

ASKED = "Make the parser accept empty lists"
CITED = "The empty case comes first, as [m1] says."
DONE = "Empty lists are accepted now."


def moments(tmp_path: Path, tool: str) -> list[Moment]:
    return READERS[tool](read_rows(transcript(tmp_path, tool)))


def test_a_session_of_claude_code_is_its_prompts_words_and_commands(tmp_path: Path):
    found = moments(tmp_path, "claude-code")

    assert [one.text for one in found if one.kind == "prompt"] == [
        ASKED,
        "Now do the same for tabs",
    ]
    assert [one.text for one in found if one.kind == "advice"] == [ONE, TWO]
    commands = [(one.text.split()[-1], one.status) for one in found if one.kind == "command"]
    assert commands == [("tests/test_parser.py", 1), ("tests/test_parser.py", 0), ("test", None)]
    assert [one.text for one in found if one.kind == "tool"] == ["Read", "Edit"]
    assert said_under(ONE, found) == f"{CITED}\n\n{DONE}"
    assert [one.text for one in last_turn(found) if one.kind == "command"] == ["npm test"]


def test_a_session_of_codex_is_its_prompts_words_and_commands(tmp_path: Path):
    found = moments(tmp_path, "codex")

    assert [one.text for one in found if one.kind == "prompt"] == [ASKED]
    assert [one.text for one in found if one.kind == "advice"] == [ONE]
    commands = [(one.text, one.status) for one in found if one.kind == "command"]
    assert commands == [
        ("pytest -q tests/test_parser.py", 1),
        ("pytest -q", None),  # it runs on, and its end is read from what came later
        ("pytest -q", 0),
    ]
    assert "3 passed" in found[-2].output
    assert said_under(ONE, found) == f"{CITED}\n\n{DONE}"


@pytest.mark.parametrize(
    ("given", "output", "status"),
    [
        (
            {"command": ["bash", "-lc", "go test ./..."]},
            '{"output":"ok","metadata":{"exit_code":0}}',
            0,
        ),
        ({"command": "go test ./..."}, "Exit code: 1\nWall time: 0.1 seconds\nOutput:\nFAIL", 1),
        ({"command": ["go", "test", "./..."]}, {"content": "Exit code: 2\nOutput:\n"}, 2),
        ({"command": "go test ./..."}, "Output:\nExit code: 0", None),
        ({"command": "go test ./..."}, "failed in sandbox", None),
    ],
)
def test_older_forms_of_a_codex_shell_are_read(given: object, output: object, status: int | None):
    call = {"type": "function_call", "name": "shell", "arguments": given, "call_id": "1"}
    done = {"type": "function_call_output", "call_id": "1", "output": output}
    rows = [{"type": "response_item", "payload": item} for item in (call, done)]

    assert [(one.text, one.status) for one in read_codex(rows)] == [("go test ./...", status)]


def test_messages_of_hermes_hold_a_status_and_an_output():
    found = read_messages(hermes_messages(ASKED, "pytest", 1, DONE))

    assert [(one.kind, one.text, one.status) for one in found] == [
        ("prompt", ASKED, None),
        ("command", "pytest", 1),
        ("said", DONE, None),
    ]


def test_what_cannot_be_read_is_passed_over(tmp_path: Path):
    path = tmp_path / "cut.jsonl"
    path.write_bytes(b'[1]\n\xff\n{"type":"user","message":{"content":"Fix it all"}}\n{"type":"us')

    [prompt] = READERS["claude-code"](read_rows(path))

    assert prompt == Moment("prompt", "Fix it all")
    assert READERS["codex"](read_rows(path)) == []


@pytest.mark.parametrize("junk", ["[" * 100_000, '{"a":' * 100_000])
def test_a_line_that_is_nested_too_deep_is_passed_over(tmp_path: Path, junk: str):
    path = transcript(tmp_path, "codex")
    whole = read_codex(read_rows(path))
    path.write_text(f"{junk}\n{path.read_text()}{junk}\n")
    call = {"type": "function_call", "name": "shell", "arguments": junk, "call_id": "1"}

    assert read_codex(read_rows(path)) == whole
    assert read_codex([{"type": "response_item", "payload": call}]) == []


@pytest.mark.parametrize("prompt", ["# Task\nFix it", "<ul> parser: fix it", "# AGENTS.md is old"])
def test_a_turn_begins_at_a_prompt_however_it_begins(prompt: str):
    item = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]}

    [found] = read_codex([{"type": "response_item", "payload": item}])

    assert found == Moment("prompt", prompt)


def test_the_steps_of_a_turn_are_cut_to_what_a_run_may_hold(tmp_path: Path):
    found = moments(tmp_path, "codex")
    long = [Moment("command", "pytest", "x" * 10_000, 1)] * 200
    odd = [Moment("said", " "), Moment("tool", ""), Moment("tool", "Read", "half \ud83d", 0)]

    steps = run_of(last_turn(found))["steps"]
    cut = run_of(long)["steps"]

    assert run_of(odd)["steps"] == [{"role": "assistant", "tool": "Read", "result": "half ?"}]
    assert steps[0] == {"role": "assistant", "text": CITED}
    assert steps[1]["arguments"] == {"command": "pytest -q tests/test_parser.py"}
    assert "1 failed" in (steps[1]["error"] or "")
    assert 10 < len(cut) < 200
    assert len(cut[0]["error"] or "") < 4_100
