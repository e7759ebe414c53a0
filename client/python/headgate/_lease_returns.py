"""How leases go back, with the next ask or by a report, and what is told with them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable

from headgate._errors import Code, Error
from headgate._lease_counts import Told
from headgate._lease_grant import Grant
from headgate._lease_holdings import Holdings
from headgate._lease_step import Ask, LeaseOptions
from headgate._lease_types import Admission
from headgate._reports import counts_alone
from headgate._types import Answer, PermitReport


class Returns:
    """Thread-compatible."""

    def __init__(self, held: Holdings, options: LeaseOptions, new_id: Callable[[], int]) -> None:
        self._held = held
        self._time = options.time
        self._told = Told(options.identity, options.target, new_id)
        self.explain = self._told.explain
        self._unsaid: deque[PermitReport] = deque()  # given back with an ask that failed
        self._gone_pieces = 0
        self._server_is_old = False

    @property
    def pieces(self) -> int:
        """That leases admitted, ever."""
        return self._gone_pieces + self._held.pieces

    @property
    def due_at(self) -> float:
        """When counts go alone, lest they be late: what is held takes them with it in time."""
        return math.inf if self._held.current is not None else self._told.since + self._time

    def refuse(self, admission: Admission, cost: float, now: float) -> None:
        known = self._held.known
        self._told.refuse(admission, cost if known is None else cost * known.ratio, now)

    def settle(self, estimate: float, actual_cost: float | None, busy_time: float | None) -> None:
        """Goes with the lease that is given back next."""
        known = self._held.known
        if actual_cost is not None:
            self._told.settle_cost(estimate * (1.0 if known is None else known.ratio), actual_cost)
        if busy_time is not None:
            ratio = 0.0 if known is None else known.busy_ratio or 0.0
            self._told.settle_busy_time(estimate * ratio, busy_time)

    def with_an_ask(self) -> PermitReport | None:
        """One that goes with the ask that is sent now."""
        retired = self._held.retired
        if self._server_is_old:
            return None
        if self._unsaid and self._unsaid[0].lease_use is not None:
            return self._unsaid.popleft()
        if retired and not retired[0].is_old:
            return self._report(retired.popleft())
        # What is held takes them with it.
        return self._told.report_counts() if self._held.current is None else None

    def by_report(self, now: float, *, is_last: bool) -> list[PermitReport]:
        """All others; in the end, and where it is time, refusals, too, that no lease carries."""
        if is_last:
            self._told.explain()
        reports = list(self._unsaid)
        self._unsaid.clear()
        retired, self._held.retired = self._held.retired, deque()
        reports += [each for each in map(self._report, retired) if each is not None]
        if is_last or now >= self.due_at:
            self._told.explain()  # an answer that comes later explains nothing any more
            if (counts := self._told.report_counts()) is not None and not self._server_is_old:
                reports.append(counts)
        return reports

    def answered(self, ask: Ask, answer: Answer) -> None:
        returned = ask.terms.returned
        self._server_is_old = answer.lease is None
        if returned is None:
            return
        again: PermitReport | None = None
        if answer.lease is None:
            again = returned if returned.permit_id else None  # which counts nothing but permits
        elif isinstance(result := answer.lease.returned, Error):
            if result.code is Code.UNAVAILABLE:  # nobody decided for its target just then
                again = returned
            elif result.code is Code.NOT_FOUND:
                again = counts_alone(returned)
        if again is not None:
            self._unsaid.append(again)

    def failed(self, ask: Ask) -> None:
        """It may have arrived nevertheless: to say it twice is harmless."""
        if ask.terms.returned is not None:
            self._unsaid.append(ask.terms.returned)

    def _report(self, grant: Grant) -> PermitReport | None:
        self._gone_pieces += grant.pieces
        return self._told.report(grant)
