from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ._client import Quire
from ._contexts import Contexts
from ._errors import QuireError
from ._lease import LeasedTurn
from ._models import Model, ProviderError
from .v1.assembly_service_pb2 import ContextRequest
from .v1.ledger_service_pb2 import OnBusy
from .v1.message_pb2 import MESSAGE_ROLE_USER, Message, Part, TextPart, ToolCallPart
from .v1.response_pb2 import ProviderResponse, ReadAnswer, ToolOutput
from .v1.session_pb2 import SessionDefaults, SubAgentLink, TaskStatus
from .v1.turn_pb2 import Turn
from .v1.workspace_pb2 import Tool as ToolDefinition

MOST_OVERFLOWS = 3
GIVEN_UP = "This turn has taken as many steps as it may. The call was not carried out."


def text(value: str) -> Part:
    """A part that is a text."""
    return Part(text=TextPart(text=value))


@dataclass(frozen=True)
class ToolCall:
    """The call of a tool, for a tool that needs to know more than its arguments."""

    call: ToolCallPart
    agent: Agent
    turn: LeasedTurn


@dataclass(frozen=True)
class Tool:
    """A tool: `run` takes the arguments by name, and returns text or a ToolOutput. What it raises is told to the model.

    With `wants_call`, the first argument is the ToolCall.
    """

    name: str
    description: str
    schema: dict[str, Any]
    run: Callable[..., str | ToolOutput]
    wants_call: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a turn went: the model's last words, the turn, its last answer, and how many times the model was called."""

    text: str
    turn: Turn
    answer: ReadAnswer
    steps: int


class Agent:
    """The loop of an agent's turns.

    Take the session, make the context, call the model, record its answer, carry its calls out, and again until there are none. All of it
    is in the ledger step by step; memory tools are carried out by the server.
    """

    def __init__(
        self,
        quire: Quire,
        *,
        session: str,
        model: Model,
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
        self._context = context or ContextRequest()
        self._lease = {"on_busy": on_busy, "holder": holder}
        self._wait, self._max_steps = wait, max_steps
        self._contexts = Contexts(quire)
        self._memory_tools: frozenset[str] | None = None

    def turn(
        self,
        words: str | Sequence[Part],
        *,
        on_text: Callable[[str], None] = lambda piece: None,
        on_call: Callable[[ToolCallPart], None] = lambda call: None,
    ) -> Outcome:
        """One turn. If it fails, nothing of it comes into the thread, and it can be tried again.

        If another turn takes the session, the error's reason is INTERRUPTED, and what was recorded stays.
        """
        memory_tools = self._prepare()
        content = [text(words)] if isinstance(words, str) else list(words)
        turn = LeasedTurn(self.quire, session=self.session, lease=self._lease, timeout=self._wait)
        try:
            return self._loop(turn, content, memory_tools, on_text, on_call)
        except BaseException as error:
            if not (isinstance(error, QuireError) and error.reason == "INTERRUPTED"):
                turn.fail(repr(error))
            raise
        finally:
            turn.release()

    def spawn(self, task: str, *, tools: Sequence[Tool] = (), turn_id: str = "", call_id: str = "") -> Worker:
        """Spawns a worker: a sub-agent with a session of its own, its parent's capsule and model, and these tools."""
        link = SubAgentLink(
            parent_session_id=self.session,
            parent_turn_id=turn_id,
            spawning_call_id=call_id,
            task=task,
            task_status=TaskStatus.TASK_STATUS_RUNNING,
        )
        defaults = SessionDefaults(capsule=self.capsule) if self.capsule else None
        session = self.quire.ledger.create_session(sub_agent=link, defaults=defaults).session
        return Worker(self.quire, task, session=session.id, model=self.model, tools=tools)

    def _prepare(self) -> frozenset[str]:
        """Makes the session if there is none, and asks which tools are the server's."""
        if self._memory_tools is None:
            try:
                self.quire.ledger.get_session(session=self.session)
            except QuireError as error:
                if error.reason != "SESSION_NOT_FOUND":
                    raise
                defaults = SessionDefaults(capsule=self.capsule) if self.capsule else None
                self.quire.ledger.create_session(label=self.session, get_if_exists=True, defaults=defaults)
            self._memory_tools = frozenset(tool.name for tool in self.quire.memory.list_memory_tools().tools)
        return self._memory_tools

    def _loop(
        self,
        turn: LeasedTurn,
        content: list[Part],
        memory_tools: frozenset[str],
        on_text: Callable[[str], None],
        on_call: Callable[[ToolCallPart], None],
    ) -> Outcome:
        steps = 0
        while True:
            steps += 1
            event = {"content": content} if steps == 1 else None
            capsule, assembly_id, response = self._ask(turn, event, on_text)
            messages = [Message(role=MESSAGE_ROLE_USER, parts=content)] if steps == 1 else []
            answer = turn.append(assembly_id=assembly_id, messages=messages, response=response).answer
            if not answer.tool_calls or steps == self._max_steps:
                left = [ToolOutput(call_id=call.call_id, text=GIVEN_UP, is_error=True) for call in answer.tool_calls]
                return Outcome(answer.text, turn.complete(tool_results=left).turn, answer, steps)
            results = []
            for call in answer.tool_calls:
                turn.check()
                on_call(call)
                results.append(self._run(turn, call, capsule, memory_tools))
            turn.check()
            turn.append(tool_results=results)

    def _ask(
        self, turn: LeasedTurn, event: dict[str, Any] | None, on_text: Callable[[str], None]
    ) -> tuple[str, str, ProviderResponse]:
        """A context, and what the model says to it. A context that is too long for the model is reported, and made again."""
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
        overflows = 0
        while True:
            folded = self._contexts.assemble(request)
            context, rendered = folded.context, folded.rendered
            assert rendered is not None
            try:
                body = self.model.call(rendered.body, context.model, on_text)
                return context.capsule, context.assembly_id, ProviderResponse(format=self.model.format, body=body)
            except ProviderError as error:
                overflows += 1
                if not error.is_overflow or overflows > MOST_OVERFLOWS:
                    raise
                refusal = error.body[:16_384]
            try:
                self.quire.assembly.report_overflow(assembly_id=context.assembly_id, error_body=refusal)
            except QuireError as error:
                # Others compacted the thread meanwhile: the next context is shorter, too.
                if error.reason != "COMPACTION_OUTDATED":
                    raise

    def _run(self, turn: LeasedTurn, call: ToolCallPart, capsule: str, memory_tools: frozenset[str]) -> ToolOutput:
        """Carries a call out. Whatever goes wrong in a tool is a result."""
        tool = next((tool for tool in self.tools if tool.name == call.name), None)
        if tool is None and call.name in memory_tools:
            done = self.quire.memory.execute_tool(agent=capsule, name=call.name, arguments_json=call.arguments_json)
            return ToolOutput(call_id=call.call_id, text=done.content, is_error=done.is_error)
        try:
            if tool is None:
                raise LookupError(f"there is no tool {call.name}")
            arguments = json.loads(call.arguments_json or "{}")
            first = [ToolCall(call, self, turn)] if tool.wants_call else []
            result = tool.run(*first, **arguments)
        except Exception as error:  # noqa: BLE001: the model is told
            return ToolOutput(call_id=call.call_id, text=str(error) or repr(error), is_error=True)
        if isinstance(result, str):
            return ToolOutput(call_id=call.call_id, text=result)
        output = ToolOutput()
        output.CopyFrom(result)
        output.call_id = call.call_id
        return output


class Worker(Agent):
    """A sub-agent with one task."""

    def __init__(self, quire: Quire, task: str, **options: Any) -> None:
        super().__init__(quire, **options)
        self.task = task

    def work(self, **options: Any) -> Outcome:
        """Carries the task out in one turn, and says in the ledger how it ended."""
        try:
            outcome = self.turn(self.task, **options)
        except BaseException:
            self.quire.ledger.update_session(session=self.session, task_status=TaskStatus.TASK_STATUS_FAILED)
            raise
        self.quire.ledger.update_session(session=self.session, task_status=TaskStatus.TASK_STATUS_COMPLETED)
        return outcome


def worker_tool(*, tools: Sequence[Tool] | None = None, name: str = "delegate", description: str = "") -> Tool:
    """A tool by which the model spawns a worker, who does the task with these tools (the agent's own without this one, unless given)."""

    def run(call: ToolCall, task: str) -> str:
        given = call.agent.tools if tools is None else tools
        worker = call.agent.spawn(
            task,
            tools=[tool for tool in given if tool.name != name],
            turn_id=call.turn.id,
            call_id=call.call.call_id,
        )
        return worker.work().text

    schema = {
        "type": "object",
        "properties": {"task": {"type": "string", "description": "What to do, with all that is needed to do it."}},
        "required": ["task"],
    }
    words = description or "Gives a task to a worker, who carries it out alone and reports back."
    return Tool(name, words, schema, run, wants_call=True)


def _definition(tool: Tool) -> ToolDefinition:
    return ToolDefinition(name=tool.name, description=tool.description, input_schema_json=json.dumps(tool.schema))
