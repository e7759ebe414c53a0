"""What a client is told when it is made."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass

from headgate._checked import check_seconds, check_text
from headgate._errors import invalid


class _Kind(enum.Enum):
    FAIL = 1
    WAIT = 2
    PROCEED = 3
    FLOOR_RATE = 4


@dataclass(frozen=True)
class OnUnreachable:
    """What to do while Headgate is unreachable: no answer within the deadline, or no connection.

    There is no default: only the job knows whether it harms more by working blindly or by standing
    still.
    """

    kind: _Kind
    cost_units_per_second: float = 0.0

    @staticmethod
    def fail() -> OnUnreachable:
        """Both calls raise the error."""
        return OnUnreachable(_Kind.FAIL)

    @staticmethod
    def wait() -> OnUnreachable:
        """check_or_wait asks until its time is up. check, which never waits, raises the error."""
        return OnUnreachable(_Kind.WAIT)

    @staticmethod
    def proceed() -> OnUnreachable:
        """Everything is allowed."""
        return OnUnreachable(_Kind.PROCEED)

    @staticmethod
    def floor_rate(cost_units_per_second: float) -> OnUnreachable:
        """As much is allowed as drains at this rate, by this client's own count.

        A chunk starts when the ones before it have drained, or a day after the last. A Check without
        an estimate counts as 1.
        """
        return OnUnreachable(_Kind.FLOOR_RATE, cost_units_per_second)

    @property
    def waits(self) -> bool:
        return self.kind is _Kind.WAIT

    @property
    def decides(self) -> bool:
        """Whether it has an answer of its own."""
        return self.kind in (_Kind.PROCEED, _Kind.FLOOR_RATE)

    @property
    def is_floor_rate(self) -> bool:
        return self.kind is _Kind.FLOOR_RATE


@dataclass(frozen=True)
class TlsOptions:
    """How to reach a server over TLS. Files are PEM, and read again when they change."""

    ca_file: str = ""  # authorities that the server is verified with; empty: gRPC's own
    certificate_file: str = ""  # what the client shows, for servers that ask; both or neither
    key_file: str = ""
    server_name: str = ""  # the name that the server's certificate has to have; empty: the host


@dataclass(frozen=True)
class ConnectionOptions:
    """How a client reaches its server."""

    address: str = "127.0.0.1:8081"
    tls: TlsOptions | None = None  # None: plaintext
    token_file: str = ""  # a bearer token, sent with each call, over TLS only


@dataclass(frozen=True)
class CallOptions:
    """How a client asks, waits and reports."""

    on_unreachable: OnUnreachable
    identity: str = ""  # of Checks that name none
    target: str = ""  # of Checks that name none
    check_deadline: float = 0.25
    longest_wait: float = 10.0
    outage_pause: float = 1.0
    max_queued_reports: int = 65536
    flush_timeout: float = 2.0

    def __post_init__(self) -> None:
        if not isinstance(self.on_unreachable, OnUnreachable):
            raise invalid(
                "on_unreachable: has to be OnUnreachable.wait(), .fail(), .proceed() or .floor_rate(...);"
                f" it is {self.on_unreachable!r}"
            )
        check_text(self.identity, "identity")
        check_text(self.target, "target")
        for name in ("check_deadline", "longest_wait", "outage_pause"):
            value = getattr(self, name)
            if not check_seconds(value, name) > 0:
                raise invalid(f"{name}: {value} is not above zero")
        if not check_seconds(self.flush_timeout, "flush_timeout") >= 0:
            raise invalid("flush_timeout: is below zero")
        if self.max_queued_reports < 1:
            raise invalid("max_queued_reports: has to be at least 1")
        rate = self.on_unreachable.cost_units_per_second
        if self.on_unreachable.is_floor_rate and not (math.isfinite(rate) and rate > 0):
            raise invalid(f"on_unreachable: a floor rate of {rate} is not finite and above zero")
