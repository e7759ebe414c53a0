"""How a client asks, retries and waits: once, for the synchronous and the asynchronous client.

What it takes from outside, time and calls, comes through `Io`. The coroutines here are suspended only
where an Io is. That of a synchronous client never is, so that `run` plays them to their end in one go.
"""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from headgate._checked import check_permit_id, check_report, check_request, check_wait
from headgate._errors import Code, Error, error
from headgate._fallback import Fallback
from headgate._jitter import Jitter
from headgate._options import CallOptions
from headgate._types import (
    Answer,
    CheckRequest,
    PermitReport,
    ReportResult,
    Work,
)

# Between attempts within one deadline.
_FIRST_RETRY = 0.010
_LONGEST_RETRY = 0.100
# Between Checks while the server cannot be reached or is overloaded.
FIRST_PAUSE = 0.100
LONGEST_PAUSE = 2.0
# However soon the server lets one come back.
_SHORTEST_WAIT = 0.001
# The longest that one Check stands in the server's line: so soon a connection that died silently is
# noticed.
_LONGEST_SLICE = 30.0

T = TypeVar("T")
_Ask = Callable[["Io", CheckRequest, float], Awaitable[Answer]]


class Io(Protocol):
    """Time, and the two calls of the API. Calls raise Error."""

    def now(self) -> float: ...

    async def sleep(self, seconds: float) -> None:
        """Raises CancelledError where the wait was cancelled."""

    async def check(self, request: CheckRequest, timeout: float) -> Answer: ...

    async def report(self, reports: list[PermitReport], timeout: float) -> list[ReportResult | Error]: ...


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Plays a coroutine whose Io never suspends it."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    coroutine.close()
    raise RuntimeError("a synchronous call was suspended")


def is_unreachable(failure: Error) -> bool:
    return failure.code in (Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED)


def is_sent_away(failure: Error) -> bool:
    """By a server that stops, and says when to come back: to the same address, where another is by
    then."""
    return failure.code is Code.UNAVAILABLE and failure.retry_delay is not None


def stood_in_line(answer: Answer, sent: float, took: float) -> bool:
    """Whether the server let it stand in line, so that it need not wait here.

    One that does not, since it knows no line or this one is full, answers at once. By both clocks, so
    that nothing that a server says makes the client spin.
    """
    return sent > 0 and answer.waited is not None and min(answer.waited, took) >= sent / 2


class Core:
    """Thread-safe, as its parts are."""

    def __init__(self, options: CallOptions, seed: int | None) -> None:
        self.options = options
        self.jitter = Jitter(seed)
        self._fallback = Fallback(options.on_unreachable, options.outage_pause)
        self.closed = False

    def must_be_open(self) -> None:
        """Else a call that waits would connect again, and nobody would send the report of its permit."""
        if self.closed:
            raise RuntimeError("the client is closed")

    def after_fork(self) -> None:
        self.jitter.after_fork()
        self._fallback.after_fork()

    def complete(self, work: Work) -> CheckRequest:
        """With the client's own names where the work has none. Raises InvalidArgumentError."""
        request = CheckRequest(**work)
        check_request(request)
        self.must_be_open()
        new_id = "" if request.validate_only else self.jitter.request_id()
        return replace(
            request,
            identity=request.identity or self.options.identity,
            target=request.target or self.options.target,
            request_id=request.request_id or new_id,
        )

    async def check(self, io: Io, work: Work) -> Answer:
        request = self.complete(work)
        return await self._ask(io, request, request.max_wait + self.options.check_deadline)

    async def check_or_wait(self, io: Io, work: Work, max_wait: float) -> Answer:
        """The answer that allows it."""
        request = self.complete(work)
        check_wait(max_wait)
        return await _Wait(self, io, request, max_wait).run()

    async def report_now(self, io: Io, report: PermitReport) -> ReportResult:
        async def call(timeout: float) -> list[ReportResult | Error]:
            return await io.report([report], timeout)

        check_permit_id(report.permit_id)
        check_report(report.actual_cost, report.busy_time)
        results = await self._retry(io, self.options.check_deadline, call)
        if len(results) != 1:
            raise error(Code.INTERNAL, "one report got several results, or none")
        if isinstance(results[0], Error):
            raise results[0]
        return results[0]

    async def ask_in_line(self, io: Io, request: CheckRequest, left: float) -> tuple[Answer, float]:
        """One slice of a wait: the answer, and for how long the Check was to wait in the server."""
        return await self._ask_in_line(io, request, left, self._ask)

    async def ask_for_lease(self, io: Io, request: CheckRequest, left: float) -> tuple[Answer, float]:
        """The same, but where nobody answers that is always an error: what on_unreachable says holds for
        each piece of a lease, which `decide_alone` tells, and not for the lease."""
        return await self._ask_in_line(io, request, left, self._ask_server)

    def decide_alone(self, cost: float, now: float) -> Answer:
        """What on_unreachable says of one piece while nobody answers, where it decides."""
        return self._fallback.decide(CheckRequest(estimated_cost=cost), now)

    async def _ask_in_line(
        self, io: Io, request: CheckRequest, left: float, ask: _Ask
    ) -> tuple[Answer, float]:
        deadline = self.options.check_deadline
        if left < _SHORTEST_WAIT:
            return await ask(io, replace(request, max_wait=0.0), deadline), 0.0
        if self._fallback.is_answered:
            wait = min(left, _LONGEST_SLICE)
            timeout = deadline + wait
        else:
            wait = min(left, _LONGEST_SLICE, deadline / 2)
            timeout = deadline
        return await ask(io, replace(request, max_wait=wait), timeout), wait

    async def _ask(self, io: Io, request: CheckRequest, timeout: float) -> Answer:
        try:
            return await self._ask_server(io, request, timeout)
        except Error as failure:
            # Who is sent away from the line comes back to the next server.
            comes_back = request.max_wait > 0 and is_sent_away(failure)
            if not self._fallback.decides or not is_unreachable(failure) or comes_back:
                raise
            return self._fallback.decide(request, io.now())

    async def _ask_server(self, io: Io, request: CheckRequest, timeout: float) -> Answer:
        async def call(left: float) -> Answer:
            # The rest is for the way there and back.
            longest = max(left - self.options.check_deadline, left / 2)
            if request.max_wait <= longest:
                return await io.check(request, left)
            return await io.check(replace(request, max_wait=longest), left)

        if not self._fallback.may_ask(io.now()):
            raise error(Code.UNAVAILABLE, "Headgate was unreachable just now, and is not asked yet")
        try:
            answer = await self._retry(io, timeout, call)
        except Error as failure:
            self._note_failure(io, request, failure)
            raise
        self._fallback.succeeded()
        return answer

    def _note_failure(self, io: Io, request: CheckRequest, failure: Error) -> None:
        if failure.code is Code.CANCELLED:
            return
        if not is_unreachable(failure):
            self._fallback.succeeded()  # it answered, if with an error
        elif request.max_wait > 0 and is_sent_away(failure):
            self._fallback.sent_away()
        else:
            self._fallback.failed(io.now())

    async def _retry(self, io: Io, timeout: float, call: Callable[[float], Awaitable[T]]) -> T:
        """Only UNAVAILABLE is tried again, for a check_deadline from the first such failure on."""
        give_up_at = io.now() + timeout
        failures = 0
        while True:
            self.must_be_open()
            try:
                return await call(timeout)
            except Error as failure:
                self.must_be_open()
                if failure.code is not Code.UNAVAILABLE:
                    raise
                if failures == 0:
                    give_up_at = min(give_up_at, io.now() + self.options.check_deadline)
                pause = max(
                    self.jitter.backoff(failures, _FIRST_RETRY, _LONGEST_RETRY),
                    failure.retry_delay or 0.0,
                )
                if io.now() + pause >= give_up_at:
                    raise
                failures += 1
                last = failure
            await io.sleep(pause)
            timeout = give_up_at - io.now()
            if timeout <= 0:
                raise last


class _Wait:
    """One check_or_wait."""

    def __init__(self, core: Core, io: Io, request: CheckRequest, max_wait: float) -> None:
        self._core = core
        self._io = io
        self._request = request
        self._max_wait = max_wait
        self._deadline = io.now() + max_wait
        self._failures = 0  # in a row
        self._returns_until = -math.inf  # to a server that comes after one that has stopped

    async def run(self) -> Answer:
        asked = 0
        while True:
            asked += 1
            asked_at = self._io.now()
            said: Answer | Error
            sent = 0.0
            try:
                said, sent = await self._core.ask_in_line(
                    self._io, self._request, self._deadline - asked_at
                )
                if said.allowed:
                    return said
                pause = self._pause_after_denial(said)
            except Error as failure:
                if failure.code is Code.FAILED_PRECONDITION:
                    raise
                said = failure
                pause = self._pause_after_failure(failure)
            now = self._io.now()
            left = self._deadline - now
            if left <= 0:
                raise self._too_late(asked, said)
            if isinstance(said, Answer) and stood_in_line(said, sent, now - asked_at):
                if left < _SHORTEST_WAIT:
                    raise self._too_late(asked, said)
                continue
            wait = max(min(pause, self._core.options.longest_wait), _SHORTEST_WAIT)
            # To the end even if it will be too early: who calls in a loop then does not call all the
            # time.
            await self._io.sleep(min(self._core.jitter.at_least(wait), left))
            if wait >= left:
                raise self._too_late(asked, said)

    def _pause_after_denial(self, answer: Answer) -> float:
        self._failures = 0
        if answer.retry_after is None:
            raise error(
                Code.FAILED_PRECONDITION,
                f"denied, and waiting will not change that: {answer.message}",
            )
        return answer.retry_after

    def _pause_after_failure(self, failure: Error) -> float:
        options = self._core.options
        now = self._io.now()
        if is_sent_away(failure):
            self._returns_until = now + options.longest_wait
        waits = options.on_unreachable.waits or now < self._returns_until
        if failure.code is not Code.RESOURCE_EXHAUSTED and not (waits and is_unreachable(failure)):
            raise failure
        pause = self._core.jitter.backoff(self._failures, FIRST_PAUSE, LONGEST_PAUSE)
        self._failures += 1
        return max(pause, failure.retry_delay or 0.0)

    def _too_late(self, asked: int, said: Answer | Error) -> Error:
        last = said.message if isinstance(said, Answer) else str(said)
        times = "time" if asked == 1 else "times"
        return error(
            Code.DEADLINE_EXCEEDED,
            f"{self._request.identity} got no permit within {self._max_wait:g} s, "
            f"having asked {asked} {times}; at last: {last}",
        )
