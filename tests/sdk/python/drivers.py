"""Plays the steps of a scenario with the one client or the other, behind one synchronous interface."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import headgate
from headgate.testing import FakeHeadgate

Options = dict[str, Any]
T = TypeVar("T")


class Pending(Protocol):
    """A call that goes on in the background."""

    def cancel(self) -> None: ...

    def result(self) -> Any: ...


class Driver(Protocol):
    """`call` and its kin play `action(client)`, of which an asynchronous client's result is awaited."""

    def new_client(self, address: str, options: Options) -> Any: ...

    def fake_client(self, fake: FakeHeadgate, options: Options) -> Any: ...

    def call(self, action: Callable[..., Any], client: Any, work: Options, *, cancelled: bool) -> Any: ...

    def begin(self, action: Callable[..., Any], client: Any, work: Options) -> Pending: ...

    def end(self, permit: headgate.Permit, failure: Exception | None) -> None: ...

    def chunks(self, client: Any, work: Options) -> list[int]: ...

    def finish(self) -> None: ...


class SyncDriver:
    def new_client(self, address: str, options: Options) -> headgate.Client:
        return headgate.Client(address, **options)

    def fake_client(self, fake: FakeHeadgate, options: Options) -> headgate.Client:
        return fake.client(**options)

    def call(self, action: Callable[..., Any], client: Any, work: Options, *, cancelled: bool) -> Any:
        if cancelled:
            work = {**work, "cancellation": headgate.Cancellation()}
            work["cancellation"].cancel()
        return action(client, **work)

    def begin(self, action: Callable[..., Any], client: Any, work: Options) -> Pending:
        return _Thread(action, client, work)

    def end(self, permit: headgate.Permit, failure: Exception | None) -> None:
        with contextlib.suppress(ZeroDivisionError), permit:
            if failure is not None:
                raise failure

    def chunks(self, client: Any, work: Options) -> list[int]:
        sizes: list[int] = []
        _collect(sizes, client.chunks(**work))
        return sizes

    def finish(self) -> None: ...


class ChunksError(Exception):
    """The sizes of chunks up to the error that ended them."""

    def __init__(self, sizes: list[int], cause: headgate.Error) -> None:
        super().__init__(str(cause))
        self.sizes = sizes
        self.cause = cause


def _collect(sizes: list[int], chunks: Any) -> None:
    first = 0
    try:
        for chunk in chunks:
            assert chunk.first == first
            first = chunk.end
            sizes.append(chunk.size)
    except headgate.Error as failure:
        raise ChunksError(sizes, failure) from failure


class _Thread:
    def __init__(self, action: Callable[..., Any], client: Any, work: Options) -> None:
        self._stop = headgate.Cancellation()
        self._future: concurrent.futures.Future[Any] = concurrent.futures.Future()

        def play() -> None:
            try:
                self._future.set_result(action(client, **work, cancellation=self._stop))
            except BaseException as failure:
                self._future.set_exception(failure)

        threading.Thread(target=play, daemon=True).start()

    def cancel(self) -> None:
        self._stop.cancel()

    def result(self) -> Any:
        return self._future.result(60)


class AsyncDriver:
    """With an event loop in a thread of its own."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._process = os.getpid()

    def new_client(self, address: str, options: Options) -> headgate.AsyncClient:
        return self._run(_made(headgate.AsyncClient, address, **options))

    def fake_client(self, fake: FakeHeadgate, options: Options) -> headgate.AsyncClient:
        return self._run(_made(fake.async_client, **options))

    def call(self, action: Callable[..., Any], client: Any, work: Options, *, cancelled: bool) -> Any:
        if not cancelled:
            return self._run(_called(action, client, work))
        return self._run(_cancelled(action, client, work))

    def begin(self, action: Callable[..., Any], client: Any, work: Options) -> Pending:
        return _Task(asyncio.run_coroutine_threadsafe(_called(action, client, work), self._loop))

    def end(self, permit: headgate.Permit, failure: Exception | None) -> None:
        async def leave() -> None:
            with contextlib.suppress(ZeroDivisionError), permit:
                if failure is not None:
                    raise failure

        self._run(leave())

    def chunks(self, client: Any, work: Options) -> list[int]:
        async def collect() -> list[int]:
            sizes: list[int] = []
            try:
                async for chunk in client.chunks(**work):
                    assert chunk.first == sum(sizes)
                    sizes.append(chunk.size)
            except headgate.Error as failure:
                raise ChunksError(sizes, failure) from failure
            return sizes

        return self._run(collect())

    def finish(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(60)


@dataclass
class _Task:
    future: concurrent.futures.Future[Any]

    def cancel(self) -> None:
        self.future.cancel()

    def result(self) -> Any:
        try:
            return self.future.result(60)
        except concurrent.futures.CancelledError as failure:
            raise _cancelled_error() from failure


def _cancelled_error() -> headgate.Error:
    return headgate.CancelledError(headgate.Code.CANCELLED, "the task was cancelled")


async def _made(make: Callable[..., T], *arguments: Any, **options: Any) -> T:
    return make(*arguments, **options)


async def _called(action: Callable[..., Any], client: Any, work: Options) -> Any:
    result = action(client, **work)
    return await result if asyncio.iscoroutine(result) else result


async def _cancelled(action: Callable[..., Any], client: Any, work: Options) -> Any:
    task = asyncio.create_task(_called(action, client, work))
    await asyncio.sleep(0)
    task.cancel()
    try:
        return await task
    except asyncio.CancelledError as failure:
        raise _cancelled_error() from failure
