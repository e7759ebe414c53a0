"""What a piece is told: that it is admitted, or why not and for how long."""

from __future__ import annotations

from dataclasses import dataclass, replace

from headgate._errors import Error
from headgate._lease_grant import Grant, wait_of
from headgate._lease_types import Admission
from headgate._types import Answer, LimitKind, Reason

ADMITTED = Admission(admitted=True)
ADMITTED_ALONE = Admission(admitted=True, message="Headgate is unreachable: allowed without it", local=True)
# When to try again, where the next lease is on its way, and however soon a denial lets one come back.
_SHORT = 0.005
_SHORTEST = 0.001


@dataclass(frozen=True)
class Unexplained(Admission):
    """A refusal for want of room: by what, the next answer tells."""


@dataclass(frozen=True)
class Denial:
    """Of an ask, and so of all pieces that are no smaller."""

    least: float
    over_at: float  # when it is asked again
    retry_at: float | None  # what the server said of that; None: waiting will not help
    holds_for_waiters: bool  # False: they may still stand in the server's line
    refusal: Admission

    def blocks(self, cost: float, now: float) -> bool:
        """Whether nothing is asked for a piece of this cost."""
        return cost >= self.least and now < self.over_at

    def is_known(self, cost: float, now: float) -> bool:
        """Whether it still says something of a piece, though that may be asked for again."""
        return cost >= self.least and (self.retry_at is None or now < self.retry_at)

    def tell(self, now: float) -> Admission:
        if self.retry_at is None:
            return self.refusal
        return replace(self.refusal, retry_after=max(self.retry_at - now, _SHORTEST))


def denial_of(
    answer: Answer, least: float, now: float, *, longest: float, holds_for_waiters: bool
) -> Denial:
    """Of an ask for so much at least. After `longest` it is looked at again, whatever it says: meanwhile
    the rules may have been changed."""
    after = answer.retry_after
    return Denial(
        least=least,
        over_at=now + (longest if after is None else min(max(after, _SHORTEST), longest)),
        retry_at=None if after is None else now + after,
        holds_for_waiters=holds_for_waiters or after is None,
        refusal=_refusal(answer),
    )


def _refusal(answer: Answer) -> Admission:
    """With the names of the limit that takes longest to admit it."""

    binding = max((each for each in answer.violations if not each.warn), key=wait_of, default=None)
    refusal = Admission(
        retry_after=answer.retry_after, reason=answer.reason, message=answer.message, local=answer.local
    )
    if binding is None:
        return refusal
    return replace(
        refusal,
        limit_kind=binding.limit_kind,
        budget=binding.budget,
        rule=binding.rule,
        signal=binding.signal,
    )


def alone(answer: Answer) -> Admission:
    """What the client itself decided in an outage."""
    return ADMITTED_ALONE if answer.allowed else _refusal(answer)


def unreachable(cause: Error, round_trip: float) -> Admission:
    return Admission(
        retry_after=max(_SHORT, round_trip),
        reason=Reason.CAPACITY,
        message=f"Headgate is unreachable: {cause.message}",
        local=True,
    )


def no_room(round_trip: float) -> Admission:
    return Unexplained(
        retry_after=max(_SHORT, round_trip),
        reason=Reason.CAPACITY,
        message="No lease has room for it, and the next one is not there yet.",
    )


def not_asked_yet(cause: Error, pause: float) -> Admission:
    """By a server that is overloaded, or has just stopped."""
    return Unexplained(retry_after=max(_SHORT, pause), reason=Reason.CAPACITY, message=str(cause))


def too_large(cost: float, largest: float) -> Admission:
    return Admission(
        reason=Reason.MAX_COST,
        limit_kind=LimitKind.MAX_COST,
        message=f"A piece of {cost:g} is above the largest, {largest:g}.",
    )


def one_at_a_time() -> Admission:
    return Admission(
        retry_after=_SHORT,
        reason=Reason.MAX_CONCURRENCY,
        limit_kind=LimitKind.MAX_CONCURRENCY,
        message="One piece at a time: the last one has not ended.",
    )


def not_yet_safe(wait: float) -> Admission:
    return Unexplained(
        retry_after=max(wait, _SHORTEST),
        reason=Reason.CAPACITY,
        message="Headgate is unreachable, and pieces are admitted at a safe rate.",
    )


def by_chance(grant: Grant, now: float, until: float) -> Admission:
    return Admission(
        retry_after=max(until - now, _SHORTEST),
        reason=Reason.REJECT_RATIO,
        limit_kind=LimitKind.RULE,
        message=f"A rule rejects {100 * grant.reject_ratio:g}% by chance, and this is one of them.",
    )
