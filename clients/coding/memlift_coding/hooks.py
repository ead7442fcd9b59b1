"""What a hook does, whichever tool calls it: an event comes in, and context goes out.

A hook never stands in the agent's way. Whatever goes wrong is a line on standard error, and the
status is 0: any other blocks a prompt, or is shown as a fault of the agent.
"""

import json
import logging
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from threading import Thread
from typing import cast

from memlift_client import MemLiftError

from memlift_coding.session import Settings, ask, is_task, report
from memlift_coding.transcripts import (
    Moment,
    Row,
    read_claude_code,
    read_codex,
    read_rows,
)

READERS: dict[str, Callable[[Iterable[Row]], list[Moment]]] = {
    "claude-code": read_claude_code,
    "codex": read_codex,
}
ANSWERS = 3
"""A hook asks as often, or a few times more where several receipts wait."""


def run_hook(tool: str, settings: Settings, text: str) -> int:
    """Take one event as the tool wrote it. The exit status: 0."""
    # What the server warns of is in the outcome; a line here is shown as a fault.
    logging.getLogger("memlift_client").setLevel(logging.ERROR)
    answers: list[str] = []
    deadline = ANSWERS * settings.patience

    def work() -> None:
        try:
            answers.append(answer(tool, settings, text))
        except (MemLiftError, OSError, ValueError) as fault:
            print(f"memlift: {' '.join(str(fault).split())}", file=sys.stderr)
        except Exception as fault:  # noqa: BLE001 - an agent must not fall over its memory
            print(f"memlift: {type(fault).__name__}: {fault}", file=sys.stderr)

    worker = Thread(target=work, daemon=True)
    worker.start()
    worker.join(deadline)
    if worker.is_alive():
        print(f"memlift: no answer within {deadline:g} seconds", file=sys.stderr)
    elif answers and answers[0]:
        print(answers[0])
    return 0


def answer(tool: str, settings: Settings, text: str) -> str:
    """What to print for an event, which may be nothing. Raises ValueError where it is none, and
    MemLiftError or OSError where it could not be told.
    """
    try:
        event: object = json.loads(text)
    except (ValueError, RecursionError):
        event = None
    if not isinstance(event, dict):
        raise ValueError("the event is no JSON object")  # noqa: TRY004 - what was sent is wrong, not its type here
    known = cast("Row", event)
    name, session = known.get("hook_event_name"), str(known.get("session_id") or "")
    # A subagent works for a prompt that was asked about; no message can hold other names.
    if not session.isprintable() or not session or known.get("agent_id"):
        return ""
    if name == "UserPromptSubmit" and is_task(prompt := str(known.get("prompt") or "")):
        moments = _moments(tool, known)
        first = all(one.kind != "advice" for one in moments)
        with settings.connect() as memory:
            context = ask(memory, settings, session, prompt, first=first)
        added = {"hookEventName": name, "additionalContext": context}
        return json.dumps({"hookSpecificOutput": added}) if context else ""
    if name == "Stop":
        moments = _moments(tool, known)
        last = str(known.get("last_assistant_message") or "")
        # It is often written down only after the hook was called.
        if last and all(one.text != last for one in moments if one.kind == "said"):
            moments.append(Moment("said", last))
        with settings.connect() as memory:
            report(memory, settings, session, moments)
    return ""


def _moments(tool: str, event: Row) -> list[Moment]:
    """The session so far; empty where nothing is written down of it yet."""
    path = Path(str(event.get("transcript_path") or "")).expanduser()
    return READERS[tool](read_rows(path)) if path.is_file() else []
