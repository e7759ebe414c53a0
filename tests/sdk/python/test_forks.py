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


@pytest.mark.parametrize(
    ("children", "poll_strategy", "fork_support"),
    [(100, "epoll1", None), (100, "poll", None), (5, "epoll1", "1"), (5, "poll", "1")],
)
def test_nobody_hangs_after_forks(
    children: int, poll_strategy: str, fork_support: str | None, tmp_path: Path
) -> None:
    server = Headgated(tmp_path, _CONFIG)
    environment = {**os.environ, "GRPC_POLL_STRATEGY": poll_strategy}
    environment.pop("GRPC_ENABLE_FORK_SUPPORT", None)
    if fork_support is not None:
        environment["GRPC_ENABLE_FORK_SUPPORT"] = fork_support
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
