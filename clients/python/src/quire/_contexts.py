from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ._calls import with_retries
from ._client import Quire
from ._errors import QuireError
from .v1.assembly_pb2 import AssembledContext, HistoryLayer
from .v1.assembly_service_pb2 import AssembleRequest, AssembleResponse, ContextRequest, HeldContext
from .v1.rendering_pb2 import RenderedBody


@dataclass(frozen=True)
class Folded:
    """A whole context, the provider's request body if it was asked for, and how many messages of history came over the wire."""

    context: AssembledContext
    rendered: RenderedBody | None
    sent_messages: int


class Contexts:
    """Contexts by Assemble, put together. What a session's last context had is kept, so that only what is new is sent."""

    def __init__(self, quire: Quire, max_sessions: int = 64) -> None:
        self._assembly = quire.assembly
        self._held: OrderedDict[str, AssembledContext] = OrderedDict()
        self._max_sessions = max_sessions

    def assemble(
        self,
        request: ContextRequest | None = None,
        *,
        timeout: float = 60,
        on_event: Callable[[AssembleResponse], None] | None = None,
        **fields: Any,
    ) -> Folded:
        """Makes a context. `on_event` sees each event as it comes; it begins again with `resolved` if the connection broke."""
        asked = ContextRequest()
        asked.CopyFrom(request or ContextRequest(**fields))
        held = None if asked.body_only else self._held.get(asked.session)
        if held is not None:
            asked.have.CopyFrom(held_of(held))
        folded = with_retries(
            lambda left: fold(self._assembly.assemble(AssembleRequest(context=asked), timeout=left), held, on_event), timeout
        )
        if not asked.body_only and not asked.dry_run:
            self._held[asked.session] = folded.context
            self._held.move_to_end(asked.session)
            if len(self._held) > self._max_sessions:
                self._held.popitem(last=False)
        return folded

    def forget(self, session: str) -> None:
        """Forgets what is held of a session."""
        self._held.pop(session, None)


def fold(
    events: Iterable[AssembleResponse],
    held: AssembledContext | None = None,
    on_event: Callable[[AssembleResponse], None] | None = None,
) -> Folded:
    """Puts the events of an assembly together, on top of the context that the request's `have` was made from."""
    context = AssembledContext()
    layer: HistoryLayer | None = None
    body: list[bytes] = []
    rendered: RenderedBody | None = None
    sent, is_whole = 0, False
    for response in events:
        if on_event:
            on_event(response)
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
            if response.history.HasField("layer") and layer is None:
                layer = response.history.layer
                if layer.reused and held:
                    context.history.extend(_up_to(held, layer.after_turn_id))
            context.history.extend(response.history.messages)
            sent += len(response.history.messages)
        elif kind == "current_message":
            context.current_message.CopyFrom(response.current_message.message)
        elif kind == "rendered":
            body.append(response.rendered.data)
            if response.rendered.HasField("about"):
                rendered = RenderedBody()
                rendered.CopyFrom(response.rendered.about)
                rendered.body = b"".join(body)
        elif kind == "completed":
            _copy(response.completed, context)
            context.token_budget.CopyFrom(response.completed.budget)
            is_whole = True
    if not is_whole:
        raise QuireError("the stream ended before the context did", code="UNAVAILABLE")
    if layer is not None:
        context.history_layer.CopyFrom(layer)
        context.history_layer.reused = False
        context.history_layer.after_turn_id = ""
    return Folded(context, rendered, sent)


def held_of(context: AssembledContext) -> HeldContext:
    """What to say in `have` about a context that is held whole."""
    return HeldContext(
        tools_hash=context.hashes.tools,
        system_hash=context.hashes.system,
        last_turn_id=context.history_layer.last_turn_id,
        chain_hash=context.history_layer.chain_hash,
        cut_id=context.history_layer.cut_id,
    )


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
