"""lower_priority(), in processes of their own: what it does to one can't be taken back."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import headgate
from headgate._scheduling_group import SchedulingGroup, find_group

# Threads that begin others all the time, and the priority of each thread after that of the process.
_JOB = """
import os, subprocess, threading
import headgate

over = threading.Event()
def work():
    while not over.wait(0.001):
        other = threading.Thread(target=int)
        other.start()
        other.join()
threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
try:
    print(headgate.lower_priority())
except headgate.NotLoweredError as error:
    print(error)
policies = set()
for thread in os.listdir("/proc/self/task"):
    try:
        policies.add(os.sched_getscheduler(int(thread)))
    except ProcessLookupError:
        pass
over.set()
for thread in threads:
    thread.join()
print(policies == {os.SCHED_IDLE}, subprocess.check_output(["ionice"], text=True).strip())
print(open("/proc/self/autogroup").read() if os.path.exists("/proc/self/autogroup") else "")
"""


def _run(*command: str, own_session: bool = True) -> list[str]:
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, start_new_session=own_session
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def _autogroups_decide() -> bool:
    # In a session of its own: the first one of a machine has no autogroup.
    ask = "from headgate._scheduling_group import own_group; print(own_group().autogroup_nice is not None)"
    return _run(sys.executable, "-c", ask) == ["True"]


def test_all_threads_and_the_processs_own_session_are_lowered() -> None:
    before = os.sched_getscheduler(0)
    said, policies_and_io, autogroup, *_ = [*_run(sys.executable, "-c", _JOB), ""]
    assert said.startswith("SCHED_IDLE, idle I/O")
    assert policies_and_io == "True idle"
    if _autogroups_decide():
        assert said == "SCHED_IDLE, idle I/O, autogroup nice 19"
        assert autogroup.endswith(" nice 19")
    assert os.sched_getscheduler(0) == before


def test_a_session_that_is_shared_is_left_and_that_is_an_error() -> None:
    if not _autogroups_decide():
        pytest.skip("autogroups decide nothing here")
    said, policies_and_io, autogroup, *_ = _run("sh", "-c", '"$0" -c "$1"; exit $?', sys.executable, _JOB)
    assert said.startswith("FAILED_PRECONDITION: SCHED_IDLE, idle I/O; it counts within this session alone")
    assert said.endswith("setsid gives it one of its own")
    assert policies_and_io == "True idle"
    assert autogroup.endswith(" nice 0")


# A filter of system calls, as containers have them.
_REFUSED = """
import os
import headgate

def refuse(*_):
    raise PermissionError(1, "Operation not permitted")
os.sched_setscheduler = refuse
if {both}:
    os.setpriority = refuse
try:
    print(headgate.lower_priority(), os.getpriority(os.PRIO_PROCESS, 0))
except headgate.NotLoweredError as error:
    print(error)
"""


def test_it_is_nice_where_the_class_is_refused() -> None:
    (said,) = _run(sys.executable, "-c", _REFUSED.format(both=False))
    assert said.startswith("nice 19 (SCHED_IDLE is refused), idle I/O")
    assert said.endswith(" 19")


def test_it_says_what_was_refused() -> None:
    (said,) = _run(sys.executable, "-c", _REFUSED.format(both=True))
    assert said == (
        "PERMISSION_DENIED: SCHED_IDLE: Operation not permitted; nice 19: Operation not permitted"
    )


def test_elsewhere_than_on_linux_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(headgate.NotLoweredError, match="on Linux only") as raised:
        headgate.lower_priority()
    assert raised.value.code == headgate.Code.UNIMPLEMENTED


_VERSION_1 = (
    "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
)
_VERSION_2 = "30 23 0:27 / /sys/fs/c\\040g rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
_PART = "30 23 0:27 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n"


@pytest.mark.parametrize(
    ("cgroups", "mounts", "enabled", "files", "expected"),
    [
        ("", "", "", (), SchedulingGroup()),
        ("1:cpu:/\n", _VERSION_1, "1\n", (), SchedulingGroup(autogroup_nice=5)),
        ("1:cpu:/\n", _VERSION_1, "0\n", (), SchedulingGroup()),
        (
            "1:cpuacct,cpu:/a/b\n0::/\n",
            _VERSION_1,
            "1\n",
            (),
            SchedulingGroup(cgroup="/sys/fs/cgroup/cpu/a/b"),
        ),
        (
            "0::/a/b\n",
            _VERSION_2,
            "1\n",
            ("/sys/fs/c g/a/b", "/sys/fs/c g/a"),
            SchedulingGroup("/sys/fs/c g/a/b"),
        ),
        ("0::/a/b\n", _VERSION_2, "1\n", ("/sys/fs/c g/a",), SchedulingGroup(cgroup="/sys/fs/c g/a")),
        ("0::/a/b\n", _VERSION_2, "1\n", (), SchedulingGroup(autogroup_nice=5)),
        ("0::/\n", _VERSION_2, "1\n", ("/sys/fs/c g",), SchedulingGroup(cgroup="/sys/fs/c g")),
        (
            "0::/docker/1/job\n",
            _PART,
            "1\n",
            ("/sys/fs/cgroup/job",),
            SchedulingGroup("/sys/fs/cgroup/job"),
        ),
        ("0::/docker/2\n", _PART, "1\n", ("/sys/fs/cgroup",), SchedulingGroup(autogroup_nice=5)),
    ],
    ids=str,
)
def test_a_rank_counts_within_the_cgroup_else_the_autogroup(
    cgroups: str, mounts: str, enabled: str, files: tuple[str, ...], expected: SchedulingGroup
) -> None:
    found = find_group(
        cgroups=cgroups,
        mounts=mounts,
        autogroups_enabled=enabled,
        autogroup="/autogroup-11 nice 5\n",
        is_there={f"{folder}/cpu.weight" for folder in files}.__contains__,
    )
    assert found == expected
