"""One session of a coding agent at the server: it asks before a turn, and says how it went.

All prompts of a session are one trace and stand or fall together: the session's id is their trace
and their group. A session that is not judged leaves its receipts pending, for whoever learns the
result: `report_by_key(trace_id=…)` finds them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memlift_client import SYSTEM_PROMPT, MemLift, MemLiftProblem, RetryPolicy, TaskFields, cited
from memlift_client import RunTraceFields as RunTrace
from memlift_client import StepFields as Step
from memlift_client.command import claimable, connect

from memlift_coding.transcripts import Moment, is_prompt, last_turn
from memlift_coding.verdicts import find_verdict

PATIENCE = 3.0
"""Seconds for an answer; an agent that waits for its memory is worse than one without."""

COMMAND = re.compile(r"\s*(?:!|/[\w:-]+(?:\s|$))")
"""A shell line, or a slash command; `/src/parser.py` is a path."""

LONGEST_TASK = 8_000
LONGEST_NAME = 200
LONGEST_STEP = 4_000
LONGEST_RUN = 200_000
MOST_STEPS = 500
MOST_RECEIPTS = 20


@dataclass(frozen=True, slots=True)
class Settings:
    """Where to ask and in whose name; None leaves it to the environment, then to the server."""

    agent: str
    namespace: str = "default"
    url: str | None = None
    key_file: str | None = None
    category: str | None = None
    tests: str | None = None
    """A pattern that finds test commands of one's own."""
    patience: float = PATIENCE
    """Seconds that one answer may take."""
    sends_run: bool = True
    """Whether what the agent did in a turn is sent with its result."""

    def connect(self) -> MemLift:
        """Raises MemLiftError or OSError where there is no server to ask, or no key."""
        return connect(
            url=self.url,
            key_file=self.key_file,
            namespace=self.namespace,
            agent=self.agent,
            retry_policy=RetryPolicy(timeout=self.patience, attempts=1),
        )


def is_task(prompt: str) -> bool:
    """Whether there is something to ask about: more than a word, a command or a tool's notice."""
    return is_prompt(prompt) and not COMMAND.match(prompt) and len(prompt.split()) > 1


def ask(memory: MemLift, settings: Settings, session: str, prompt: str, *, first: bool) -> str:
    """What the agent is to know before it begins, with the rules of use where it is the first of
    its session; empty where there is no advice.
    """
    task: TaskFields = {"text": sendable(prompt[:LONGEST_TASK]), "group_key": session}
    if settings.category is not None:
        task["category"] = settings.category
    served = memory.retrieve(task=task, trace_id=session)
    if not served.guideline.text:
        return ""
    parts = [SYSTEM_PROMPT] if first else []
    cite = "cite each note that you act on, as in [m1], in what you write."
    return "\n\n".join([*parts, served.guideline.text, f"MemLift receipt {served.receipt}: {cite}"])


def report(
    memory: MemLift, settings: Settings, session: str, moments: Sequence[Moment]
) -> list[str]:
    """Take the last test run of the turn for the result of what is pending in this session. The
    receipts that it was reported for, none where the turn ran no test.
    """
    turn = last_turn(moments)
    reward = find_verdict(turn, re.compile(settings.tests) if settings.tests else None)
    if reward is None:
        return []
    pending = memory.list_retrievals(
        trace_id=session,
        agent=settings.agent,
        state="pending",
        order="newest",
        limit=MOST_RECEIPTS,
    ).items
    verifier = claimable(memory.me()) if pending else None
    for place, receipt in enumerate(pending):
        # An agent that cites nothing was perhaps not told to: nothing is known of what it used.
        used = cited(said_under(receipt.receipt, moments), receipt) or None
        run = run_of(turn) if place == 0 and settings.sends_run else None
        try:
            memory.report(receipt.receipt, reward=reward, verifier=verifier, used=used, run=run)
        except MemLiftProblem:
            if run is None:
                raise
            # What a terminal printed need not be text that is kept; the result is.
            memory.report(receipt.receipt, reward=reward, verifier=verifier, used=used)
    return [receipt.receipt for receipt in pending]


def said_under(receipt: str, moments: Sequence[Moment]) -> str:
    """The agent's own words between an advice and the next: labels begin anew with each."""
    said: list[str] = []
    current = None
    for one in moments:
        if one.kind == "advice":
            current = one.text
        elif one.kind == "said" and current == receipt:
            said.append(one.text)
    return "\n\n".join(said)


def run_of(turn: Sequence[Moment]) -> RunTrace:
    """The steps of a turn, the last of them where they are too many, each cut to its ends."""
    steps: list[Step] = []
    size = 0
    for one in reversed(turn):
        step = _step(one)
        if step is None:
            continue
        size += sum(len(str(part)) for part in step.values())
        if size > LONGEST_RUN or len(steps) == MOST_STEPS:
            break
        steps.append(step)
    return {"steps": steps[::-1]}


def _step(one: Moment) -> Step | None:
    """None for what is no step of the agent's."""
    if one.kind in {"prompt", "advice"} or not one.text.strip():
        return None
    if one.kind == "said":
        return {"role": "assistant", "text": _cut(one.text)}
    step: Step = {"role": "assistant", "tool": one.text[:LONGEST_NAME]}
    if one.kind == "command":
        step = {"role": "assistant", "tool": "shell", "arguments": {"command": _cut(one.text)}}
    output = _cut(one.output)
    if output:
        step |= {"result": output} if one.status == 0 else {"error": output}
    return step


def _cut(text: str) -> str:
    half = LONGEST_STEP // 2
    short = text if len(text) <= LONGEST_STEP else f"{text[:half]}\n…\n{text[-half:]}"
    return sendable(short)


def sendable(text: str) -> str:
    """Without halves of characters, which a transcript may hold and no message can."""
    return text.encode(errors="replace").decode()
