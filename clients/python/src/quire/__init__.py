"""The Python client of Quire."""

from ._agent import Agent, ToolCall, Worker, worker_tool
from ._client import Quire, connect
from ._contexts import Contexts, fold, held_of
from ._errors import QuireError
from ._folding import Folded
from ._lease import LeasedTurn
from ._models import AsyncModel, HttpModel, Model, ProviderError, anthropic, gemini, openai, openai_chat
from ._turn_loop import Outcome, Tool, text

__all__ = [
    "Agent",
    "AsyncModel",
    "Contexts",
    "Folded",
    "HttpModel",
    "LeasedTurn",
    "Model",
    "Outcome",
    "ProviderError",
    "Quire",
    "QuireError",
    "Tool",
    "ToolCall",
    "Worker",
    "anthropic",
    "connect",
    "fold",
    "gemini",
    "held_of",
    "openai",
    "openai_chat",
    "text",
    "worker_tool",
]
