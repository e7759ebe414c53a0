"""What a process that forks has to do for its clients.

gRPC's threads and connections do not come along into a child, nor do Python's threads; and what a thread
of the parent holds at that moment is held in the child for ever. So before a fork each client ends its
calls and connections: whoever waits there asks again afterwards, under the same request id. In the child
it begins anew, with nothing to report and ids of its own.

Processes that are started by `subprocess`, or by `multiprocessing` with "spawn", have no part in this.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from typing import Protocol

# A thread of gRPC that no client knows, and which may be another's who uses gRPC in this process, is
# waited for this long at most: all of them together, once for a fork.
_THREADS_END = 0.1
_NAME_OF_GRPCS = "(_run)"  # threads are named after their function


class Forked(Protocol):
    def before_fork(self) -> None: ...

    def after_fork_in_parent(self) -> None: ...

    def after_fork_in_child(self) -> None: ...


_members: weakref.WeakSet[Forked] = weakref.WeakSet()


def register(member: Forked) -> None:
    """For as long as it lives."""
    _members.add(member)


def _before() -> None:
    members = list(_members)
    for member in members:
        member.before_fork()
    if members:
        _let_threads_of_grpc_end()


def _let_threads_of_grpc_end() -> None:
    end = time.monotonic() + _THREADS_END
    for thread in threading.enumerate():
        if thread.name.endswith(_NAME_OF_GRPCS) and thread is not threading.current_thread():
            thread.join(max(end - time.monotonic(), 0))


def _in_parent() -> None:
    for member in list(_members):
        member.after_fork_in_parent()


def _in_child() -> None:
    for member in list(_members):
        member.after_fork_in_child()


if hasattr(os, "register_at_fork"):  # not where no process forks
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
