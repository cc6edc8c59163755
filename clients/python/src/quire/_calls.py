from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from typing import Any, TypeVar

import grpc
import grpc.aio

from ._errors import QuireError
from ._flow import run, sleep, with_retries

T = TypeVar("T")


class _Method:
    """How a method of a service is called."""

    NAME = ""

    def __init__(self, channel: Any, timeout: float, headers: dict[str, str]) -> None:
        self._channel = channel
        self._timeout = timeout
        self._headers = tuple(headers.items())

    def _codec(self, rpc: str, request: Any, answer: Any) -> dict[str, Any]:
        # A write has a request id: without one, a write that was repeated could happen twice.
        if "request_id" in request.DESCRIPTOR.fields_by_name and not request.request_id:
            request.request_id = str(uuid.uuid4())
        serializer, deserializer = type(request).SerializeToString, answer.FromString
        return {
            "method": f"/{self.NAME}/{rpc}",
            "request_serializer": serializer,
            "response_deserializer": deserializer,
        }


class Service(_Method):
    """The methods of a service. What they get is a request, or its fields."""

    def _unary(self, rpc: str, request: Any, answer: type[T], timeout: float | None) -> T:
        call = self._channel.unary_unary(**self._codec(rpc, request, answer))

        async def once(left: float) -> T:
            try:
                return call(request, timeout=left, metadata=self._headers)
            except grpc.RpcError as error:
                raise QuireError.of(error) from error

        return run(with_retries(once, timeout or self._timeout, sleep))

    def _stream(self, rpc: str, request: Any, answer: type[T], timeout: float | None) -> Iterator[T]:
        """Streams are not repeated here: what was sent cannot be taken back. `Contexts` repeats assemblies."""
        call = self._channel.unary_stream(**self._codec(rpc, request, answer))
        events = call(request, timeout=timeout, metadata=self._headers)
        try:
            yield from events
        except grpc.RpcError as error:
            raise QuireError.of(error) from error
        finally:
            events.cancel()


class AioService(_Method):
    """The same for asyncio. A call that is cancelled stops on the server, too."""

    async def _unary(self, rpc: str, request: Any, answer: type[T], timeout: float | None) -> T:
        call = self._channel.unary_unary(**self._codec(rpc, request, answer))

        async def once(left: float) -> T:
            try:
                return await call(request, timeout=left, metadata=self._headers)
            except grpc.aio.AioRpcError as error:
                raise QuireError.of(error) from error

        return await with_retries(once, timeout or self._timeout, asyncio.sleep)

    async def _stream(self, rpc: str, request: Any, answer: type[T], timeout: float | None) -> AsyncIterator[T]:
        call = self._channel.unary_stream(**self._codec(rpc, request, answer))
        events = call(request, timeout=timeout, metadata=self._headers)
        try:
            async for event in events:
                yield event
        except grpc.aio.AioRpcError as error:
            raise QuireError.of(error) from error
        finally:
            events.cancel()
