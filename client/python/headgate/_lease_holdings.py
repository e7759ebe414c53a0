"""The leases that are held: which one a piece is taken from, and how large the next one should be.

There are up to two, the current one and the next. Pieces come from the current one until one finds no room
there or its time is over, and then from the next. A lease that is spent, over or unused is retired, to be
given back. One that came with a safe rate, and is over while nobody may be there to grant the next one, is
kept for that: the server charges the rate until the lease is returned, which it is when somebody has
answered, or the rate's time is over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from headgate import _lease_refusals as refusals
from headgate._lease_grant import Grant, use_of_both
from headgate._lease_types import Admission
from headgate._types import MAX_COST

_ROOM_TO_GROW = 1.5
_PARTS_OF_USE = 20
# From one lease to the next: a first piece that comes at once is no sign of thousands to follow.
_MOST_GROWTH = 10


class Holdings:
    """Thread-compatible. `chance` is from 0 to below 1."""

    def __init__(self, chance: Callable[[], float]) -> None:
        self._chance = chance
        self.current: Grant | None = None
        self.next: Grant | None = None
        self.retired: deque[Grant] = deque()
        self.safe: Grant | None = None
        """Over, and kept for its safe rate."""
        self.safe_pieces = 0
        """That were ever admitted so."""
        self.may_be_alone = False
        """An ask is under way, or nobody has answered the last one."""
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
            return refusals.by_chance(grant, now, grant.ends)
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
        if self.safe is not None and self.safe.safe is not None and now >= self.safe.safe.until:
            self.return_safe()

    def retire_current(self) -> None:
        """The next one takes its place."""
        retired, self.current, self.next = self.current, self.next, None
        if retired is None:
            return
        self.return_safe()
        if retired.safe is not None and self.current is None and self.may_be_alone:
            self.safe = retired
        else:
            self.retired.append(retired)
        self._last = retired
        self.news = True
        if retired.pieces > 0:
            self._largest_before, self._largest = self._largest, 0.0
        if self.current is not None:
            self.current.used_from = retired.till

    def return_safe(self) -> None:
        """It is not needed any more."""
        if self.safe is not None:
            self.retired.append(self.safe)
            self.safe = None
            self.news = True

    def take_safely(self, cost: float, now: float) -> Admission | None:
        """While nobody can be reached; None: there is no safe rate."""
        grant = self.safe_lease
        if grant is None or grant.safe is None:
            return None
        if cost > grant.largest_piece:
            return refusals.too_large(cost, grant.largest_piece)
        if grant.reject_ratio > 0 and self._chance() < grant.reject_ratio:
            return refusals.by_chance(grant, now, grant.safe.until)
        wait = grant.safe.take(cost, now)
        if wait > 0:
            return refusals.not_yet_safe(min(wait, grant.safe.until - now))
        grant.pieces += 1
        self.safe_pieces += 1
        return refusals.ADMITTED

    @property
    def safe_lease(self) -> Grant | None:
        """The one whose safe rate is spent where nobody answers, or will be when it is over."""
        last = self.next or self.current or self.safe
        return None if last is None or last.safe is None else last

    @property
    def longest_in_line(self) -> float | None:
        """Until when an ask may stand in line: who has no answer at the end of a lease with a safe rate
        knows then that nobody answers. None: for as long as it likes."""
        return None if self.safe_lease is None else self.safe_lease.ends

    def retire_what_is_spent(self) -> None:
        """What is left of it is too little for the pieces that come."""
        current = self.current
        if current is not None and current.is_full and not self.under_way and current.safe is None:
            self.retire_current()

    def retire_unlike(self, state: int, now: float) -> bool:
        """Those that were granted in another state. Whether anything was used of them. None is kept for its
        safe rate: somebody has just said that it is not to be used."""
        if self.safe is not None and self.safe.state != state:
            self.return_safe()
        unlike = [each for each in (self.current, self.next) if each is not None and each.state != state]
        for each in unlike:
            each.safe = None
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
        self.under_way = self.may_be_alone = False
        self.retire_current()
        self.retire_current()
        self.return_safe()

    @property
    def known(self) -> Grant | None:
        """Whose prediction holds for pieces."""
        return self.current or self._last

    @property
    def pieces(self) -> int:
        """Of all that are here."""
        held = (self.current, self.next, self.safe, *self.retired)
        return sum(each.pieces for each in held if each is not None)

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
        if current is None:
            return
        # Nobody may answer: then the safe rate is needed of one that is spent, too.
        is_kept = current.has_room(least) or current.safe is not None
        if current.one_at_a_time or not is_kept:
            self.retire_current()
        else:
            current.ease()

    def paced(self, piece: float, most: float, now: float) -> float:
        """What is asked for at least for such a piece: a part of the use, so that who waits for room piece
        by piece does not ask for each; but no more than `most`, if the piece is not."""
        newest = self.known
        if newest is None or newest.is_old or now - newest.ends > newest.time:
            return piece
        before = self._last
        began = newest.used_from if before is None else min(before.used_from, newest.used_from)
        if now - began < newest.time / 10:  # in a moment anything may be spent
            return piece
        return max(min(self._use(newest, now) / _PARTS_OF_USE, most, newest.largest_piece), piece)

    def rate(self, now: float) -> float:
        """What is used in a second, as far as is known."""
        newest = self.known
        return 0.0 if newest is None else self._use(newest, now) / newest.time

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
