"""Chunks whose size follows the server's advice."""

from __future__ import annotations

from dataclasses import dataclass

from headgate._checked import check_whole
from headgate._errors import invalid
from headgate._permit import Permit
from headgate._types import Answer


@dataclass(frozen=True)
class Chunk:
    """A part of the work, and the permit for it. The permit is reported when the next one begins."""

    first: int
    """Of its rows, counted from 0."""
    size: int
    permit: Permit

    @property
    def end(self) -> int:
        """One after its last row."""
        return self.first + self.size


class ChunkSizes:
    """How large each chunk is: the first `start`, then by the advice of the last answer.

    There is no advice while the size is right.
    """

    def __init__(self, total: int | None, start: int, smallest: int, largest: int | None) -> None:
        if total is not None and check_whole(total, "total") < 0:
            raise invalid(f"total: {total} is below zero")
        if check_whole(smallest, "smallest") < 1:
            raise invalid(f"smallest: {smallest} is below 1")
        if largest is not None and check_whole(largest, "largest") < smallest:
            raise invalid(f"largest: {largest} is below smallest")
        self._total = total
        self._smallest = smallest
        self._largest = largest
        self._size = start
        self.first = 0
        if check_whole(start, "start") < 1 or start != self._bounded(start):
            raise invalid(f"start: {start} is not between smallest and largest")

    def next(self) -> int:
        """The size of the next chunk; 0: there is none."""
        return self._size if self._total is None else min(self._size, self._total - self.first)

    def taken(self, size: int, answer: Answer | None) -> None:
        """None: the answer was to a question that said nothing of the size."""
        self.first += size
        if answer is not None and answer.chunk_scale is not None:
            self._size = self._bounded(round(self._size * answer.chunk_scale))

    def _bounded(self, size: int) -> int:
        size = max(size, self._smallest)
        return size if self._largest is None else min(size, self._largest)
