"""What a client does is written once, as coroutines that both flavours run.

The blocking one runs them to their end at once: what they await there has happened when it is awaited.
"""

from __future__ import annotations

import inspect
import random
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from ._errors import QuireError

T = TypeVar("T")
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0


def run(work: Coroutine[Any, Any, T]) -> T:
    """What the work comes to, if nothing in it waits."""
    try:
        work.send(None)
    except StopIteration as done:
        result: T = done.value
        return result
    work.close()
    raise RuntimeError("something asynchronous was awaited in a blocking call: quire.aio is for that")


async def settled(value: T | Awaitable[T]) -> T:
    """A value, now or when it is there."""
    return await value if inspect.isawaitable(value) else value


async def sleep(seconds: float) -> None:
    time.sleep(seconds)


async def with_retries(
    call: Callable[[float], Awaitable[T]], timeout: float, pause: Callable[[float], Awaitable[None]]
) -> T:
    """Calls until it succeeds, fails for good, or time is up; each call is told how long it has."""
    end = time.monotonic() + timeout
    wait = FIRST_PAUSE
    while True:
        try:
            return await call(max(0.001, end - time.monotonic()))
        except QuireError as error:
            # Not all at once: others lost the same server.
            least = max(error.retry_after or 0, wait * random.uniform(0.5, 1))
            if not error.may_retry or time.monotonic() + least > end:
                raise
        await pause(least)
        wait = min(LONGEST_PAUSE, wait * 2)
