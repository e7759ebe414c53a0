"""What the calls of a client raise. A denial is an answer and raises nothing in `check`."""

from __future__ import annotations

import enum


class Code(enum.IntEnum):
    """google.rpc.Code, which are gRPC's."""

    CANCELLED = 1
    UNKNOWN = 2
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    NOT_FOUND = 5
    ALREADY_EXISTS = 6
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    FAILED_PRECONDITION = 9
    ABORTED = 10
    OUT_OF_RANGE = 11
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14
    DATA_LOSS = 15
    UNAUTHENTICATED = 16


class Error(Exception):
    """Any error of a call. `code` says which."""

    def __init__(self, code: Code, message: str, retry_delay: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retry_delay = retry_delay
        """When to try again, in seconds, where the server says so."""

    def __str__(self) -> str:
        return f"{self.code.name}: {self.message}"

    def __reduce__(self) -> tuple[type[Error], tuple[Code, str, float | None]]:
        # Task queues pickle what a job raises.
        return type(self), (self.code, self.message, self.retry_delay)


class InvalidArgumentError(Error, ValueError):
    """The request or an option is wrong; the message begins with the field."""


class NotFoundError(Error, LookupError):
    """Unknown target, or a permit that this server never issued."""


class NotInTimeError(Error, TimeoutError):
    """No permit within max_wait, or no answer within check_deadline."""


class DeniedForGoodError(Error):
    """Denied, and waiting will not change that."""


class NotLoweredError(Error):
    """The process could not be lowered, or it counts for nothing; `lower_priority` says why."""


class UnreachableError(Error, ConnectionError):
    """There is no connection, and on_unreachable does not say what to do instead."""


class CancelledError(Error):
    """The Cancellation that was given to the call was cancelled."""


_CLASSES: dict[Code, type[Error]] = {
    Code.INVALID_ARGUMENT: InvalidArgumentError,
    Code.NOT_FOUND: NotFoundError,
    Code.DEADLINE_EXCEEDED: NotInTimeError,
    Code.FAILED_PRECONDITION: DeniedForGoodError,
    Code.UNAVAILABLE: UnreachableError,
    Code.CANCELLED: CancelledError,
}


def error(code: Code, message: str, retry_delay: float | None = None) -> Error:
    """The error of the class that fits the code."""
    return _CLASSES.get(code, Error)(code, message, retry_delay)


def invalid(message: str) -> Error:
    return error(Code.INVALID_ARGUMENT, message)
