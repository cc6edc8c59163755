from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from ._aio_client import Quire
from ._aio_contexts import Contexts
from ._aio_lease import LeasedTurn
from ._models import AsyncModel, Model
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


class Agent(TurnLoop[Quire, Model | AsyncModel]):
    """The loop of an agent's turns, as `quire.Agent` has it, in an event loop.

    Coroutine functions (a tool's `run`, a model's `call`) are awaited, others run in a thread; the calls of one answer run at the same
    time. A turn that is cancelled is failed; one that loses its session stops its model and its tools.
    """

    async def turn(
        self,
        words: str | Sequence[Part],
        *,
        on_text: Callable[[str], None] = lambda piece: None,
        on_call: Callable[[ToolCallPart], None] = lambda call: None,
    ) -> Outcome:
        """One turn. If it fails, nothing of it comes into the thread, and it can be tried again.

        If another turn takes the session, the error's reason is INTERRUPTED, and what was recorded stays.
        """
        return await self._turn(words, Ears(on_text, on_call))

    async def spawn(self, task: str, *, tools: Sequence[Tool] = (), turn_id: str = "", call_id: str = "") -> Worker:
        """Spawns a worker: a sub-agent with a session of its own, its parent's capsule and model, and these tools."""
        session = await self._spawned(task, turn_id, call_id)
        return Worker(self.quire, task, session=session.id, model=self.model, tools=tools)

    def _make_contexts(self) -> Contexts:
        return Contexts(self.quire)

    async def _begin(self) -> LeasedTurn:
        return await LeasedTurn.begin(self.quire, session=self.session, lease=self._lease, timeout=self._wait)

    async def _guarded(self, turn: LeasedTurn, work: Coroutine[Any, Any, T]) -> T:
        return await turn.guard(work)

    async def _call_model(self, body: bytes, model: str, on_text: Callable[[str], None]) -> bytes:
        if inspect.iscoroutinefunction(self.model.call):
            return cast(bytes, await self.model.call(body, model, on_text))
        loop = asyncio.get_running_loop()
        stopped = threading.Event()

        def heard(piece: str) -> None:
            if stopped.is_set():
                # Not an error of the connection, after which the model would be called again.
                raise RuntimeError("nobody waits for this answer any more")
            loop.call_soon_threadsafe(on_text, piece)

        try:
            return await asyncio.to_thread(cast(Model, self.model).call, body, model, heard)
        finally:
            stopped.set()

    async def _call_tool(
        self, tool: Tool, turn: LeasedTurn, call: ToolCallPart, arguments: dict[str, Any]
    ) -> str | ToolOutput:
        first = [ToolCall(call, self, turn)] if tool.wants_call else []
        if tool.is_async:
            return await cast("Coroutine[Any, Any, str | ToolOutput]", tool.run(*first, **arguments))
        return cast("str | ToolOutput", await asyncio.to_thread(tool.run, *first, **arguments))

    async def _each(
        self,
        turn: LeasedTurn,
        calls: Sequence[ToolCallPart],
        one: Callable[[ToolCallPart], Coroutine[Any, Any, ToolOutput]],
    ) -> list[ToolOutput]:
        return await asyncio.gather(*(one(call) for call in calls))


class Worker(Agent):
    """A sub-agent with one task."""

    def __init__(self, quire: Quire, task: str, **options: Any) -> None:
        super().__init__(quire, **options)
        self.task = task

    async def work(
        self,
        *,
        on_text: Callable[[str], None] = lambda piece: None,
        on_call: Callable[[ToolCallPart], None] = lambda call: None,
    ) -> Outcome:
        """Carries the task out in one turn, and says in the ledger how it ended."""
        return await self._worked(self.task, Ears(on_text, on_call))


def worker_tool(*, tools: Sequence[Tool] | None = None, name: str = "delegate", description: str = "") -> Tool:
    """A tool by which the model spawns a worker, who does the task with these tools (the agent's own without this one, unless given)."""

    async def delegate(call: ToolCall, task: str) -> str:
        own = [tool for tool in (call.agent.tools if tools is None else tools) if tool.name != name]
        worker = await call.agent.spawn(task, tools=own, turn_id=call.turn.id, call_id=call.call.call_id)
        return (await worker.work()).text

    return delegation(name, description, delegate)
