from __future__ import annotations

import threading
from typing import Any

from ._client import Quire
from ._errors import QuireError
from .v1.ledger_service_pb2 import AppendMessagesResponse, BeginTurnResponse, CompleteTurnResponse
from .v1.turn_pb2 import TURN_STATUS_FAILED

LOSSES = ("INTERRUPTED", "LEASE_LOST", "TURN_NOT_OPEN", "TURN_NOT_FOUND")


def renewal_pause(begun: BeginTurnResponse) -> float:
    """How long to wait before a lease is renewed: twice may go wrong."""
    return (begun.lease.seconds or 60) / 3


def ended_with(error: object) -> dict[str, Any]:
    """What is said of a turn that failed."""
    return {"status": TURN_STATUS_FAILED, "result": {"error": str(error)[:1000]}}


class LeasedTurn:
    """An open turn that has its session for itself. The lease is renewed by a thread for as long as the turn is open.

    When another turn takes the session, `lost` is set, and `check` raises the error that says so.
    """

    def __init__(self, quire: Quire, *, timeout: float | None = None, **fields: Any) -> None:
        """Begins the turn: `fields` are those of BeginTurn. The lease lives for 60 seconds unless they say otherwise."""
        self._ledger = quire.ledger
        fields.setdefault("lease", {})
        begun = self._ledger.begin_turn(timeout=timeout, **fields)
        self.id: str = begun.turn.id
        self.lost = threading.Event()
        self._loss: QuireError | None = None
        self._released = threading.Event()
        self._renewing = threading.Thread(target=self._renew, args=(renewal_pause(begun),), name="quire-lease", daemon=True)
        self._renewing.start()

    def append(self, **fields: Any) -> AppendMessagesResponse:
        return self._ledger.append_messages(turn_id=self.id, **fields)

    def complete(self, **fields: Any) -> CompleteTurnResponse:
        """Ends the turn. Its lease is renewed no more: that it is over would look like a loss."""
        self.release()
        return self._ledger.complete_turn(turn_id=self.id, **fields)

    def fail(self, error: object) -> None:
        """Gives the turn up: nothing of it comes into the thread."""
        try:
            self.complete(**ended_with(error))
        except QuireError:
            pass  # It is over already, or its lease will end it.

    def check(self) -> None:
        """Raises the error by which the turn lost its session, if it did."""
        if self._loss:
            raise self._loss

    def release(self) -> None:
        """Renews no more; the lease ends with the turn, or by itself."""
        self._released.set()

    def _wait(self, seconds: float) -> bool:
        """Waits until the lease is to be renewed; whether it was released meanwhile."""
        return self._released.wait(seconds)

    def _renew(self, pause: float) -> None:
        while not self._wait(pause):
            try:
                self._ledger.renew_lease(turn_id=self.id)
            except QuireError as error:
                # Another failure passes, or the lease expires; then the turn's next call says so.
                if error.reason in LOSSES:
                    if not self._released.is_set():
                        self._loss = error
                        self.lost.set()
                    return
            except ValueError:
                return  # The connection was closed.
