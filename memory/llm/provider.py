"""A language model at a provider, or at a server of one's own that speaks the same protocol.

One call is one attempt: retries belong to whoever knows the deadline and the budget. Whatever the
library raises becomes one of six faults, by its HTTP status.
"""

import asyncio
import importlib
import importlib.util
import os
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Literal, cast

from memory.inference.background import BackgroundModel
from memory.kernel.errors import MemoryFault, Overloaded, Unavailable
from memory.kernel.ports import Prompt, Reply, RoleName
from memory.llm.entities import LlmPause
from memory.llm.redaction import REDACTED, redacted

Complete = Callable[..., Awaitable[object]]


Finish = Literal["stop", "length", "refused"]


# A provider that asks for more patience is asked again after this.
LONGEST_PAUSE = 300.0


MAX_DETAIL = 300


# After so many failures in a row the provider is left alone for a while: an outage must not cost
# every caller its deadline.
FAILURES_IN_A_ROW = 3


PAUSE_AFTER_FAILURES = 15.0


TOO_MANY, TIMED_OUT, FIRST_SERVER_FAULT = 429, 408, 500


REFUSALS = ("content_filter", "content management policy", "ContentPolicyViolation")


NO_KEY = "not-needed"


# What a status below 500 says is to be changed; asking again would change nothing.
_TO_CHANGE = {
    401: "the key is not accepted",
    403: "the key may not use this model",
    404: "the address or the model does not exist there",
}


@dataclass(frozen=True, slots=True)
class ProviderPolicy:
    """Which language model, where, and how many calls at once.

    `model` in the library's form, such as `openai/gpt-4.1-mini`; `api_base` a server of one's own;
    `price` in dollars for a token read and one written, where it is not the listed one.
    """

    model: str
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    price: tuple[float, float] | None = None
    at_once: int = 8

    @property
    def key_to_send(self) -> str | None:
        """A server of one's own may want no key, but the library wants one to send."""
        return NO_KEY if self.api_key is None and self.api_base is not None else self.api_key


def library_is_installed() -> bool:
    """Whether the extra `llm` is there; nothing is imported to find out."""
    return importlib.util.find_spec("litellm") is not None


def open_library() -> Complete:
    """Import litellm. Takes seconds: for the worker thread only."""
    # Otherwise its import fetches a price list from the internet.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # noqa: TID251 - set, not read
    try:
        door = importlib.import_module("memory.llm.litellm_door")
    except ModuleNotFoundError as fault:
        raise Unavailable(
            f"{fault.name} is not installed: install memlift with the extra `llm`",
            code="llm_missing",
        ) from fault
    return cast("Complete", door.opened())


class ProviderClient:
    """A language model reached through litellm."""

    def __init__(self, policy: ProviderPolicy, load: Callable[[], Complete] = open_library) -> None:
        self._policy = policy
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="llm")
        self._load = load
        self._model = BackgroundModel(load, self._worker)
        self._places = asyncio.Semaphore(policy.at_once)
        self._resume_at = 0.0
        self._reason = ""
        self._failures = 0

    def start(self) -> None:
        """Begin to import the library and return at once."""
        self._model.start()

    async def wait_until_ready(self) -> None:
        """Until the library is there. Raises Unavailable when it could not be imported."""
        await self._model.wait()

    @property
    def name(self) -> str:
        return self._policy.model

    @property
    def pause(self) -> LlmPause | None:
        """The pause that it is in; None where the next question is sent."""
        left = self._resume_at - time.monotonic()
        return LlmPause(round(left, 3), self._reason) if left > 0 else None

    @property
    def failures(self) -> int:
        """How many questions in a row have failed; a pause begins to count anew."""
        return self._failures

    @property
    def failure(self) -> str | None:
        """Why the library could not be opened; None where it was, or is being opened."""
        return self._model.failure

    async def complete(self, prompt: Prompt, seconds: float) -> Reply:
        """One attempt, within `seconds`; waiting for a free place counts."""
        send = self._loaded()
        self._heed_pause()
        try:
            async with asyncio.timeout(seconds), self._places:
                response = await send(**self._arguments(prompt, seconds))
        except TimeoutError as fault:
            raise self._noted(_slow(seconds), prompt.role) from fault
        except Exception as fault:  # noqa: BLE001 - the library raises what its providers do
            raise self._noted(self._translated(fault, seconds), prompt.role) from None
        self._failures = 0
        return _reply(response)

    async def close(self) -> None:
        """Let go of the connections."""
        await self._model.close()
        if self._model.loaded is not None and self._load is open_library:
            await importlib.import_module("memory.llm.litellm_door").closed()
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _loaded(self) -> Complete:
        if self._model.loaded is not None:
            return self._model.loaded
        if self._model.failure is not None:
            raise Unavailable(self._model.failure, code="llm_missing")
        raise Unavailable("the client library is loading", code="llm_loading", retry_after=2)

    def _heed_pause(self) -> None:
        """Who was told to come back later does, whichever call was told."""
        if (pause := self.pause) is not None:
            said = "the provider asked for a pause, or failed too often"
            raise Overloaded(said, code="llm_busy", retry_after=pause.seconds)

    def _noted(self, fault: MemoryFault, role: RoleName) -> MemoryFault:
        """Begins a pause where the provider asked for one, or fails for everybody. A retrieval
        waits a second for queries: that it was not enough says nothing of longer deadlines.
        """
        hasty = role == "search" and fault.kind == "llm_slow"
        self._failures += fault.kind in ("llm_failed", "llm_slow") and not hasty
        pause = min(fault.retry_after or 0.0, LONGEST_PAUSE)
        if self._failures >= FAILURES_IN_A_ROW:
            self._failures, pause = 0, max(pause, PAUSE_AFTER_FAILURES)
        if pause:
            self._resume_at = max(self._resume_at, time.monotonic() + pause)
            self._reason = f"{fault.kind}: {fault.detail}"
        return fault

    def _arguments(self, prompt: Prompt, seconds: float) -> dict[str, object]:
        return {
            "model": self._policy.model,
            "api_base": self._policy.api_base,
            "api_key": self._policy.key_to_send,
            "messages": [
                {"role": "system", "content": prompt.system},
                {"role": "user", "content": prompt.material},
            ],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": prompt.role, "schema": dict(prompt.schema), "strict": True},
            },
            "max_tokens": prompt.max_tokens,
            "temperature": 0,
            "timeout": seconds,
            "num_retries": 0,
            "max_retries": 0,
        }

    def _translated(self, fault: Exception, seconds: float) -> MemoryFault:
        status = _number(getattr(fault, "status_code", None))
        said = f"{type(fault).__name__}: {fault}"
        detail = self._without_key(said)[:MAX_DETAIL]
        if status == TOO_MANY:
            return Overloaded(detail, code="llm_busy", retry_after=_retry_after(fault))
        if status == TIMED_OUT or "Timeout" in type(fault).__name__:
            return _slow(seconds)
        if any(sign in said for sign in REFUSALS):
            return Unavailable(detail, code="llm_refused")
        if 0 < status < FIRST_SERVER_FAULT:
            named = _TO_CHANGE.get(status, "the request is not accepted")
            return Unavailable(f"{named}: {detail}", code="llm_denied")
        return Unavailable(detail, code="llm_failed")

    def _without_key(self, said: str) -> str:
        key = self._policy.api_key
        return redacted(said.replace(key, REDACTED) if key else said)


def _slow(seconds: float) -> Unavailable:
    return Unavailable(f"no answer within {seconds:.1f} s", code="llm_slow")


def _reply(response: object) -> Reply:
    """The first choice of a response, whatever it leaves out."""
    usage = getattr(response, "usage", None)
    tokens = _number(getattr(usage, "total_tokens", None))
    written = _number(getattr(usage, "completion_tokens", None))
    choices = getattr(response, "choices", None)
    if not isinstance(choices, list) or not choices:
        return Reply("", tokens)
    choice = cast("list[object]", choices)[0]
    message = getattr(choice, "message", None)
    text = getattr(message, "content", None)
    said = text if isinstance(text, str) else ""
    return Reply(said, tokens, _finish(choice, message), written)


def _finish(choice: object, message: object) -> Finish:
    reason = getattr(choice, "finish_reason", None)
    if reason == "content_filter" or getattr(message, "refusal", None):
        return "refused"
    return "length" if reason == "length" else "stop"


def _retry_after(fault: Exception) -> float | None:
    """The seconds a provider named; a date is as good as no word."""
    headers = getattr(getattr(fault, "response", None), "headers", None)
    try:
        value = headers.get("retry-after") if headers is not None else None
        return max(0.0, float(value)) if value is not None else None
    except (AttributeError, TypeError, ValueError):
        return None


def _number(value: object) -> int:
    """A count or a status where there is one, else 0."""
    return value if isinstance(value, int) and value > 0 else 0
