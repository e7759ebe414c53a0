"""What the client decides by itself while Headgate is unreachable.

An outage begins with a call that failed and ends with one that succeeds. While it lasts, one call in
each `pause` still goes to the server and the others need not wait for a deadline. The policies fail
and wait decide nothing here, so their calls always go.

The floor rate is a reverse leaky bucket without a burst: a Check is allowed once everything allowed
before has drained. What is allowed in an interval is therefore at most its length times the rate,
plus the one Check that was allowed last. A Check that would take longer than a day to drain takes a
day: a mistaken estimate must not hold its process for good.
"""

from __future__ import annotations

import math
import threading

from headgate._options import OnUnreachable
from headgate._types import Answer, CheckRequest, Reason, Verdict

_LONGEST_DRAIN = 24 * 3600.0


class Fallback:
    """Thread-safe."""

    def __init__(self, policy: OnUnreachable, pause: float) -> None:
        self._policy = policy
        self._pause = pause
        self._answered = False
        self._outage = False
        self._ask_at = 0.0
        self._drained_at = -math.inf
        self._lock = threading.Lock()

    def after_fork(self) -> None:
        """In the child, where nobody holds the lock."""
        self._lock = threading.Lock()

    @property
    def decides(self) -> bool:
        return self._policy.decides

    @property
    def is_answered(self) -> bool:
        """Whether the newest call was answered, so that the next one may be expected to be."""
        return self._answered

    def may_ask(self, now: float) -> bool:
        """Whether this call may go to the server."""
        if not self.decides:
            return True
        with self._lock:
            if not self._outage:
                return True
            if now < self._ask_at:
                return False
            self._ask_at = now + self._pause  # this call asks on behalf of all
            return True

    def failed(self, now: float) -> None:
        with self._lock:
            self._answered = False
            self._outage = True
            self._ask_at = now + self._pause

    def succeeded(self) -> None:
        with self._lock:
            self._answered = True
            self._outage = False

    def sent_away(self) -> None:
        """The server that answered stops: no outage, but nobody knows which one answers next."""
        with self._lock:
            self._answered = False

    def decide(self, request: CheckRequest, now: float) -> Answer:
        """Instead of the server. The estimate is absent, or a cost."""
        cost = 1.0 if request.estimated_cost is None else request.estimated_cost
        if not self._policy.is_floor_rate:
            return _allowed(cost)
        with self._lock:
            if now < self._drained_at:
                return Answer(
                    reason=Reason.CAPACITY,
                    predicted_cost=cost,
                    retry_after=self._drained_at - now,
                    message="Headgate is unreachable: held to the client's floor rate",
                    local=True,
                )
            if not request.validate_only:
                drain = cost / self._policy.cost_units_per_second
                # To the next nanosecond, so that many small costs do not add up to more than the rate.
                drain = math.ceil(min(drain, _LONGEST_DRAIN) * 1e9) / 1e9
                self._drained_at = now + drain
        return _allowed(cost)


def _allowed(cost: float) -> Answer:
    return Answer(
        verdict=Verdict.ALLOWED,
        predicted_cost=cost,
        message="Headgate is unreachable: allowed without it",
        local=True,
    )
