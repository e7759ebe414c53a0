"""The examples of docs/clients.md and README.md, as they stand there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import headgate

from headgated import Headgated

_PROJECT = Path(__file__).parents[3]


def _examples(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


_GUIDE = _PROJECT / "docs" / "clients.md"
_EXAMPLES = _examples(_GUIDE)


@pytest.mark.parametrize("example", _EXAMPLES)
def test_examples_are_python(example: str) -> None:
    compile(example, str(_GUIDE), "exec")


def test_the_first_job_is_throttled(tmp_path: Path) -> None:
    config = {
        "budgets": [{"name": "rows", "rate": 10, "burst": 50}],
        "rules": [{"name": "all work", "charge": ["rows"]}],
    }
    server = Headgated(tmp_path, config)
    try:
        job = _EXAMPLES[0].replace("127.0.0.1:8081", server.address)
        done = subprocess.run(
            [sys.executable, "-c", job], capture_output=True, text=True, check=True, timeout=300
        )
    finally:
        server.kill()
    lines = [line.split(" s: ") for line in done.stdout.splitlines()]
    assert [what for _, what in lines] == [
        "rows 0 to 25",
        "rows 25 to 50",
        "rows 50 to 75",
        "rows 75 to 100",
    ]
    assert float(lines[3][0]) >= 4.5


def test_the_job_of_the_readme_copies_every_row(tmp_path: Path) -> None:
    config = {
        "budgets": [{"name": "rows", "rate": 1000, "burst": 5000}],
        "rules": [{"name": "all work", "charge": ["rows"]}],
    }
    (job,) = _examples(_PROJECT / "README.md")
    copied: list[tuple[int, int]] = []
    server = Headgated(tmp_path, config)
    try:
        job = job.replace("headgate:8081", server.address).replace("1_000_000", "2_000")
        exec(job, {"copy_rows": lambda first, end: copied.append((first, end))})
    finally:
        server.kill()
    assert copied == [(0, 500), (500, 1000), (1000, 1500), (1500, 2000)]


def test_the_example_of_a_test_passes() -> None:
    (example,) = [each for each in _EXAMPLES if "FakeHeadgate()" in each]

    def backfill(client: headgate.Client) -> None:
        for _ in client.chunks(100, start=50):
            pass

    names: dict[str, Any] = {"backfill": backfill}
    exec(example, names)
    names["test_the_backfill_waits_while_a_replica_lags"]()
