"""AsyncClient: the same as Client, for programs with an asyncio event loop."""

from __future__ import annotations

import asyncio
import math
import weakref
from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from headgate._async_lease import AsyncLease
from headgate._block import AsyncPermitBlock
from headgate._checked import check_permit_id, check_report, refuse_to_copy
from headgate._chunks import Chunk, ChunkSizes
from headgate._clock import Clock, RealClock
from headgate._core import Core
from headgate._errors import Error
from headgate._grpc_transport import AsyncGrpcTransport
from headgate._lease_ask import plan
from headgate._lease_orders import watch_of
from headgate._lease_types import LeaseWatch, LeaseWork
from headgate._options import ConnectionOptions, OnUnreachable
from headgate._permit import Permit
from headgate._reporter import AsyncReporter
from headgate._settings import ClientOptions, call_options
from headgate._transport import AsyncTransport
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


class AsyncClient:
    """As Client says, but for one event loop, in which all of it is called.

    A call is cancelled with its task. Thousands of tasks may wait on one client. It has to be closed,
    best by `async with`: at the end of a process it is too late to send what is queued. It does not
    work in a process that was forked since it was first used.

        async with AsyncClient(on_unreachable=OnUnreachable.wait(), identity="copy:etl") as client:
            async with client.permit(max_wait=600):
                await do_one_chunk()
    """

    def __init__(
        self,
        address: str = "127.0.0.1:8081",
        *,
        on_unreachable: OnUnreachable,
        transport: AsyncTransport | None = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        """Makes no connection yet; as Client."""
        self._core = Core(call_options(on_unreachable, **options), options.get("seed"))
        self._clock: Clock = options.get("clock") or RealClock()
        if transport is None:
            connection = ConnectionOptions(address, options.get("tls"), options.get("token_file", ""))
            transport = AsyncGrpcTransport(connection, self._clock)
        self._transport = transport
        self._io = _Io(transport, self._clock)
        self._reporter = AsyncReporter(transport, self._core.options.max_queued_reports, self._core.jitter)
        self._leases: weakref.WeakSet[AsyncLease] = weakref.WeakSet()

    async def check(self, **work: Unpack[CheckWork]) -> Answer:
        """Asks once; as Client.check."""
        return await self._core.check(self._io, work)

    async def check_or_wait(self, *, max_wait: float = math.inf, **work: Unpack[Work]) -> Permit:
        """Asks until the work is allowed; as Client.check_or_wait. The permit is a context manager,
        of plain `with`: to report takes no time."""
        answer = await self._core.check_or_wait(self._io, work, max_wait)
        return Permit(answer, self._clock, self._reporter.add)

    def permit(self, *, max_wait: float = math.inf, **work: Unpack[Work]) -> AsyncPermitBlock:
        """`async with client.permit(...) as permit:`, or `@client.permit(...)` on a coroutine function;
        as Client.permit."""
        return AsyncPermitBlock(lambda: self.check_or_wait(max_wait=max_wait, **work))

    async def chunks(
        self,
        total: int | None,
        *,
        start: int,
        smallest: int = 1,
        largest: int | None = None,
        estimate: bool = True,
        max_wait: float = math.inf,
        **work: Unpack[Work],
    ) -> AsyncIterator[Chunk]:
        """`async for chunk in client.chunks(total, start=500):`, as Client.chunks."""
        sizes = ChunkSizes(total, start, smallest, largest)
        states_size = estimate and work.get("estimated_cost") is None
        while (size := sizes.next()) > 0:
            if states_size:
                work["estimated_cost"] = size
            with await self.check_or_wait(max_wait=max_wait, **work) as permit:
                yield Chunk(sizes.first, size, permit)
            sizes.taken(size, permit.answer if states_size else None)

    def lease(self, **work: Unpack[LeaseWork]) -> AsyncLease:
        """Many small pieces of work, admitted without asking for each; as Client.lease."""
        lease = AsyncLease(plan(self._core, **work), self._core, self._clock, self._reporter, self._io)
        self._leases.add(lease)
        return lease

    def report(
        self, permit_id: int, *, actual_cost: float | None = None, busy_time: float | None = None
    ) -> None:
        """Queues a report and returns. A permit's number alone is a good report for every budget."""
        check_permit_id(permit_id)
        check_report(actual_cost, busy_time)
        self._reporter.add(PermitReport(permit_id, actual_cost, busy_time))

    async def report_now(
        self, permit_id: int, *, actual_cost: float | None = None, busy_time: float | None = None
    ) -> ReportResult:
        """Sends one report now, and tells what came of it."""
        report = PermitReport(permit_id, actual_cost, busy_time)
        return await self._core.report_now(self._io, report)

    async def flush(self, timeout: float = math.inf) -> bool:
        """Waits until all that was queued before is sent or lost; False if that takes longer."""
        return await self._reporter.flush(timeout)

    @property
    def report_stats(self) -> ReportStats:
        return self._reporter.stats

    async def close(self) -> None:
        """Gives leases back, sends what is queued, and ends connections; as Client.close."""
        await asyncio.gather(*(lease.give_back() for lease in list(self._leases)))
        self._core.closed = True
        await self._reporter.stop(self._core.options.flush_timeout)
        await self._transport.close()

    def __reduce__(self) -> NoReturn:
        refuse_to_copy(self)

    async def __aenter__(self) -> AsyncClient:
        self._core.must_be_open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


class _Io:
    """The outside of all calls."""

    def __init__(self, transport: AsyncTransport, clock: Clock) -> None:
        self._transport = transport
        self.now = clock.now
        self.sleep = clock.sleep_async

    async def check(self, request: CheckRequest, timeout: float) -> Answer:
        return await self._transport.check(request, timeout)

    async def watch_lease(self, watch: LeaseWatch, timeout: float) -> int:
        return int(await watch_of(self._transport)(watch, timeout))

    async def report(self, reports: list[PermitReport], timeout: float) -> list[ReportResult | Error]:
        return await self._transport.report(reports, timeout)
