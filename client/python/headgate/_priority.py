"""The priority of the job's own process beside the database."""

from __future__ import annotations

import errno
import os
import platform
import struct
import sys
import time

from headgate._errors import Code, NotLoweredError
from headgate._scheduling_group import SchedulingGroup, own_group

_LOWEST_NICE = 19
# Threads that begin meanwhile may begin others: a pass finds what the one before it has missed.
_PASSES = 16
# The kernel takes ten changes of autogroups a second of those without CAP_SYS_ADMIN.
_UNTIL_NEXT_CHANGE = 0.11
_TRIES = 20

_IDLE_IO = 3 << 13
_IO_OF_PROCESS = 1
# ioprio_set(2), for which neither Python nor the C library has a function, by machine and bits.
_SET_IO_PRIORITY = {
    ("x86_64", 64): 251,
    ("aarch64", 64): 30,
    ("riscv64", 64): 30,
    ("loongarch64", 64): 30,
    ("ppc64le", 64): 273,
    ("s390x", 64): 282,
    ("x86_64", 32): 289,
    ("i686", 32): 289,
    ("aarch64", 32): 314,
    ("armv7l", 32): 314,
}


def lower_priority() -> str:
    """From here on this process runs when nobody else wants the processor.

    All of its threads get SCHED_IDLE, or nice 19 where that is refused, and idle I/O; threads and
    processes that it starts inherit it. It takes no privilege, and cannot be taken back without one.
    Where autogroups decide (docs/agent.md, "Scheduling groups"), the session's gets nice 19 too, if this
    process began the session. It blocks for up to two seconds where others do the same at the same time.

    Returns what was done, for a log. Raises NotLoweredError where this is not Linux, where nothing was
    done, or where what was done does not count: its message says why. That is no reason not to work.
    """
    if not sys.platform.startswith("linux"):
        raise NotLoweredError(Code.UNIMPLEMENTED, "a process lowers its own priority on Linux only")
    done = _lower_threads()
    group = own_group()
    if group.cgroup is not None:
        return (
            f"{done}; it counts within the cgroup {group.cgroup}, "
            "whose weight is what counts against others"
        )
    if group.autogroup_nice is None:
        return done
    _lower_autogroup(group, done)
    return f"{done}, autogroup nice {_LOWEST_NICE}"


def _lower_threads() -> str:
    """All of this process, those included that begin meanwhile."""
    lowered: set[int] = set()
    idle_class = idle_io = True
    for _ in range(_PASSES):
        found = _threads() - lowered
        if not found:
            break
        for thread in found:
            lowered.add(thread)
            try:
                idle_class &= _lower_thread(thread)
                idle_io &= _lower_io(thread)
            except ProcessLookupError:
                continue  # it has just ended
    if not lowered:
        raise NotLoweredError(Code.FAILED_PRECONDITION, "/proc does not show the threads of this process")
    how = "SCHED_IDLE" if idle_class else f"nice {_LOWEST_NICE} (SCHED_IDLE is refused)"
    return f"{how}, {'idle I/O' if idle_io else 'I/O as before (idle I/O is refused)'}"


def _threads() -> set[int]:
    try:
        return {int(name) for name in os.listdir("/proc/self/task")}
    except OSError:
        return set()


def _lower_thread(thread: int) -> bool:
    """True: it has SCHED_IDLE; false: nice 19."""
    try:
        policy = os.sched_getscheduler(thread)
        if policy & ~os.SCHED_RESET_ON_FORK not in (os.SCHED_OTHER, os.SCHED_BATCH, os.SCHED_IDLE):
            raise NotLoweredError(
                Code.FAILED_PRECONDITION, "it has a real-time policy, which is left as it is"
            )
        os.sched_setscheduler(thread, os.SCHED_IDLE | (policy & os.SCHED_RESET_ON_FORK), os.sched_param(0))
    except ProcessLookupError:
        raise
    except OSError as refusal:
        try:
            os.setpriority(os.PRIO_PROCESS, thread, _LOWEST_NICE)  # on Linux this is a thread's own
        except ProcessLookupError:
            raise
        except OSError as another:
            raise NotLoweredError(
                Code.PERMISSION_DENIED,
                f"SCHED_IDLE: {refusal.strerror}; nice {_LOWEST_NICE}: {another.strerror}",
            ) from another
        return False
    return True


def _lower_io(thread: int) -> bool:
    try:
        import ctypes
    except ImportError:  # a Python that was built without it
        return False
    number = _SET_IO_PRIORITY.get((platform.machine(), struct.calcsize("P") * 8))
    if number is None:
        return False
    if ctypes.CDLL(None, use_errno=True).syscall(number, _IO_OF_PROCESS, thread, _IDLE_IO) == 0:
        return True
    if ctypes.get_errno() == errno.ESRCH:
        raise ProcessLookupError
    return False


def _lower_autogroup(group: SchedulingGroup, done: str) -> None:
    """Leaves a session alone that is not this process's own."""
    if group.autogroup_nice is not None and group.autogroup_nice >= _LOWEST_NICE:
        return
    in_vain = f"{done}; it counts within this session alone, since autogroups are on, and "
    if os.getsid(0) != os.getpid():
        raise NotLoweredError(
            Code.FAILED_PRECONDITION,
            f"{in_vain}the session has other processes too, which are left as they are; "
            "setsid gives it one of its own",
        )
    for attempt in range(1, _TRIES + 1):
        try:
            _write("/proc/self/autogroup", str(_LOWEST_NICE))
        except OSError as refusal:
            if not isinstance(refusal, BlockingIOError) or attempt == _TRIES:
                raise NotLoweredError(
                    Code.FAILED_PRECONDITION, f"{in_vain}/proc/self/autogroup: {refusal.strerror}"
                ) from refusal
            time.sleep(_UNTIL_NEXT_CHANGE)
        else:
            return


def _write(path: str, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)
