"""Leases as plain data: what is asked for, what is granted, what is given back, what a piece is told.

The meaning of each field is that of the API's documentation, headgate/v1/throttler_service.proto.
All times are seconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypedDict

from headgate._errors import Error
from headgate._types import LimitKind, PermitReport, Reason, ReportResult, Verdict


class LeaseWork(TypedDict, total=False):
    """Whose lease it is and what it is for, as keywords of `client.lease`."""

    identity: str  # who wants to work; absent: the client's own
    target: str  # which database cluster; absent: the client's own
    pattern: str  # what kind of work, such as a query's identifier
    tags: Mapping[str, str]  # further properties for rules to match
    piece: float | None  # what one piece costs, to be asked for at least; absent: the largest seen lately
    time: float  # for how long a lease is spent, from 0.1 to 10; absent: 1
    # For how long to go on at a safe rate where Headgate cannot be reached, at most 60; absent: 10; 0: not
    # at all. A holder that dies is charged its safe rate for so long.
    safe_time: float


@dataclass(frozen=True)
class PieceCount:
    """Pieces that were admitted, or refused for one cause."""

    verdict: Verdict
    reason: Reason = Reason.NONE
    limit_kind: LimitKind | None = None  # None: no limit objected
    budget: str = ""
    rule: str = ""
    signal: str = ""
    pieces: int = 0
    cost: float = 0.0  # what was predicted of them


@dataclass(frozen=True)
class LeaseUse:
    """What was done with a lease, and what was refused since that was said last."""

    spent: float = 0.0  # the sum of the estimates of pieces that were admitted
    pieces: int = 0  # that were admitted
    counts: tuple[PieceCount, ...] = ()
    identity: str = ""
    target: str = ""
    safe_spent: float = 0.0  # likewise of pieces at its safe rate, which are in `pieces` as well
    id: int = 0  # by which the server knows it when it comes again, and counts it once; 0: it has none


@dataclass(frozen=True)
class LeaseTerms:
    """What makes a Check one for a lease."""

    least: float
    time: float = 1.0
    returned: PermitReport | None = None  # the lease before, or counts alone, without a permit_id
    safe_rate: float = 0.0  # what to go on with, a second, where nobody can be reached
    safe_time: float = 0.0  # for how long after the lease's end; 0: it stops


@dataclass(frozen=True)
class GrantedLease:
    """What a Check for a lease was granted. Of a denial there is only what became of the one before."""

    amount: float = 0.0
    time: float = 0.0
    largest_piece: float | None = None  # None: there is no limit
    reject_ratio: float = 0.0
    one_at_a_time: bool = False
    state: int = 0  # in which it was granted, as orders name it; 0: not known
    returned: ReportResult | Error | None = None  # None: nothing was returned
    safe_rate: float = 0.0  # what is reserved of LeaseTerms.safe_rate; 0: nothing
    safe_time: float = 0.0  # for how long after the lease's end


@dataclass(frozen=True)
class LeaseWatch:
    """Whose leases an order may take back."""

    identity: str = ""
    target: str = ""
    pattern: str = ""
    tags: dict[str, str] = field(default_factory=dict)
    state: int = 0  # the newest that is known; 0: none
    max_wait: float = 0.0


@dataclass(frozen=True)
class LeaseStats:
    """Counts of one lease's pieces, of this process."""

    admitted: int = 0  # out of what the server granted
    safe: int = 0  # of those, at a safe rate
    refused: int = 0  # by the server, by a lease, or because there was no room: what the throttle log has
    local: int = 0  # admitted while Headgate was unreachable, as on_unreachable says
    held: float = 0.0  # what may be spent now without asking


@dataclass(frozen=True)
class Admission:
    """Whether one piece may be done now. It is true in an `if` where it may."""

    admitted: bool = False
    retry_after: float | None = None  # of a refusal, when to ask again; None: waiting will not help
    reason: Reason = Reason.NONE
    message: str = ""  # one sentence for a person
    limit_kind: LimitKind | None = None  # the limit that refused, where one did
    budget: str = ""
    rule: str = ""
    signal: str = ""
    local: bool = False  # Headgate was unreachable: this is what on_unreachable says

    def __bool__(self) -> bool:
        return self.admitted
