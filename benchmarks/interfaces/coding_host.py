"""A coding agent with hooks, and a script in the place of its model.

`python -m benchmarks.interfaces.coding_host EXAMPLE.sh`: the script installs hooks into settings
of its own; then each task is a session: its hooks are called by the events and the transcript
that Claude Code writes.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.interfaces.agent import TASKS, act, judge

COMMAND = f"""\
#!/bin/sh
exec {sys.executable} -m memlift_coding "$@"
"""


def main(example: str) -> None:
    """Install, then one session a task."""
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        command = home / "memlift-coding"
        command.write_text(COMMAND, encoding="utf-8")
        command.chmod(0o700)
        variables = {
            **os.environ,
            "CLAUDE_CONFIG_DIR": name,
            "PATH": f"{name}{os.pathsep}{os.environ['PATH']}",
        }
        subprocess.run(["sh", "-eu", example], env=variables, check=True)  # noqa: S603, S607 - an example of ours
        hooks = json.loads((home / "settings.json").read_text(encoding="utf-8"))["hooks"]
        for number, task in enumerate(TASKS):
            _session(hooks, home / f"{number}.jsonl", task, variables)


def _session(
    hooks: Mapping[str, Any], transcript: Path, task: str, variables: Mapping[str, str]
) -> None:
    event = {"session_id": transcript.stem, "transcript_path": str(transcript)}
    advice = _fire(
        hooks, {**event, "hook_event_name": "UserPromptSubmit", "prompt": task}, variables
    )
    answer = act(task, advice)
    passed = judge(answer) == 1
    ran = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "pytest -q"}}
    result = {"type": "tool_result", "tool_use_id": "t", "is_error": not passed}
    rows = [
        {"type": "user", "message": {"content": task}},
        {
            "type": "attachment",
            "attachment": {"type": "hook_additional_context", "content": [advice]},
        },
        {"type": "assistant", "message": {"content": [{"type": "text", "text": answer}, ran]}},
        {
            "type": "user",
            "message": {"content": [{**result, "content": "1 passed" if passed else "1 failed"}]},
        },
    ]
    transcript.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    _fire(hooks, {**event, "hook_event_name": "Stop"}, variables)


def _fire(
    hooks: Mapping[str, Any], event: Mapping[str, object], variables: Mapping[str, str]
) -> str:
    """What the hooks of an event add to the context."""
    added = ""
    for group in hooks.get(str(event["hook_event_name"]), ()):
        for hook in group["hooks"]:
            ended = subprocess.run(  # noqa: S602 - as the tool does
                hook["command"],
                shell=True,
                input=json.dumps(event),
                env=variables,
                text=True,
                stdout=subprocess.PIPE,
                timeout=hook["timeout"],
                check=True,
            )
            if ended.stdout.strip():
                added += json.loads(ended.stdout)["hookSpecificOutput"]["additionalContext"]
    return added


if __name__ == "__main__":
    main(sys.argv[1])
