"""Whether a server answers at all, found out in the background.

gRPC's synchronous channels tell whether they are connected by a thread of their own alone, which is one
thing more that a fork has to mind. So one call is made that reports nothing: what answers it is a server
of ours that takes this client, and is connected to.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import grpc

from headgate._connections import Connections
from headgate.v1 import throttler_service_pb2 as v1

_LONGEST = 5.0
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 30.0  # who is not to be reached from here is tried less and less often


@dataclass
class _Probe:
    answered: bool = False
    call: Any = None  # under way
    again_at: float = 0.0
    pause: float = _FIRST_PAUSE


class Probes:
    """`keep` is told of each call that is under way.

    Used under the lock of those who ask; calls end on gRPC's threads, which set single fields.
    """

    def __init__(self, keep: Callable[[Any], None]) -> None:
        self._keep = keep
        self._probes: WeakKeyDictionary[Connections, _Probe] = WeakKeyDictionary()

    def is_answered(self, server: Connections) -> bool:
        probe = self._probes.setdefault(server, _Probe())
        if not probe.answered and probe.call is None and time.monotonic() >= probe.again_at:
            self._begin(server, probe)
        return probe.answered

    def abandon(self) -> None:
        """In a forked child, where none of them goes on."""
        self._probes = WeakKeyDictionary()

    def _begin(self, server: Connections, probe: _Probe) -> None:
        connection, metadata = server.take(False)
        probe.call = connection.report.future(v1.ReportRequest(), timeout=_LONGEST, metadata=metadata)
        self._keep(probe.call)
        probe.call.add_done_callback(lambda call: self._end(probe, call))

    def _end(self, probe: _Probe, call: Any) -> None:
        probe.answered = call.code() in (grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT)
        probe.again_at = time.monotonic() + probe.pause
        probe.pause = min(2 * probe.pause, _LONGEST_PAUSE)
        probe.call = None
