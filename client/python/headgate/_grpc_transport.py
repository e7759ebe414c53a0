"""The transports that clients use by themselves. They connect when they are first used.

They ask the owner of a target directly where they know one and can reach it, and else the address that they
were given, which answers for all.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import grpc
import grpc.aio

from headgate import _convert, _forks
from headgate._clock import LONGEST, Cancellation, Clock
from headgate._connections import Connections, Metadata, make_channel
from headgate._errors import Code, Error, error
from headgate._lease_types import LeaseWatch
from headgate._options import ConnectionOptions
from headgate._owners import KnownOwners, is_decided, left_for_the_other_way, once_more, owner_in
from headgate._probe import Probes
from headgate._types import Answer, CheckRequest, PermitReport, ReportResult

# How long calls may take to end before a fork. Those that wait are cut, others last for milliseconds.
_LONGEST_FORK = 2.0
# gRPC has a thread for calls that may be cut, which ends a moment after the last of them. While it is in
# gRPC, gRPC leaves out its own part of a fork, and parent and child then share what they wait on. So it is
# waited for. (Where its only call had ended before anybody could ask, it is not known: see _forks.)
# Channels of the parent, in a forked child. To destroy one would take threads that are not there.
_ABANDONED: list[Any] = []


class _CutByForkError(Exception):
    """Nobody has failed: it is to be made again afterwards."""


class GrpcTransport:
    """Thread-safe, and lives through forks."""

    def __init__(self, options: ConnectionOptions, clock: Clock) -> None:
        self._connections = Connections(options, clock, make_channel)
        self._probes = Probes(self._keep)
        self._owners = KnownOwners(options, clock, make_channel, self._probes.is_answered)
        self._changed = threading.Condition()  # guards what follows
        self._calls = 0
        self._long_calls: set[Any] = set()  # that may be cut short; until gRPC's thread has done with them
        self._threads_of_grpc: set[threading.Thread] = set()  # that have done with calls
        self._cut: set[Any] = set()  # by the fork that is under way
        self._forking = False
        _forks.register(self)

    def check(self, request: CheckRequest, timeout: float, cancellation: Cancellation | None) -> Answer:
        began = time.monotonic()
        max_wait = request.max_wait
        left, waited = timeout, 0.0
        while True:
            try:
                with self._call_in_progress():
                    answer = self._check(request, left, cancellation)
                break
            except _CutByForkError:
                # It is the same Check, and has been in line for all that time. The server was not slow.
                waited = time.monotonic() - began
                left = max(timeout - waited, timeout - max_wait)
                request = replace(request, max_wait=max(max_wait - waited, 0.0))
        if waited == 0 or answer.waited is None:
            return answer
        return replace(answer, waited=answer.waited + waited)

    def _check(self, request: CheckRequest, timeout: float, cancellation: Cancellation | None) -> Answer:
        owner = self._owners.ready_for(request.target)
        if owner is None:
            return self._check_at(self._connections, request, timeout, cancellation)
        rest = left_for_the_other_way(timeout, request.max_wait)
        end = time.monotonic() + timeout
        try:
            return self._check_at(owner, request, timeout - rest, cancellation)
        except Error as failure:
            left = end - time.monotonic()
            if is_decided(failure):
                raise
            self._owners.forget(owner)
            if left <= 0:
                raise
        return self._check_at(self._connections, once_more(request, left, rest), left, cancellation)

    def _check_at(
        self,
        server: Connections,
        request: CheckRequest,
        timeout: float,
        cancellation: Cancellation | None,
    ) -> Answer:
        proto = _convert.check_request(request)
        waits = request.max_wait > 0
        connection, metadata = server.take(waits)
        try:
            if waits or cancellation is not None:
                response, trailer = self._call_long(
                    connection.check, proto, timeout, metadata, cancellation
                )
            else:
                response, trailer = _call(connection.check, proto, timeout, metadata)
        finally:
            if waits:
                server.give_back(connection)
        owner = owner_in(trailer, request.target)
        if owner or server is self._connections:
            self._owners.learn(request.target, owner)
        return _convert.answer(response)

    def watch_lease(self, watch: LeaseWatch, timeout: float, cancellation: Cancellation | None) -> int:
        while True:
            try:
                with self._call_in_progress():
                    return self._watch_lease(watch, timeout, cancellation)
            except _CutByForkError:
                continue

    def _watch_lease(self, watch: LeaseWatch, timeout: float, cancellation: Cancellation | None) -> int:
        # Whoever decides knows of gates, and of what it decides, before others do.
        owner = self._owners.ready_for(watch.target)
        server = self._connections if owner is None else owner
        proto = _convert.lease_watch(watch)
        connection, metadata = server.take(True)
        try:
            response, _ = self._call_long(connection.check, proto, timeout, metadata, cancellation)
        except Error as failure:
            if owner is not None and not is_decided(failure):
                self._owners.forget(owner)
            raise
        finally:
            server.give_back(connection)
        return _convert.state_of(response)

    def report(
        self, reports: list[PermitReport], timeout: float, cancellation: Cancellation | None
    ) -> list[ReportResult | Error]:
        end = time.monotonic() + timeout
        while True:
            try:
                with self._call_in_progress():
                    return self._report(reports, end - time.monotonic(), cancellation)
            except _CutByForkError:
                continue

    def _report(
        self, reports: list[PermitReport], timeout: float, cancellation: Cancellation | None
    ) -> list[ReportResult | Error]:
        # Any server settles them all; the one that answered last has most likely issued the permits.
        owner = self._owners.ready_last()
        if owner is None:
            return self._report_at(self._connections, reports, timeout, cancellation)
        end = time.monotonic() + timeout
        try:
            return self._report_at(owner, reports, timeout / 2, cancellation)
        except Error as failure:
            if is_decided(failure):
                raise
            self._owners.forget(owner)
        return self._report_at(self._connections, reports, end - time.monotonic(), cancellation)

    def _report_at(
        self,
        server: Connections,
        reports: list[PermitReport],
        timeout: float,
        cancellation: Cancellation | None,
    ) -> list[ReportResult | Error]:
        proto = _convert.report_request(reports)
        connection, metadata = server.take(False)
        response, _ = self._call_long(connection.report, proto, timeout, metadata, cancellation)
        return _convert.results(response)

    def close(self) -> None:
        for channel in [*self._connections.take_all(), *self._owners.take_all()]:
            channel.close()

    def _keep(self, call: Any) -> None:
        """It is cut when the process forks."""
        with self._changed:
            self._long_calls.add(call)
            if self._forking:
                self._cut.add(call)
                call.cancel()
        caller = threading.current_thread()
        call.add_done_callback(lambda ended: self._forget(ended, caller))

    def _forget(self, call: Any, caller: threading.Thread) -> None:
        """By gRPC's thread, or by the caller's, if the call had ended before."""
        thread = threading.current_thread()
        with self._changed:
            self._long_calls.discard(call)
            if thread is not caller:
                self._threads_of_grpc = {each for each in self._threads_of_grpc if each.is_alive()} | {
                    thread
                }
            if self._forking:
                self._changed.notify_all()

    def _call_long(
        self, method: Any, proto: Any, timeout: float, metadata: Metadata, cancellation: Cancellation | None
    ) -> Any:
        """A call that is cut when the caller cancels it, or the process forks."""
        try:
            future = method.future(proto, timeout=_bounded(timeout), metadata=metadata)
        except ValueError as closed:
            raise _closed() from closed
        self._keep(future)
        forget = cancellation.on_cancel(future.cancel) if cancellation is not None else None
        try:
            return future.result(), future.trailing_metadata()
        except (grpc.RpcError, grpc.FutureCancelledError) as failure:
            cancelled = cancellation is not None and cancellation.is_cancelled
            if not cancelled and self._is_cut_by_fork(future):
                raise _CutByForkError from failure
            if isinstance(failure, grpc.RpcError):
                raise _convert.call_error(failure, cancelled) from failure
            code = Code.CANCELLED if cancelled else Code.UNAVAILABLE
            raise error(code, "the call was cut") from failure
        finally:
            if forget is not None:
                forget()

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

    def _is_cut_by_fork(self, call: Any) -> bool:
        with self._changed:
            return call in self._cut

    def before_fork(self) -> None:
        with self._changed:
            self._forking = True
            long_calls = list(self._long_calls)
            self._cut = set(long_calls)
        for call in long_calls:
            call.cancel()
        with self._changed:
            self._changed.wait_for(lambda: self._calls == 0 and not self._long_calls, _LONGEST_FORK)
            threads = self._threads_of_grpc - {threading.current_thread()}
        for thread in threads:
            thread.join(_LONGEST_FORK)

    def after_fork_in_parent(self) -> None:
        with self._changed:
            self._forking = False
            self._changed.notify_all()

    def after_fork_in_child(self) -> None:
        self._changed = threading.Condition()
        self._calls = 0
        self._long_calls = set()
        self._threads_of_grpc = set()
        self._cut = set()
        self._forking = False
        _ABANDONED.extend([*self._connections.abandon(), *self._owners.abandon()])
        self._probes.abandon()


def _call(method: Any, proto: Any, timeout: float, metadata: Metadata) -> Any:
    try:
        response, call = method.with_call(proto, timeout=_bounded(timeout), metadata=metadata)
        return response, call.trailing_metadata()
    except grpc.RpcError as failure:
        raise _convert.call_error(failure, cancelled=False) from failure
    except ValueError as closed:
        raise _closed() from closed


def _closed() -> Error:
    """By another thread, between this call and its channel."""
    return error(Code.UNAVAILABLE, "the client is closed")


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
        self._owners = KnownOwners(options, clock, _make_aio_channel, _is_connected)
        self._process = os.getpid()
        self._loop: asyncio.AbstractEventLoop | None = None  # none has used it yet
        self._closed = False

    async def check(self, request: CheckRequest, timeout: float) -> Answer:
        self._must_be_at_home()
        owner = self._owners.ready_for(request.target)
        if owner is None:
            return await self._check_at(self._connections, request, timeout)
        rest = left_for_the_other_way(timeout, request.max_wait)
        end = time.monotonic() + timeout
        try:
            return await self._check_at(owner, request, timeout - rest)
        except Error as failure:
            left = end - time.monotonic()
            if is_decided(failure):
                raise
            self._owners.forget(owner)
            if left <= 0:
                raise
        return await self._check_at(self._connections, once_more(request, left, rest), left)

    async def _check_at(self, server: Connections, request: CheckRequest, timeout: float) -> Answer:
        waits = request.max_wait > 0
        connection, metadata = server.take(waits)
        try:
            proto = _convert.check_request(request)
            response, trailer = await self._await(connection.check, proto, timeout, metadata)
        finally:
            if waits:
                server.give_back(connection)
        owner = owner_in(trailer, request.target)
        if owner or server is self._connections:
            self._owners.learn(request.target, owner)
        return _convert.answer(response)

    async def watch_lease(self, watch: LeaseWatch, timeout: float) -> int:
        self._must_be_at_home()
        owner = self._owners.ready_for(watch.target)
        server = self._connections if owner is None else owner
        connection, metadata = server.take(True)
        try:
            response, _ = await self._await(
                connection.check, _convert.lease_watch(watch), timeout, metadata
            )
        except Error as failure:
            if owner is not None and not is_decided(failure):
                self._owners.forget(owner)
            raise
        finally:
            server.give_back(connection)
        return _convert.state_of(response)

    async def report(self, reports: list[PermitReport], timeout: float) -> list[ReportResult | Error]:
        self._must_be_at_home()
        owner = self._owners.ready_last()
        if owner is None:
            return await self._report_at(self._connections, reports, timeout)
        end = time.monotonic() + timeout
        try:
            return await self._report_at(owner, reports, timeout / 2)
        except Error as failure:
            if is_decided(failure):
                raise
            self._owners.forget(owner)
        return await self._report_at(self._connections, reports, end - time.monotonic())

    async def _report_at(
        self, server: Connections, reports: list[PermitReport], timeout: float
    ) -> list[ReportResult | Error]:
        connection, metadata = server.take(False)
        response, _ = await self._await(
            connection.report, _convert.report_request(reports), timeout, metadata
        )
        return _convert.results(response)

    async def close(self) -> None:
        self._must_be_at_home()
        self._closed = True
        for channel in [*self._connections.take_all(), *self._owners.take_all()]:
            await channel.close()

    async def _await(self, method: Any, proto: Any, timeout: float, metadata: Metadata) -> Any:
        call = method(proto, timeout=_bounded(timeout), metadata=metadata)
        try:
            return await call, await call.trailing_metadata()
        except grpc.RpcError as failure:
            raise _convert.call_error(failure, cancelled=False) from failure
        except asyncio.CancelledError:
            # That is how gRPC ends the calls of a channel that is closed, too.
            if self._closed and not _is_cancelled(asyncio.current_task()):
                raise _closed() from None
            raise

    def _must_be_at_home(self) -> None:
        if os.getpid() != self._process:
            raise RuntimeError(
                "an AsyncClient does not work in a process that was forked since: gRPC's asyncio has a"
                " thread, which stays behind. Fork before the first event loop, or use a Client"
            )
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        if self._loop is not loop:
            raise RuntimeError(
                "an AsyncClient is for the event loop that uses it first: make another one for this loop"
            )


def _is_connected(server: Connections) -> bool:
    """If not, it is being connected from now on."""
    connection, _ = server.take(False)
    return bool(connection.channel.get_state(try_to_connect=True) is grpc.ChannelConnectivity.READY)


def _is_cancelled(task: asyncio.Task[Any] | None) -> bool:
    """By somebody. Before Python 3.11 a task does not tell: then it is not."""
    return task is not None and hasattr(task, "cancelling") and task.cancelling() > 0
