from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ._errors import QuireError
from ._flow import settled
from ._models import AsyncModel, Model, ProviderError
from .v1.assembly_service_pb2 import ContextRequest
from .v1.ledger_service_pb2 import OnBusy
from .v1.message_pb2 import MESSAGE_ROLE_USER, Message, Part, TextPart, ToolCallPart
from .v1.response_pb2 import ProviderResponse, ReadAnswer, ToolOutput
from .v1.session_pb2 import Session, SessionDefaults, SubAgentLink, TaskStatus
from .v1.turn_pb2 import Turn
from .v1.workspace_pb2 import Tool as ToolDefinition

MOST_OVERFLOWS = 3
GIVEN_UP = "This turn has taken as many steps as it may. The call was not carried out."
T = TypeVar("T")
Q = TypeVar("Q")
M = TypeVar("M", bound="Model | AsyncModel")


def text(value: str) -> Part:
    """A part that is a text."""
    return Part(text=TextPart(text=value))


@dataclass(frozen=True)
class Tool:
    """A tool: `run` takes the arguments by name, and returns text or a ToolOutput. What it raises is told to the model.

    With `wants_call`, the first argument is the ToolCall. In `quire.aio`, `run` may be a coroutine function.
    """

    name: str
    description: str
    schema: dict[str, Any]
    run: Callable[..., str | ToolOutput | Awaitable[str | ToolOutput]]
    wants_call: bool = False

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.run)


@dataclass(frozen=True)
class Outcome:
    """How a turn went: the model's last words, the turn, its last answer, and how many times the model was called."""

    text: str
    turn: Turn
    answer: ReadAnswer
    steps: int


@dataclass(frozen=True)
class Ears:
    """Who is told what, while a turn runs."""

    on_text: Callable[[str], None]
    on_call: Callable[[ToolCallPart], None]


class TurnLoop(Generic[Q, M]):
    """The loop of an agent's turns, for either flavour: `quire` and the turns that it begins may answer now or later."""

    quire: Q

    def __init__(
        self,
        quire: Q,
        *,
        session: str,
        model: M,
        capsule: str = "",
        tools: Sequence[Tool] = (),
        context: ContextRequest | None = None,
        on_busy: OnBusy = OnBusy.ON_BUSY_WAIT,
        holder: str = "",
        wait: float = 300,
        max_steps: int = 100,
    ) -> None:
        """`context` is what else contexts are to be made with; `wait` how many seconds to wait for a session that is busy."""
        self.quire, self.session, self.model, self.capsule, self.tools = quire, session, model, capsule, tuple(tools)
        self._calls: Any = quire
        self._context = context or ContextRequest()
        self._lease = {"on_busy": on_busy, "holder": holder}
        self._wait, self._max_steps = wait, max_steps
        self._contexts = self._make_contexts()
        self._memory_tools: frozenset[str] | None = None

    def _make_contexts(self) -> Any:
        raise NotImplementedError

    async def _begin(self) -> Any:
        """Begins a leased turn."""
        raise NotImplementedError

    async def _guarded(self, turn: Any, work: Coroutine[Any, Any, T]) -> T:
        """Does the work of a turn, and stops it if the turn loses its session."""
        raise NotImplementedError

    async def _call_model(self, body: bytes, model: str, on_text: Callable[[str], None]) -> bytes:
        raise NotImplementedError

    async def _call_tool(self, tool: Tool, turn: Any, call: ToolCallPart, arguments: dict[str, Any]) -> str | ToolOutput:
        raise NotImplementedError

    async def _each(
        self, turn: Any, calls: Sequence[ToolCallPart], one: Callable[[ToolCallPart], Coroutine[Any, Any, ToolOutput]]
    ) -> list[ToolOutput]:
        """Carries the calls of one answer out."""
        raise NotImplementedError

    async def _turn(self, words: str | Sequence[Part], ears: Ears) -> Outcome:
        memory_tools = await self._prepare()
        content = [text(words)] if isinstance(words, str) else list(words)
        turn = await self._begin()
        try:
            return await self._guarded(turn, self._loop(turn, content, memory_tools, ears))
        except BaseException as error:
            if not (isinstance(error, QuireError) and error.reason == "INTERRUPTED"):
                await settled(turn.fail(repr(error)))
            raise
        finally:
            turn.release()

    async def _spawned(self, task: str, turn_id: str, call_id: str) -> Session:
        link = SubAgentLink(
            parent_session_id=self.session,
            parent_turn_id=turn_id,
            spawning_call_id=call_id,
            task=task,
            task_status=TaskStatus.TASK_STATUS_RUNNING,
        )
        made = await settled(self._calls.ledger.create_session(sub_agent=link, defaults=self._defaults()))
        session: Session = made.session
        return session

    async def _worked(self, task: str, ears: Ears) -> Outcome:
        """Carries a task out in one turn, and says in the ledger how it ended."""
        try:
            outcome = await self._turn(task, ears)
        except BaseException:
            await self._end_task(TaskStatus.TASK_STATUS_FAILED)
            raise
        await self._end_task(TaskStatus.TASK_STATUS_COMPLETED)
        return outcome

    async def _end_task(self, status: TaskStatus) -> None:
        await settled(self._calls.ledger.update_session(session=self.session, task_status=status))

    def _defaults(self) -> SessionDefaults | None:
        return SessionDefaults(capsule=self.capsule) if self.capsule else None

    async def _prepare(self) -> frozenset[str]:
        """Makes the session if there is none, and asks which tools are the server's."""
        if self._memory_tools is None:
            ledger = self._calls.ledger
            try:
                await settled(ledger.get_session(session=self.session))
            except QuireError as error:
                if error.reason != "SESSION_NOT_FOUND":
                    raise
                made = ledger.create_session(label=self.session, get_if_exists=True, defaults=self._defaults())
                await settled(made)
            listed = await settled(self._calls.memory.list_memory_tools())
            self._memory_tools = frozenset(tool.name for tool in listed.tools)
        return self._memory_tools

    async def _loop(self, turn: Any, content: list[Part], memory_tools: frozenset[str], ears: Ears) -> Outcome:
        steps = 0
        while True:
            steps += 1
            event = {"content": content} if steps == 1 else None
            capsule, assembly_id, response = await self._ask(turn, event, ears.on_text)
            messages = [Message(role=MESSAGE_ROLE_USER, parts=content)] if steps == 1 else []
            appended = await settled(turn.append(assembly_id=assembly_id, messages=messages, response=response))
            answer: ReadAnswer = appended.answer
            if not answer.tool_calls or steps == self._max_steps:
                left = [ToolOutput(call_id=call.call_id, text=GIVEN_UP, is_error=True) for call in answer.tool_calls]
                completed = await settled(turn.complete(tool_results=left))
                return Outcome(answer.text, completed.turn, answer, steps)

            async def one(call: ToolCallPart, capsule: str = capsule) -> ToolOutput:
                turn.check()
                ears.on_call(call)
                return await self._carry_out(turn, call, capsule, memory_tools)

            results = await self._each(turn, answer.tool_calls, one)
            turn.check()
            await settled(turn.append(tool_results=results))

    async def _ask(
        self, turn: Any, event: dict[str, Any] | None, on_text: Callable[[str], None]
    ) -> tuple[str, str, ProviderResponse]:
        """A context, and what the model says to it. A context that is too long for the model is reported, and made again."""
        request = self._request(turn, event)
        overflows = 0
        while True:
            folded = await settled(self._contexts.assemble(request))
            context, rendered = folded.context, folded.rendered
            try:
                body = await self._call_model(rendered.body, context.model, on_text)
                return context.capsule, context.assembly_id, ProviderResponse(format=self.model.format, body=body)
            except ProviderError as error:
                overflows += 1
                if not error.is_overflow or overflows > MOST_OVERFLOWS:
                    raise
                refusal = error.body[:16_384]
            try:
                report = self._calls.assembly.report_overflow
                await settled(report(assembly_id=context.assembly_id, error_body=refusal))
            except QuireError as error:
                # Others compacted the thread meanwhile: the next context is shorter, too.
                if error.reason != "COMPACTION_OUTDATED":
                    raise

    def _request(self, turn: Any, event: dict[str, Any] | None) -> ContextRequest:
        request = ContextRequest()
        request.CopyFrom(self._context)
        given: dict[str, Any] = {"event": event} if event else {}
        if self.capsule:
            given["capsule"] = self.capsule
        if self.model.name:
            given["model"] = self.model.name
        request.MergeFrom(
            ContextRequest(
                session=self.session,
                tools=[_definition(tool) for tool in self.tools],
                active_turn_id=turn.id,
                render=self.model.format,
                body_only=True,
                **given,
            )
        )
        return request

    async def _carry_out(
        self, turn: Any, call: ToolCallPart, capsule: str, memory_tools: frozenset[str]
    ) -> ToolOutput:
        """Carries a call out. Whatever goes wrong in a tool is a result."""
        tool = next((tool for tool in self.tools if tool.name == call.name), None)
        if tool is None and call.name in memory_tools:
            execute = self._calls.memory.execute_tool
            done = await settled(execute(agent=capsule, name=call.name, arguments_json=call.arguments_json))
            return ToolOutput(call_id=call.call_id, text=done.content, is_error=done.is_error)
        try:
            if tool is None:
                raise LookupError(f"there is no tool {call.name}")
            result = await self._call_tool(tool, turn, call, json.loads(call.arguments_json or "{}"))
        except Exception as error:  # noqa: BLE001: the model is told
            return ToolOutput(call_id=call.call_id, text=str(error) or repr(error), is_error=True)
        if isinstance(result, str):
            return ToolOutput(call_id=call.call_id, text=result)
        output = ToolOutput()
        output.CopyFrom(result)
        output.call_id = call.call_id
        return output


def delegation(name: str, description: str, run: Callable[..., Any]) -> Tool:
    """The tool by which a model spawns a worker."""
    schema = {
        "type": "object",
        "properties": {"task": {"type": "string", "description": "What to do, with all that is needed to do it."}},
        "required": ["task"],
    }
    words = description or "Gives a task to a worker, who carries it out alone and reports back."
    return Tool(name, words, schema, run, wants_call=True)


def _definition(tool: Tool) -> ToolDefinition:
    return ToolDefinition(name=tool.name, description=tool.description, input_schema_json=json.dumps(tool.schema))
