"""A real headgated for one test: on a free port of loopback, which it keeps over a restart."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

BIN = Path(os.environ["HEADGATE_BIN"])
_PATIENCE = 120  # of what a busy machine may take


class Headgated:
    def __init__(self, folder: Path, config: dict[str, Any], *, state: bool = False) -> None:
        self._folder = folder
        self._port = "0"
        self._process: subprocess.Popen[bytes] | None = None
        self._flags: list[str] = []
        if state:
            (folder / "state").mkdir()
            self._flags = ["--state-dir", str(folder / "state")]
        self.write_config(config)
        self.start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    def write_config(self, config: dict[str, Any]) -> None:
        replace_file(self._folder / "headgate.yaml", json.dumps(config).encode())

    def start(self) -> None:
        port_file = self._folder / "port"
        port_file.unlink(missing_ok=True)
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    str(BIN / "headgated"),
                    *("--config", str(self._folder / "headgate.yaml")),
                    *("--grpc-address", self.address),
                    *("--http-address", "off"),
                    *("--port-file", str(port_file)),
                    *self._flags,
                ],
                stderr=log,
            )
        give_up_at = time.monotonic() + _PATIENCE
        while not (port_file.exists() and port_file.read_text().strip()):
            if self._process.poll() is not None or time.monotonic() > give_up_at:
                raise AssertionError(f"headgated does not start: {(self._folder / 'log').read_text()}")
            time.sleep(0.005)
        self._port = port_file.read_text().strip()

    def stop(self) -> None:
        """As an operator does."""
        if self._process is not None:
            self._process.terminate()
            assert self._process.wait(_PATIENCE) == 0, (self._folder / "log").read_text()
            self._process = None

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def await_waiting(self, count: int) -> None:
        """Until so many Checks stand in its line."""
        give_up_at = time.monotonic() + _PATIENCE
        while json.loads(self.headgate(["status", "-o", "json"]))["waiting"]["waiting"] != str(count):
            assert time.monotonic() < give_up_at, f"not {count} Checks wait"
            time.sleep(0.005)

    def headgate(self, words: list[str]) -> str:
        """What the command line says, against this server."""
        done = subprocess.run(
            [str(BIN / "headgate"), "--timeout", "60s", *words],
            env={**os.environ, "HEADGATE_ADDRESS": self.address},
            capture_output=True,
            text=True,
            check=False,
            timeout=_PATIENCE,
        )
        assert done.returncode == 0, f"headgate {' '.join(words)}: {done.stdout}{done.stderr}"
        return done.stdout


def replace_file(path: Path, text: bytes) -> None:
    new = path.with_name(path.name + ".new")
    new.write_bytes(text)
    new.rename(path)
