"""Leave to do one chunk of work. It tells Headgate what the work cost, by itself if need be."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType
from typing import NoReturn

from headgate._checked import check_report, refuse_to_copy
from headgate._clock import Clock
from headgate._types import Answer, PermitReport


class Permit:
    """A permit reports exactly once: when `report` is called, or else when its `with` ends.

    After an exception, too: a chunk that failed has kept the database busy as well. What it reports by
    itself is its busy time, from the answer to the report, and no cost, so that the predicted cost
    stands; that is right for every budget. Who knows that a chunk did nothing says so:
    `permit.report(actual_cost=0)`. The exception goes on to the caller as ever.

    Until then it holds its place in budgets that limit concurrency; a permit that is never reported
    loses it after the server's permit_ttl. Reporting neither blocks nor fails for want of a connection.
    In a process that was forked since, it reports nothing: it is the parent's.

    Thread-compatible.
    """

    __slots__ = ("_add", "_clock", "_granted_at", "_process", "answer")

    def __init__(self, answer: Answer, clock: Clock, add: Callable[[PermitReport], None]) -> None:
        self.answer = answer
        """The answer that granted it; the advised size of the next chunk is there."""
        self._clock = clock
        self._granted_at = clock.now()
        self._process = os.getpid()
        self._add = None if answer.permit_id is None else add  # None: nothing to report

    @property
    def local(self) -> bool:
        """Given by the client itself, because Headgate was unreachable. There is nothing to report."""
        return self.answer.local

    @property
    def elapsed(self) -> float:
        """Seconds since it was granted."""
        return max(self._clock.now() - self._granted_at, 0.0)

    def report(self, *, actual_cost: float | None = None, busy_time: float | None = None) -> None:
        """What the work cost, in the unit of its estimate, and for how many seconds it kept the
        database busy.

        Without a cost the predicted one stands; without a busy time it is `elapsed`. Only the first
        call counts. InvalidArgumentError: that cannot be; the permit is then as it was.
        """
        check_report(actual_cost, busy_time)
        add, self._add = self._add, None
        permit_id = self.answer.permit_id
        if add is None or permit_id is None or os.getpid() != self._process:
            return
        measured = busy_time is None
        add(
            PermitReport(
                permit_id=permit_id,
                actual_cost=actual_cost,
                busy_time=self.elapsed if busy_time is None else busy_time,
                measured=measured,
            )
        )

    def dismiss(self) -> None:
        """Reports nothing, now or later: what was predicted stays charged."""
        self._add = None

    def __reduce__(self) -> NoReturn:
        refuse_to_copy(self)

    def __enter__(self) -> Permit:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.report()
