from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import grpc
import grpc.aio

from ._aio_services import AssemblyService, CapsuleService, LedgerService, MemoryService, SourceService, WorkspaceService
from ._client import OPTIONS


class Quire:
    """A server's calls, one coroutine for each RPC; a stream is an asynchronous iterator. What fails raises a QuireError."""

    def __init__(self, channel: grpc.aio.Channel, *, timeout: float = 60, headers: dict[str, str] | None = None) -> None:
        self._channel = channel
        given = (channel, timeout, headers or {})
        self.ledger = LedgerService(*given)
        self.capsules = CapsuleService(*given)
        self.workspaces = WorkspaceService(*given)
        self.memory = MemoryService(*given)
        self.sources = SourceService(*given)
        self.assembly = AssemblyService(*given)

    async def close(self) -> None:
        """Ends the connection."""
        await self._channel.close()

    async def __aenter__(self) -> Quire:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def connect(
    address: str = "127.0.0.1:50051",
    *,
    credentials: grpc.ChannelCredentials | None = None,
    timeout: float = 60,
    headers: dict[str, str] | None = None,
    options: Sequence[tuple[str, Any]] = (),
) -> Quire:
    """Connects to a server, as `quire.connect` does. It belongs to the event loop that runs."""
    asyncio.get_running_loop()
    settings = [*OPTIONS, *options]
    channel = (
        grpc.aio.secure_channel(address, credentials, settings)
        if credentials
        else grpc.aio.insecure_channel(address, settings)
    )
    return Quire(channel, timeout=timeout, headers=headers)
