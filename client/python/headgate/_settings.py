"""The keywords that make a client, the same for both kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from headgate._clock import Clock
from headgate._options import CallOptions, OnUnreachable, TlsOptions

if TYPE_CHECKING:
    from typing_extensions import Unpack


class ClientOptions(TypedDict, total=False):
    """All of them may be left out. Times are seconds."""

    identity: str
    """Of Checks that name none."""
    target: str
    """Of Checks that name none."""
    check_deadline: float
    """For one answer, retries included, beyond the time for which it may wait in the server; 0.25."""
    longest_wait: float
    """Where check_or_wait does not wait in the server, it asks again after this long at most, whatever
    retry_after says: meanwhile the database may have recovered, or the rules been changed; 10."""
    outage_pause: float
    """Once Headgate was unreachable, proceed and floor_rate decide without asking for this long, so
    that an outage does not cost each chunk a deadline; 1."""
    max_queued_reports: int
    """When so many reports wait to be sent, further ones are dropped; 65536."""
    flush_timeout: float
    """How long `close` may take to send what is queued; 2."""
    tls: TlsOptions | None
    """Absent: plaintext."""
    token_file: str
    """A file with a bearer token, sent with each call; only over TLS. Read again when it changes."""
    seed: int | None
    """Of request ids and jitter. Absent: drawn from the system, and different in each process, as
    request ids have to be. For tests."""
    clock: Clock | None
    """Absent: the real time. For tests."""


def call_options(on_unreachable: OnUnreachable, **options: Unpack[ClientOptions]) -> CallOptions:
    """Those that say how it asks. Raises InvalidArgumentError."""
    of_the_connection = ("tls", "token_file", "seed", "clock")
    asking = {name: value for name, value in options.items() if name not in of_the_connection}
    return CallOptions(on_unreachable, **asking)  # type: ignore[arg-type]
