"""What goes into a Check and what comes out, as plain data.

The meaning of each field is that of the API's documentation, headgate/v1/throttler_service.proto.
All times are seconds.
"""

from __future__ import annotations

import datetime
import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from headgate._lease_types import GrantedLease, LeaseTerms, LeaseUse

MAX_COST = 1e15
"""The largest estimate or actual cost; the server's limit, too."""


class Verdict(enum.Enum):
    ALLOWED = 1
    DENIED = 2


class Reason(enum.Enum):
    """The first stage that denied, or what let the Check pass unexamined."""

    NONE = 0
    EXEMPT = 1
    DENY_RULE = 2
    REJECT_RATIO = 3
    HEALTH = 4
    MAX_COST = 5
    MAX_CONCURRENCY = 6
    CAPACITY = 7
    PERMITS = 8  # the caller has its share of the server's permits
    UNMATCHED = 9  # no rule matches; of counts of pieces alone, an answer then has NONE
    LINE = 10  # others wait, and are before it
    LINE_FULL = 11  # it would have waited, but too many wait already
    APPROXIMATE = 12  # nobody decides: one server did so alone; of what is allowed, too
    UNKNOWN = -1  # of a server newer than this package


class LimitKind(enum.Enum):
    RULE = 1
    HEALTH = 2
    RATE = 3
    BURST = 4
    MAX_COST = 5
    MAX_CONCURRENCY = 6
    PROBE = 7
    PERMITS = 8
    LINE = 9
    LINE_FULL = 10
    APPROXIMATE = 11
    UNKNOWN = -1  # of a server newer than this package


class HealthState(enum.Enum):
    UNMONITORED = 1
    WARMING = 2
    HEALTHY = 3
    STALE = 4
    UNKNOWN = -1  # of a server newer than this package


class BudgetUnit(enum.Enum):
    """What a budget is measured in. The two are never mixed."""

    COST = 1  # the unit of the jobs' own estimates: rows, bytes, the planner's cost units
    BUSY_TIME = 2  # seconds for which work keeps the database busy
    UNKNOWN = -1  # of a server older or newer than this package


class ReportOutcome(enum.Enum):
    SETTLED = 1
    ALREADY_SETTLED = 2  # reported before; nothing changed
    FORGOTTEN = 3  # expired so long ago that its place was needed; nothing changed


class Work(TypedDict, total=False):
    """One chunk of work, as keywords of the calls that ask for it."""

    identity: str  # who wants to work; absent: the client's own
    target: str  # which database cluster; absent: the client's own
    estimated_cost: float | None  # in the job's own unit: rows, bytes. Absent and 0 differ
    pattern: str  # what kind of work, such as a query's identifier
    tags: Mapping[str, str]  # further properties for rules to match
    request_id: str  # the same id is charged once while its permit lives; absent: one is made


class CheckWork(Work, total=False):
    """What a single Check may say besides."""

    validate_only: bool  # answer without charging anything and without a permit
    max_wait: float  # how long it may wait in the server for its turn, at most an hour


@dataclass(frozen=True)
class CheckRequest:
    """One Check, complete."""

    identity: str = ""
    target: str = ""
    estimated_cost: float | None = None
    pattern: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    request_id: str = ""
    validate_only: bool = False
    max_wait: float = 0.0
    lease: LeaseTerms | None = None  # it asks for a lease, of the estimated cost at most


@dataclass(frozen=True)
class ReportedDebt:
    """A Report that left a budget with more debt than its burst."""

    reported_at: datetime.datetime  # in UTC
    reported: float  # in the unit of the budget: cost, or seconds
    owed_for: float  # until what is above the burst has drained


@dataclass(frozen=True)
class Violation:
    """One limit that refused, or would have."""

    budget: str = ""
    rule: str = ""
    limit_kind: LimitKind = LimitKind.UNKNOWN
    level: str = ""
    observed: float = 0.0  # in the limit's unit
    limit: float = 0.0
    signal: str = ""
    warn: bool = False  # this one did not deny
    retry_after: float | None = None  # None: never
    unit: BudgetUnit = BudgetUnit.UNKNOWN
    reported_debt: ReportedDebt | None = None  # None: there is none, or it is not known any more


@dataclass(frozen=True)
class Health:
    profile: str = ""
    state: HealthState = HealthState.UNKNOWN
    speed: float = 0.0  # 0 to 1
    pressure: float = 0.0
    signal: str = ""
    sample_age: float | None = None  # None: there is no sample


@dataclass(frozen=True)
class Answer:
    verdict: Verdict = Verdict.DENIED
    reason: Reason = Reason.NONE
    permit_id: int | None = None  # what a report refers to; None: there is nothing to report
    # What is predicted of its cost, in the unit of the estimate, and charged to budgets of cost; the
    # largest of their defaults, where nothing is known to predict from.
    predicted_cost: float = 0.0
    predicted_busy_time: float | None = None  # the same of its busy time; None: nothing is charged
    probe: bool = False  # let through to be measured: its report counts for those that follow
    retry_after: float | None = None  # on a denial, when to ask again; None: waiting will not help
    violations: tuple[Violation, ...] = ()
    health: Health | None = None  # None where no health profile applies
    message: str = ""  # one sentence for a person
    priority: int = 0
    chunk_scale: float | None = None  # advice, a factor on the estimate: for the next chunk
    waited: float | None = None  # how long it waited in the server; None: it was answered at once
    local: bool = False  # Headgate was unreachable: this is what on_unreachable says
    # Of a Check for a lease; None: the server is from before there were leases.
    lease: GrantedLease | None = None

    @property
    def allowed(self) -> bool:
        return self.verdict is Verdict.ALLOWED


@dataclass(frozen=True)
class PermitReport:
    """What is reported of the work under one permit, or of the pieces under one lease."""

    permit_id: int  # 0: of pieces that no permit is of
    actual_cost: float | None = None
    busy_time: float | None = None
    # The busy time was measured by the permit, not given by the job. Where the server takes none
    # that is so long, the report is sent again without it, and the server's own bound counts.
    measured: bool = False
    lease_use: LeaseUse | None = None  # of a lease; cost and busy time are then sums over its pieces


@dataclass(frozen=True)
class Overrun:
    """What a budget was not charged of a report, since it was too far above the prediction."""

    budget: str
    reported: float  # in the unit of the budget: cost, or seconds
    charged: float  # of it


@dataclass(frozen=True)
class ReportResult:
    """What came of one report."""

    outcome: ReportOutcome = ReportOutcome.SETTLED
    overruns: tuple[Overrun, ...] = ()
    # Budgets that stay charged what was predicted: since the Check they were split or measured in
    # another way, or changed more often than is remembered.
    unsettled: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReportStats:
    """Counts of a client's reports, of this process."""

    pending: int = 0  # queued or being sent
    delivered: int = 0  # taken by the server, settled before included
    refused: int = 0  # the server knows no such permit, or takes no such cost or busy time
    failed: int = 0  # lost with their call, by an error that is not repeated
    dropped: int = 0  # lost: the queue was full, or the client's time was up
    overrun: int = 0  # of those delivered: a budget was not charged all of it
    unsettled: int = 0  # likewise: a budget stays charged what was predicted
