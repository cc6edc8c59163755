"""The Python client of Quire."""

from ._agent import Agent, Outcome, Tool, ToolCall, Worker, text, worker_tool
from ._client import Quire, connect
from ._contexts import Contexts, Folded, fold, held_of
from ._errors import QuireError
from ._lease import LeasedTurn
from ._models import HttpModel, Model, ProviderError, anthropic, gemini, openai, openai_chat

__all__ = [
    "Agent",
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
