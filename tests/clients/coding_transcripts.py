"""Sessions of coding agents, in the form that each tool keeps them in."""

import json
from pathlib import Path

FOLDER = Path(__file__).parent / "transcripts"
ONE, TWO = (f"01900000-0000-7000-8000-00000000000{n}" for n in (1, 2))


def transcript(folder: Path, tool: str, *receipts: str) -> Path:
    """A recorded session whose advice names these receipts."""
    text = (FOLDER / f"{tool.replace('-', '_')}.jsonl").read_text()
    for number, receipt in enumerate(receipts or (ONE, TWO), 1):
        text = text.replace(f"RECEIPT-{number}", receipt)
    path = folder / f"{tool}.jsonl"
    path.write_text(text)
    return path


def hermes_messages(
    prompt: str, command: str, exit_code: int, answer: str
) -> list[dict[str, object]]:
    """A turn as Hermes hands it over, with one command in it."""
    call = {"name": "terminal", "arguments": json.dumps({"command": command})}
    ran = {"output": "", "exit_code": exit_code, "error": None}
    return [
        {"role": "system", "content": "You are Hermes."},
        {"role": "user", "content": prompt},
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "call_1", "type": "function", "function": call}],
        },
        {"role": "tool", "tool_call_id": "call_1", "content": json.dumps(ran)},
        {"role": "assistant", "content": answer},
    ]
