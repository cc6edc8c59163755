from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import grpc

from ._services import AssemblyService, CapsuleService, LedgerService, MemoryService, SourceService, WorkspaceService

OPTIONS: list[tuple[str, Any]] = [
    # The server bounds what it sends in one message, unless a single message of a thread is larger.
    ("grpc.max_receive_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2_000),
]


class Quire:
    """A server's calls, one method for each RPC. What fails raises a QuireError."""

    def __init__(self, channel: grpc.Channel, *, timeout: float = 60, headers: dict[str, str] | None = None) -> None:
        self._channel = channel
        given = (channel, timeout, headers or {})
        self.ledger = LedgerService(*given)
        self.capsules = CapsuleService(*given)
        self.workspaces = WorkspaceService(*given)
        self.memory = MemoryService(*given)
        self.sources = SourceService(*given)
        self.assembly = AssemblyService(*given)

    def close(self) -> None:
        """Ends the connection."""
        self._channel.close()

    def __enter__(self) -> Quire:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def connect(
    address: str = "127.0.0.1:50051",
    *,
    credentials: grpc.ChannelCredentials | None = None,
    timeout: float = 60,
    headers: dict[str, str] | None = None,
    options: Sequence[tuple[str, Any]] = (),
) -> Quire:
    """Connects to a server. Without credentials the connection is not encrypted.

    Calls are repeated for `timeout` seconds while the server cannot be reached or asks for it, and writes carry a request id, so that
    they happen once.
    """
    settings = [*OPTIONS, *options]
    channel = (
        grpc.secure_channel(address, credentials, settings) if credentials else grpc.insecure_channel(address, settings)
    )
    return Quire(channel, timeout=timeout, headers=headers)
