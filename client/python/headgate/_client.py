"""Client: a job's side of Headgate, for programs with threads."""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from headgate import _forks
from headgate._block import PermitBlock
from headgate._checked import check_permit_id, check_report, refuse_to_copy
from headgate._chunks import Chunk, ChunkSizes
from headgate._clock import Cancellation, Clock, RealClock
from headgate._core import Core, run
from headgate._errors import Code, Error, error
from headgate._grpc_transport import GrpcTransport
from headgate._lease import Lease, OpenLeases
from headgate._lease_ask import plan
from headgate._lease_orders import watch_of
from headgate._lease_types import LeaseWatch, LeaseWork
from headgate._options import ConnectionOptions, OnUnreachable
from headgate._permit import Permit
from headgate._reporter import Reporter
from headgate._settings import ClientOptions, call_options
from headgate._transport import Transport
from headgate._types import (
    Answer,
    CheckRequest,
    CheckWork,
    PermitReport,
    ReportResult,
    ReportStats,
    Work,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Client:
    """Asks before each chunk of work, and says afterwards what it cost.

    Guarantees:

    - `check_or_wait`, `permit` and `chunks` wait in the server's line for their fair turn, in slices of
      at most 30 s. With a server that lets nobody wait they ask again when the server said they may,
      never before (but see longest_wait), and up to a quarter later.
    - A server that stops sends away those who wait. They come back to the next one for up to
      longest_wait, whatever on_unreachable says.
    - No call blocks longer than it was told to, but for check_deadline. Reports take no time at all.
    - Only UNAVAILABLE is retried, and under one request id: a Check that is retried is charged once.
    - What happens while Headgate is unreachable is what on_unreachable says, nothing else.
    - Reports are sent in batches within 50 ms, tried again while the server cannot be reached or is
      overloaded, and flushed by `close`, by the end of `with`, and at the end of the process. Those that
      are lost are counted.
    - A process may fork at any time; see docs/clients.md.

    Thread-safe; one for each process is enough.

        with Client("headgate:8081", on_unreachable=OnUnreachable.wait(), identity="copy:etl") as client:
            while more_to_do():
                with client.permit(max_wait=600):
                    do_one_chunk()
    """

    def __init__(
        self,
        address: str = "127.0.0.1:8081",
        *,
        on_unreachable: OnUnreachable,
        transport: Transport | None = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        """Makes no connection yet.

        InvalidArgumentError names an option that is out of range, or a file that is not what it should
        be. With another `transport`, address, tls and token_file are not used.
        """
        self._core = Core(call_options(on_unreachable, **options), options.get("seed"))
        self._clock: Clock = options.get("clock") or RealClock()
        if transport is None:
            connection = ConnectionOptions(address, options.get("tls"), options.get("token_file", ""))
            transport = GrpcTransport(connection, self._clock)
        self._transport = transport
        self._io = _Io(transport, self._clock, None)
        self._reporter = Reporter(transport, self._core.options.max_queued_reports, self._core.jitter)
        self._leases = OpenLeases()
        # At the end of the process, too, and wherever a client is forgotten.
        self._close = weakref.finalize(
            self, _close, self._leases, self._reporter, transport, self._core.options.flush_timeout
        )
        _forks.register(self)

    def check(self, *, cancellation: Cancellation | None = None, **work: Unpack[CheckWork]) -> Answer:
        """Asks once. A denial is an answer; one with a permit_id wants a report.

        Errors are the server's, CancelledError, or UnreachableError and NotInTimeError where
        on_unreachable does not say what to do instead.
        """
        return run(self._core.check(self._io_of(cancellation), work))

    def check_or_wait(
        self,
        *,
        max_wait: float = math.inf,
        cancellation: Cancellation | None = None,
        **work: Unpack[Work],
    ) -> Permit:
        """Asks until the work is allowed. The permit is a context manager, and wants to be used as one.

        NotInTimeError after max_wait, DeniedForGoodError at once if waiting will not change the denial,
        CancelledError; else as `check`. An overloaded server is waited for.
        """
        io = self._io_of(cancellation)
        answer = run(self._core.check_or_wait(io, work, max_wait))
        return Permit(answer, self._clock, self._reporter.add)

    def permit(
        self,
        *,
        max_wait: float = math.inf,
        cancellation: Cancellation | None = None,
        **work: Unpack[Work],
    ) -> PermitBlock:
        """`with client.permit(...) as permit:` waits, and reports at the end, after an exception too.

        As a decorator, `@client.permit(...)`, it does so for each call of a function.
        """
        return PermitBlock(lambda: self.check_or_wait(max_wait=max_wait, cancellation=cancellation, **work))

    def chunks(
        self,
        total: int | None,
        *,
        start: int,
        smallest: int = 1,
        largest: int | None = None,
        estimate: bool = True,
        max_wait: float = math.inf,
        cancellation: Cancellation | None = None,
        **work: Unpack[Work],
    ) -> Iterator[Chunk]:
        """Goes through `total` rows in chunks, each with a permit; None: until the loop is left.

        The first has `start` rows, and each later one as many as the server's advice makes of that,
        between `smallest` and `largest`. The rows of a chunk are its estimated cost, which the advice
        rests on; with an `estimated_cost` of your own, or `estimate=False`, all have `start` rows. A
        chunk is reported when the next one begins or the generator is closed.
        """
        sizes = ChunkSizes(total, start, smallest, largest)
        states_size = estimate and work.get("estimated_cost") is None
        while (size := sizes.next()) > 0:
            if states_size:
                work["estimated_cost"] = size
            with self.check_or_wait(max_wait=max_wait, cancellation=cancellation, **work) as permit:
                yield Chunk(sizes.first, size, permit)
            sizes.taken(size, permit.answer if states_size else None)

    def lease(self, **work: Unpack[LeaseWork]) -> Lease:
        """Many small pieces of work, admitted without asking for each: for who does thousands a second.

        `piece` is what one costs, in the job's own unit; absent: the largest that was seen lately.
        `time` is for how many seconds a lease is spent, and so how late a pause may come where the server
        cannot tell it at once: 0.1 to 10, absent: 1. It asks for nothing before the first piece.
        InvalidArgumentError names what is wrong.
        """
        lease = Lease(plan(self._core, **work), self._core, self._clock, self._reporter, self._io_of)
        return self._leases.add(lease)

    def report(
        self, permit_id: int, *, actual_cost: float | None = None, busy_time: float | None = None
    ) -> None:
        """Queues a report and returns. A permit's number alone is a good report for every budget."""
        check_permit_id(permit_id)
        check_report(actual_cost, busy_time)
        self._reporter.add(PermitReport(permit_id, actual_cost, busy_time))

    def report_now(
        self,
        permit_id: int,
        *,
        actual_cost: float | None = None,
        busy_time: float | None = None,
        cancellation: Cancellation | None = None,
    ) -> ReportResult:
        """Sends one report now, and tells what came of it."""
        report = PermitReport(permit_id, actual_cost, busy_time)
        return run(self._core.report_now(self._io_of(cancellation), report))

    def flush(self, timeout: float = math.inf) -> bool:
        """Waits until all that was queued before is sent or lost; False if that takes longer."""
        return self._reporter.flush(timeout)

    @property
    def report_stats(self) -> ReportStats:
        return self._reporter.stats

    def close(self) -> None:
        """Gives leases back, sends what is queued, for at most flush_timeout each, and ends connections.

        Whoever still waits, and whoever calls later, gets RuntimeError.
        """
        self._leases.close(self._core.options.flush_timeout)
        self._core.closed = True
        self._close()

    def __reduce__(self) -> NoReturn:
        refuse_to_copy(self)

    def __enter__(self) -> Client:
        self._core.must_be_open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def before_fork(self) -> None: ...

    def after_fork_in_parent(self) -> None: ...

    def after_fork_in_child(self) -> None:
        self._core.after_fork()
        self._reporter.after_fork_in_child()
        self._leases.after_fork_in_child()

    def _io_of(self, cancellation: Cancellation | None) -> _Io:
        return self._io if cancellation is None else _Io(self._transport, self._clock, cancellation)


def _close(leases: OpenLeases, reporter: Reporter, transport: Transport, timeout: float) -> None:
    leases.close(timeout)
    reporter.stop(timeout)
    transport.close()


class _Io:
    """The outside of one call, which blocks its thread and so never suspends a coroutine."""

    def __init__(self, transport: Transport, clock: Clock, cancellation: Cancellation | None) -> None:
        self._transport = transport
        self._clock = clock
        self._cancellation = cancellation
        self.now = clock.now

    async def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds, self._cancellation)
        if self._cancellation is not None and self._cancellation.is_cancelled:
            raise error(Code.CANCELLED, "cancelled before a permit was given")

    async def check(self, request: CheckRequest, timeout: float) -> Answer:
        return self._transport.check(request, timeout, self._cancellation)

    async def watch_lease(self, watch: LeaseWatch, timeout: float) -> int:
        return int(watch_of(self._transport)(watch, timeout, self._cancellation))

    async def report(self, reports: list[PermitReport], timeout: float) -> list[ReportResult | Error]:
        return self._transport.report(reports, timeout, self._cancellation)
