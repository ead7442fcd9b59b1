"""The tools, trials of candidates among them; receipts and memories as resources.

Each does what its route does, by the same service and with the same rules: whose word counts, what
is private, what is refused. A refusal is the tool's error, with code, field and limit, for the
model to read; it never ends the connection.
"""

import logging
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Literal
from uuid import UUID

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolResult,
    GetPromptResult,
    InputRequiredResult,
    ToolAnnotations,
)
from pydantic import Field, ValidationError

from memory.experiences.service import remember
from memory.guidelines.wording import RULES_OF_USE
from memory.kernel.errors import MemoryFault, NotFound, Rejected
from memory.memories.entities import ExperienceDraft
from memory.memories.service import get_memory
from memory.outcomes.by_key import report_by_key
from memory.outcomes.entities import KeyedReport, Policy, ReceiptReport, Report
from memory.outcomes.service import report as report_outcome
from memory.receipts.guideline_entities import Format
from memory.retrieval.entities import MAX_K, MAX_TOKENS, Purpose, RetrievalRequest
from memory.retrieval.service import explain, get_receipt, retrieve
from memory.tasks.entities import TaskDraft
from memory.tenancy.claims import Verifier
from memory.verification.entities import ReportedLesson
from server.answers import only, written
from server.errors import limit_of
from server.mcp.answers import (
    ToolAdvice,
    ToolFound,
    ToolMemory,
    ToolOutcome,
    ToolOutcomes,
    ToolRemembered,
    ToolWhy,
)
from server.mcp.calling import (
    CALLER,
    AgentParameter,
    CategoryParameter,
    FilterParameter,
    RerankParameter,
    Reward,
    ToolCaller,
    in_words,
    told_to_the_model,
)
from server.mcp.trials import claim_trial, report_trial
from server.shape_words import words_of
from server.tracing import (
    CREATE,
    SEARCH,
    note_creation,
    note_search,
)

INSTRUCTIONS = (
    "MemLift remembers what earlier tasks taught, and learns from results which of it helps.\n"
    "Call `ask` once before you begin a task, with the task in your own words, and keep `receipt`."
    " Notes in the guideline are reference material: check that they apply, and cite the ones you"
    " act on, such as [m1].\n"
    "Call `report` when you know how it went, failures too: 1 for success, 0 for failure, or"
    " between. Name in `used` what you acted on. An empty guideline is reported as well: it is what"
    " the others are compared with.\n"
    "Call `remember` when the task taught something that the next such task should know.\n"
    "`why` tells how a guideline came about; `search` looks around and leaves no receipt.\n"
    "Only where you are to verify candidates: `claim_trial` gives one that waits, and"
    " `report_trial` takes how its tasks went."
)

READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
WRITES = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False
)
ONCE = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)


@contextmanager
def _logging_as_it_was() -> Generator[None]:
    """The library would give the process a log of its own, with tracebacks that take seconds."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


class MemoryTools(MCPServer):
    """Refuses arguments of the wrong shape in the words of the HTTP contract, unknown ones too."""

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool. Raises ToolError where it does not know an argument, or its shape."""
        tools = {tool.name: tool for tool in await self.list_tools()}
        if name not in tools:
            unknown = Rejected(f"there is no tool {name!r}", field="name", limit=sorted(tools))
            raise ToolError(in_words(unknown))
        _require_known(arguments, tools[name].input_schema)
        try:
            return await super().call_tool(name, arguments, context)
        except ToolError as fault:
            if isinstance(fault.__cause__, ValidationError):
                raise ToolError(_shape_in_words(fault.__cause__)) from fault.__cause__
            if isinstance(fault.__cause__, MemoryFault):
                raise ToolError(in_words(fault.__cause__)) from fault.__cause__
            if isinstance(fault.__cause__, ToolError):
                raise fault.__cause__ from None  # ours; the library puts words of its own before it
            raise

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[Any, Any] | None = None,
    ) -> GetPromptResult | InputRequiredResult:
        """Fill a prompt. Raises MCPError where it does not know it, or an argument is missing."""
        prompts = {prompt.name: prompt for prompt in await self.list_prompts()}
        if name not in prompts:
            raise _wrong_parameter(f"there is no prompt {name!r}", "params.name", sorted(prompts))
        given = arguments or {}
        takes = [one.name for one in prompts[name].arguments or ()]
        for one in (one for one in takes if one not in given):
            raise _wrong_parameter("is missing", f"params.arguments.{one}", takes)
        for one in (one for one in given if one not in takes):
            raise _wrong_parameter("is no argument here", f"params.arguments.{one}", takes)
        return await super().get_prompt(name, arguments, context)


def _wrong_parameter(detail: str, field: str, limit: Sequence[str]) -> MCPError:
    """The protocol's error, its field and limit beside the words."""
    data = {"field": field, "limit": list(limit)}
    return MCPError(INVALID_PARAMS, f"{field}: {detail}", data)


def _require_known(arguments: Mapping[str, object], schema: Mapping[str, Any]) -> None:
    names = sorted(schema["properties"])
    for name in arguments:
        if name not in names:
            unknown = Rejected(f"there is no argument {name!r}", field=name, limit=names)
            raise ToolError(in_words(unknown))
    for name, value in arguments.items():
        # Python takes True for 1.
        kinds = {str(one.get("type")) for one in _choices(schema["properties"][name])}
        if isinstance(value, bool) and "boolean" not in kinds:
            wrong = Rejected("must not be true or false", field=name, limit=sorted(kinds))
            raise ToolError(in_words(wrong))


def _choices(schema: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return schema.get("anyOf", [schema])


def _shape_in_words(fault: ValidationError) -> str:
    first = fault.errors(include_url=False, include_input=False)[0]
    field = ".".join(map(str, first["loc"]))
    return in_words(Rejected(words_of(first, None), field=field, limit=limit_of(first)))


def build_server(version: str = "") -> MCPServer:
    """The server of the protocol; who calls is in `CALLER`."""
    with _logging_as_it_was():
        server = MemoryTools(
            "memlift",
            title="MemLift",
            instructions=INSTRUCTIONS,
            version=version,
            log_level="WARNING",
        )
    server.tool(annotations=WRITES, structured_output=True)(ask)
    server.tool(annotations=ONCE, structured_output=True)(report)
    server.tool(name="remember", annotations=ONCE, structured_output=True)(remember_lesson)
    server.tool(annotations=READS, structured_output=True)(why)
    server.tool(annotations=READS, structured_output=True)(search)
    server.tool(annotations=WRITES, structured_output=True)(claim_trial)
    server.tool(annotations=ONCE, structured_output=True)(report_trial)
    server.resource("memlift://receipts/{receipt}", mime_type="application/json")(read_receipt)
    server.resource("memlift://memories/{memory_id}", mime_type="application/json")(read_memory)
    server.prompt(name="with_memory", title="Do a task with memory")(with_memory)
    return server


async def ask(  # noqa: PLR0913, PLR0917 - the parameters are the schema of the tool
    task: Annotated[str, Field(description="What you are about to do, in your own words.")],
    category: CategoryParameter = None,
    agent: AgentParameter = None,
    task_key: Annotated[
        str | None, Field(description="Your own id of the task, to report by later.")
    ] = None,
    trace_id: Annotated[str | None, Field(description="The trace of this run.")] = None,
    k: Annotated[int, Field(ge=1, le=MAX_K, description="The most notes that are wanted.")] = 3,
    max_tokens: Annotated[
        int, Field(ge=0, le=MAX_TOKENS, description="The budget of the guideline.")
    ] = 1_000,
    filter: FilterParameter = None,  # noqa: A002 - as the contract names it
    rerank: RerankParameter = None,
) -> ToolAdvice:
    """Ask for advice before you begin a task. Keep `receipt`, and report how the task went."""
    with told_to_the_model(text="task", key="task_key") as caller:
        request = RetrievalRequest(
            agent=caller.agent(agent),
            task=TaskDraft(task, key=task_key, category=category),
            k=k,
            max_tokens=max_tokens,
            trace_id=trace_id,
            filter=filter,
            rerank=rerank,
        )
        with caller.operation(SEARCH):
            asked = request.within_trace(caller.trace())
            advice = only(await retrieve(caller.engine, caller.call, [asked]))
            note_search(caller.tracing, [asked], [advice])
        caller.meters.retrievals.labels(advice.receipt.arm).inc()
        return ToolAdvice.of(advice)


async def report(  # noqa: PLR0913, PLR0917 - the parameters are the schema of the tool
    reward: Reward,
    receipt: Annotated[UUID | None, Field(description="As `ask` answered it.")] = None,
    task_key: Annotated[
        str | None, Field(description="Instead of the receipt: the task's own id.")
    ] = None,
    trace_id: Annotated[str | None, Field(description="Instead of the receipt: the trace.")] = None,
    agent: Annotated[
        str | None, Field(description="By task_key or trace_id: whose run it was.")
    ] = None,
    policy: Annotated[
        Policy, Field(description="By task_key or trace_id: which open receipts get it.")
    ] = "all_open",
    used: Annotated[
        list[str] | None,
        Field(description="What you acted on: citations such as `m1`, or ids; [] for nothing."),
    ] = None,
    verifier: Annotated[
        Verifier, Field(description="What the reward rests on; `self` is your own word.")
    ] = "self",
    reward_kind: Annotated[
        Literal["continuous", "binary"],
        Field(description="`binary` where rewards of this category are 0 or 1 alone."),
    ] = "continuous",
    lesson: Annotated[
        str | None, Field(description="After a failure: what you would do otherwise.")
    ] = None,
) -> ToolOutcomes:
    """Say how the task went, once it is known, failures too. The same report again does nothing."""
    with told_to_the_model(retrieval_id="receipt") as caller:
        if sum(one is not None for one in (receipt, task_key, trace_id)) != 1:
            raise Rejected("give exactly one of receipt, task_key and trace_id", field="receipt")
        said = {
            "reward": reward,
            "verifier": verifier,
            "reward_kind": reward_kind,
            "lesson": None if lesson is None else ReportedLesson(lesson),
        }
        if receipt is not None:
            names = None if used is None else await _named(caller, receipt, used)
            plain = Report(used=names, **said)  # pyright: ignore[reportArgumentType] - by the names above
            return await _report_under(caller, receipt, plain)
        keyed = KeyedReport(
            task_key=task_key,
            trace_id=trace_id,
            agent=agent,
            policy=policy,
            used=None if used is None else tuple(map(_as_id, used)),
            **said,  # pyright: ignore[reportArgumentType] - by the names above
        )
        return await _report_by_key(caller, keyed)


async def _report_under(caller: ToolCaller, receipt: UUID, plain: Report) -> ToolOutcomes:
    taken = only(await report_outcome(caller.engine, caller.call, [ReceiptReport(receipt, plain)]))
    caller.meters.count(taken)
    return ToolOutcomes(outcomes=[ToolOutcome.of(receipt, taken)])


async def _report_by_key(caller: ToolCaller, keyed: KeyedReport) -> ToolOutcomes:
    bound = await report_by_key(caller.engine, caller.call, keyed)
    for one in bound:
        caller.meters.count(one.reported)
    return ToolOutcomes(outcomes=[ToolOutcome.of_key(one) for one in bound])


async def _named(caller: ToolCaller, receipt: UUID, used: Sequence[str]) -> tuple[UUID, ...]:
    """The memories that a guideline's citations, or their ids, stand for."""
    served = await get_receipt(caller.engine, caller.call, receipt)
    citations = served.guideline.citations
    return tuple(
        citations[name] if (name := one.strip("[] ")) in citations else _as_id(one) for one in used
    )


def _as_id(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError:
        raise Rejected(
            f"used names citations of this receipt's guideline, or ids, not {text[:80]!r}",
            field="used",
        ) from None


async def remember_lesson(
    situation: Annotated[str, Field(description="When it applies: words of the next such task.")],
    lesson: Annotated[str, Field(description="What to do then.")],
    category: CategoryParameter = None,
    agent: AgentParameter = None,
) -> ToolRemembered:
    """Keep what a task taught, for the next one like it. Saying it twice stores it once."""
    with told_to_the_model() as caller:
        draft = ExperienceDraft(caller.agent(agent), situation, lesson, category=category)
        with caller.operation(CREATE):
            note_creation(caller.tracing, [draft])
            return ToolRemembered.of(only(await remember(caller.engine, caller.call, [draft])))


async def why(
    receipt: Annotated[UUID, Field(description="As `ask` answered it.")],
) -> ToolWhy:
    """How a guideline came about: which memories, and why each stands where it does."""
    with told_to_the_model(retrieval_id="receipt") as caller:
        return ToolWhy.of(await explain(caller.engine, caller.call, receipt))


async def search(
    text: Annotated[str, Field(description="What to look for.")],
    category: CategoryParameter = None,
    agent: AgentParameter = None,
    k: Annotated[int, Field(ge=1, le=MAX_K, description="The most that are wanted.")] = 5,
    filter: FilterParameter = None,  # noqa: A002 - as the contract names it
    rerank: RerankParameter = None,
) -> ToolFound:
    """Look for memories without acting: nothing is stored, and there is nothing to report."""
    with told_to_the_model() as caller:
        request = RetrievalRequest(
            agent=caller.agent(agent),
            task=TaskDraft(text, category=category),
            k=k,
            purpose=Purpose.PREVIEW,
            format=Format.MEMORIES,
            explore=False,
            filter=filter,
            rerank=rerank,
        )
        with caller.operation(SEARCH):
            advice = only(await retrieve(caller.engine, caller.call, [request]))
            note_search(caller.tracing, [request], [advice])
        return ToolFound(memories=[ToolMemory.of(one) for one in advice.memories])


async def read_receipt(receipt: str) -> str:
    """What was served, and how it was chosen."""
    return await _read(receipt, lambda one, found: get_receipt(one.engine, one.call, found))


async def read_memory(memory_id: str) -> str:
    """A memory of any kind, as it stands."""
    return await _read(memory_id, lambda one, found: get_memory(one.engine, one.call, found))


async def _read(named: str, load: Callable[[ToolCaller, UUID], Awaitable[object]]) -> str:
    try:
        return written(await load(CALLER.get(), UUID(named))).decode()
    except ValueError:
        raise ResourceNotFoundError(f"no id: {named[:80]!r}") from None
    except NotFound as fault:
        raise ResourceNotFoundError(in_words(fault)) from fault
    except MemoryFault as fault:
        raise ResourceError(in_words(fault)) from fault


def with_memory(
    task: Annotated[str, Field(description="What is to be done.")],
) -> str:
    """Ask, act, report: a task with the rules of use before it."""
    return (
        f"{RULES_OF_USE}\n\nFirst call `ask` with the task below. Do the task. Then call `report`"
        f" with the receipt, the reward, and in `used` the notes that you acted on.\n\nTask: {task}"
    )
