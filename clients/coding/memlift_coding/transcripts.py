"""What a coding agent wrote down of a session, each tool's form read into the same moments.

Claude Code and Codex keep a file of JSON lines; Hermes hands over a list of messages. What is not
known is passed over, for these forms grow: a line that is cut off, another kind of record.
"""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast

LONGEST_READ = 64 * 1024 * 1024
"""Bytes at the end of a transcript that are read."""

RECEIPT = re.compile(r"MemLift receipt ([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
"""How advice names its receipt, in the context that a hook adds."""

NOTICE = re.compile(
    r"\s*<(?:task-notification|local-command-\w+|command-(?:name|message|args|contents)"
    r"|bash-(?:input|stdout|stderr)|system-reminder|ide_\w+|user-prompt-submit-hook|post-tool-use-hook"
    r"|user-memory-input|session-start-hook|new-diagnostics|teammate-message|environment_context"
    r"|user_instructions|user_shell_command|user_action|turn_aborted|subagent_notification|skill"
    r"|INSTRUCTIONS)[\s>]"
)
"""What a tool says in the user's name. A prompt may begin with a tag of its own."""

Row = Mapping[str, object]
Kind = Literal["prompt", "advice", "said", "command", "tool"]


@dataclass(frozen=True, slots=True)
class Moment:
    """One thing that happened in a session.

    `text` is what the user or the agent said, the receipt of an advice, the command line, or a
    tool's name. `status` is a command's exit status; None where it is not known, as of one that was
    interrupted, refused or goes on.
    """

    kind: Kind
    text: str
    output: str = ""
    status: int | None = None


def read_rows(path: Path) -> Iterator[Row]:
    """The objects of a file of JSON lines; what is no object is passed over."""
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - LONGEST_READ))
        for line in file:
            try:
                row: object = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(row, dict):
                yield cast("Row", row)


def last_turn(moments: Sequence[Moment]) -> Sequence[Moment]:
    """From the user's last prompt on; all of it where there is none."""
    starts = [place for place, one in enumerate(moments) if one.kind == "prompt"]
    return moments[starts[-1] :] if starts else moments


def read_claude_code(rows: Iterable[Row]) -> list[Moment]:
    """The moments of a Claude Code session, without those of its subagents."""
    found: list[Moment] = []
    calls: dict[str, tuple[str, Row]] = {}
    for row in rows:
        if row.get("isSidechain") or row.get("isMeta") or row.get("isCompactSummary"):
            continue
        attached = _object(row.get("attachment"))
        if str(attached.get("type")).startswith("hook_"):
            found += _advice(json.dumps(attached))
            continue
        message = _object(row.get("message"))
        for block in _blocks(message.get("content")):
            match (row.get("type"), block.get("type")):
                case ("user", "text"):
                    found += _prompt(str(block.get("text")))
                case ("assistant", "text"):
                    found.append(Moment("said", str(block.get("text"))))
                case ("assistant", "tool_use"):
                    name, given = str(block.get("name")), _object(block.get("input"))
                    calls[str(block.get("id"))] = (name, given)
                case ("user", "tool_result"):
                    name, given = calls.get(str(block.get("tool_use_id")), ("", {}))
                    found.append(_claude_result(name, given, block, row.get("toolUseResult")))
                case _:
                    pass
    return found


def _claude_result(name: str, given: Row, block: Row, more: object) -> Moment:
    output = _text(block.get("content"))
    status: int | None = 0
    if block.get("is_error"):
        named = re.match(r"(?:Error: )?Exit code (\d+)", output)
        status = int(named[1]) if named else None
    known = _object(more)
    if known.get("interrupted") or known.get("backgroundTaskId") or given.get("run_in_background"):
        status = None
    if name == "Bash":
        return Moment("command", str(given.get("command")), output, status)
    return Moment("tool", name, output, status)


CODEX_SHELLS = ("exec_command", "shell_command", "shell", "container.exec")
CODEX_STATUS = re.compile(r"^(?:Process exited with code|Exit code:) (-?\d+)$", re.MULTILINE)
CODEX_RUNS_ON = re.compile(r"^Process running with session ID (\d+)$", re.MULTILINE)


def read_codex(rows: Iterable[Row]) -> list[Moment]:
    """The moments of a Codex session, as its rollout file has them."""
    found: list[Moment] = []
    calls: dict[str, Moment] = {}
    running: dict[str, Moment] = {}
    for row in rows:
        item = _object(row.get("payload"))
        if row.get("type") != "response_item":
            continue
        call_id = str(item.get("call_id"))
        match item.get("type"):
            case "message":
                found += _codex_message(item)
            case "function_call" | "custom_tool_call" | "local_shell_call":
                calls[call_id] = _codex_call(item, running)
            case "function_call_output" | "custom_tool_call_output":
                output = item.get("output")
                found.append(_codex_result(calls.get(call_id, Moment("tool", "")), output))
                if (session := CODEX_RUNS_ON.search(_header(_text(output)))) is not None:
                    running[session[1]] = found[-1]
            case _:
                pass
    return found


def _codex_message(item: Row) -> list[Moment]:
    text = _text(item.get("content"))
    if item.get("role") == "assistant":
        return [Moment("said", text)]
    if item.get("role") == "user" and not text.startswith("# AGENTS.md instructions"):
        return _prompt(text)
    return _advice(text)


def _codex_call(item: Row, running: Mapping[str, Moment]) -> Moment:
    """What is called; what is typed into a command that runs on belongs to that command."""
    name = str(item.get("name"))
    given = _parsed(item.get("arguments")) if "arguments" in item else _object(item.get("action"))
    if name == "write_stdin":
        return running.get(str(given.get("session_id")), Moment("tool", name))
    if name not in CODEX_SHELLS and item.get("type") != "local_shell_call":
        return Moment("tool", name)
    command = given.get("cmd") or given.get("command")
    if isinstance(command, list):
        words = [str(word) for word in cast("list[object]", command)]
        inner = len(words) == 3 and words[1] in {"-c", "-lc"}  # noqa: PLR2004 - a shell, its option, a script
        command = words[2] if inner else shlex.join(words)
    return Moment("command", str(command))


def _codex_result(call: Moment, output: object) -> Moment:
    text = _text(output)
    known = _parsed(output)
    exited = _object(known.get("metadata")).get("exit_code")
    if isinstance(exited, int):
        text, status = str(known.get("output")), exited
    else:
        named = CODEX_STATUS.search(_header(text))
        status = int(named[1]) if named else None
    return replace(call, output="\n".join(filter(None, (call.output, text))), status=status)


def _header(text: str) -> str:
    """What Codex says before the output; what a command prints may look like it."""
    return re.split(r"^Output:", text, maxsplit=1, flags=re.MULTILINE)[0]


def read_messages(messages: Iterable[Row]) -> list[Moment]:
    """The moments of a list of chat messages, as Hermes hands them over."""
    found: list[Moment] = []
    calls: dict[str, tuple[str, Row]] = {}
    for message in messages:
        text = _text(message.get("content"))
        match message.get("role"):
            case "user":
                found += _prompt(text)
            case "assistant":
                found += [Moment("said", text)] if text else []
                for call in _blocks(message.get("tool_calls")):
                    function = _object(call.get("function"))
                    named = (str(function.get("name")), _parsed(function.get("arguments")))
                    calls[str(call.get("id"))] = named
            case "tool":
                name, given = calls.get(str(message.get("tool_call_id")), ("", {}))
                found.append(_message_result(name, given, text))
            case _:
                pass
    return found


def _message_result(name: str, given: Row, text: str) -> Moment:
    known = _parsed(text)
    if name != "terminal":
        return Moment("tool", name, text, None if known.get("error") else 0)
    exited = known.get("exit_code")
    status = exited if isinstance(exited, int) and exited >= 0 else None
    if given.get("background"):
        status = None
    return Moment("command", str(given.get("command")), str(known.get("output") or ""), status)


def _prompt(text: str) -> list[Moment]:
    """What the user said. What a tool says in the user's name stands between tags or brackets."""
    advice = _advice(text)
    if advice or text.startswith("[Request interrupted"):
        return advice
    return [Moment("prompt", text)] if is_prompt(text) else []


def is_prompt(text: str) -> bool:
    """Whether it is the user's own words."""
    return bool(text.strip()) and NOTICE.match(text) is None


def _advice(text: str) -> list[Moment]:
    return [Moment("advice", receipt) for receipt in RECEIPT.findall(text)]


def _blocks(content: object) -> list[Row]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return []
    return [cast("Row", one) for one in cast("list[object]", content) if isinstance(one, dict)]


def _text(content: object) -> str:
    """The words of a message or of a tool's answer, in any of the forms that they have."""
    if isinstance(content, dict):
        content = cast("Row", content).get("content")
    return "\n".join(str(block["text"]) for block in _blocks(content) if "text" in block)


def _object(value: object) -> Row:
    return cast("Row", value) if isinstance(value, dict) else {}


def _parsed(text: object) -> Row:
    """The object that a text holds; none where it holds something else."""
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        return _object(text)
    try:
        return _object(json.loads(text))
    except (ValueError, RecursionError):
        return {}
