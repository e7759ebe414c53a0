"""Asks for leases: sends one Check, and says what came of it in the words of a lease's state.

Once, for the synchronous and the asynchronous client, as `_core` explains.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from headgate._checked import check_cost, check_request, check_seconds
from headgate._core import FIRST_PAUSE, LONGEST_PAUSE, Core, Io, is_sent_away, is_unreachable, stood_in_line
from headgate._errors import Code, Error, error, invalid
from headgate._lease_state import LeaseState
from headgate._lease_step import Ask, Failure, LeaseOptions
from headgate._types import Answer, CheckRequest, PermitReport, ReportResult

_log = logging.getLogger("headgate")

_SHORTEST, _LONGEST = 0.1, 10.0
_LONGEST_SAFE = 60.0


@dataclass(frozen=True)
class LeasePlan:
    """What a caller asks for: how its Checks begin, and how its leases are."""

    request: CheckRequest
    options: LeaseOptions

    def state(self, core: Core) -> LeaseState:
        """Of a process: with nothing held, counted or under way."""
        jitter = core.jitter
        return LeaseState(
            self.options, core.options.on_unreachable, core.decide_alone, jitter.chance, jitter.number
        )


def plan(
    core: Core,
    *,
    identity: str = "",
    target: str = "",
    pattern: str = "",
    tags: Mapping[str, str] | None = None,
    piece: float | None = None,
    time: float = 1.0,
    safe_time: float = 10.0,
) -> LeasePlan:
    """Of the keywords that `LeaseWork` has. Raises InvalidArgumentError."""
    request = CheckRequest(identity, target, pattern=pattern, tags={} if tags is None else tags)
    check_request(request)
    if piece is not None:
        check_cost(piece, "piece")
        if piece == 0:
            raise invalid("piece: is 0, and a lease of nothing is none")
    if not _SHORTEST <= check_seconds(time, "time") <= _LONGEST:
        raise invalid(f"time: {time} is not from {_SHORTEST} to {_LONGEST} seconds")
    if not 0 <= check_seconds(safe_time, "safe_time") <= _LONGEST_SAFE:
        raise invalid(f"safe_time: {safe_time} is not from 0 to {_LONGEST_SAFE} seconds")
    core.must_be_open()
    request = replace(
        request,
        tags=dict(request.tags),
        identity=request.identity or core.options.identity,
        target=request.target or core.options.target,
    )
    options = LeaseOptions(
        request.identity, request.target, piece, time, safe_time, core.options.longest_wait
    )
    return LeasePlan(request, options)


class Asker:
    """For one ask at a time."""

    def __init__(self, core: Core, request: CheckRequest) -> None:
        self._core = core
        self._request = request
        self._failures = 0  # in a row
        self._returns_until = -math.inf  # to a server that comes after one that has stopped
        self._is_old = False  # the server, which was logged
        self._id = ""  # of an ask that was not answered: what it was granted is told again

    async def ask(self, io: Io, ask: Ask) -> Answer | Failure:
        """Raises nothing: what went wrong is told."""
        self._id = self._id or self._core.jitter.request_id()
        request = replace(self._request, request_id=self._id, estimated_cost=ask.most, lease=ask.terms)
        timed = _Timed(io, ask)
        began = io.now()
        try:
            answer, waits = await self._core.ask_for_lease(timed, request, ask.max_wait)
        except Error as failure:
            return self._failure(failure, io.now())
        except Exception as mistake:
            # Of a transport that somebody else has written, or the client was closed meanwhile.
            return self._failure(error(Code.INTERNAL, repr(mistake)), io.now())
        ask.stood_in_line = stood_in_line(answer, waits, io.now() - began)
        self._id = ""
        self._failures = 0
        if answer.lease is None and not self._is_old:
            self._is_old = True
            _log.warning(
                "this Headgate is from before there were leases: %s gets permits of whole amounts",
                request.identity,
            )
        return answer

    def _failure(self, cause: Error, now: float) -> Failure:
        if cause.code is Code.CANCELLED:
            return Failure(cause, 0.0)
        options = self._core.options
        pause = self._core.jitter.backoff(self._failures, FIRST_PAUSE, LONGEST_PAUSE)
        pause = max(pause, cause.retry_delay or 0.0)
        self._failures += 1
        if is_sent_away(cause):
            self._returns_until = now + options.longest_wait
        if not is_unreachable(cause):
            is_final = cause.code is not Code.RESOURCE_EXHAUSTED
            return Failure(cause, pause, is_final=is_final)
        if now < self._returns_until:
            return Failure(cause, pause)
        if options.on_unreachable.decides:
            pause = options.outage_pause
        return Failure(cause, pause, is_outage=True)


class _Timed:
    """An Io that notes when it asked last."""

    def __init__(self, io: Io, ask: Ask) -> None:
        self._io = io
        self._ask = ask
        self.now = io.now
        self.sleep = io.sleep

    async def check(self, request: CheckRequest, timeout: float) -> Answer:
        self._ask.sent = self.now()
        return await self._io.check(request, timeout)

    async def report(self, reports: list[PermitReport], timeout: float) -> list[ReportResult | Error]:
        return await self._io.report(reports, timeout)
