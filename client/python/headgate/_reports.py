"""Reports that wait to be sent: which go next, what came of them, and what is tried again.

A report waits at most 50 ms for company, then goes out with up to 999 others, in the order in which
they came. A batch that the server could not be given is tried again, with growing pauses of up to 2 s,
until it is taken or time is up: reporting twice is harmless. One whose sender the server does not know
is tried twice more, each time late enough for another token to be found. A call that fails otherwise
loses its batch. A report whose measured busy time the server does not take goes once more, without it.
When the queue is full, further reports are dropped.

Thread-compatible; the reporters of the two clients send.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from headgate._errors import Code, Error
from headgate._jitter import Jitter
from headgate._transport import MAX_REPORTS
from headgate._types import PermitReport, ReportResult, ReportStats

WINDOW = 0.050
CALL_TIMEOUT = 1.0
_FIRST_PAUSE = 0.050
_LONGEST_PAUSE = 2.0
_LONGEST_LAST_PAUSE = 0.200  # while being closed
# How often a call may be UNAUTHENTICATED: the token may just have been replaced, and a call that comes
# a little over a second later looks into its file again.
_MAX_UNKNOWN = 3
_NEW_TOKEN_PAUSE = 1.1

_REPEATED = (Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.RESOURCE_EXHAUSTED)


class ReportQueue:
    def __init__(self, max_queued: int, jitter: Jitter) -> None:
        self._max_queued = max_queued
        self._jitter = jitter
        self._queue: deque[PermitReport] = deque()  # those that are being sent are still in it
        self._stats = ReportStats()  # `pending` aside
        self._failures = 0  # in a row
        self._unknown = 0  # times in a row that the server did not know who sends
        self.added = 0  # ever
        self.done = 0  # removed from its front, ever
        self.closed = False

    def __len__(self) -> int:
        return len(self._queue)

    @property
    def stats(self) -> ReportStats:
        return replace(self._stats, pending=len(self._queue))

    @property
    def has_full_batch(self) -> bool:
        return len(self._queue) >= MAX_REPORTS

    def add(self, report: PermitReport) -> bool:
        """Whether it is to be sent."""
        if self.closed or len(self._queue) >= self._max_queued:
            self._count(dropped=1)
            return False
        self._queue.append(report)
        self.added += 1
        return True

    def batch(self) -> list[PermitReport]:
        return list(islice(self._queue, MAX_REPORTS))

    def settle(self, batch: Sequence[PermitReport], results: Sequence[ReportResult | Error]) -> None:
        """The call with this batch has ended well."""
        self._failures = self._unknown = 0
        again = []
        for report, result in zip(batch, results, strict=False):
            if isinstance(result, ReportResult):
                self._count(
                    delivered=1,
                    overrun=1 if result.overruns else 0,
                    unsettled=1 if result.unsettled else 0,
                )
            elif result.code is Code.INVALID_ARGUMENT and report.measured:
                again.append(replace(report, busy_time=None, measured=False))
            else:
                self._count(refused=1)
                if result.code is Code.NOT_FOUND and (counts := counts_alone(report)) is not None:
                    again.append(counts)
        self._count(failed=max(len(batch) - len(results), 0))
        self._remove(len(batch))
        self._queue.extendleft(reversed(again))
        self.done -= len(again)

    def fail(self, batch: Sequence[PermitReport], failure: Error, closing: bool) -> float:
        """The call with this batch has failed. How long to wait before the next one."""
        if failure.code is Code.UNAUTHENTICATED:
            self._unknown += 1
            if self._unknown < _MAX_UNKNOWN:
                return _NEW_TOKEN_PAUSE
        elif failure.code in _REPEATED:
            longest = _LONGEST_LAST_PAUSE if closing else _LONGEST_PAUSE
            pause = self._jitter.backoff(self._failures, _FIRST_PAUSE, longest)
            self._failures += 1
            return pause
        self._failures = self._unknown = 0
        self._count(failed=len(batch))
        self._remove(len(batch))
        return 0.0

    def drop_all(self) -> None:
        self._count(dropped=len(self._queue))
        self._remove(len(self._queue))

    def _remove(self, count: int) -> None:
        for _ in range(count):
            self._queue.popleft()
        self.done += count

    def _count(self, **more: int) -> None:
        counts = {name: getattr(self._stats, name) + number for name, number in more.items()}
        self._stats = replace(self._stats, **counts)


def counts_alone(report: PermitReport) -> PermitReport | None:
    """What a server can still count that does not know the lease, such as one that was started anew: by the
    number of the report it is counted once whatever is repeated. None: there is nothing."""
    use = report.lease_use
    if use is None or not report.permit_id or not use.counts:
        return None
    return PermitReport(permit_id=0, lease_use=replace(use, spent=0.0, pieces=0))
