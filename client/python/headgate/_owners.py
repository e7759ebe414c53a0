"""Which server decides for a target, where several servers share them.

A server that forwarded a Check names the owner of its target in the answer. The next Check about it goes
there as soon as that one can be reached; until then, and where it cannot, everything goes on by way of the
address that the client was given. So a server that cannot be reached from here delays nothing.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable
from typing import Any

from headgate._clock import Clock
from headgate._connections import Connections, MakeChannel
from headgate._errors import Code, Error
from headgate._options import ConnectionOptions
from headgate._types import CheckRequest

# As a server says it that forwards: "ADDRESS TARGET".
_OWNER_KEY = "headgate-owner"
# What servers name is bounded by their configuration; this is for those that err.
_MOST_TARGETS = 1000
# Calls that run on these may still end.
_MOST_DISCARDED = 4
_DECIDED = (
    *(Code.INVALID_ARGUMENT, Code.NOT_FOUND, Code.FAILED_PRECONDITION, Code.RESOURCE_EXHAUSTED),
    Code.CANCELLED,
)


def owner_in(metadata: Iterable[tuple[str, str | bytes]] | None, target: str) -> str:
    """The address; empty: whoever answered has decided itself, or it is about another target."""
    for key, value in metadata or ():
        if key == _OWNER_KEY and isinstance(value, str):
            address, _, about = value.partition(" ")
            if about == target:
                return address
    return ""


def is_decided(failure: Error) -> bool:
    """Whether a server that was asked directly has decided, if only to refuse, or the caller has given up.

    What else may have become of the call is not told to the caller, as long as there is another way to ask.
    """
    return failure.code in _DECIDED


def left_for_the_other_way(timeout: float, max_wait: float) -> float:
    """Of the time of a call that goes to an owner."""
    return max(timeout - max_wait, 0.0) / 2


def once_more(request: CheckRequest, left: float, rest: float) -> CheckRequest:
    """The same request, by its id: whatever an owner that failed did counts once."""
    return dataclasses.replace(request, max_wait=min(request.max_wait, max(left - rest, 0.0)))


class KnownOwners:
    """Thread-safe. `is_ready` tells whether a call would be answered, and may try in the background."""

    def __init__(
        self,
        configured: ConnectionOptions,
        clock: Clock,
        make: MakeChannel,
        is_ready: Callable[[Connections], bool],
    ) -> None:
        self._configured = configured
        self._clock = clock
        self._make = make
        self._is_ready = is_ready
        self._lock = threading.Lock()  # guards what follows
        self._owners: dict[str, Connections] = {}
        self._last: Connections | None = None  # that was asked; None: the configured one
        self._discarded: list[Connections] = []

    def ready_for(self, target: str) -> Connections | None:
        """The target's owner, where it can be reached; None: ask the configured address."""
        with self._lock:
            self._last = self._ready(self._owners.get(target))
            return self._last

    def ready_last(self) -> Connections | None:
        """The one that was asked last, for what any server answers."""
        with self._lock:
            return self._ready(self._last)

    def learn(self, target: str, address: str) -> None:
        """An answer says so. Empty: whoever was asked decides itself."""
        with self._lock:
            known = self._owners.get(target)
            if known is not None:
                if known.address == address:
                    return
                del self._owners[target]
                self._discard_unused(known)
            if address in ("", self._configured.address):
                return
            if len(self._owners) >= _MOST_TARGETS:
                self._forget_all()
            owner = self._at(address)
            if owner is not None:
                self._owners[target] = owner
                self._ready(owner)

    def forget(self, owner: Connections) -> None:
        """It does not answer as it should, and is asked no more until an answer names it anew."""
        with self._lock:
            self._owners = {target: each for target, each in self._owners.items() if each is not owner}
            self._discard_unused(owner)

    def take_all(self) -> list[Any]:
        """The channels, to be closed."""
        with self._lock:
            self._forget_all()
            channels = [channel for each in self._discarded for channel in each.take_all()]
            self._discarded = []
            return channels

    def abandon(self) -> list[Any]:
        """The same in a forked child, where nobody holds a lock."""
        self._lock = threading.Lock()
        known = [*self._owners.values(), *self._discarded]
        self._owners, self._last, self._discarded = {}, None, []
        return [channel for each in known for channel in each.abandon()]

    def _ready(self, owner: Connections | None) -> Connections | None:
        return owner if owner is not None and self._is_ready(owner) else None

    def _at(self, address: str) -> Connections | None:
        for each in self._owners.values():
            if each.address == address:
                return each
        try:
            return Connections(
                dataclasses.replace(self._configured, address=address), self._clock, self._make
            )
        except Error:
            return None  # the files cannot be read at the moment: the next answer names it again

    def _forget_all(self) -> None:
        known = list(self._owners.values())
        self._owners = {}
        for each in known:
            self._discard_unused(each)

    def _discard_unused(self, owner: Connections) -> None:
        if owner in self._owners.values():
            return
        if self._last is owner:
            self._last = None
        if owner not in self._discarded:
            self._discarded.append(owner)
            del self._discarded[:-_MOST_DISCARDED]
