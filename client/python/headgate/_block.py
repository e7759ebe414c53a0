"""What `permit` of a client returns: a block of code, or each call of a function, under a permit."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from headgate._permit import Permit

P = ParamSpec("P")
T = TypeVar("T")


class PermitBlock:
    """`with` asks for a permit and its end reports it; one block at a time."""

    def __init__(self, ask: Callable[[], Permit]) -> None:
        self._ask = ask
        self._place = _Place()

    def __enter__(self) -> Permit:
        with self._place.taken():
            return self._place.keep(self._ask())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._place.leave().report()

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        if not _does_its_work_when_called(function):
            raise TypeError(
                f"permit: {_name(function)} is a coroutine function or a generator, and would do its work"
                " when the permit is reported already; take an AsyncClient, or `with client.permit(...)`"
                " within it"
            )

        @functools.wraps(function)
        def under_a_permit(*args: P.args, **kwargs: P.kwargs) -> T:
            with self._ask():
                return function(*args, **kwargs)

        return under_a_permit


class AsyncPermitBlock:
    """The same by `async with`, and on coroutine functions."""

    def __init__(self, ask: Callable[[], Coroutine[Any, Any, Permit]]) -> None:
        self._ask = ask
        self._place = _Place()

    async def __aenter__(self) -> Permit:
        with self._place.taken():
            return self._place.keep(await self._ask())

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._place.leave().report()

    def __call__(self, function: Callable[P, Awaitable[T]]) -> Callable[P, Coroutine[Any, Any, T]]:
        if not inspect.iscoroutinefunction(function):
            raise TypeError(
                f"permit: {_name(function)} is not a coroutine function;"
                " take `async with client.permit(...)`"
            )

        @functools.wraps(function)
        async def under_a_permit(*args: P.args, **kwargs: P.kwargs) -> T:
            with await self._ask():
                return await function(*args, **kwargs)

        return under_a_permit


def _does_its_work_when_called(function: Callable[..., Any]) -> bool:
    return not (
        inspect.iscoroutinefunction(function)
        or inspect.isgeneratorfunction(function)
        or inspect.isasyncgenfunction(function)
    )


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", repr(function))


class _Place:
    """For the permit of one block at a time, which is taken from the moment that it is asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._permit: Permit | None = None

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Until `leave`, if what follows does not raise."""
        if not self._lock.acquire(blocking=False):
            raise RuntimeError("this permit(...) has a block already: call permit(...) for each")
        try:
            yield
        except BaseException:
            self._lock.release()
            raise

    def keep(self, permit: Permit) -> Permit:
        self._permit = permit
        return permit

    def leave(self) -> Permit:
        permit, self._permit = self._permit, None
        assert permit is not None
        self._lock.release()
        return permit
