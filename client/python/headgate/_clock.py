"""How a client tells the time and lets it pass, so that tests need not wait."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Protocol, runtime_checkable

# Beyond it threading and gRPC overflow; nobody waits so long.
LONGEST = 365 * 24 * 3600.0


class Cancellation:
    """Ends calls that wait, from another thread. Thread-safe; cancelled once and for all.

    stop = Cancellation()
    signal.signal(signal.SIGTERM, lambda *_: stop.cancel())
    client.check_or_wait(cancellation=stop)
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        # Reentrant, because a signal's handler may cancel in the middle of a call's own use of it.
        self._lock = threading.RLock()
        self._callbacks: dict[int, Callable[[], object]] = {}

    @property
    def is_cancelled(self) -> bool:
        return self._event.is_set()

    def cancel(self) -> None:
        with self._lock:
            self._event.set()
            callbacks = list(self._callbacks.values())
        for callback in callbacks:
            callback()

    def wait(self, seconds: float) -> bool:
        """Until it is cancelled, or so long. Whether it is."""
        return self._event.wait(min(seconds, LONGEST))

    def on_cancel(self, callback: Callable[[], object]) -> Callable[[], object]:
        """Calls it when cancelled, at once if that is so already. Returns what takes it away."""
        key = id(callback)
        with self._lock:
            self._callbacks[key] = callback
            cancelled = self._event.is_set()
        if cancelled:
            callback()
        return lambda: self._callbacks.pop(key, None)


class Clock(Protocol):
    """Tells seconds since an arbitrary start; never runs backwards. Thread-safe."""

    def now(self) -> float: ...

    def sleep(self, seconds: float, cancellation: Cancellation | None) -> None:
        """Returns when they have passed, or as soon as it is cancelled."""

    async def sleep_async(self, seconds: float) -> None: ...


@runtime_checkable
class MovedClock(Protocol):
    """A clock that is moved by hand tells whoever waits for a time in the background."""

    def on_move(self, callback: Callable[[], object]) -> None:
        """Calls a method, for as long as its object lives, each time that it was moved."""


class RealClock:
    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float, cancellation: Cancellation | None) -> None:
        if cancellation is not None:
            cancellation.wait(seconds)
        else:
            time.sleep(min(seconds, LONGEST))

    async def sleep_async(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, LONGEST))
