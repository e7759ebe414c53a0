"""One lease that is held: what was granted, what was spent of it, and how it is given back."""

from __future__ import annotations

import math

from headgate._lease_types import GrantedLease, PieceCount
from headgate._types import MAX_COST, Answer, Reason, Verdict, Violation

# A server from before there were leases says no time. It charges the whole amount as for one chunk of work.
_OLD_SERVERS_TIME = 1.0


def _cause_of(answer: Answer) -> tuple[Reason, Violation | None]:
    """With which its pieces are counted: as a Check of each would have been."""
    warnings = (each for each in answer.violations if each.warn)
    return answer.reason, max(warnings, key=wait_of, default=None)


def wait_of(violation: Violation) -> float:
    """The one that takes longest to admit is what is counted."""
    return math.inf if violation.retry_after is None else violation.retry_after


def _rate(spent: float, seconds: float) -> float:
    """What comes within a millisecond says nothing of a second."""
    return spent / max(seconds, 0.001)


def use_of_both(last: Grant, current: Grant, now: float) -> float:
    """As `Grant.use`, of two of which one followed the other."""
    return _rate(last.spent + current.spent, min(now, current.till) - last.used_from) * current.time


class SafeRate:
    """What may be spent after a lease's end while nobody can be reached, beginning with nothing.

    Thread-compatible. No more comes together than in a lease's time, or than one piece needs: who has not
    worked for a while does not make up for it.
    """

    __slots__ = ("_at", "_left", "_rate", "_time", "spent", "until")

    def __init__(self, rate: float, begins: float, until: float, time: float) -> None:
        self._rate = rate
        self._at = begins
        self.until = until
        self._time = time
        self._left = 0.0
        self.spent = 0.0

    def take(self, cost: float, now: float) -> float:
        """0: it is taken; else for how long there is no room for it."""
        most = max(self._rate * self._time, cost)
        self._left = min(self._left + self._rate * max(now - self._at, 0.0), most)
        self._at = max(self._at, now)
        if cost > self._left:
            return max((cost - self._left) / self._rate + self._at - now, 1e-9)
        self._left -= cost
        self.spent += cost
        return 0.0


class Grant:
    """Thread-compatible. Times are those of the client's clock.

    `easy_until`, `easy_piece` and `easy_amount` bound what may be taken without a closer look: nothing
    but its own sums changes by that.
    """

    __slots__ = (
        "_cause",
        "amount",
        "busy_ratio",
        "easy_amount",
        "easy_piece",
        "easy_until",
        "ends",
        "half_at",
        "is_full",
        "is_old",
        "largest_piece",
        "one_at_a_time",
        "permit_id",
        "pieces",
        "ratio",
        "reject_ratio",
        "safe",
        "since",
        "spent",
        "state",
        "till",
        "used_from",
    )

    def __init__(self, answer: Answer, asked_for: float, since: float, safe_from: float) -> None:
        """`since` is when it was asked for; what it stood in line is not part of its time. With its time added,
        `safe_from` is when its safe rate begins: a quarter of the time that was asked for after it came, as an
        answer that is repeated says what is left of that."""
        lease = answer.lease
        self.is_old = lease is None
        if lease is None:
            lease = GrantedLease(amount=asked_for, time=_OLD_SERVERS_TIME)
        self.amount = lease.amount
        self.since = since
        self.used_from = since  # or when it became the current one
        self.ends = since + lease.time
        self.till = self.ends  # or when a piece found no room in it
        self.half_at = since + lease.time / 2
        # One that is told again after a lost answer bounds a piece by its amount, which says nothing.
        bounds = lease.largest_piece is not None and lease.largest_piece != lease.amount
        self.largest_piece = lease.largest_piece if bounds and lease.largest_piece else math.inf
        self.reject_ratio = lease.reject_ratio
        self.one_at_a_time = lease.one_at_a_time
        self.permit_id = answer.permit_id
        self.state = lease.state
        # Of one that is exempt, and charged to nothing, the whole is not predicted.
        known = answer.predicted_cost > 0 and lease.amount > 0 and answer.reason is not Reason.EXEMPT
        self.ratio = answer.predicted_cost / lease.amount if known else 1.0
        busy = answer.predicted_busy_time
        self.busy_ratio = None if busy is None or lease.amount <= 0 else busy / lease.amount
        self._cause = _cause_of(answer)
        self.safe: SafeRate | None = None
        if lease.safe_rate > 0 and answer.permit_id is not None:
            self.safe = SafeRate(
                lease.safe_rate, safe_from + lease.time, self.ends + lease.safe_time, lease.time
            )
        self.spent = 0.0
        self.pieces = 0
        self.is_full = False  # a piece found no room that would have fitted into it whole
        looks_closer = self.reject_ratio > 0 or self.one_at_a_time
        self.easy_until = self.half_at
        self.easy_piece = -1.0  # the largest that there was so far; the first is looked at
        # The piece that comes to half of it is looked at.
        self.easy_amount = -1.0 if looks_closer else math.nextafter(self.amount / 2, 0.0)

    @property
    def time(self) -> float:
        return self.ends - self.since

    @property
    def safe_spent(self) -> float:
        return 0.0 if self.safe is None else self.safe.spent

    @property
    def left(self) -> float:
        return max(self.amount - self.spent, 0.0)

    def has_room(self, cost: float) -> bool:
        return self.spent + cost <= self.amount

    def is_half_used(self, now: float) -> bool:
        """Of its amount or its time, and something of it at all: so it is time for the next one."""
        return self.pieces > 0 and (self.spent >= self.amount / 2 or now >= self.half_at)

    def take(self, cost: float) -> None:
        self.spent += cost
        self.pieces += 1
        if cost > self.easy_piece:
            self.easy_piece = min(cost, self.largest_piece)

    def put_back(self, cost: float) -> None:
        """A piece that nobody began after all."""
        self.pieces -= 1
        # Of no pieces nothing is spent, not even what rounding leaves.
        self.spent = max(self.spent - cost, 0.0) if self.pieces > 0 else 0.0

    def ease(self) -> None:
        """The next one has been thought of: the whole of it may be taken without a closer look."""
        self.easy_until = self.ends
        if self.easy_amount >= 0:
            self.easy_amount = self.amount

    def refuse_from(self, now: float) -> None:
        """A piece found no room."""
        if not self.is_full:
            self.is_full = True
            self.till = min(now, self.ends)

    def end(self, now: float) -> None:
        """Its time is over by now, whatever it was to be."""
        self.ends = min(self.ends, now)
        self.easy_until = min(self.easy_until, now)

    def use(self, now: float) -> float:
        """What is used of it in a lease's time, by what was until now."""
        return _rate(self.spent, min(now, self.till) - self.used_from) * self.time

    def count(self) -> PieceCount | None:
        """Of the pieces that it admitted."""
        if self.pieces == 0:
            return None
        reason, violation = self._cause
        return PieceCount(
            verdict=Verdict.ALLOWED,
            reason=reason,
            limit_kind=None if violation is None else violation.limit_kind,
            budget="" if violation is None else violation.budget,
            rule="" if violation is None else violation.rule,
            signal="" if violation is None else violation.signal,
            pieces=self.pieces,
            cost=min((self.spent + self.safe_spent) * self.ratio, MAX_COST),
        )
