"""Sends reports in the background: a thread for the one client, a task for the other."""

from __future__ import annotations

import asyncio
import threading
import time

from headgate._clock import LONGEST, Cancellation
from headgate._errors import Code, Error, error
from headgate._jitter import Jitter
from headgate._reports import CALL_TIMEOUT, WINDOW, ReportQueue
from headgate._transport import AsyncTransport, Transport
from headgate._types import PermitReport, ReportStats


class Reporter:
    """Thread-safe. Its thread begins with the first report, and anew in a forked process."""

    def __init__(self, transport: Transport, max_queued: int, jitter: Jitter) -> None:
        self._transport = transport
        self._max_queued = max_queued
        self._jitter = jitter
        self._begin()

    def _begin(self) -> None:
        self._abandon = Cancellation()  # time is up: even calls in progress end
        self._lock = threading.Lock()  # guards what follows
        self._wake = threading.Condition(self._lock)  # the thread waits for work
        self._finished = threading.Condition(self._lock)  # others wait for the queue's `done`
        self._queue = ReportQueue(self._max_queued, self._jitter)
        self._flush_to = 0  # sends without waiting for company while less is done
        self._stopping = False
        self._thread: threading.Thread | None = None

    def after_fork_in_child(self) -> None:
        """What was queued is the parent's."""
        stopped = self._stopping
        self._begin()
        self._stopping = self._queue.closed = stopped

    def add(self, report: PermitReport) -> None:
        with self._lock:
            if not self._queue.add(report):
                return
            self._start()
            # The thread sleeps through a window that has begun, unless the batch is full.
            if len(self._queue) == 1 or self._queue.has_full_batch:
                self._wake.notify()

    def start(self) -> None:
        """Its thread, before there are reports: at the end of a process none can be started any more."""
        with self._lock:
            if not self._stopping:
                self._start()

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="headgate-reports", daemon=True)
            self._thread.start()

    def flush(self, timeout: float) -> bool:
        """Until what was added before is sent or lost; false if that takes longer."""
        with self._lock:
            target = self._flush_to = self._queue.added
            self._wake.notify()
            return self._finished.wait_for(lambda: self._queue.done >= target, min(timeout, LONGEST))

    def stop(self, timeout: float) -> None:
        """Sends what is queued, for at most `timeout`, and ends; what remains is dropped."""
        with self._lock:
            self._stopping = self._queue.closed = True
            self._wake.notify()
            self._finished.wait_for(lambda: len(self._queue) == 0, min(timeout, LONGEST))
        self._abandon.cancel()
        with self._lock:
            self._wake.notify()  # once more with the lock: it may just have been about to wait
            thread = self._thread
        if thread is not None:
            thread.join()
        with self._lock:
            self._queue.drop_all()
            self._finished.notify_all()

    @property
    def stats(self) -> ReportStats:
        with self._lock:
            return self._queue.stats

    def _run(self) -> None:
        with self._lock:
            while not self._abandon.is_cancelled:
                self._wake.wait_for(lambda: self._stopping or len(self._queue) > 0)
                if len(self._queue) == 0:
                    return
                self._wake.wait_for(
                    lambda: (
                        self._stopping or self._queue.done < self._flush_to or self._queue.has_full_batch
                    ),
                    WINDOW,
                )
                pause = self._send_batch()
                if pause > 0:
                    self._pause(pause)

    def _pause(self, seconds: float) -> None:
        stopping = self._stopping
        self._wake.wait_for(lambda: self._stopping != stopping or self._abandon.is_cancelled, seconds)

    def _send_batch(self) -> float:
        """With the lock, which it lets go of during the call. How long to wait afterwards."""
        batch = self._queue.batch()
        self._lock.release()
        try:
            results = self._transport.report(batch, CALL_TIMEOUT, self._abandon)
            failure = None
        except Error as caught:
            failure = caught
        except Exception as caught:
            # Of a transport that somebody else has written: it costs one batch, and not all that come.
            failure = error(Code.INTERNAL, repr(caught))
        finally:
            self._lock.acquire()
        if failure is None:
            self._queue.settle(batch, results)
        elif self._abandon.is_cancelled:
            return 0.0
        else:
            pause = self._queue.fail(batch, failure, self._stopping)
            if pause > 0:
                return pause
        self._finished.notify_all()
        return 0.0


class AsyncReporter:
    """For one event loop. Its task begins with the first report."""

    def __init__(self, transport: AsyncTransport, max_queued: int, jitter: Jitter) -> None:
        self._transport = transport
        self._queue = ReportQueue(max_queued, jitter)
        self._wake = asyncio.Event()  # something has changed for the task
        self._finished = asyncio.Event()  # and something for those who wait for it
        self._flush_to = 0
        self._stopping = False
        self._task: asyncio.Task[None] | None = None

    def add(self, report: PermitReport) -> None:
        if not self._queue.add(report):
            return
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run())
        if len(self._queue) == 1 or self._queue.has_full_batch:
            self._wake.set()

    async def flush(self, timeout: float) -> bool:
        target = self._flush_to = self._queue.added
        self._wake.set()
        try:
            await asyncio.wait_for(self._until_done(target), min(timeout, LONGEST))
        except (asyncio.TimeoutError, TimeoutError):
            return self._queue.done >= target
        return True

    async def stop(self, timeout: float) -> None:
        self._stopping = self._queue.closed = True
        await self.flush(timeout)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._queue.drop_all()
        self._finished.set()

    @property
    def stats(self) -> ReportStats:
        return self._queue.stats

    async def _until_done(self, target: int) -> None:
        while self._queue.done < target:
            self._finished.clear()
            await self._finished.wait()

    async def _run(self) -> None:
        while True:
            while len(self._queue) == 0:
                await self._woken(LONGEST)
            while not self._hurries():
                if not await self._woken(WINDOW):
                    break
            await self._pause(await self._send_batch())

    def _hurries(self) -> bool:
        return self._stopping or self._queue.done < self._flush_to or self._queue.has_full_batch

    async def _pause(self, seconds: float) -> None:
        """For so long, unless it is told to stop meanwhile."""
        stopping = self._stopping
        over_at = time.monotonic() + seconds
        while self._stopping == stopping and (left := over_at - time.monotonic()) > 0:
            await self._woken(left)

    async def _woken(self, seconds: float) -> bool:
        """Whether it was woken before these were over."""
        self._wake.clear()
        try:
            await asyncio.wait_for(self._wake.wait(), seconds)
        except (asyncio.TimeoutError, TimeoutError):
            return False
        return True

    async def _send_batch(self) -> float:
        batch = self._queue.batch()
        failure = None
        try:
            results = await self._transport.report(batch, CALL_TIMEOUT)
        except Error as caught:
            failure = caught
        except Exception as caught:
            failure = error(Code.INTERNAL, repr(caught))
        if failure is None:
            self._queue.settle(batch, results)
        elif (pause := self._queue.fail(batch, failure, self._stopping)) > 0:
            return pause
        self._finished.set()
        return 0.0
