from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable
from typing import Any

from ._aio_client import Quire
from ._contexts import HeldContexts
from ._flow import with_retries
from ._folding import Folded, Folding
from .v1.assembly_pb2 import AssembledContext
from .v1.assembly_service_pb2 import AssembleRequest, AssembleResponse, ContextRequest


class Contexts(HeldContexts):
    """Contexts by Assemble, put together. What a session's last context had is kept, so that only what is new is sent."""

    def __init__(self, quire: Quire, max_sessions: int = 64) -> None:
        super().__init__(max_sessions)
        self._assembly = quire.assembly

    async def assemble(
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
            return await fold(self._assembly.assemble(AssembleRequest(context=asked), timeout=left), held, on_event)

        return self.keep(asked, await with_retries(once, timeout, asyncio.sleep))


async def fold(
    events: AsyncIterable[AssembleResponse],
    held: AssembledContext | None = None,
    on_event: Callable[[AssembleResponse], None] | None = None,
) -> Folded:
    """Puts the events of an assembly together, on top of the context that the request's `have` was made from."""
    folding = Folding(held, on_event)
    async for response in events:
        folding.take(response)
    return folding.whole()
