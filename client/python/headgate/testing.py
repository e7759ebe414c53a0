"""FakeHeadgate: Headgate in the process of a test, without sockets or waiting.

It allows every Check unless it is told otherwise, hands out permits, and remembers what it was asked and
told. Clients made by it tell the time by FakeClock, which is virtual: a wait is over at once, and moves
the time.

As the real one it lets a Check with max_wait wait in its line: one that is denied for a time waits until
that is over or its own time is up, and then gets what comes next. `permit` and `chunks` wait so. What is
left of a scripted denial when a Check's time is up is for the next Check.

A Check for a lease is granted all that it asks for. A lease's time passes only when a test advances the
clock, or something waits.

Reports come in the background even here: call the client's `flush` before looking at them. So do leases:
close a lease before looking at what was returned.

    def test_the_backfill_waits_while_a_replica_lags():
        headgate = FakeHeadgate()
        with headgate.client(on_unreachable=OnUnreachable.fail(), identity="backfill:etl") as client:
            headgate.deny(30, Reason.HEALTH)  # the first Check; the others are allowed
            backfill(client)
        assert headgate.clock.waited >= 30
        assert headgate.outstanding == set()  # every permit was reported
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import threading
import weakref
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from headgate._async_client import AsyncClient
from headgate._client import Client
from headgate._clock import Cancellation
from headgate._core import run
from headgate._errors import Code, Error, error
from headgate._lease_types import GrantedLease, LeaseWatch, PieceCount
from headgate._options import OnUnreachable
from headgate._settings import ClientOptions
from headgate._types import (
    Answer,
    CheckRequest,
    Overrun,
    PermitReport,
    Reason,
    ReportOutcome,
    ReportResult,
    Verdict,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["FakeClock", "FakeHeadgate", "Handler"]

Handler = Callable[[CheckRequest], "Answer | Error"]

# However soon a denial lets a Check come back: a handler's may be the same for ever.
_SHORTEST_STEP = 0.001


class FakeClock:
    """Virtual time: stands still until something waits, or a test advances it. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._now = 1000.0
        self._waits: list[float] = []
        self._told: list[weakref.WeakMethod[Callable[[], object]]] = []

    def now(self) -> float:
        return self._now

    def sleep(self, seconds: float, cancellation: Cancellation | None) -> None:
        """Unless it was cancelled, it is then as much later, at once."""
        if cancellation is not None and cancellation.is_cancelled:
            return
        with self._lock:
            self._now += seconds
            self._waits.append(seconds)
        self._tell()

    async def sleep_async(self, seconds: float) -> None:
        await asyncio.sleep(0)  # a task that was cancelled ends here
        self.sleep(seconds, None)

    def advance(self, seconds: float) -> None:
        with self._lock:
            self._now += seconds
        self._tell()

    def on_move(self, callback: Callable[[], object]) -> None:
        """Calls a method, for as long as its object lives, each time that the time was moved."""
        with self._lock:
            self._told.append(weakref.WeakMethod(callback))

    def _tell(self) -> None:
        with self._lock:
            self._told = [each for each in self._told if each() is not None]
            told = [each() for each in self._told]
        for callback in told:
            if callback is not None:
                callback()

    @property
    def waits(self) -> list[float]:
        """All that was waited for, in order."""
        with self._lock:
            return list(self._waits)

    @property
    def waited(self) -> float:
        return sum(self.waits)


def _allow_all(_request: CheckRequest) -> Answer:
    return Answer(verdict=Verdict.ALLOWED)


class FakeHeadgate:
    """Thread-safe. Clients may outlive it."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self._lock = threading.Lock()  # guards what follows
        self._script: deque[Answer | Error] = deque()
        self._handler: Handler = _allow_all
        self._overruns: tuple[Overrun, ...] = ()
        self._unsettled: tuple[str, ...] = ()
        self._reachable = True
        self._lets_wait = True
        self._knows_leases = True
        self._pieces: list[PieceCount] = []
        self._permits = itertools.count(1)
        self._checks: list[CheckRequest] = []
        self._reports: list[PermitReport] = []
        self._outstanding: set[int] = set()
        self._state = 1  # of what decides about leases
        self._wakes: set[Callable[[], object]] = set()  # of those who wait for another

    def client(self, *, on_unreachable: OnUnreachable, **options: Unpack[ClientOptions]) -> Client:
        """A client of this fake, on its time and with one seed unless the options have others."""
        return Client(on_unreachable=on_unreachable, transport=_Line(self), **self._defaults(options))

    def async_client(
        self, *, on_unreachable: OnUnreachable, **options: Unpack[ClientOptions]
    ) -> AsyncClient:
        """The same with asyncio."""
        return AsyncClient(
            on_unreachable=on_unreachable, transport=_AsyncLine(self), **self._defaults(options)
        )

    def _defaults(self, options: ClientOptions) -> ClientOptions:
        defaults: ClientOptions = {"clock": self.clock, "seed": 1}
        defaults.update(options)
        return defaults

    # What the next Checks get, in the order of these calls. A permit is added where it is missing.

    def allow(self, answer: Answer | None = None) -> None:
        self._add(replace(answer or Answer(), verdict=Verdict.ALLOWED))

    def deny(self, retry_after: float, reason: Reason = Reason.CAPACITY) -> None:
        self._add(Answer(reason=reason, retry_after=retry_after, message="denied by the test's script"))

    def deny_for_good(self, reason: Reason = Reason.DENY_RULE) -> None:
        """A denial that waiting will not change."""
        self._add(Answer(reason=reason, message="denied for good by the test's script"))

    def fail(self, code: Code, message: str = "", retry_delay: float | None = None) -> None:
        self._add(error(code, message, retry_delay))

    # What all others get; at first, each is allowed.

    def set_handler(self, handler: Handler) -> None:
        """It may use this object."""
        with self._lock:
            self._handler = handler

    def set_overruns(self, *overruns: Overrun) -> None:
        """What reports that settle are told from now on; at first, nothing."""
        with self._lock:
            self._overruns = overruns

    def set_unsettled(self, *budgets: str) -> None:
        """Which budgets reports that settle are told to have left as they were."""
        with self._lock:
            self._unsettled = budgets

    def set_reachable(self, reachable: bool) -> None:
        """Whether calls arrive at all. Those that do not are UNAVAILABLE, and not remembered."""
        with self._lock:
            self._reachable = reachable

    def set_lets_wait(self, lets_wait: bool) -> None:
        """Whether a Check may wait in this fake's line, as it may at first; else it is answered at
        once, as by a server that knows no max_wait."""
        with self._lock:
            self._lets_wait = lets_wait

    def set_knows_leases(self, knows: bool) -> None:
        """Whether it grants leases, as it does at first; else a Check for one is a Check like any other, as
        to a server from before there were leases."""
        with self._lock:
            self._knows_leases = knows

    def take_back_leases(self) -> None:
        """An order that reaches those who hold leases: what was granted before goes back."""
        with self._lock:
            self._state += 1
            wakes = list(self._wakes)
        for wake in wakes:
            wake()

    def _state_now(self) -> int:
        """0: it is from before there were leases."""
        self._check_reached()
        with self._lock:
            return self._state if self._knows_leases else 0

    @contextlib.contextmanager
    def _woken(self, wake: Callable[[], object]) -> Iterator[None]:
        """By each order meanwhile."""
        with self._lock:
            self._wakes.add(wake)
        try:
            yield
        finally:
            with self._lock:
                self._wakes.discard(wake)

    # What arrived, oldest first.

    @property
    def checks(self) -> list[CheckRequest]:
        with self._lock:
            return list(self._checks)

    @property
    def reports(self) -> list[PermitReport]:
        with self._lock:
            return list(self._reports)

    @property
    def outstanding(self) -> set[int]:
        """Permits that were given and not reported."""
        with self._lock:
            return set(self._outstanding)

    @property
    def pieces(self) -> list[PieceCount]:
        """What was counted of the pieces of leases, as it was told."""
        with self._lock:
            return list(self._pieces)

    def _add(self, said: Answer | Error) -> None:
        with self._lock:
            self._script.append(said)

    def _check_reached(self) -> None:
        with self._lock:
            if not self._reachable:
                raise error(Code.UNAVAILABLE, "the fake's network is down")

    def _decide(self, request: CheckRequest) -> tuple[Answer, bool]:
        """The answer, and whether it was scripted."""
        with self._lock:
            scripted = len(self._script) > 0
            said = self._script.popleft() if scripted else None
            handler = self._handler
        if said is None:
            said = handler(request)  # without the lock, so that it may use this object
        if isinstance(said, Error):
            raise said
        if not said.allowed or request.validate_only:
            return said, scripted
        with self._lock:
            if said.permit_id is None:
                said = replace(said, permit_id=next(self._permits))
            if said.permit_id is not None:
                self._outstanding.add(said.permit_id)
            return said, scripted

    async def _answer(self, request: CheckRequest, sleep: Callable[[float], Awaitable[None]]) -> Answer:
        """Waits until the denial is over and is decided again, until the Check's time is up."""
        self._check_reached()
        with self._lock:
            self._checks.append(request)
            may_wait = self._lets_wait
            knows_leases = self._knows_leases
            state = self._state  # whatever is ordered while it is decided
        returned = None
        if knows_leases and request.lease is not None and request.lease.returned is not None:
            returned = self._settle_one(request.lease.returned)
        answer, scripted = self._decide(request)
        waited = 0.0
        while (
            may_wait and not answer.allowed and answer.retry_after is not None and waited < request.max_wait
        ):
            denied_for = max(answer.retry_after, _SHORTEST_STEP)
            step = min(denied_for, request.max_wait - waited)
            await sleep(step)
            waited += step
            self._check_reached()
            if step < denied_for:
                answer = replace(answer, retry_after=denied_for - step)
                if scripted:
                    with self._lock:
                        self._script.appendleft(answer)
                break
            answer, scripted = self._decide(request)
        if knows_leases and request.lease is not None:
            answer = replace(answer, lease=_granted(request, answer, returned, state))
        return replace(answer, waited=waited) if waited > 0 else answer

    def _settle(self, reports: list[PermitReport]) -> list[ReportResult | Error]:
        self._check_reached()
        return [self._settle_one(report) for report in reports]

    def _settle_one(self, report: PermitReport) -> ReportResult:
        counts_alone = report.permit_id == 0 and report.lease_use is not None
        with self._lock:
            self._reports.append(report)
            if report.permit_id not in self._outstanding and not counts_alone:
                return ReportResult(ReportOutcome.ALREADY_SETTLED)
            self._outstanding.discard(report.permit_id)
            if report.lease_use is not None and self._knows_leases:
                self._pieces += report.lease_use.counts
            return ReportResult(ReportOutcome.SETTLED, self._overruns, self._unsettled)


def _granted(
    request: CheckRequest, answer: Answer, returned: ReportResult | None, state: int
) -> GrantedLease:
    """All that it asks for, unless the test's answer says otherwise."""
    lease = answer.lease
    if not answer.allowed or request.lease is None:
        return GrantedLease(returned=returned)
    if lease is None:
        lease = GrantedLease(amount=request.estimated_cost or 0.0, time=request.lease.time)
    return replace(lease, returned=returned, state=lease.state or state)


class _Line:
    """A client's way to the fake."""

    def __init__(self, headgate: FakeHeadgate) -> None:
        self._headgate = headgate

    def check(self, request: CheckRequest, timeout: float, cancellation: Cancellation | None) -> Answer:
        async def sleep(seconds: float) -> None:
            self._headgate.clock.sleep(seconds, cancellation)
            if cancellation is not None and cancellation.is_cancelled:
                raise error(Code.CANCELLED, "the caller left the fake's line")

        return run(self._headgate._answer(request, sleep))

    def report(
        self, reports: list[PermitReport], timeout: float, cancellation: Cancellation | None
    ) -> list[ReportResult | Error]:
        return self._headgate._settle(reports)

    def watch_lease(self, watch: LeaseWatch, timeout: float, cancellation: Cancellation | None) -> int:
        """Waits in real time: an order comes when the test gives it."""
        news = threading.Event()
        forget = None if cancellation is None else cancellation.on_cancel(news.set)
        try:
            with self._headgate._woken(news.set):
                while (state := self._headgate._state_now()) == watch.state:
                    news.wait()
                    news.clear()
                    if cancellation is not None and cancellation.is_cancelled:
                        raise error(Code.CANCELLED, "nobody waits for orders any more")
                return state
        finally:
            if forget is not None:
                forget()

    def close(self) -> None: ...


class _AsyncLine:
    """The same with asyncio."""

    def __init__(self, headgate: FakeHeadgate) -> None:
        self._headgate = headgate

    async def check(self, request: CheckRequest, timeout: float) -> Answer:
        return await self._headgate._answer(request, self._headgate.clock.sleep_async)

    async def report(self, reports: list[PermitReport], timeout: float) -> list[ReportResult | Error]:
        return self._headgate._settle(reports)

    async def watch_lease(self, watch: LeaseWatch, timeout: float) -> int:
        news = asyncio.Event()
        loop = asyncio.get_running_loop()

        def wake() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(news.set)

        with self._headgate._woken(wake):
            while (state := self._headgate._state_now()) == watch.state:
                await news.wait()
                news.clear()
            return state

    async def close(self) -> None: ...
