"""The leases that are held: which one a piece is taken from, and how large the next one should be.

There are up to two, the current one and the next. Pieces come from the current one until one finds no room
there or its time is over, and then from the next. A lease that is spent, over or unused is retired, to be
given back.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from headgate import _lease_refusals as refusals
from headgate._lease_grant import Grant, use_of_both
from headgate._lease_types import Admission
from headgate._types import MAX_COST

_ROOM_TO_GROW = 1.5
# From one lease to the next: a first piece that comes at once is no sign of thousands to follow.
_MOST_GROWTH = 10


class Holdings:
    """Thread-compatible. `chance` is from 0 to below 1."""

    def __init__(self, chance: Callable[[], float]) -> None:
        self._chance = chance
        self.current: Grant | None = None
        self.next: Grant | None = None
        self.retired: deque[Grant] = deque()
        self.under_way = False
        """A piece of the current one, where that has one at a time."""
        self._last: Grant | None = None  # the one before, whose use is known
        self._largest = self._largest_before = 0.0  # piece that was admitted, of this lease and the last
        self.news = False
        """Something has happened after which there may be something to ask for or to give back."""

    def take_easily(self, cost: float, now: float) -> bool:
        """Admits a piece like those before, by far the most of all; False: it has to be looked at."""
        grant = self.current
        try:
            if (
                grant is not None
                and now < grant.easy_until
                and 0 <= cost <= grant.easy_piece
                and grant.spent + cost <= grant.easy_amount
            ):
                grant.spent += cost
                grant.pieces += 1
                return True
        except TypeError:
            pass  # it is no number
        return False

    def take(self, cost: float, now: float) -> Admission | None:
        """None: there is no room."""
        self.pass_time(now)
        while (grant := self.current) is not None:
            if cost > grant.largest_piece:
                return refusals.too_large(cost, grant.largest_piece)
            if self.under_way:
                return refusals.one_at_a_time()
            if grant.has_room(cost):
                return self._take_from(grant, cost, now)
            if cost <= grant.amount:
                grant.refuse_from(now)
            if self.next is None:
                return None
            self.retire_current()
        return None

    def _take_from(self, grant: Grant, cost: float, now: float) -> Admission:
        if grant.reject_ratio > 0 and self._chance() < grant.reject_ratio:
            return refusals.by_chance(grant, now)
        grant.take(cost)
        self._largest = max(self._largest, cost)
        self.under_way = grant.one_at_a_time
        if grant.is_half_used(now):
            grant.ease()
            self.news = True
        elif grant.pieces == 1:
            self.news = True  # at half its time the next one is wanted
        return refusals.ADMITTED

    def put_back(self, grant: Grant, cost: float) -> None:
        """A piece that nobody began after all; of a lease that has gone back it counts as begun."""
        if grant in (self.current, self.next, *self.retired):
            grant.put_back(cost)
            self.news = True
        if grant is self.current and grant.one_at_a_time:
            self.under_way = False

    def hold(self, grant: Grant, now: float) -> None:
        if now >= grant.ends:
            self.retired.append(grant)
        elif self.current is None:
            self.current = grant
        else:
            self.next = grant

    def pass_time(self, now: float) -> None:
        if self.next is not None and now >= self.next.ends:
            self.retired.append(self.next)
            self.next = None
            self.news = True
        # One with a piece under way keeps its place until that has ended.
        if self.current is not None and now >= self.current.ends and not self.under_way:
            self.retire_current()

    def retire_current(self) -> None:
        """The next one takes its place."""
        retired, self.current, self.next = self.current, self.next, None
        if retired is None:
            return
        self.retired.append(retired)
        self._last = retired
        self.news = True
        if retired.pieces > 0:
            self._largest_before, self._largest = self._largest, 0.0
        if self.current is not None:
            self.current.used_from = retired.till

    def retire_what_is_spent(self) -> None:
        """What is left of it is too little for the pieces that come."""
        if self.current is not None and self.current.is_full and not self.under_way:
            self.retire_current()

    def retire_unlike(self, state: int, now: float) -> bool:
        """Those that were granted in another state. Whether anything was used of them."""
        unlike = [each for each in (self.current, self.next) if each is not None and each.state != state]
        if self.next is not None and self.next in unlike:
            self.retired.append(self.next)
            self.next = None
        if self.current is not None and self.current in unlike:
            # One with a piece under way keeps its place until that has ended.
            if self.under_way:
                self.current.end(now)
            else:
                self.retire_current()
        self.news = self.news or bool(unlike)
        return any(each.pieces > 0 for each in unlike)

    def retire_all(self) -> None:
        self.under_way = False
        self.retire_current()
        self.retire_current()

    @property
    def known(self) -> Grant | None:
        """Whose prediction holds for pieces."""
        return self.current or self._last

    @property
    def pieces(self) -> int:
        """Of all that are here."""
        return sum(each.pieces for each in (self.current, self.next, *self.retired) if each is not None)

    def left(self, now: float) -> float:
        """What may be spent."""
        held = [each for each in (self.current, self.next) if each is not None]
        return sum((each.left for each in held if now < each.ends), 0.0)

    def usual_piece(self) -> float:
        """The largest that was seen lately."""
        return max(self._largest, self._largest_before) or 1.0

    def is_next_due(self, now: float) -> bool:
        """Of one that holds a place the next would hold another: it is spent first."""
        current = self.current
        return current is not None and not current.one_at_a_time and current.is_half_used(now)

    def make_room(self, least: float) -> None:
        """For a lease that is asked for: what a piece of this cost finds no room in is given back."""
        current = self.current
        if current is not None and (current.one_at_a_time or not current.has_room(least)):
            self.retire_current()
        elif current is not None:
            current.ease()

    def most(self, least: float, now: float) -> float:
        """Of the next one, by what was used."""
        newest = self.known
        if newest is None or now - newest.ends > newest.time:
            return least
        left = 0.0 if self.current is None else self.current.left
        most = _ROOM_TO_GROW * self._use(newest, now) - left
        if newest.is_full:
            most = max(most, 2 * newest.amount)
        most = min(most, _MOST_GROWTH * max(newest.amount, least))
        return min(max(most, least), MAX_COST)

    def _use(self, newest: Grant, now: float) -> float:
        """In a lease's time. One that has just begun says little, unless it is half spent already."""
        before = self._last
        if before is None or before is newest or newest.used_from - before.till > newest.time:
            return newest.use(now)
        use = use_of_both(before, newest, now)
        return max(use, newest.use(now)) if newest.spent >= newest.amount / 2 else use
