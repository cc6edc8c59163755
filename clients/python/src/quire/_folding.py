from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ._errors import QuireError
from .v1.assembly_pb2 import AssembledContext, HistoryLayer
from .v1.assembly_service_pb2 import AssembleResponse, HistoryBatch
from .v1.rendering_pb2 import RenderedBody


@dataclass(frozen=True)
class Folded:
    """A whole context, the provider's request body if it was asked for, and how many messages of history came over the wire."""

    context: AssembledContext
    rendered: RenderedBody | None
    sent_messages: int


class Folding:
    """A context that is being put together, event by event."""

    def __init__(
        self, held: AssembledContext | None = None, on_event: Callable[[AssembleResponse], None] | None = None
    ) -> None:
        self._held, self._on_event = held, on_event
        self._context = AssembledContext()
        self._layer: HistoryLayer | None = None
        self._body: list[bytes] = []
        self._rendered: RenderedBody | None = None
        self._sent, self._is_whole = 0, False

    def take(self, response: AssembleResponse) -> None:
        if self._on_event:
            self._on_event(response)
        context, held = self._context, self._held
        kind = response.WhichOneof("event")
        if kind == "resolved":
            _copy(response.resolved, context)
            context.token_budget.CopyFrom(response.resolved.budget)
        elif kind == "tools":
            context.tools.extend(held.tools if response.tools.reused and held else response.tools.tools)
        elif kind == "system":
            context.system_prompt = held.system_prompt if response.system.reused and held else response.system.text
            context.sections.extend(response.system.sections)
        elif kind == "history":
            self._take_history(response.history)
        elif kind == "current_message":
            context.current_message.CopyFrom(response.current_message.message)
        elif kind == "rendered":
            self._body.append(response.rendered.data)
            if response.rendered.HasField("about"):
                self._rendered = RenderedBody()
                self._rendered.CopyFrom(response.rendered.about)
                self._rendered.body = b"".join(self._body)
        elif kind == "completed":
            _copy(response.completed, context)
            context.token_budget.CopyFrom(response.completed.budget)
            self._is_whole = True

    def _take_history(self, history: HistoryBatch) -> None:
        if history.HasField("layer") and self._layer is None:
            self._layer = history.layer
            if self._layer.reused and self._held:
                self._context.history.extend(_up_to(self._held, self._layer.after_turn_id))
        self._context.history.extend(history.messages)
        self._sent += len(history.messages)

    def whole(self) -> Folded:
        if not self._is_whole:
            raise QuireError("the stream ended before the context did", code="UNAVAILABLE")
        if self._layer is not None:
            layer = self._context.history_layer
            layer.CopyFrom(self._layer)
            layer.reused, layer.after_turn_id = False, ""
        return Folded(self._context, self._rendered, self._sent)


def _copy(source: Any, context: AssembledContext) -> None:
    """The fields that a context has under the same name."""
    names = context.DESCRIPTOR.fields_by_name
    for field, value in source.ListFields():
        known = names.get(field.name)
        if known is None or known.message_type is not field.message_type:
            continue
        if known.is_repeated:
            getattr(context, field.name).extend(value)
        elif known.message_type is not None:
            getattr(context, field.name).CopyFrom(value)
        else:
            setattr(context, field.name, value)


def _up_to(held: AssembledContext, turn_id: str) -> list[Any]:
    last = max((at for at, message in enumerate(held.history) if message.turn_id == turn_id), default=-1)
    return list(held.history[: last + 1])
