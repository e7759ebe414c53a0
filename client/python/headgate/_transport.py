"""The two calls that a client makes, by gRPC or by whatever else implements this.

Implementations never retry, wait or batch by themselves: the client does. UNAVAILABLE and
DEADLINE_EXCEEDED mean that Headgate could not be reached; after them a call may have been carried out
or not. CANCELLED: the caller has cancelled it. Any other error is an answer of the server's.

A transport that also has `watch_lease` hears of orders that take leases back:
`watch_lease(watch: LeaseWatch, timeout, cancellation) -> int`, a coroutine without the cancellation in an
AsyncTransport, returns another state than `watch.state`, or that one after `watch.max_wait`. Where there is
none, leases end by their time alone.
"""

from __future__ import annotations

from typing import Protocol

from headgate._clock import Cancellation
from headgate._errors import Error
from headgate._types import Answer, CheckRequest, PermitReport, ReportResult

MAX_REPORTS = 1000
"""In one call."""


class Transport(Protocol):
    """Thread-safe. Each call returns within `timeout` seconds, and soon after it is cancelled."""

    def check(self, request: CheckRequest, timeout: float, cancellation: Cancellation | None) -> Answer: ...

    def report(
        self, reports: list[PermitReport], timeout: float, cancellation: Cancellation | None
    ) -> list[ReportResult | Error]:
        """One result for each report, in order."""

    def close(self) -> None: ...


class AsyncTransport(Protocol):
    """The same for one event loop. A call is cancelled with its task."""

    async def check(self, request: CheckRequest, timeout: float) -> Answer: ...

    async def report(self, reports: list[PermitReport], timeout: float) -> list[ReportResult | Error]: ...

    async def close(self) -> None: ...
