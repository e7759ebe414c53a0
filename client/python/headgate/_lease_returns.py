"""How leases go back, with the next ask or by a report, and what is told with them."""

from __future__ import annotations

from collections import deque

from headgate._errors import Code, Error
from headgate._lease_counts import Told
from headgate._lease_grant import Grant
from headgate._lease_holdings import Holdings
from headgate._lease_step import Ask, Failure
from headgate._lease_types import Admission
from headgate._types import Answer, PermitReport


class Returns:
    """Thread-compatible."""

    def __init__(self, held: Holdings, identity: str, target: str) -> None:
        self._held = held
        self._told = Told(identity, target)
        self._unsaid: deque[PermitReport] = deque()  # given back with an ask that failed
        self._gone_pieces = 0
        self._server_is_old = False

    @property
    def pieces(self) -> int:
        """That leases admitted, ever."""
        return self._gone_pieces + self._held.pieces

    def refuse(self, admission: Admission, cost: float) -> None:
        known = self._held.known
        self._told.refuse(admission, cost if known is None else cost * known.ratio)

    def settle(self, estimate: float, actual_cost: float | None, busy_time: float | None) -> None:
        """Goes with the lease that is given back next."""
        known = self._held.known
        if actual_cost is not None:
            self._told.settle_cost(estimate * (1.0 if known is None else known.ratio), actual_cost)
        if busy_time is not None:
            ratio = 0.0 if known is None else known.busy_ratio or 0.0
            self._told.settle_busy_time(estimate * ratio, busy_time)

    def with_an_ask(self, *, is_denied: bool) -> PermitReport | None:
        """One that goes with the ask that is sent now."""
        retired = self._held.retired
        if self._server_is_old:
            return None
        if self._unsaid and self._unsaid[0].lease_use is not None:
            return self._unsaid.popleft()
        if retired and not retired[0].is_old:
            return self._report(retired.popleft())
        # Counts alone are counted twice where a call is repeated: they wait for a lease to go with, whose
        # permit makes that harmless, unless none is in sight.
        return self._told.report_counts() if is_denied else None

    def by_report(self, *, is_last: bool) -> list[PermitReport]:
        """All others; at the end refusals, too, that no lease would carry."""
        reports = list(self._unsaid)
        self._unsaid.clear()
        retired, self._held.retired = self._held.retired, deque()
        reports += [each for each in map(self._report, retired) if each is not None]
        if is_last and not self._server_is_old and (counts := self._told.report_counts()) is not None:
            reports.append(counts)
        return reports

    def answered(self, ask: Ask, answer: Answer) -> None:
        returned = ask.terms.returned
        self._server_is_old = answer.lease is None
        if returned is None or returned.lease_use is None or not returned.permit_id:
            return
        if answer.lease is None:
            self._unsaid.append(returned)
        elif isinstance(answer.lease.returned, Error) and answer.lease.returned.code is Code.UNAVAILABLE:
            # Nobody decided for its target just then.
            self._unsaid.append(returned)
        elif isinstance(answer.lease.returned, Error) and answer.lease.returned.code is Code.NOT_FOUND:
            # By a server that has forgotten it, which can still count the pieces.
            self._unsaid.append(PermitReport(permit_id=0, lease_use=returned.lease_use))

    def failed(self, ask: Ask, failure: Failure) -> None:
        returned = ask.terms.returned
        if returned is not None and returned.permit_id:
            self._unsaid.append(returned)
        elif returned is not None and returned.lease_use is not None and not failure.was_heard:
            self._told.put_back(returned.lease_use.counts)

    def _report(self, grant: Grant) -> PermitReport | None:
        self._gone_pieces += grant.pieces
        return self._told.report(grant)
