"""A forecaster that asks a language model, any that litellm reaches: twice, without and with the
guideline.
"""

import importlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, cast

from memlift_client import Retrieval, cited

from clients.prophet.deadline import TooSlow, within
from clients.prophet.event import Event
from clients.prophet.forecaster import Advised, Answer, NoAnswer, Wish
from clients.prophet.prompt import messages, schema
from clients.prophet.reading import SHOWN, read_text
from clients.prophet.usage import Usage

MAX_TOKENS = 800

Complete = Callable[..., object]


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """`model` in the library's form, such as `openai/gpt-4.1-mini`; `api_base` a server of one's
    own. seconds: how long one answer may take.
    """

    model: str
    api_base: str | None = None
    api_key: str | None = field(default=None, repr=False)
    seconds: float = 8.0


def open_library() -> Complete:
    """Import litellm, which takes seconds. Raises ModuleNotFoundError where it is not installed."""
    # Otherwise its import fetches a price list from the internet.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    library: Any = importlib.import_module("litellm")
    library.suppress_debug_info = True
    # What a provider does not know (a temperature, a schema) is left out instead of refused.
    library.drop_params = True
    # The first call imports much more: an answer made up here keeps that from the deadline.
    library.completion(model="openai/none", messages=[], mock_response="ready")
    return cast("Complete", library.completion)


class ModelForecaster:
    """The strength that memory has earned stands in the guideline; the model follows it, so its
    answer with the guideline is the one given.
    """

    wish = Wish(k=8, all_rankers=False, format="brief")

    def __init__(
        self, settings: ModelSettings, load: Callable[[], Complete] = open_library
    ) -> None:
        self._settings = settings
        self._complete = load()

    def alone(self, event: Event) -> Answer:
        return self._asked(event, "")

    def advised(self, event: Event, alone: Answer | None, served: Retrieval) -> Advised:
        """Where nothing was served, the first answer stands: the question would be the same."""
        if not served.guideline.text and alone is not None:
            return Advised(alone)
        answer = self._asked(event, served.guideline.text or "")
        # A model that cites nothing may have followed what it read all the same.
        return Advised(answer, used=cited(answer.rationale, served) or None)

    def _asked(self, event: Event, guideline: str) -> Answer:
        try:
            response = within(self._settings.seconds, lambda: self._completed(event, guideline))
        except TooSlow as fault:
            raise NoAnswer(str(fault)) from None
        except Exception as fault:  # noqa: BLE001 - the library raises what its providers do
            raise NoAnswer(self._without_key(f"{type(fault).__name__}: {fault}")) from None
        return replace(read_text(_said(response), event), usage=_usage(response))

    def _completed(self, event: Event, guideline: str) -> object:
        shape = {"name": "forecast", "schema": schema(event), "strict": True}
        return self._complete(
            model=self._settings.model,
            api_base=self._settings.api_base,
            api_key=self._settings.api_key,
            messages=messages(event, guideline),
            response_format={"type": "json_schema", "json_schema": shape},
            max_tokens=MAX_TOKENS,
            temperature=0,
            timeout=self._settings.seconds,
            num_retries=0,
            max_retries=0,
        )

    def _without_key(self, said: str) -> str:
        key = self._settings.api_key
        return (said.replace(key, "***") if key else said)[: 2 * SHOWN]


def _usage(response: object) -> Usage:
    """As the library tells it; a price that it does not know is not guessed."""
    told: object = getattr(response, "usage", None)
    hidden = cast("Mapping[str, object]", getattr(response, "_hidden_params", None) or {})
    cost = hidden.get("response_cost")
    priced = isinstance(cost, int | float)
    return Usage(
        calls=1,
        prompt_tokens=int(getattr(told, "prompt_tokens", 0) or 0),
        completion_tokens=int(getattr(told, "completion_tokens", 0) or 0),
        cost=float(cost) if priced else 0.0,
        unpriced=0 if priced else 1,
    )


def _said(response: object) -> str:
    """The text of the first choice. Raises NoAnswer where the model refused or said nothing."""
    choices = cast("list[object]", getattr(response, "choices", None) or [])
    message = getattr(choices[0], "message", None) if choices else None
    if getattr(message, "refusal", None):
        raise NoAnswer("the model refused")
    text = getattr(message, "content", None)
    reason = getattr(choices[0], "finish_reason", None) if choices else None
    if not isinstance(text, str) or not text.strip():
        raise NoAnswer(f"the model said nothing (finish reason {reason})")
    return text
