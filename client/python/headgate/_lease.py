"""Lease: many small pieces of work out of an amount that was granted for all of them, shared by threads."""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import NoReturn

from headgate._checked import check_cost, check_report, check_wait, refuse_to_copy
from headgate._clock import LONGEST, Cancellation, Clock, MovedClock
from headgate._core import Core, Io, run
from headgate._errors import Code, error
from headgate._lease_ask import Asker, LeasePlan
from headgate._lease_orders import Orders, OrderThread
from headgate._lease_refusals import ADMITTED
from headgate._lease_step import Ask, Failure, Step, Waiter
from headgate._lease_types import Admission, LeaseStats
from headgate._reporter import Reporter


class Lease:
    """Admits pieces of work without asking for each: the amounts are charged in advance, and what is not
    spent is given back.

    Guarantees:

    - `admit` never blocks for an answer; where there is room it calls neither the server nor the system.
    - No more is spent than was granted, by however many threads, and no piece begins after the lease's
      time, 1 s unless `time` says otherwise. So a pause reaches every holder within it, whatever happens.
    - While anything is held a second thread waits for orders: by them a pause, or whatever else changes
      what decides about this work, reaches the holder at once.
    - Whoever stops has given back what was left when the lease's time is over, and asks for nothing more.
    - Every piece is counted by the server as if it had been asked for.
    - While Headgate is unreachable what is held is spent. Then pieces are admitted at the safe rate that
      the server has reserved for this holder, which all holders together keep to. When `safe_time` is
      over, on_unreachable decides each piece as it does each Check: with `fail` an error is raised, with
      `wait` only by `admit`, while `wait` waits. With `rate: auto` or max_concurrency, or while it stands
      in line, a holder has no such rate.

    Where a budget limits concurrency, pieces go one at a time: each has to be ended by `done` or
    `settle` before the next begins. For pieces side by side take as many leases.

    Thread-safe. In a process that was forked since, it begins anew: what is held is the parent's.

        with client.lease(identity="copy:etl") as lease:
            for row in rows:
                lease.wait(max_wait=60) or give_up()
                copy(row)
    """

    def __init__(
        self,
        plan: LeasePlan,
        core: Core,
        clock: Clock,
        reporter: Reporter,
        io_of: Callable[[Cancellation], Io],
    ) -> None:
        """`Client.lease` makes them."""
        self._plan = plan
        self._core = core
        self._clock = clock
        self._now = clock.now
        self._reporter = reporter
        self._io_of = io_of
        self._begin()
        if isinstance(clock, MovedClock):
            clock.on_move(self._ring)

    def _begin(self) -> None:
        self._lock = threading.Lock()  # guards what follows
        self._wake = threading.Condition(self._lock)
        self._state = self._plan.state(self._core)
        self._asker = Asker(self._core, self._plan.request)
        self._thread: threading.Thread | None = None  # there is one while anything is held or wanted
        self._orders = OrderThread(Orders(self._core, self._plan.request), self._io_of, self._obey)
        self._has_rung = False
        self._call = Cancellation()  # of the ask that is under way
        self._rest = Cancellation()  # of the time that passes until there is something to do

    def admit(self, cost: float = 1.0) -> Admission:
        """Whether a piece of this cost may be done now, in the job's own unit.

        A refusal says when to come back, and why. Raises InvalidArgumentError, and where a lease cannot be
        asked for what `Client.check` would.
        """
        with self._lock:
            state = self._state
            try:
                return state.admit(cost, self._now())
            finally:
                if state.news and not self._has_rung:
                    self._ring_locked()

    def wait(
        self,
        cost: float = 1.0,
        *,
        max_wait: float = math.inf,
        cancellation: Cancellation | None = None,
    ) -> Admission:
        """Blocks until the piece is admitted, and else to the end of max_wait: it is then refused, with
        the newest reason. What waiting will not change is refused at once, without a retry_after.

        Those who wait stand in the server's line. Raises CancelledError; else as `admit`.
        """
        check_wait(max_wait)
        with self._lock:
            now = self._now()
            if self._state.take_easily(cost, now):
                return ADMITTED
            woken = threading.Event()
            try:
                waiter = self._state.join(cost, now, now + max_wait, woken.set)
            finally:
                self._ring_if_news()
        if waiter.result is None:
            self._await(waiter, woken, cancellation)
        if isinstance(waiter.result, BaseException):
            raise waiter.result
        assert waiter.result is not None
        return waiter.result

    def settle(
        self, estimate: float, *, actual_cost: float | None = None, busy_time: float | None = None
    ) -> None:
        """Says what a piece of this estimate really cost, in the unit of its estimate, and for how many
        seconds it kept the database busy; and ends it. It is told with the lease that is given back next.

        Pieces of which nothing is said cost what was predicted. InvalidArgumentError: that cannot be.
        """
        check_cost(estimate, "estimate")
        check_report(actual_cost, busy_time)
        with self._lock:
            self._state.settle(estimate, actual_cost, busy_time, self._now())
            self._ring_if_news()

    def done(self) -> None:
        """Ends the piece that is under way, where they go one at a time; else it does nothing."""
        with self._lock:
            self._state.end_piece(self._now())
            self._ring_if_news()

    @property
    def stats(self) -> LeaseStats:
        with self._lock:
            return self._state.stats(self._now())

    def close(self) -> None:
        """Gives back what is left, and waits for that for at most flush_timeout.

        Whoever still waits, and whoever calls later, gets RuntimeError. Closing twice does no harm.
        """
        if self._begin_to_close():
            end = time.monotonic() + min(self._core.options.flush_timeout, LONGEST)
            self._end(end)
            self._reporter.flush(max(end - time.monotonic(), 0.0))

    def __reduce__(self) -> NoReturn:
        refuse_to_copy(self)

    def __enter__(self) -> Lease:
        self._core.must_be_open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def after_fork_in_child(self) -> None:
        closed = self._state.closed
        self._begin()
        self._state.closed = closed

    def _begin_to_close(self) -> bool:
        """Whether it was open."""
        with self._lock:
            if self._state.closed:
                return False
            for report in self._state.close(self._now()):
                self._reporter.add(report)
            self._orders.stop()
            if self._thread is not None:
                self._ring_locked()
            return True

    def _end(self, end: float) -> None:
        """An ask that is under way may yet be granted something, which is given back, too."""
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join(max(end - time.monotonic(), 0.0))

    def _await(self, waiter: Waiter, woken: threading.Event, cancellation: Cancellation | None) -> None:
        forget = None if cancellation is None else cancellation.on_cancel(woken.set)
        try:
            while waiter.result is None:
                if cancellation is not None and cancellation.is_cancelled:
                    raise error(Code.CANCELLED, "cancelled before the piece was admitted")
                woken.wait(min(max(waiter.deadline - self._now(), 0.0), self._plan.options.time))
                with self._lock:
                    now = self._now()
                    for report in self._state.overdue(now):
                        self._reporter.add(report)
                    if now >= waiter.deadline:
                        self._state.serve_all(now)
                        self._ring_if_news()
        except BaseException:
            with self._lock:
                self._state.leave(waiter)
                self._ring_if_news()
            raise
        finally:
            if forget is not None:
                forget()

    # The thread, which asks and gives back.

    def _ring(self) -> None:
        with self._lock:
            if self._thread is not None:
                self._ring_locked()

    def _ring_if_news(self) -> None:
        if self._state.news and not self._has_rung:
            self._ring_locked()

    def _ring_locked(self) -> None:
        self._has_rung = True
        if not self._state.ask_is_wanted:
            self._call.cancel()
        if self._thread is None:
            self._reporter.start()
            self._thread = threading.Thread(target=self._run, name="headgate-lease", daemon=True)
            self._thread.start()
            if not self._state.closed:
                self._orders.start()
        else:
            self._wake.notify()
            self._rest.cancel()

    def _run(self) -> None:
        with self._lock:
            while True:
                self._has_rung = False
                step = self._state.step(self._now())
                for report in step.reports:
                    self._reporter.add(report)
                if step.ask is not None:
                    self._send(step.ask)
                elif step.is_idle:
                    self._thread = None
                    self._orders.stop()
                    return
                else:
                    self._wait_for(step)

    def _send(self, ask: Ask) -> None:
        """With the lock, which it lets go of during the call, as does the next."""
        self._call = Cancellation()
        self._has_rung = False
        self._lock.release()
        try:
            said = run(self._asker.ask(self._io_of(self._call), ask))
        finally:
            self._lock.acquire()
        if isinstance(said, Failure):
            self._state.failed(said, self._now())
        else:
            self._state.answered(said, self._now())

    def _obey(self, state: int, stop: Cancellation) -> None:
        with self._lock:
            if not stop.is_cancelled:
                self._state.obey(state, self._now())
                self._ring_if_news()

    def _wait_for(self, step: Step) -> None:
        left = step.until - self._now()
        if left <= 0:
            return
        if not step.passes_time:
            self._wake.wait(min(left, LONGEST))
            return
        self._rest = Cancellation()
        self._lock.release()
        try:
            self._clock.sleep(left, self._rest)
        finally:
            self._lock.acquire()


class OpenLeases:
    """Those of one client, which closes them before itself. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._leases: weakref.WeakSet[Lease] = weakref.WeakSet()
        self._closed = False

    def add(self, lease: Lease) -> Lease:
        with self._lock:
            if self._closed:
                raise RuntimeError("the client is closed")
            self._leases.add(lease)
            return lease

    def close(self, timeout: float) -> None:
        """Gives all of them back, for at most `timeout`; what remains is to be flushed."""
        with self._lock:
            self._closed = True
            leases = list(self._leases)
        end = time.monotonic() + min(timeout, LONGEST)
        for lease in [each for each in leases if each._begin_to_close()]:
            lease._end(end)

    def after_fork_in_child(self) -> None:
        self._lock = threading.Lock()
        for lease in list(self._leases):
            lease.after_fork_in_child()
