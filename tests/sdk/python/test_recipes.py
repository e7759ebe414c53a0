"""The recipes of docs/python-recipes.md, as they stand there, with their frameworks and a real server."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headgated import Headgated

_PAGE = Path(__file__).parents[3] / "docs" / "python-recipes.md"
_PARTS = re.findall(r"^## (\w+):.*?^```python\n(.*?)^```", _PAGE.read_text(), re.MULTILINE | re.DOTALL)
_RECIPES = dict(_PARTS)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Headgated]:
    config = {
        "budgets": [
            {"name": "rows", "rate": 1000000, "burst": 1000000},
            {"name": "batches", "rate": 5, "burst": 20},
        ],
        "rules": [
            {"name": "rows", "charge": ["rows"]},
            {"name": "celery", "match": {"identity": "celery"}, "charge": ["batches"]},
        ],
    }
    server = Headgated(tmp_path, config)
    yield server
    server.kill()


def _recipe(name: str, server: Headgated) -> str:
    return f'HEADGATE = "{server.address}"\n{_RECIPES[name]}'


def test_a_django_migration(server: Headgated, tmp_path: Path) -> None:
    migrations = tmp_path / "shop" / "migrations"
    migrations.mkdir(parents=True)
    (migrations / "0002_fill_country.py").write_text(_recipe("Django", server))
    script = Path(__file__).parent / "recipes" / "run_django.py"
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout.strip() == "[('nl', 1200)]", done.stderr


def test_a_sqlalchemy_loop(server: Headgated, tmp_path: Path) -> None:
    import sqlalchemy

    engine = sqlalchemy.create_engine(f"sqlite:///{tmp_path}/orders.db")
    with engine.begin() as connection:
        connection.execute(
            sqlalchemy.text("CREATE TABLE orders (id INTEGER PRIMARY KEY, archived BOOLEAN)")
        )
        row = sqlalchemy.text("INSERT INTO orders (archived) VALUES (false)")
        connection.execute(row, [{}] * 1200)
    names: dict[str, Any] = {}
    exec(_recipe("SQLAlchemy", server), names)
    names["archive_orders"](engine)
    with engine.begin() as connection:
        assert connection.scalar(sqlalchemy.text("SELECT count(*) FROM orders WHERE archived")) == 1200


def test_a_celery_task(server: Headgated, tmp_path: Path) -> None:
    for folder in ("queue", "results"):
        (tmp_path / folder).mkdir()
    settings = f"""
app.conf.update(
    broker_url="filesystem://",
    broker_transport_options={{
        "data_folder_in": "{tmp_path}/queue",
        "data_folder_out": "{tmp_path}/queue",
        "control_folder": "{tmp_path}/control",
    }},
    result_backend="file://{tmp_path}/results",
)

def copy_rows(first, size):
    return first + size
"""
    (tmp_path / "jobs.py").write_text(_recipe("Celery", server) + settings)
    environment = {
        **os.environ,
        "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}",
        "C_FORCE_ROOT": "1",
    }
    words = ["-A", "jobs", "worker", "--pool", "prefork", "--concurrency", "2", "--loglevel", "INFO"]
    with (tmp_path / "worker.log").open("wb") as log:
        worker = subprocess.Popen(
            [sys.executable, "-m", "celery", *words], env=environment, cwd=tmp_path, stdout=log, stderr=log
        )
    try:
        send = "import jobs\nsent = [jobs.copy_batch.delay(10 * n, 10) for n in range(3)]\n"
        send += "print([each.get(timeout=110) for each in sent])"
        done = subprocess.run(
            [sys.executable, "-c", send],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    finally:
        worker.terminate()
        _end(worker)
    assert done.stdout.strip() == "[10, 20, 30]", done.stderr + (tmp_path / "worker.log").read_text()


def _end(process: subprocess.Popen[bytes]) -> None:
    give_up_at = time.monotonic() + 20
    while process.poll() is None and time.monotonic() < give_up_at:
        time.sleep(0.05)
    process.kill()
    process.wait()
