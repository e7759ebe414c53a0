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


# gRPC has two engines for its events, and is on its way to this one.
_ENGINES = ("client", "dns", "fork", "listener")
_NEW_ENGINE = {"GRPC_EXPERIMENTS": ",".join(f"event_engine_{name}" for name in _ENGINES)}


@pytest.mark.parametrize(
    ("children", "settings"),
    [
        (100, {"GRPC_POLL_STRATEGY": "epoll1"}),
        (100, {"GRPC_POLL_STRATEGY": "poll"}),
        (100, _NEW_ENGINE),
        (5, {"GRPC_POLL_STRATEGY": "epoll1", "GRPC_ENABLE_FORK_SUPPORT": "1"}),
        (5, {"GRPC_POLL_STRATEGY": "poll", "GRPC_ENABLE_FORK_SUPPORT": "1"}),
        (5, {**_NEW_ENGINE, "GRPC_ENABLE_FORK_SUPPORT": "1"}),
    ],
    ids=str,
)
def test_nobody_hangs_after_forks(children: int, settings: dict[str, str], tmp_path: Path) -> None:
    server = Headgated(tmp_path, _CONFIG)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GRPC_")}
    environment.update(settings)
    try:
        done = subprocess.run(
            [sys.executable, str(Path(__file__).parent / "forking.py"), server.address, str(children)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    finally:
        server.kill()
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.strip() == f"good={children} failed=0 hung=0", done.stderr[-4000:]
