"""Asks that had no answer, or an error for one: what that means for pieces that find no room."""

from __future__ import annotations

import math
from collections.abc import Callable

from headgate import _lease_refusals as refusals
from headgate._errors import Error, error
from headgate._lease_refusals import Denial
from headgate._lease_step import Failure
from headgate._lease_types import Admission
from headgate._options import OnUnreachable
from headgate._types import Answer


class Failures:
    """Thread-compatible. `decide_alone` is what the policy says of a piece, if it decides."""

    def __init__(self, policy: OnUnreachable, decide_alone: Callable[[float, float], Answer]) -> None:
        self._policy = policy
        self._decide_alone = decide_alone
        self._newest: Failure | None = None  # of the last ask
        self.pause_until = -math.inf
        self.round_trip = 0.0

    def note(self, failure: Failure, now: float) -> None:
        self._newest = failure
        self.pause_until = now + failure.pause

    def answered(self, round_trip: float) -> None:
        """There is somebody."""
        self._newest = None
        self.pause_until = -math.inf
        self.round_trip = round_trip

    def ask_at_once(self) -> None:
        """Where it is not known that there is nobody."""
        if self._newest is None:
            self.pause_until = -math.inf

    @property
    def is_outage(self) -> bool:
        return self._newest is not None and self._newest.is_outage

    def refusal(self, cost: float, now: float, denial: Denial | None) -> Admission:
        """Of a piece that does not wait; or what on_unreachable says. Raises an error that the last ask
        ended with, as Check does: only who waits waits for a server."""
        if self._newest is not None and self._newest.is_outage and self._policy.waits:
            raise _again(self._newest.cause)
        return self._without_room(cost, now, self._newest, denial)

    def refusal_of_waiter(self, cost: float, now: float, denial: Denial | None) -> Admission:
        """Whoever came after its pause was over waits for what comes of the next ask; but in an outage the
        policy decides without waiting for that."""
        failure = self._newest
        decides = failure is not None and failure.is_outage and self._policy.decides
        return self._without_room(cost, now, failure if now < self.pause_until or decides else None, denial)

    def _without_room(
        self, cost: float, now: float, failure: Failure | None, denial: Denial | None
    ) -> Admission:
        if failure is not None and failure.is_final:
            raise _again(failure.cause)
        if failure is not None and failure.is_outage:
            return self._alone(cost, now, failure)
        if denial is not None:
            return denial.tell(now)
        if failure is not None:
            return refusals.not_asked_yet(failure.cause, self.pause_until - now)
        return refusals.no_room(self.round_trip)

    def _alone(self, cost: float, now: float, failure: Failure) -> Admission:
        """As on_unreachable says."""
        if self._policy.decides:
            return refusals.alone(self._decide_alone(cost, now))
        if self._policy.waits:
            return refusals.unreachable(failure.cause, self.round_trip)
        raise _again(failure.cause)


def _again(failure: Error) -> Error:
    """One of its own for each caller: threads would share a traceback."""
    return error(failure.code, failure.message, failure.retry_delay)
