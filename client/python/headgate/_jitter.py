"""Spreads the pauses of clients over time, and tells their requests apart.

It is the client's only randomness: all of it follows from the seed, in the order of the calls, and
from how the process was forked since.
"""

from __future__ import annotations

import itertools
import os
import random


class Jitter:
    """Thread-safe: each method draws from an object that CPython guards."""

    def __init__(self, seed: int | None = None) -> None:
        self._begin(random.SystemRandom().getrandbits(64) if seed is None else seed)

    def _begin(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._name = f"{self._random.getrandbits(64):016x}"
        self._numbers = itertools.count()

    def after_fork(self) -> None:
        """In the child: the same ids as the parent's would be answered with its permits."""
        self._begin(self._random.getrandbits(64) ^ (os.getpid() << 64))

    def chance(self) -> float:
        """From 0 to below 1."""
        return self._random.random()

    def at_least(self, seconds: float) -> float:
        """Never earlier, and up to a quarter later."""
        return seconds * (1 + self._random.random() / 4)

    def backoff(self, failures: int, first: float, longest: float) -> float:
        """The pause after so many failures in a row, from 0.

        It doubles up to `longest`, and is anywhere in its upper half.
        """
        pause = min(first * (1 << min(failures, 30)), longest)
        return pause * (0.5 + self._random.random() / 2)

    def number(self) -> int:
        """One such as that of a LeaseUse: not 0, and likely no other's."""
        return self._random.getrandbits(64) or 1

    def request_id(self) -> str:
        """Differs from all others of this client, and from those of clients with other seeds."""
        return f"{self._name}-{next(self._numbers):x}"
