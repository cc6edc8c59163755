from __future__ import annotations

import json
import random
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from .v1.rendering_pb2 import BodyFormat

OVERFLOW = re.compile(
    r"prompt is too long|context_length_exceeded|context limit|maximum context length|context window"
    r"|(token count|tokens).{0,80}exceed|exceeds? the (maximum|available)",
    re.I,
)
ANTHROPIC = BodyFormat.BODY_FORMAT_ANTHROPIC_MESSAGES
RESPONSES = BodyFormat.BODY_FORMAT_OPENAI_RESPONSES
CHAT = BodyFormat.BODY_FORMAT_OPENAI_CHAT
GEMINI = BodyFormat.BODY_FORMAT_GEMINI


class Model(Protocol):
    """A model that a turn can call. It gives the provider's response as it came: JSON, or the server-sent events of a stream."""

    @property
    def format(self) -> BodyFormat: ...

    @property
    def name(self) -> str:
        """The model's name; the session's or the capsule's where it is empty."""
        ...

    def call(self, body: bytes, model: str, on_text: Callable[[str], None]) -> bytes: ...


class AsyncModel(Protocol):
    """The same for `quire.aio`, where `call` may be a coroutine function."""

    @property
    def format(self) -> BodyFormat: ...

    @property
    def name(self) -> str: ...

    async def call(self, body: bytes, model: str, on_text: Callable[[str], None]) -> bytes: ...


class ProviderError(Exception):
    """A provider's refusal or failure; `status` is 0 where there was none."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"the provider answered {status or 'nothing'}: {body[:500]}")
        self.status = status
        self.body = body

    @property
    def is_overflow(self) -> bool:
        """Whether the model says that the context is too long for it."""
        return 400 <= self.status < 500 and self.status != 429 and OVERFLOW.search(self.body) is not None

    @property
    def may_pass(self) -> bool:
        return self.status in (0, 408, 409, 429) or self.status >= 500


@dataclass(frozen=True)
class HttpModel:
    """A model behind one of the four APIs. It streams, and calls again what failed for a passing reason."""

    format: BodyFormat
    url: str
    headers: dict[str, str]
    name: str = ""
    streaming: bytes = b""
    """What asks for a stream, in front of the body's other fields."""
    retries: int = 4
    timeout: float = 600
    extra: dict[str, str] = field(default_factory=dict)

    def call(self, body: bytes, model: str, on_text: Callable[[str], None]) -> bytes:
        for failed in range(self.retries + 1):
            try:
                return self._post(body, model, on_text)
            except ProviderError as error:
                if failed == self.retries or not error.may_pass:
                    raise
                time.sleep(0.5 * 2**failed * random.uniform(0.5, 1))
        raise AssertionError

    def _post(self, body: bytes, model: str, on_text: Callable[[str], None]) -> bytes:
        headers = {"content-type": "application/json", **self.headers, **self.extra}
        url = self.url.replace("{model}", model)
        request = urllib.request.Request(url, b"{" + self.streaming + body[1:], headers)
        lines: list[bytes] = []
        done, problem = False, ""
        try:
            with urllib.request.urlopen(request, timeout=self.timeout) as response:
                for line in response:
                    lines.append(line)
                    if not line.startswith(b"data:") or b"[DONE]" in line:
                        continue
                    event = json.loads(line[5:])
                    if event.get("type") == "error" or event.get("error"):
                        problem = line[5:].decode()
                    text, ended = _read(self.format, event)
                    if text:
                        on_text(text)
                    done = done or (ended and not problem)
        except urllib.error.HTTPError as error:
            raise ProviderError(error.code, error.read().decode(errors="replace")) from error
        except (OSError, ValueError) as error:
            raise ProviderError(0, str(error)) from error
        if not done:
            raise ProviderError(0, problem or "the stream broke off")
        return b"".join(lines)


def _read(format: BodyFormat, event: dict[str, Any]) -> tuple[str, bool]:
    """What matters of an event while it streams: a piece of text, and whether it is the last. The whole is read by the server."""
    kind = event.get("type", "")
    if format == ANTHROPIC:
        return (event.get("delta") or {}).get("text", ""), kind == "message_stop"
    if format == RESPONSES:
        text = event["delta"] if kind == "response.output_text.delta" else ""
        return text, kind in ("response.completed", "response.incomplete", "response.failed")
    if format == CHAT:
        choice = (event.get("choices") or [{}])[0]
        return (choice.get("delta") or {}).get("content") or "", bool(choice.get("finish_reason"))
    candidate = (event.get("candidates") or [{}])[0]
    parts = (candidate.get("content") or {}).get("parts") or []
    text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
    return text, bool(candidate.get("finishReason") or (event.get("promptFeedback") or {}).get("blockReason"))


def anthropic(*, api_key: str, model: str = "", base_url: str = "https://api.anthropic.com", **more: Any) -> HttpModel:
    """Anthropic's Messages API."""
    headers = {"x-api-key": api_key, "anthropic-version": "2023-06-01"}
    return HttpModel(ANTHROPIC, f"{base_url}/v1/messages", headers, model, b'"stream":true,', **more)


def openai(*, api_key: str, model: str = "", base_url: str = "https://api.openai.com", **more: Any) -> HttpModel:
    """OpenAI's Responses API."""
    headers = {"authorization": f"Bearer {api_key}"}
    return HttpModel(RESPONSES, f"{base_url}/v1/responses", headers, model, b'"stream":true,', **more)


def openai_chat(*, api_key: str, model: str = "", base_url: str = "https://api.openai.com", **more: Any) -> HttpModel:
    """Chat Completions, of OpenAI and of the many servers that speak it."""
    headers = {"authorization": f"Bearer {api_key}"}
    streaming = b'"stream":true,"stream_options":{"include_usage":true},'
    return HttpModel(CHAT, f"{base_url}/v1/chat/completions", headers, model, streaming, **more)


def gemini(
    *, api_key: str, model: str = "", base_url: str = "https://generativelanguage.googleapis.com", **more: Any
) -> HttpModel:
    """Gemini's generateContent."""
    url = f"{base_url}/v1beta/models/{{model}}:streamGenerateContent?alt=sse"
    return HttpModel(GEMINI, url, {"x-goog-api-key": api_key}, model, **more)
