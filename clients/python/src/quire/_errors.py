from __future__ import annotations

import grpc
from google.rpc import error_details_pb2, status_pb2


class QuireError(Exception):
    """Why a call failed.

    `reason` is a name of the contract's ErrorReason, such as "HEAD_MOVED", empty where the server was not reached; `code` the gRPC
    status; `fields` the fields of the request that are wrong; `metadata` what the reason says besides.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str = "UNKNOWN",
        reason: str = "",
        fields: list[str] | None = None,
        metadata: dict[str, str] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.fields = fields or []
        self.metadata = metadata or {}
        self.retry_after = retry_after

    @property
    def field(self) -> str:
        """The first wrong field; empty where none is."""
        return self.fields[0] if self.fields else self.metadata.get("field", "")

    @property
    def may_retry(self) -> bool:
        """Whether the same call may succeed if it is made again. SESSION_BUSY is for the caller to decide."""
        if self.reason == "SESSION_BUSY":
            return False
        if self.retry_after is not None:
            return True
        # Without a reason, it is not Quire's server that answered: a connection was refused, reset or closed.
        return self.reason == "" and self.code in ("UNAVAILABLE", "INTERNAL")

    @staticmethod
    def of(error: grpc.RpcError) -> QuireError:
        reason, fields, metadata, retry_after = "", [], {}, None
        status = status_pb2.Status()
        for key, value in error.trailing_metadata() or ():
            if key == "grpc-status-details-bin":
                status.ParseFromString(value)
        for detail in status.details:
            if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR):
                info = error_details_pb2.ErrorInfo.FromString(detail.value)
                reason, metadata = info.reason, dict(info.metadata)
            elif detail.Is(error_details_pb2.BadRequest.DESCRIPTOR):
                bad = error_details_pb2.BadRequest.FromString(detail.value)
                fields = [violation.field for violation in bad.field_violations]
            elif detail.Is(error_details_pb2.RetryInfo.DESCRIPTOR):
                retry = error_details_pb2.RetryInfo.FromString(detail.value)
                retry_after = retry.retry_delay.seconds + retry.retry_delay.nanos / 1e9
        return QuireError(
            error.details() or str(error),
            code=error.code().name,
            reason=reason,
            fields=fields,
            metadata=metadata,
            retry_after=retry_after,
        )
