from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from ._client import Quire
from ._flow import run, sleep, with_retries
from ._folding import Folded, Folding
from .v1.assembly_pb2 import AssembledContext
from .v1.assembly_service_pb2 import AssembleRequest, AssembleResponse, ContextRequest, HeldContext


class HeldContexts:
    """The last context of each session, for as many sessions as were used last."""

    def __init__(self, max_sessions: int) -> None:
        self._held: OrderedDict[str, AssembledContext] = OrderedDict()
        self._max_sessions = max_sessions

    def asked(self, request: ContextRequest | None, fields: dict[str, Any]) -> tuple[ContextRequest, AssembledContext | None]:
        """The request with what is held, and the context that it speaks of."""
        asked = ContextRequest()
        asked.CopyFrom(request or ContextRequest(**fields))
        held = None if asked.body_only else self._held.get(asked.session)
        if held is not None:
            asked.have.CopyFrom(held_of(held))
        return asked, held

    def keep(self, asked: ContextRequest, folded: Folded) -> Folded:
        if not asked.body_only and not asked.dry_run:
            self._held[asked.session] = folded.context
            self._held.move_to_end(asked.session)
            if len(self._held) > self._max_sessions:
                self._held.popitem(last=False)
        return folded

    def forget(self, session: str) -> None:
        """Forgets what is held of a session."""
        self._held.pop(session, None)


class Contexts(HeldContexts):
    """Contexts by Assemble, put together. What a session's last context had is kept, so that only what is new is sent."""

    def __init__(self, quire: Quire, max_sessions: int = 64) -> None:
        super().__init__(max_sessions)
        self._assembly = quire.assembly

    def assemble(
        self,
        request: ContextRequest | None = None,
        *,
        timeout: float = 60,
        on_event: Callable[[AssembleResponse], None] | None = None,
        **fields: Any,
    ) -> Folded:
        """Makes a context. `on_event` sees each event as it comes; it begins again with `resolved` if the connection broke."""
        asked, held = self.asked(request, fields)

        async def once(left: float) -> Folded:
            return fold(self._assembly.assemble(AssembleRequest(context=asked), timeout=left), held, on_event)

        return self.keep(asked, run(with_retries(once, timeout, sleep)))


def fold(
    events: Iterable[AssembleResponse],
    held: AssembledContext | None = None,
    on_event: Callable[[AssembleResponse], None] | None = None,
) -> Folded:
    """Puts the events of an assembly together, on top of the context that the request's `have` was made from."""
    folding = Folding(held, on_event)
    for response in events:
        folding.take(response)
    return folding.whole()


def held_of(context: AssembledContext) -> HeldContext:
    """What to say in `have` about a context that is held whole."""
    return HeldContext(
        tools_hash=context.hashes.tools,
        system_hash=context.hashes.system,
        last_turn_id=context.history_layer.last_turn_id,
        chain_hash=context.history_layer.chain_hash,
        cut_id=context.history_layer.cut_id,
    )
