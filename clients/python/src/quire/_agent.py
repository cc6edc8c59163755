from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from ._client import Quire
from ._contexts import Contexts
from ._flow import run
from ._lease import LeasedTurn
from ._models import Model
from ._turn_loop import Ears, Outcome, Tool, TurnLoop, delegation
from .v1.message_pb2 import Part, ToolCallPart
from .v1.response_pb2 import ToolOutput

T = TypeVar("T")


@dataclass(frozen=True)
class ToolCall:
    """The call of a tool, for a tool that needs to know more than its arguments."""

    call: ToolCallPart
    agent: Agent
    turn: LeasedTurn


class Agent(TurnLoop[Quire, Model]):
    """The loop of an agent's turns.

    Take the session, make the context, call the model, record its answer, carry its calls out, and again until there are none. All of it
    is in the ledger step by step; memory tools are carried out by the server.
    """

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
        return run(self._turn(words, Ears(on_text, on_call)))

    def spawn(self, task: str, *, tools: Sequence[Tool] = (), turn_id: str = "", call_id: str = "") -> Worker:
        """Spawns a worker: a sub-agent with a session of its own, its parent's capsule and model, and these tools."""
        session = run(self._spawned(task, turn_id, call_id))
        return Worker(self.quire, task, session=session.id, model=self.model, tools=tools)

    def _make_contexts(self) -> Contexts:
        return Contexts(self.quire)

    async def _begin(self) -> LeasedTurn:
        return LeasedTurn(self.quire, session=self.session, lease=self._lease, timeout=self._wait)

    async def _guarded(self, turn: LeasedTurn, work: Coroutine[Any, Any, T]) -> T:
        return await work

    async def _call_model(self, body: bytes, model: str, on_text: Callable[[str], None]) -> bytes:
        return self.model.call(body, model, on_text)

    async def _call_tool(
        self, tool: Tool, turn: LeasedTurn, call: ToolCallPart, arguments: dict[str, Any]
    ) -> str | ToolOutput:
        if tool.is_async:
            raise TypeError(f"{tool.name} is a coroutine function, which takes quire.aio.Agent")
        first = [ToolCall(call, self, turn)] if tool.wants_call else []
        return cast("str | ToolOutput", tool.run(*first, **arguments))

    async def _each(
        self,
        turn: LeasedTurn,
        calls: Sequence[ToolCallPart],
        one: Callable[[ToolCallPart], Coroutine[Any, Any, ToolOutput]],
    ) -> list[ToolOutput]:
        return [await one(call) for call in calls]


class Worker(Agent):
    """A sub-agent with one task."""

    def __init__(self, quire: Quire, task: str, **options: Any) -> None:
        super().__init__(quire, **options)
        self.task = task

    def work(
        self,
        *,
        on_text: Callable[[str], None] = lambda piece: None,
        on_call: Callable[[ToolCallPart], None] = lambda call: None,
    ) -> Outcome:
        """Carries the task out in one turn, and says in the ledger how it ended."""
        return run(self._worked(self.task, Ears(on_text, on_call)))


def worker_tool(*, tools: Sequence[Tool] | None = None, name: str = "delegate", description: str = "") -> Tool:
    """A tool by which the model spawns a worker, who does the task with these tools (the agent's own without this one, unless given)."""

    def delegate(call: ToolCall, task: str) -> str:
        own = [tool for tool in (call.agent.tools if tools is None else tools) if tool.name != name]
        worker = call.agent.spawn(task, tools=own, turn_id=call.turn.id, call_id=call.call.call_id)
        return worker.work().text

    return delegation(name, description, delegate)
