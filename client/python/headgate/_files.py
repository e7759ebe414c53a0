"""What is in some files, looked at again every second at most, when somebody asks.

New content counts at once where the files were left alone for a second before, by the wall clock; else
once two looks in a row have seen the same. So a file that is just being written is not taken for what
it looks like in between. No thread, no waiting. Thread-compatible.
"""

from __future__ import annotations

import os
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass

from headgate._clock import Clock
from headgate._errors import invalid
from headgate._options import TlsOptions

_BETWEEN_LOOKS = 1.0
_MAX_BYTES = 1 << 20
# All headers of a call together may have 8 kB.
_MAX_TOKEN_BYTES = 4096


def _read(path: str) -> bytes:
    """An empty path has an empty text."""
    if not path:
        return b""
    try:
        with open(path, "rb") as file:
            text = file.read(_MAX_BYTES + 1)
    except OSError as failure:
        raise invalid(f"{path}: {failure.strerror}") from failure
    if len(text) > _MAX_BYTES:
        raise invalid(f"{path}: has more than {_MAX_BYTES} bytes")
    return text


def _changed_at(path: str) -> float:
    if not path:
        return 0.0
    stat = os.stat(path)
    # Who copies a file may set one of its times back, never the other.
    return max(stat.st_mtime, stat.st_ctime)


class WatchedFiles:
    def __init__(self, paths: list[str], clock: Clock, wall: Callable[[], float] = time.time) -> None:
        self._paths = paths
        self._clock = clock
        self._wall = wall
        self._looked_at = clock.now()
        self._seen: list[bytes] = []
        self._told: list[bytes] = []

    def read(self) -> list[bytes]:
        """Now, whatever was told before. InvalidArgumentError: one cannot be read."""
        self._looked_at = self._clock.now()
        self._told = [_read(path) for path in self._paths]
        return self._told

    def news(self) -> list[bytes] | None:
        """What is in them, if it differs from what was told last. None while one cannot be read."""
        now = self._clock.now()
        if now - self._looked_at < _BETWEEN_LOOKS:
            return None
        self._looked_at = now
        try:
            changed_at = max(_changed_at(path) for path in self._paths)
            texts = [_read(path) for path in self._paths]
        except (OSError, ValueError):
            self._seen = []
            return None
        settled = texts == self._seen or changed_at <= self._wall() - _BETWEEN_LOOKS
        self._seen = texts
        if not settled or texts == self._told:
            return None
        self._told = texts
        return texts


@dataclass(frozen=True)
class Certificates:
    """What TLS takes: authorities, and a certificate with its key. None: none of its own."""

    authorities: bytes | None = None
    certificate: bytes | None = None
    key: bytes | None = None


def tls_paths(options: TlsOptions) -> list[str]:
    return [options.ca_file, options.certificate_file, options.key_file]


def certificates(options: TlsOptions, texts: list[bytes]) -> Certificates:
    """InvalidArgumentError: a file is not what it should be, or a key another certificate's."""
    authorities, certificate, key = texts
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if options.ca_file:
        try:
            context.load_verify_locations(cadata=authorities.decode("ascii"))
        except (ssl.SSLError, ValueError) as failure:
            raise invalid(f"{options.ca_file}: holds no certificates") from failure
    if options.certificate_file:
        try:
            # A key with a password is refused: nobody is there to type one.
            context.load_cert_chain(options.certificate_file, options.key_file, password="")
        except (ssl.SSLError, OSError, ValueError) as failure:
            raise invalid(
                f"{options.certificate_file}: is no certificate with the key in {options.key_file}"
            ) from failure
        # What was tried is what is used, and not a newer one of which a half is still to come.
        if [_read(options.certificate_file), _read(options.key_file)] != [certificate, key]:
            raise invalid(f"{options.certificate_file}: is just being changed")
    return Certificates(authorities or None, certificate or None, key or None)


def token_in(path: str, text: bytes) -> str:
    """Without the line break at its end. InvalidArgumentError: that is no token."""
    token = text.strip()
    if not 0 < len(token) <= _MAX_TOKEN_BYTES or not all(33 <= byte <= 126 for byte in token):
        raise invalid(f"{path}: holds no token: one word of at most {_MAX_TOKEN_BYTES} characters of ASCII")
    return token.decode("ascii")
