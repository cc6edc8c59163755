from __future__ import annotations

import random
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import grpc

from ._errors import QuireError

T = TypeVar("T")
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0


def with_retries(call: Callable[[float], T], timeout: float) -> T:
    """Calls until it succeeds, fails for good, or time is up; each call is told how long it has."""
    end = time.monotonic() + timeout
    pause = FIRST_PAUSE
    while True:
        try:
            return call(max(0.001, end - time.monotonic()))
        except QuireError as error:
            # Not all at once: others lost the same server.
            wait = max(error.retry_after or 0, pause * random.uniform(0.5, 1))
            if not error.may_retry or time.monotonic() + wait > end:
                raise
            time.sleep(wait)
            pause = min(LONGEST_PAUSE, pause * 2)


class Service:
    """The methods of a service. What they get is a request, or its fields."""

    NAME = ""

    def __init__(self, channel: grpc.Channel, timeout: float, headers: dict[str, str]) -> None:
        self._channel = channel
        self._timeout = timeout
        self._headers = tuple(headers.items())

    def _unary(self, rpc: str, request: Any, answer: type[T], timeout: float | None) -> T:
        # A write has a request id: without one, a write that was repeated could happen twice.
        if "request_id" in request.DESCRIPTOR.fields_by_name and not request.request_id:
            request.request_id = str(uuid.uuid4())
        call = self._channel.unary_unary(
            f"/{self.NAME}/{rpc}", request_serializer=type(request).SerializeToString, response_deserializer=answer.FromString
        )

        def once(left: float) -> T:
            try:
                return call(request, timeout=left, metadata=self._headers)
            except grpc.RpcError as error:
                raise QuireError.of(error) from error

        return with_retries(once, timeout or self._timeout)

    def _stream(self, rpc: str, request: Any, answer: type[T], timeout: float | None) -> Iterator[T]:
        """Streams are not repeated here: what was sent cannot be taken back. `Contexts` repeats assemblies."""
        call = self._channel.unary_stream(
            f"/{self.NAME}/{rpc}", request_serializer=type(request).SerializeToString, response_deserializer=answer.FromString
        )
        events = call(request, timeout=timeout, metadata=self._headers)
        try:
            yield from events
        except grpc.RpcError as error:
            raise QuireError.of(error) from error
        finally:
            events.cancel()
