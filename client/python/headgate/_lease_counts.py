"""What a holder of leases has to tell the server with its next message: refusals, and what pieces cost."""

from __future__ import annotations

import math
from collections.abc import Callable

from headgate._lease_grant import Grant
from headgate._lease_refusals import Unexplained
from headgate._lease_types import Admission, LeaseUse, PieceCount
from headgate._types import MAX_COST, LimitKind, PermitReport, Reason, Verdict

# The server takes 100: of the others, one is for pieces that were admitted, and one for what is beyond.
_MOST_CAUSES = 98

_Cause = tuple[Reason, "LimitKind | None", str, str, str]
_BEYOND: _Cause = (Reason.CAPACITY, None, "", "", "")


def _cause_of(refusal: Admission) -> _Cause:
    return (refusal.reason, refusal.limit_kind, refusal.budget, refusal.rule, refusal.signal)


class Told:
    """Thread-compatible. `identity` and `target` are named by what goes without a Check; `new_id` makes the
    number of a message."""

    def __init__(self, identity: str, target: str, new_id: Callable[[], int]) -> None:
        self._identity = identity
        self._target = target
        self._new_id = new_id
        self._refused: dict[_Cause, tuple[int, float]] = {}
        self._unexplained = (0, 0.0)  # refused for want of room: the next answer says by what
        self.since = math.inf
        """When the oldest of these was refused."""
        # What was told of pieces beyond what was predicted of them, and whether anything was.
        self._cost = 0.0
        self._tells_cost = False
        self._busy_time = 0.0
        self._tells_busy_time = False

    def refuse(self, admission: Admission, cost: float, now: float) -> None:
        self.since = min(self.since, now)
        if isinstance(admission, Unexplained):
            pieces, sum_before = self._unexplained
            self._unexplained = (pieces + 1, sum_before + cost)
        else:
            self._add(_cause_of(admission), 1, cost)

    def explain(self, refusal: Admission | None = None) -> None:
        """By what those were refused of which that was not known; None: there was no room."""
        (pieces, cost), self._unexplained = self._unexplained, (0, 0.0)
        if pieces > 0:
            self._add(_BEYOND if refusal is None else _cause_of(refusal), pieces, cost)

    def settle_cost(self, predicted: float, actual: float) -> None:
        self._tells_cost = True
        self._cost += actual - predicted

    def settle_busy_time(self, predicted: float, actual: float) -> None:
        self._tells_busy_time = True
        self._busy_time += actual - predicted

    def report(self, grant: Grant) -> PermitReport | None:
        """Gives a lease back, with all that is to be told; None: nothing is to be said of it."""
        if grant.is_old:
            return self._old_report(grant)
        counts = self._take_counts(grant.count())
        if grant.permit_id is None and not counts:
            return None
        spent = grant.spent + grant.safe_spent
        cost = self._take_cost(spent * grant.ratio) if self._tells_cost else None
        busy_time = None
        if self._tells_busy_time:
            busy_time = self._take_busy_time(spent * (grant.busy_ratio or 0.0))
        return PermitReport(
            permit_id=grant.permit_id or 0,
            actual_cost=cost,
            busy_time=busy_time,
            lease_use=LeaseUse(
                spent=grant.spent,
                safe_spent=grant.safe_spent,
                pieces=grant.pieces,
                counts=counts,
                identity=self._identity,
                target=self._target,
                id=self._new_id(),
            ),
        )

    def report_counts(self) -> PermitReport | None:
        """Of refusals alone."""
        counts = self._take_counts(None)
        if not counts:
            return None
        use = LeaseUse(counts=counts, identity=self._identity, target=self._target, id=self._new_id())
        return PermitReport(permit_id=0, lease_use=use)

    def _old_report(self, grant: Grant) -> PermitReport | None:
        """To a server that takes it for one chunk of work, of which it counts nothing else."""
        if grant.permit_id is None:
            return None
        busy_time = None
        if self._tells_busy_time or grant.busy_ratio is not None:
            busy_time = self._take_busy_time(grant.spent * (grant.busy_ratio or 0.0))
        return PermitReport(grant.permit_id, self._take_cost(grant.spent * grant.ratio), busy_time)

    def _take_counts(self, admitted: PieceCount | None) -> tuple[PieceCount, ...]:
        refused, self._refused = self._refused, {}
        if self._unexplained[0] == 0:
            self.since = math.inf
        counts = [
            PieceCount(Verdict.DENIED, *cause, pieces=pieces, cost=min(cost, MAX_COST))
            for cause, (pieces, cost) in refused.items()
        ]
        return (*(() if admitted is None else (admitted,)), *counts)

    def _take_cost(self, predicted: float) -> float:
        """What is beyond the bounds of one report is for the next."""
        actual = predicted + self._cost
        taken = min(max(actual, 0.0), MAX_COST)
        self._cost = min(actual, 0.0)
        self._tells_cost = self._cost < 0
        return taken

    def _take_busy_time(self, predicted: float) -> float:
        actual = predicted + self._busy_time
        self._busy_time = min(actual, 0.0)
        self._tells_busy_time = self._busy_time < 0
        return max(actual, 0.0)

    def _add(self, cause: _Cause, pieces: int, cost: float) -> None:
        if cause not in self._refused and len(self._refused) >= _MOST_CAUSES:
            cause = _BEYOND
        before, sum_before = self._refused.get(cause, (0, 0.0))
        self._refused[cause] = (before + pieces, sum_before + cost)
