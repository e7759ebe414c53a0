"""Among whom a rank counts.

The kernel shares the processor among groups first, and looks at classes and nice values only within one.
A process is in the group of its cgroup, where that one has the cpu controller; else, where autogroups are
on, in that of its session; else there is one group for all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class SchedulingGroup:
    """At most one of them is set; neither: all of the machine."""

    cgroup: str | None = None
    autogroup_nice: int | None = None


def own_group() -> SchedulingGroup:
    """Of this process."""
    return find_group(
        cgroups=_read("/proc/self/cgroup"),
        mounts=_read("/proc/self/mountinfo"),
        autogroups_enabled=_read("/proc/sys/kernel/sched_autogroup_enabled"),
        autogroup=_read("/proc/self/autogroup"),
        is_there=os.path.exists,
    )


def find_group(
    *, cgroups: str, mounts: str, autogroups_enabled: str, autogroup: str, is_there: Callable[[str], bool]
) -> SchedulingGroup:
    """From what files of /proc say; an empty one says nothing."""
    for unified in (False, True):
        place = _place(cgroups, mounts, unified)
        if place is None:
            continue
        folder, mount = place
        cgroup = (
            _with_controller(folder, mount, is_there) if unified else folder if folder != mount else None
        )
        if cgroup is not None:
            return SchedulingGroup(cgroup=cgroup)
        break
    nice = re.search(r" nice (-?\d+)", autogroup)
    if autogroups_enabled.startswith("1") and nice is not None:
        return SchedulingGroup(autogroup_nice=int(nice[1]))
    return SchedulingGroup()


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return file.read()
    except OSError:
        return ""


def _place(cgroups: str, mounts: str, unified: bool) -> tuple[str, str] | None:
    """The folder of the cgroup, and of its hierarchy's root, as far as that is seen from here."""
    path, mount = _path_in(cgroups, unified), _mount_of(mounts, unified)
    if path is None or mount is None:
        return None
    root, folder = mount
    if root != "/":  # a container sees a part of the hierarchy
        if path != root and not path.startswith(root + "/"):
            return None
        path = path[len(root) :] or "/"
    if path.startswith("/.."):
        return None  # outside of what is seen from here
    return (folder if path == "/" else folder + path), folder


def _path_in(cgroups: str, unified: bool) -> str | None:
    for line in cgroups.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if (number == "0" and not controllers) if unified else "cpu" in controllers.split(","):
            return path
    return None


def _mount_of(mounts: str, unified: bool) -> tuple[str, str] | None:
    for line in mounts.splitlines():
        place, _, kind = line.partition(" - ")
        places, kinds = place.split(" "), kind.split(" ")
        if len(places) < 5 or len(kinds) < 3:
            continue
        if kinds[0] == "cgroup2" if unified else kinds[0] == "cgroup" and "cpu" in kinds[2].split(","):
            return _unescaped(places[3]), _unescaped(places[4])
    return None


def _unescaped(text: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), text)


def _with_controller(folder: str, mount: str, is_there: Callable[[str], bool]) -> str | None:
    """In version 2 each cgroup that has the controller has a weight, but for the root of all."""
    while not is_there(folder + "/cpu.weight"):
        if len(folder) <= len(mount):
            return None
        folder = folder.rpartition("/")[0]
    return folder
