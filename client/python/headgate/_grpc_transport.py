"""The transports that clients use by themselves. They connect when they are first used."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import grpc
import grpc.aio

from headgate import _convert, _forks
from headgate._clock import LONGEST, Cancellation, Clock
from headgate._connections import Connection, Connections, Metadata, make_channel
from headgate._errors import Code, Error, error
from headgate._options import ConnectionOptions
from headgate._types import Answer, CheckRequest, PermitReport, ReportResult

# How long calls may take to end before a fork. Those that wait are cut, others last for milliseconds.
_LONGEST_FORK = 2.0
# gRPC has a thread for calls that may be cut, which ends a moment after the last of them.
_THREAD_ENDS = 0.005
# Channels of the parent, in a forked child. To destroy one would take threads that are not there.
_ABANDONED: list[Any] = []


class GrpcTransport:
    """Thread-safe, and lives through forks."""

    def __init__(self, options: ConnectionOptions, clock: Clock) -> None:
        self._connections = Connections(options, clock, make_channel)
        self._changed = threading.Condition()  # guards what follows
        self._calls = 0
        self._long_calls: set[Any] = set()  # those of them that somebody may cut short
        self._forking = False
        _forks.register(self)

    def check(self, request: CheckRequest, timeout: float, cancellation: Cancellation | None) -> Answer:
        proto = _convert.check_request(request)
        waits = request.max_wait > 0
        with self._call_in_progress():
            connection, metadata = self._connections.take(waits)
            try:
                if waits or cancellation is not None:
                    return _convert.answer(
                        self._call_long(connection.check, proto, timeout, metadata, cancellation)
                    )
                return _convert.answer(_call(connection.check, proto, timeout, metadata))
            finally:
                if waits:
                    self._connections.give_back(connection)

    def report(
        self, reports: list[PermitReport], timeout: float, cancellation: Cancellation | None
    ) -> list[ReportResult | Error]:
        proto = _convert.report_request(reports)
        with self._call_in_progress():
            connection, metadata = self._connections.take(False)
            return _convert.results(
                self._call_long(connection.report, proto, timeout, metadata, cancellation)
            )

    def close(self) -> None:
        for channel in self._connections.take_all():
            channel.close()

    def _call_long(
        self, method: Any, proto: Any, timeout: float, metadata: Metadata, cancellation: Cancellation | None
    ) -> Any:
        """A call that is cut when the caller cancels it, or the process forks."""
        future = method.future(proto, timeout=_bounded(timeout), metadata=metadata)
        with self._changed:
            self._long_calls.add(future)
            if self._forking:
                future.cancel()
        forget = cancellation.on_cancel(future.cancel) if cancellation is not None else None
        try:
            return future.result()
        except (grpc.RpcError, grpc.FutureCancelledError) as failure:
            cancelled = cancellation is not None and cancellation.is_cancelled
            if isinstance(failure, grpc.RpcError):
                raise _convert.call_error(failure, cancelled) from failure
            code = Code.CANCELLED if cancelled else Code.UNAVAILABLE
            raise error(code, "the call was cut") from failure
        finally:
            if forget is not None:
                forget()
            with self._changed:
                self._long_calls.discard(future)

    @contextlib.contextmanager
    def _call_in_progress(self) -> Iterator[None]:
        """None is while the process forks."""
        with self._changed:
            while self._forking:
                self._changed.wait()
            self._calls += 1
        try:
            yield
        finally:
            with self._changed:
                self._calls -= 1
                if self._forking:
                    self._changed.notify_all()

    def before_fork(self) -> None:
        with self._changed:
            self._forking = True
            long_calls = list(self._long_calls)
        for call in long_calls:
            call.cancel()
        with self._changed:
            self._changed.wait_for(lambda: self._calls == 0, _LONGEST_FORK)
        if long_calls:
            time.sleep(_THREAD_ENDS)

    def after_fork_in_parent(self) -> None:
        with self._changed:
            self._forking = False
            self._changed.notify_all()

    def after_fork_in_child(self) -> None:
        self._changed = threading.Condition()
        self._calls = 0
        self._long_calls = set()
        self._forking = False
        _ABANDONED.extend(self._connections.abandon())


def _call(method: Any, proto: Any, timeout: float, metadata: Metadata) -> Any:
    try:
        return method(proto, timeout=_bounded(timeout), metadata=metadata)
    except grpc.RpcError as failure:
        raise _convert.call_error(failure, cancelled=False) from failure


def _bounded(timeout: float) -> float:
    return min(max(timeout, 0.0), LONGEST)


def _make_aio_channel(
    address: str, credentials: grpc.ChannelCredentials | None, options: list[tuple[str, Any]]
) -> Any:
    if credentials is None:
        return grpc.aio.insecure_channel(address, options)
    return grpc.aio.secure_channel(address, credentials, options)


class AsyncGrpcTransport:
    """For the event loop that uses it first. It does not come along into a forked process."""

    def __init__(self, options: ConnectionOptions, clock: Clock) -> None:
        self._connections = Connections(options, clock, _make_aio_channel)
        self._process = os.getpid()

    async def check(self, request: CheckRequest, timeout: float) -> Answer:
        waits = request.max_wait > 0
        connection, metadata = self._take(waits)
        try:
            proto = _convert.check_request(request)
            return _convert.answer(await _await(connection.check, proto, timeout, metadata))
        finally:
            if waits:
                self._connections.give_back(connection)

    async def report(self, reports: list[PermitReport], timeout: float) -> list[ReportResult | Error]:
        connection, metadata = self._take(False)
        proto = _convert.report_request(reports)
        return _convert.results(await _await(connection.report, proto, timeout, metadata))

    async def close(self) -> None:
        for channel in self._connections.take_all():
            await channel.close()

    def _take(self, waits: bool) -> tuple[Connection, Metadata]:
        if os.getpid() != self._process:
            raise RuntimeError(
                "an AsyncClient does not work in a process that was forked since: gRPC's asyncio has a"
                " thread, which stays behind. Fork before the first event loop, or use a Client"
            )
        return self._connections.take(waits)


async def _await(method: Any, proto: Any, timeout: float, metadata: Metadata) -> Any:
    try:
        return await method(proto, timeout=_bounded(timeout), metadata=metadata)
    except grpc.RpcError as failure:
        raise _convert.call_error(failure, cancelled=False) from failure
