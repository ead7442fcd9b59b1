"""What an agent did at a task: the steps of a run, what it came to and why, with their limits."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Literal, get_args

from pydantic import Field

from memory.kernel.errors import Rejected, TooLarge
from memory.kernel.fields import INPUT, Name, NestedItems, hint
from memory.kernel.text import NAME, RATIONALE, cleaned, cleaned_json, optional

MAX_STEPS = 1_000


STEP = 20_000
"""The most characters of each text of a step, and the most bytes of a call's arguments."""


RESULT = 50_000


RUN = 400_000
"""The most characters of a run in all."""


StepRole = Literal["system", "user", "assistant", "tool"]


StepText = Annotated[str, Field(json_schema_extra=hint(STEP))]  # pyright: ignore[reportArgumentType] - JSON values


ResultText = Annotated[str, Field(json_schema_extra=hint(RESULT))]  # pyright: ignore[reportArgumentType] - JSON values


RationaleText = Annotated[str, Field(json_schema_extra=hint(RATIONALE))]  # pyright: ignore[reportArgumentType] - JSON values


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a run: something said, thought or seen, or a call of a tool. A call and its
    answer may be one step or two: `tool` with `arguments`, then `tool` with `result` or `error`.
    """

    __pydantic_config__ = INPUT

    text: StepText | None = None
    """What was thought, said, done or seen; a call of a tool needs none."""
    kind: Name | None = None
    """In the caller's words: thought, action, observation, …"""
    role: StepRole | None = None
    """Whose step it is; who calls a tool is `assistant`, or `user` for a call by the user."""
    tool: Name | None = None
    """The tool that is called, or that answers."""
    arguments: Mapping[str, object] | None = None
    """What the tool is called with: a JSON object, at most 20,000 bytes and 6 levels."""
    result: StepText | None = None
    """What the tool answered."""
    error: StepText | None = None
    """What the tool failed with, in its own words."""

    def __post_init__(self) -> None:
        for name, limit in (("text", STEP), ("kind", NAME), ("tool", NAME)):
            object.__setattr__(self, name, optional(getattr(self, name), name, limit))
        for name in ("result", "error"):
            object.__setattr__(self, name, _clean_output(getattr(self, name), name))
        if self.role is not None and self.role not in get_args(StepRole):
            roles = list(get_args(StepRole))
            raise Rejected(f"role must be one of {roles}", field="role", limit=roles)
        if self.arguments is not None:
            clean = cleaned_json(self.arguments, "arguments", STEP, longest=STEP)
            object.__setattr__(self, "arguments", clean)
        self._require_content()

    def _require_content(self) -> None:
        parts = (self.text, self.tool, self.result, self.error)
        if all(part is None for part in parts):
            raise Rejected("a step has a text, or names a tool", field="text")
        if self.tool is None and self.arguments is not None:
            raise Rejected("arguments need the tool they are for", field="tool")

    @classmethod
    def stored(cls, parts: Mapping[str, object]) -> "Step":
        """A step as it was kept: it is not measured again, for cleaning can lengthen a text."""
        step = object.__new__(cls)
        for name in cls.__slots__:
            object.__setattr__(step, name, parts.get(name))
        return step

    def as_stored(self) -> dict[str, object]:
        """The parts that it has."""
        return {name: part for name, part in asdict(self).items() if part is not None}

    @property
    def size(self) -> int:
        """Its characters, arguments as JSON."""
        texts = (self.text, self.result, self.error)
        return sum(len(text or "") for text in texts) + len(self.written_arguments)

    @property
    def written_arguments(self) -> str:
        """The arguments as JSON; nothing where there are none."""
        return json.dumps(self.arguments, ensure_ascii=False) if self.arguments else ""

    @property
    def rendered(self) -> str:
        """The step as text: who, what was said, and the call with its answer."""
        call = self.tool
        if self.arguments is not None:
            call = f"calls {self.tool}({self.written_arguments})"
        parts = [
            self.text,
            call,
            None if self.result is None else f"answer: {self.result}",
            None if self.error is None else f"error: {self.error}",
        ]
        said = "; ".join(part for part in parts if part)
        return f"{self.role}: {said}" if self.role else said


def _clean_output(text: str | None, field: str) -> str | None:
    """What a tool gave back, which may be nothing but white space."""
    if text is None or not text.strip("\x00 \t\r\n"):
        return None
    return cleaned(text, field, STEP)


Steps = Annotated[tuple[Step, ...], Field(json_schema_extra={"maxItems": MAX_STEPS}), NestedItems]


@dataclass(frozen=True, slots=True)
class RunTrace:
    """What an agent did and came to: at most 1,000 steps and 400,000 characters."""

    __pydantic_config__ = INPUT

    steps: Steps = ()
    """What it did, in order."""
    result: ResultText | None = None
    """What it came to."""
    rationale: RationaleText | None = None
    """Why, in the agent's own words."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "result", optional(self.result, "result", RESULT))
        object.__setattr__(self, "rationale", optional(self.rationale, "rationale", RATIONALE))
        require_size(self.steps, self.result, self.rationale)
        if not self.steps and self.result is None and self.rationale is None:
            raise Rejected("a run has steps, a result or a rationale")


def require_size(steps: Sequence[Step], *texts: str | None) -> None:
    """Raises TooLarge naming the limit that a run is above."""
    if len(steps) > MAX_STEPS:
        raise TooLarge(
            f"steps has {len(steps)} entries; the limit is {MAX_STEPS}",
            field="steps",
            limit=MAX_STEPS,
        )
    size = sum(len(text or "") for text in texts) + sum(step.size for step in steps)
    if size > RUN:
        raise TooLarge(
            f"the run has {size} characters; the limit is {RUN}", field="steps", limit=RUN
        )
