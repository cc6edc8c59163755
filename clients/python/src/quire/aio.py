"""The Python client of Quire for asyncio: the same names as in `quire`, where what waits is a coroutine."""

from ._aio_agent import Agent, ToolCall, Worker, worker_tool
from ._aio_client import Quire, connect
from ._aio_contexts import Contexts, fold
from ._aio_lease import LeasedTurn

__all__ = ["Agent", "Contexts", "LeasedTurn", "Quire", "ToolCall", "Worker", "connect", "fold", "worker_tool"]
