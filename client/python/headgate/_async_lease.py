"""AsyncLease: the same as Lease, for tasks of one event loop."""

from __future__ import annotations

import asyncio
import contextlib
import math
from types import TracebackType
from typing import Any, NoReturn

from headgate import _forks
from headgate._checked import check_cost, check_report, check_wait, refuse_to_copy
from headgate._clock import LONGEST, Clock, MovedClock
from headgate._core import Core
from headgate._errors import Code, error
from headgate._lease_ask import Asker, LeasePlan
from headgate._lease_orders import Orders, WatchIo
from headgate._lease_refusals import ADMITTED
from headgate._lease_step import Ask, Failure, Step
from headgate._lease_types import Admission, LeaseStats
from headgate._reporter import AsyncReporter


class AsyncLease:
    """As Lease says, but for tasks of the event loop that uses it first. `admit`, `settle` and `done` are
    plain calls within that. A wait is cancelled with its task, and what it was admitted in that moment is
    put back. It does not work in a process that was forked since.

        async with client.lease(identity="copy:etl") as lease:
            async for row in rows:
                await lease.wait(max_wait=60) or give_up()
                await copy(row)
    """

    def __init__(
        self, plan: LeasePlan, core: Core, clock: Clock, reporter: AsyncReporter, io: WatchIo
    ) -> None:
        """`AsyncClient.lease` makes them."""
        self._plan = plan
        self._core = core
        self._clock = clock
        self._now = clock.now
        self._reporter = reporter
        self._io = io
        self._state = plan.state(core)
        self._asker = Asker(core, plan.request)
        self._orders = Orders(core, plan.request)
        self._following: asyncio.Task[None] | None = None  # orders, likewise
        self._loop: asyncio.AbstractEventLoop | None = None  # none has used it yet
        self._task: asyncio.Task[None] | None = None  # there is one while anything is held or wanted
        self._news = asyncio.Event()  # for it
        self._call: asyncio.Task[Any] | None = None  # the ask that is under way
        if isinstance(clock, MovedClock):
            clock.on_move(self._on_move)
        _forks.register(self)

    def admit(self, cost: float = 1.0) -> Admission:
        """Whether a piece of this cost may be done now; as Lease.admit."""
        state = self._state
        try:
            return state.admit(cost, self._now())
        finally:
            if state.news:
                self._ring()

    async def wait(self, cost: float = 1.0, *, max_wait: float = math.inf) -> Admission:
        """Waits until the piece is admitted, or to the end of max_wait; as Lease.wait."""
        check_wait(max_wait)
        now = self._now()
        if self._state.take_easily(cost, now):
            return ADMITTED
        woken = asyncio.get_running_loop().create_future()
        try:
            waiter = self._state.join(cost, now, now + max_wait, lambda: _set(woken))
        finally:
            self._ring_if_news()
        try:
            while waiter.result is None:
                left = min(max(waiter.deadline - self._now(), 0.0), self._plan.options.time)
                await asyncio.wait([woken], timeout=left)
                now = self._now()
                for report in self._state.overdue(now):
                    self._reporter.add(report)
                if now >= waiter.deadline:
                    self._state.serve_all(now)
                    self._ring_if_news()
        except BaseException:
            self._state.leave(waiter)
            self._ring_if_news()
            raise
        if isinstance(waiter.result, BaseException):
            raise waiter.result
        return waiter.result

    def settle(
        self, estimate: float, *, actual_cost: float | None = None, busy_time: float | None = None
    ) -> None:
        """Says what a piece really cost, and ends it; as Lease.settle."""
        check_cost(estimate, "estimate")
        check_report(actual_cost, busy_time)
        self._state.settle(estimate, actual_cost, busy_time, self._now())
        self._ring_if_news()

    def done(self) -> None:
        """Ends the piece that is under way; as Lease.done."""
        self._state.end_piece(self._now())
        self._ring_if_news()

    @property
    def stats(self) -> LeaseStats:
        return self._state.stats(self._now())

    async def close(self) -> None:
        """Gives back what is left, and waits for that for at most flush_timeout; as Lease.close."""
        if await self.give_back():
            await self._reporter.flush(self._core.options.flush_timeout)

    async def give_back(self) -> bool:
        """Takes no more pieces, and gives the rest to the reporter. Whether it was open."""
        if self._state.closed:
            return False
        for report in self._state.close(self._now()):
            self._reporter.add(report)
        following = self._following
        self._follow_no_more()
        if following is not None:
            await asyncio.wait([following])
        task = self._task
        if task is not None:
            self._ring()
            await asyncio.wait([task], timeout=min(self._core.options.flush_timeout, LONGEST))
        return True

    def __reduce__(self) -> NoReturn:
        refuse_to_copy(self)

    async def __aenter__(self) -> AsyncLease:
        self._core.must_be_open()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    def before_fork(self) -> None: ...

    def after_fork_in_parent(self) -> None: ...

    def after_fork_in_child(self) -> None:
        """What is held is the parent's."""
        self._state = self._plan.state(self._core)
        self._state.closed = "a lease of an AsyncClient does not work in a process that was forked since"
        self._task = self._call = self._loop = self._following = None

    # The task, which asks and gives back.

    def _ring_if_news(self) -> None:
        if self._state.news:
            self._ring()

    def _ring(self) -> None:
        self._news.set()
        if self._call is not None and not self._state.ask_is_wanted:
            self._call.cancel()
        if self._task is None:
            self._loop = asyncio.get_running_loop()
            self._task = self._loop.create_task(self._run())
            if not self._state.closed:
                self._follow_no_more()
                self._following = self._loop.create_task(self._follow())

    def _on_move(self) -> None:
        if self._task is not None and self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._news.set)

    async def _run(self) -> None:
        while True:
            self._news.clear()
            step = self._state.step(self._now())
            for report in step.reports:
                self._reporter.add(report)
            if step.ask is not None:
                await self._send(step.ask)
            elif step.is_idle:
                self._task = None
                self._follow_no_more()
                return
            else:
                await self._wait_for(step)

    async def _follow(self) -> None:
        while True:
            state, pause = await self._orders.next(self._io)
            if state is not None:
                self._state.obey(state, self._now())
                self._ring_if_news()
            await asyncio.sleep(pause)

    def _follow_no_more(self) -> None:
        if self._following is not None:
            self._following.cancel()
            self._following = None

    async def _send(self, ask: Ask) -> None:
        self._call = asyncio.create_task(self._asker.ask(self._io, ask))
        try:
            await asyncio.wait([self._call])
            if self._call.cancelled():
                left = error(Code.CANCELLED, "nobody waits for it any more")
                said = Failure(left, 0.0)
            else:
                said = self._call.result()
        finally:
            self._call = None
        if isinstance(said, Failure):
            self._state.failed(said, self._now())
        else:
            self._state.answered(said, self._now())

    async def _wait_for(self, step: Step) -> None:
        left = min(step.until - self._now(), LONGEST)
        if left <= 0:
            return
        if not step.passes_time:
            with contextlib.suppress(asyncio.TimeoutError, TimeoutError):
                await asyncio.wait_for(self._news.wait(), left)
            return
        ways = [
            asyncio.ensure_future(self._clock.sleep_async(left)),
            asyncio.ensure_future(self._news.wait()),
        ]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)


def _set(woken: asyncio.Future[None]) -> None:
    if not woken.done():
        woken.set_result(None)
