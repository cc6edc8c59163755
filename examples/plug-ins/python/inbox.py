"""A source of contexts: the unread mail of a mailbox, newest first. Nothing is marked as read.

    IMAP_HOST=... IMAP_USER=... IMAP_PASSWORD=... PYTHONPATH=gen python inbox.py [host:port]
    quire sources register mail --at 127.0.0.1:7071 --deadline-ms 3000

It says where it listens on its standard output. The stubs, after mkdir gen:
    python -m grpc_tools.protoc -I ../../../contract --python_out=gen --pyi_out=gen --grpc_python_out=gen ../../../contract/quire/v1/*.proto
"""

import os
import sys
import threading
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import grpc
from imap_tools import AND, BaseMailBox, MailBox, MailboxLoginError, MailBoxUnencrypted, MailMessage
from quire.v1.context_source_service_pb2 import DescribeRequest, DescribeResponse, FetchedBlock, FetchRequest, FetchResponse
from quire.v1.context_source_service_pb2_grpc import ContextSourceServiceServicer, add_ContextSourceServiceServicer_to_server
from quire.v1.origin_pb2 import AgentRole

SHOWN = 10
SECONDS = 10  # The longest that the mail server may take for one answer.


def connect() -> BaseMailBox:
    host, port = os.environ["IMAP_HOST"], os.environ.get("IMAP_PORT")
    if os.environ.get("IMAP_PLAIN") == "1":  # Only for a server on this machine.
        return MailBoxUnencrypted(host, int(port or 143), timeout=SECONDS)
    return MailBox(host, int(port or 993), timeout=SECONDS)


def summary(unread: int, newest: Iterable[MailMessage]) -> str:
    lines = [f"{unread} unread"]
    for mail in newest:
        sender = mail.from_values.name or mail.from_values.email if mail.from_values else "unknown"
        lines.append(f"- {mail.date:%Y-%m-%d %H:%M} {sender}: {' '.join(mail.subject.split())}")
    return "\n".join(lines)


def read_inbox() -> str:
    """What is unread, or nothing if all is read."""
    with connect().login(os.environ["IMAP_USER"], os.environ["IMAP_PASSWORD"], initial_folder=None) as mailbox:
        mailbox.folder.set(os.environ.get("IMAP_FOLDER", "INBOX"), readonly=True)
        unread = mailbox.uids(AND(seen=False))
        if not unread:
            return ""
        newest = mailbox.fetch(uid_list=unread[-SHOWN:], mark_seen=False, headers_only=True, reverse=True, bulk=True)
        return summary(len(unread), newest)


class Inbox(ContextSourceServiceServicer):
    """Contexts are made far more often than mail comes: what was read is good for a while."""

    def __init__(self, keep_seconds: float) -> None:
        self.keep_seconds = keep_seconds
        self.lock = threading.Lock()
        self.text, self.read_at = "", float("-inf")

    def Describe(self, request: DescribeRequest, context: grpc.ServicerContext) -> DescribeResponse:
        return DescribeResponse(contract="quire.v1", version="inbox 1")

    def Fetch(self, request: FetchRequest, context: grpc.ServicerContext) -> FetchResponse:
        if request.role == AgentRole.AGENT_ROLE_WORKER:  # It has a task, and no mail.
            return FetchResponse()
        try:
            text = self.current()
        except MailboxLoginError:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "the mail server refuses user or password")
        except Exception as error:  # Whatever went wrong: the context is made without.
            context.abort(grpc.StatusCode.UNAVAILABLE, f"the mail server cannot be read: {error}")
        return FetchResponse(blocks=[FetchedBlock(title="inbox", content=text, entities=["mail"])] if text else [])

    def current(self) -> str:
        with self.lock:  # Those who ask meanwhile get the same answer.
            if time.monotonic() - self.read_at >= self.keep_seconds:
                self.text = read_inbox()
                self.read_at = time.monotonic()
            return self.text


def main(address: str) -> None:
    server = grpc.server(ThreadPoolExecutor(max_workers=8))
    add_ContextSourceServiceServicer_to_server(Inbox(float(os.environ.get("INBOX_SECONDS", "60"))), server)
    port = server.add_insecure_port(address)
    server.start()
    print(f"inbox on {address.rpartition(':')[0]}:{port}", flush=True)
    server.wait_for_termination()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "127.0.0.1:7071")
