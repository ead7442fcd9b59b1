"""MemLift as the memory of Hermes Agent: advice before a turn, its last test run as the result.

Hermes calls `sync_turn` for turns that came to their end alone; one that was interrupted leaves its
receipt pending.
"""

import logging
import os
from collections.abc import Sequence
from typing import Any, Protocol

from agent.memory_provider import (  # pyright: ignore[reportMissingImports] - comes with Hermes alone
    MemoryProvider,
)
from memlift_client import SYSTEM_PROMPT, MemLift, MemLiftError

from memlift_coding.session import Settings, ask, is_task, report
from memlift_coding.transcripts import RECEIPT, Moment, Row, last_turn, read_messages

LOG = logging.getLogger(__name__)


class Registers(Protocol):
    """What Hermes hands to `register`."""

    def register_memory_provider(self, provider: object) -> None: ...


def register(context: Registers) -> None:
    """Called by Hermes when it looks for memories."""
    context.register_memory_provider(MemLiftProvider())


class MemLiftProvider(MemoryProvider):  # pyright: ignore[reportUntypedBaseClass] - as above
    """Asks with the user's words, and reports by what the session's commands came to. Server, key
    and namespace are those of `MEMLIFT_URL`, `MEMLIFT_KEY` and `MEMLIFT_NAMESPACE`.
    """

    def __init__(self) -> None:
        self._session = ""
        self._settings = Settings(agent="hermes")
        self._memory: MemLift | None = None
        self._asked: dict[str, str] = {}
        """The receipt by what the user said; Hermes keeps advice out of its messages."""
        self._completed: str | None = None

    @property
    def name(self) -> str:
        return "memlift"

    def is_available(self) -> bool:
        """Whether there is a key; nothing is asked."""
        try:
            self._settings.connect().close()
        except (MemLiftError, OSError):
            return False
        return True

    def unavailable_reason(self) -> str:
        return "set MEMLIFT_URL and MEMLIFT_KEY, or start `memlift serve` on this machine"

    def initialize(self, session_id: str, **kwargs: Any) -> None:
        """Begins a session. Subagents and scheduled runs have no memory of their own."""
        if kwargs.get("agent_context") not in {None, "primary"}:
            return
        self._session = session_id
        named = os.environ.get("MEMLIFT_AGENT") or kwargs.get("agent_identity")
        self._settings = Settings(
            agent=str(named or "hermes"),
            namespace=os.environ.get("MEMLIFT_NAMESPACE") or "default",
            category=os.environ.get("MEMLIFT_CATEGORY") or None,
        )
        self.shutdown()
        try:
            self._memory = self._settings.connect()
        except (MemLiftError, OSError) as fault:
            LOG.warning("no memory: %s", fault)

    def on_session_switch(self, new_session_id: str, **kwargs: Any) -> None:
        """Another conversation begins, or this one goes on under another name."""
        self._session = new_session_id
        self._completed = None
        if kwargs.get("reset"):
            self._asked.clear()

    def system_prompt_block(self) -> str:
        return "" if self._memory is None else SYSTEM_PROMPT

    def prefetch(self, query: str, *, session_id: str = "") -> str:
        """The advice for what the user said; empty where there is none, or no server."""
        if self._memory is None or not is_task(query):
            return ""
        session = session_id or self._session
        try:
            advice = ask(self._memory, self._settings, session, query, first=False)
        except MemLiftError as fault:
            LOG.warning("no advice: %s", fault)
            return ""
        if (named := RECEIPT.search(advice)) is not None:
            self._asked[query] = named[1]
        return advice

    def sync_turn(
        self,
        user_content: str,
        assistant_content: str,
        *,
        session_id: str = "",
        messages: Sequence[Row] | None = None,
    ) -> None:
        """A turn came to its end: its last test run is the result."""
        del assistant_content  # the messages hold it
        self._completed = user_content
        if messages is not None:
            self._report(session_id or self._session, messages)

    def on_session_end(self, messages: Sequence[Row]) -> None:
        """Reports what could not be reported yet; a turn that was interrupted stays pending."""
        turn = last_turn(read_messages(messages))
        if turn and turn[0].text == self._completed:
            self._report(self._session, messages)

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """None: advice comes by itself."""
        return []

    def shutdown(self) -> None:
        if self._memory is not None:
            self._memory.close()
            self._memory = None

    def _report(self, session: str, messages: Sequence[Row]) -> None:
        if self._memory is None:
            return
        moments: list[Moment] = []
        for one in read_messages(messages):
            moments.append(one)
            if one.kind == "prompt" and one.text in self._asked:
                moments.append(Moment("advice", self._asked[one.text]))
        try:
            report(self._memory, self._settings, session, moments)
        except MemLiftError as fault:
            LOG.warning("how the turn went was not reported: %s", fault)
