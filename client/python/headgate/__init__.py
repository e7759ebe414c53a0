"""Headgate's SDK for Python: ask before each chunk of work, say afterwards what it cost.

with Client("headgate:8081", on_unreachable=OnUnreachable.wait(), identity="copy:etl") as client:
    for chunk in client.chunks(total, start=500):
        copy_rows(chunk.first, chunk.size)

For thousands of small pieces a second there are leases, `client.lease`: each piece is admitted without a
call. docs/clients.md begins with a job that is throttled in five minutes; `headgate.testing` is for its
tests.
"""

from headgate._async_client import AsyncClient
from headgate._async_lease import AsyncLease
from headgate._chunks import Chunk, ChunkSize
from headgate._client import Client
from headgate._clock import Cancellation, Clock
from headgate._errors import (
    CancelledError,
    Code,
    DeniedForGoodError,
    Error,
    InvalidArgumentError,
    NotFoundError,
    NotInTimeError,
    NotLoweredError,
    UnreachableError,
)
from headgate._lease import Lease
from headgate._lease_types import (
    Admission,
    GrantedLease,
    LeaseStats,
    LeaseTerms,
    LeaseUse,
    LeaseWatch,
    LeaseWork,
    PieceCount,
)
from headgate._options import OnUnreachable, TlsOptions
from headgate._permit import Permit
from headgate._priority import lower_priority
from headgate._settings import ClientOptions
from headgate._transport import AsyncTransport, Transport
from headgate._types import (
    MAX_COST,
    Answer,
    BudgetUnit,
    CheckRequest,
    CheckWork,
    Health,
    HealthState,
    LimitKind,
    Overrun,
    PermitReport,
    Reason,
    ReportedDebt,
    ReportOutcome,
    ReportResult,
    ReportStats,
    Verdict,
    Violation,
    Work,
)

__all__ = [
    "MAX_COST",
    "Admission",
    "Answer",
    "AsyncClient",
    "AsyncLease",
    "AsyncTransport",
    "BudgetUnit",
    "Cancellation",
    "CancelledError",
    "CheckRequest",
    "CheckWork",
    "Chunk",
    "ChunkSize",
    "Client",
    "ClientOptions",
    "Clock",
    "Code",
    "DeniedForGoodError",
    "Error",
    "GrantedLease",
    "Health",
    "HealthState",
    "InvalidArgumentError",
    "Lease",
    "LeaseStats",
    "LeaseTerms",
    "LeaseUse",
    "LeaseWatch",
    "LeaseWork",
    "LimitKind",
    "NotFoundError",
    "NotInTimeError",
    "NotLoweredError",
    "OnUnreachable",
    "Overrun",
    "Permit",
    "PermitReport",
    "PieceCount",
    "Reason",
    "ReportOutcome",
    "ReportResult",
    "ReportStats",
    "ReportedDebt",
    "TlsOptions",
    "Transport",
    "UnreachableError",
    "Verdict",
    "Violation",
    "Work",
    "lower_priority",
]
