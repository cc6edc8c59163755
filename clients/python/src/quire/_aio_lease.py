from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from ._aio_client import Quire
from ._errors import QuireError
from ._lease import LOSSES, ended_with, renewal_pause
from .v1.ledger_service_pb2 import AppendMessagesResponse, BeginTurnResponse, CompleteTurnResponse

T = TypeVar("T")


class LeasedTurn:
    """An open turn that has its session for itself. The lease is renewed by a task for as long as the turn is open.

    When another turn takes the session, `lost` is set, `check` raises the error that says so, and `guard` stops what it waits for.
    """

    def __init__(self, quire: Quire, begun: BeginTurnResponse) -> None:
        self._ledger = quire.ledger
        self.id: str = begun.turn.id
        self.lost = asyncio.Event()
        self._loss: QuireError | None = None
        self._renewing = asyncio.create_task(self._renew(renewal_pause(begun)), name="quire-lease")

    @classmethod
    async def begin(cls, quire: Quire, *, timeout: float | None = None, **fields: Any) -> LeasedTurn:
        """Begins the turn: `fields` are those of BeginTurn. The lease lives for 60 seconds unless they say otherwise."""
        fields.setdefault("lease", {})
        return cls(quire, await quire.ledger.begin_turn(timeout=timeout, **fields))

    async def append(self, **fields: Any) -> AppendMessagesResponse:
        return await self._ledger.append_messages(turn_id=self.id, **fields)

    async def complete(self, **fields: Any) -> CompleteTurnResponse:
        """Ends the turn. Its lease is renewed no more: that it is over would look like a loss."""
        self.release()
        return await self._ledger.complete_turn(turn_id=self.id, **fields)

    async def fail(self, error: object) -> None:
        """Gives the turn up: nothing of it comes into the thread."""
        try:
            await self.complete(**ended_with(error))
        except QuireError:
            pass  # It is over already, or its lease will end it.

    def check(self) -> None:
        """Raises the error by which the turn lost its session, if it did."""
        if self._loss:
            raise self._loss

    async def guard(self, work: Coroutine[Any, Any, T]) -> T:
        """What the work comes to. If the turn loses its session first, the work is cancelled, and the error says so."""
        task = asyncio.ensure_future(work)
        lost = asyncio.ensure_future(self.lost.wait())
        try:
            await asyncio.wait({task, lost}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                self.check()
            return await task
        finally:
            lost.cancel()
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def release(self) -> None:
        """Renews no more; the lease ends with the turn, or by itself."""
        self._renewing.cancel()

    async def _wait(self, seconds: float) -> None:
        """Waits until the lease is to be renewed."""
        await asyncio.sleep(seconds)

    async def _renew(self, pause: float) -> None:
        while True:
            await self._wait(pause)
            try:
                await self._ledger.renew_lease(turn_id=self.id)
            except QuireError as error:
                # Another failure passes, or the lease expires; then the turn's next call says so.
                if error.reason in LOSSES:
                    self._loss = error
                    self.lost.set()
                    return
