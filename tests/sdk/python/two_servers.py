"""Two servers that share their targets, for one test; tests/sdk/servers is the program."""

from __future__ import annotations

import subprocess
from pathlib import Path

from headgated import BIN


class TwoServers:
    def __init__(self, folder: Path) -> None:
        self._process = subprocess.Popen(
            [str(BIN / "headgate-two-servers"), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.address = f"127.0.0.1:{self._line()}"

    def do(self, what: str) -> str:
        """One line for one line."""
        assert self._process.stdin is not None
        self._process.stdin.write(what + "\n")
        self._process.stdin.flush()
        return self._line()

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(120) == 0
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "headgate-two-servers says nothing"
        return line.strip()
