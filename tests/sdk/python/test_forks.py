"""A process that forks with a client in use: nobody hangs, neither the parent nor a child."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headgated import Headgated

_CONFIG = {
    "budgets": [
        {"name": "slow", "rate": 0.001, "burst": 10},
        {"name": "rows", "rate": 1000000, "burst": 1000000},
    ],
    "rules": [
        {"name": "slow", "match": {"identity": "slow"}, "charge": ["slow"]},
        {"name": "others", "match": {"identity": "etl"}, "charge": ["rows"]},
    ],
}


# gRPC has two engines for its events, and takes the newer one; without these it takes the older, which a
# long run tries too. A version that does not know one of them says so.
_NEWER = (
    "event_engine_client",
    "event_engine_dns",
    "event_engine_fork",
    "event_engine_listener",
    "event_engine_callback_cq",
    "event_engine_for_all_other_endpoints",
    "pollset_alternative",
)
_OLDER_ENGINE = {"GRPC_EXPERIMENTS": ",".join(f"-{name}" for name in _NEWER)}
# None hangs, but each fork is a dozen threads that have to be given a processor: 100 take 10 s on a machine
# that is idle, and took 60 s beside four busy loops on two processors.
_LONGEST = 600
_IS_LONG = bool(os.environ.get("HEADGATE_LONG"))


@pytest.mark.parametrize(
    ("children", "settings"),
    [
        (100, {"GRPC_POLL_STRATEGY": "epoll1"}),
        (100, {"GRPC_POLL_STRATEGY": "poll"}),
        (5, {"GRPC_POLL_STRATEGY": "epoll1", "GRPC_ENABLE_FORK_SUPPORT": "1"}),
        (5, {"GRPC_POLL_STRATEGY": "poll", "GRPC_ENABLE_FORK_SUPPORT": "1"}),
        *((100, {"GRPC_POLL_STRATEGY": how, **_OLDER_ENGINE}) for how in ("epoll1", "poll") if _IS_LONG),
    ],
    ids=str,
)
def test_nobody_hangs_after_forks(children: int, settings: dict[str, str], tmp_path: Path) -> None:
    assert _fork(tmp_path, settings, str(children)) == f"good={children} failed=0 hung=0"


# A call that a fork has cut has not failed, however long forks go on.
def test_who_waits_goes_on_through_forks_for_longer_than_the_deadline(tmp_path: Path) -> None:
    assert _fork(tmp_path, {}) == ""


def _fork(tmp_path: Path, settings: dict[str, str], *words: str) -> str:
    server = Headgated(tmp_path, _CONFIG)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GRPC_")}
    environment.update(settings)
    try:
        done = subprocess.run(
            [sys.executable, str(Path(__file__).parent / "forking.py"), server.address, *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=_LONGEST,
        )
    finally:
        server.kill()
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.strip()
