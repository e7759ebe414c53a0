"""Channels to a server: of which kind, with which credentials, and how many.

A server takes 128 calls of a connection at a time, and lets others wait. So Checks that wait in the
server have connections of their own, 100 on each: a few hundred would otherwise hold up all reports.
There are as many as it takes, and they stay.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import grpc

from headgate._checked import check_address
from headgate._clock import Clock
from headgate._errors import Error, invalid
from headgate._files import WatchedFiles, certificates, tls_paths, token_in
from headgate._options import ConnectionOptions
from headgate.v1 import throttler_service_pb2 as v1

_WAITING_ON_ONE_CONNECTION = 100
_numbers = itertools.count()

_SERVICE = "/headgate.v1.ThrottlerService/"
_OPTIONS: list[tuple[str, Any]] = [
    ("grpc.enable_http_proxy", 0),  # Headgate is near
    # gRPC's own pauses between attempts to connect grow to two minutes, far too long for a service
    # that is back after a restart of seconds.
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
    ("grpc.min_reconnect_backoff_ms", 5000),
    # Finds connections whose other end has vanished: what was sent has to be acknowledged in time.
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 5000),
]

MakeChannel = Callable[[str, "grpc.ChannelCredentials | None", "list[tuple[str, Any]]"], Any]
Metadata = tuple[tuple[str, str], ...]


def make_channel(
    address: str, credentials: grpc.ChannelCredentials | None, options: list[tuple[str, Any]]
) -> Any:
    if credentials is None:
        return grpc.insecure_channel(address, options)
    return grpc.secure_channel(address, credentials, options)


@dataclass
class Connection:
    """A channel and its two calls."""

    channel: Any
    generation: int
    waiting: int = 0  # Checks that wait on it
    check: Any = field(init=False)
    report: Any = field(init=False)

    def __post_init__(self) -> None:
        self.check = self.channel.unary_unary(
            _SERVICE + "Check",
            request_serializer=v1.CheckRequest.SerializeToString,
            response_deserializer=v1.CheckResponse.FromString,
        )
        self.report = self.channel.unary_unary(
            _SERVICE + "Report",
            request_serializer=v1.ReportRequest.SerializeToString,
            response_deserializer=v1.ReportResponse.FromString,
        )


class Credentials:
    """Of one client: read from files, and again when they change.

    InvalidArgumentError: a file cannot be read or is not what it should be, a certificate has no key, or
    a token no TLS.
    """

    def __init__(self, options: ConnectionOptions, clock: Clock) -> None:
        check_address(options.address)
        if options.tls is None and options.token_file:
            raise invalid("token_file: a token is sent over TLS only")
        self.generation = 0
        self.channel: grpc.ChannelCredentials | None = None  # None: plaintext
        self.metadata: Metadata = ()
        self._tls = options.tls
        self._token_file = options.token_file
        if options.tls is None:
            return
        if bool(options.tls.certificate_file) != bool(options.tls.key_file):
            raise invalid("tls: certificate_file and key_file are given together, or neither")
        self._certificates = WatchedFiles(tls_paths(options.tls), clock)
        self._token = WatchedFiles([options.token_file], clock)
        self._take_certificates(self._certificates.read())
        self._take_token(self._token.read())

    def refresh(self) -> None:
        """Looks at the files, once a second at most. What cannot be used yet changes nothing."""
        if self._tls is None:
            return
        try:
            news = self._certificates.news()
            if news is not None:
                self._take_certificates(news)
            news = self._token.news()
            if news is not None:
                self._take_token(news)
        except Error:
            return

    def _take_certificates(self, texts: list[bytes]) -> None:
        assert self._tls is not None
        found = certificates(self._tls, texts)
        self.channel = grpc.ssl_channel_credentials(found.authorities, found.key, found.certificate)
        self.generation += 1

    def _take_token(self, texts: list[bytes]) -> None:
        if self._token_file:
            token = token_in(self._token_file, texts[0])
            self.metadata = (("authorization", f"Bearer {token}"),)


class Connections:
    """Thread-safe."""

    def __init__(self, options: ConnectionOptions, clock: Clock, make: MakeChannel) -> None:
        self.address = options.address
        self._make = make
        self._options = list(_OPTIONS)
        if options.tls is not None and options.tls.server_name:
            self._options.append(("grpc.ssl_target_name_override", options.tls.server_name))
        self._credentials = Credentials(options, clock)
        self._lock = threading.Lock()  # guards what follows
        self._all: list[Connection | None] = [None]  # the first is for calls that do not wait
        self._retired: list[Any] = []

    def take(self, waits: bool) -> tuple[Connection, Metadata]:
        """One with room; `waits` has to be given back."""
        with self._lock:
            self._credentials.refresh()
            connection = self._with_room() if waits else self._at(0)
            if waits:
                connection.waiting += 1
            return connection, self._credentials.metadata

    def give_back(self, connection: Connection) -> None:
        with self._lock:
            connection.waiting -= 1

    def take_all(self) -> list[Any]:
        """The channels, to be closed. Calls that come later make others."""
        with self._lock:
            channels = [each.channel for each in self._all if each is not None] + self._retired
            self._all = [None]
            self._retired = []
            return channels

    def abandon(self) -> list[Any]:
        """The same in a forked child, where nobody holds the lock."""
        self._lock = threading.Lock()
        return self.take_all()

    def _with_room(self) -> Connection:
        for place in range(1, len(self._all)):
            connection = self._at(place)
            if connection.waiting < _WAITING_ON_ONE_CONNECTION:
                return connection
        self._all.append(None)
        return self._at(len(self._all) - 1)

    def _at(self, place: int) -> Connection:
        """The one of this place, and another once there are other certificates."""
        connection = self._all[place]
        if connection is None or connection.generation != self._credentials.generation:
            if connection is not None:
                self._retire(connection)
            # gRPC shares connections between channels that are alike: a number tells them apart.
            options = [*self._options, ("headgate.connection", next(_numbers))]
            channel = self._make(self.address, self._credentials.channel, options)
            connection = Connection(channel, self._credentials.generation)
            self._all[place] = connection
        return connection

    def _retire(self, connection: Connection) -> None:
        """Calls that run end on it; the last but one before it is old enough to go."""
        self._retired.append(connection.channel)
        del self._retired[: -2 * len(self._all)]
