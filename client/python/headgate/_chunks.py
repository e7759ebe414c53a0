"""Chunks whose size follows the server's advice."""

from __future__ import annotations

from dataclasses import dataclass

from headgate._checked import check_whole
from headgate._errors import invalid
from headgate._permit import Permit
from headgate._types import Answer

_MOST_GROWTH = 2


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


class ChunkSize:
    """How many rows the next chunk should have, by the server's advice: for loops by hand.

    `rows` is what to ask for and state as the estimate, and `follow` takes what was answered. Advice is a
    factor on that. It is followed down at once, since a chunk that is too long is what harms; and up by
    doubling, so that each step is measured before the next.
    """

    def __init__(self, start: int, *, smallest: int = 1, largest: int | None = None) -> None:
        if check_whole(smallest, "smallest") < 1:
            raise invalid(f"smallest: {smallest} is below 1")
        if largest is not None and check_whole(largest, "largest") < smallest:
            raise invalid(f"largest: {largest} is below smallest")
        self._smallest = smallest
        self._largest = largest
        self.rows = start
        """Of the next chunk; at least 1."""
        if check_whole(start, "start") < 1 or start != self._bounded(start):
            raise invalid(f"start: {start} is not between smallest and largest")

    def follow(self, answer: Answer) -> None:
        """What was advised when a chunk of `rows` was asked for. Most answers advise nothing."""
        scale = answer.chunk_scale
        if scale is not None and scale > 0:
            self.rows = self._bounded(round(self.rows * min(scale, _MOST_GROWTH)))

    def _bounded(self, rows: int) -> int:
        rows = max(rows, self._smallest)
        return rows if self._largest is None else min(rows, self._largest)


class ChunkSizes:
    """How large each chunk of a job is, to its last one."""

    def __init__(self, total: int | None, start: int, smallest: int, largest: int | None) -> None:
        if total is not None and check_whole(total, "total") < 0:
            raise invalid(f"total: {total} is below zero")
        self._total = total
        self._size = ChunkSize(start, smallest=smallest, largest=largest)
        self.first = 0

    def next(self) -> int:
        """The size of the next chunk; 0: there is none."""
        return self._size.rows if self._total is None else min(self._size.rows, self._total - self.first)

    def taken(self, size: int, answer: Answer | None) -> None:
        """None: the answer was to a question that said nothing of the size."""
        self.first += size
        if answer is not None:
            self._size.follow(answer)
