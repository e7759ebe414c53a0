"""Orders that take leases back: one call at a time waits for the next, while anything is held or wanted.

Once, for the synchronous and the asynchronous client, as `_core` explains.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from headgate._clock import Cancellation
from headgate._core import Core, Io, run
from headgate._errors import Code, Error, error
from headgate._lease_types import LeaseWatch
from headgate._types import CheckRequest

# So long a server is to let one wait for an order.
_SLICE = 30.0
# Until a server is asked again that does not know the call, or refuses it.
_UNKNOWN_PAUSE = 30.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0

_REPEATED = (Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.RESOURCE_EXHAUSTED)


class WatchIo(Io, Protocol):
    async def watch_lease(self, watch: LeaseWatch, timeout: float) -> int:
        """Waits until an order takes leases back, max_wait at most, and returns the state of what decides
        about them: what was granted in any other is to be given back. At once where none is known."""


def watch_of(transport: Any) -> Any:
    """How a transport waits for orders, which it need not know to."""
    watch = getattr(transport, "watch_lease", None)
    if watch is None:
        raise error(Code.UNIMPLEMENTED, "this transport does not wait for orders about leases")
    return watch


class Orders:
    """For one call at a time. What is known of the state stays known from one to the next, so that nothing
    that is ordered in between is missed."""

    def __init__(self, core: Core, request: CheckRequest) -> None:
        self._core = core
        self._request = request
        self._state = 0
        self._failures = 0  # in a row

    async def next(self, io: WatchIo) -> tuple[int | None, float]:
        """The state that an order has made, None: there was none; and how long to pause before the next
        call. Raises nothing."""
        request = self._request
        watch = LeaseWatch(
            request.identity, request.target, request.pattern, dict(request.tags), self._state, _SLICE
        )
        began = time.monotonic()
        try:
            state = await io.watch_lease(watch, _SLICE + self._core.options.check_deadline)
        except Error as failure:
            return None, self._pause(failure)
        except Exception as mistake:
            # Of a transport that somebody else has written, or the client was closed meanwhile.
            return None, self._pause(error(Code.INTERNAL, repr(mistake)))
        if state == 0:
            return None, self._pause(error(Code.UNIMPLEMENTED, "the server does not know of states"))
        if state != self._state:
            self._state = state
            self._failures = 0
            return state, 0.0
        if time.monotonic() - began >= _SLICE / 2:
            self._failures = 0
            return None, 0.0
        # What is answered at once though nothing has changed would be asked all the time.
        return None, self._pause(None)

    def _pause(self, failure: Error | None) -> float:
        if failure is not None and failure.code is Code.CANCELLED:
            return 0.0
        jitter = self._core.jitter
        if failure is not None and failure.code not in _REPEATED:
            return jitter.at_least(_UNKNOWN_PAUSE)
        pause = jitter.backoff(self._failures, _FIRST_PAUSE, _LONGEST_PAUSE)
        self._failures += 1
        return max(pause, (failure.retry_delay if failure is not None else None) or 0.0)


class OrderThread:
    """Waits for orders between `start` and `stop`, on a thread of its own.

    `obey` is told of each state, with what says whether it has been stopped meanwhile. Whoever has this
    sees to it that one thread at a time starts and stops it.
    """

    def __init__(
        self,
        orders: Orders,
        io_of: Callable[[Cancellation], Any],
        obey: Callable[[int, Cancellation], None],
    ) -> None:
        self._orders = orders
        self._io_of = io_of
        self._obey = obey
        self._turn = threading.Lock()  # of two threads that overlap, the older one ends first
        self._stop: Cancellation | None = None
        self._thread: threading.Thread | None = None  # the newest

    def start(self) -> None:
        if self._stop is None:
            self._stop = Cancellation()
            self._thread = threading.Thread(
                target=self._run, args=(self._stop,), name="headgate-lease-orders", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        if self._stop is not None:
            self._stop.cancel()
            self._stop = None

    def _run(self, stop: Cancellation) -> None:
        with self._turn:
            io = self._io_of(stop)
            while not stop.is_cancelled:
                state, pause = run(self._orders.next(io))
                if state is not None:
                    self._obey(state, stop)
                if pause > 0:
                    stop.wait(pause)
