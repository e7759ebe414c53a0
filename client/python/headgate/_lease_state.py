"""Which lease a piece is taken from, how much is asked for and when: pure, for both kinds of client.

Up to two leases are held, the current one and the next. Pieces come from the current one until one finds
no room there or its time is over. Half used, or half its time over, the next is asked for in the
background, so that whoever does thousands of pieces a second never waits. What is asked for follows from
what was used: whoever stops has little out, and asks for nothing more.

Who uses this brings the time, plays what `step` says, tells what came of it, and wakes whoever waits.
Thread-compatible. What may be known of the numbers at any time: no more is spent of a lease than was
granted, no piece begins when its time is over, and every piece is counted once.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from headgate._checked import check_cost
from headgate._errors import Code, Error, error
from headgate._lease_counts import Told
from headgate._lease_grant import Grant, use_of_both
from headgate._lease_types import Admission, LeaseStats, LeaseTerms
from headgate._options import OnUnreachable
from headgate._types import MAX_COST, Answer, PermitReport, Reason, Violation

ADMITTED = Admission(admitted=True)
_ADMITTED_ALONE = Admission(
    admitted=True, message="Headgate is unreachable: allowed without it", local=True
)
# When to try again, where the next lease is on its way.
_SHORT = 0.005
_ROOM_TO_GROW = 1.5
# From one lease to the next: a first piece that comes at once is no sign of thousands to follow.
_MOST_GROWTH = 10


@dataclass(frozen=True)
class LeaseOptions:
    """How a holder asks."""

    identity: str
    target: str
    piece: float | None  # None: the largest that was seen lately
    time: float
    longest_wait: float  # after which a denial is looked at again, whatever it says


@dataclass
class Ask:
    """One Check for a lease, which is to be sent or under way."""

    least: float
    most: float
    max_wait: float  # of those who wait for it; 0: nobody does
    terms: LeaseTerms
    sent: float = math.nan  # when; told by whoever sends it
    stood_in_line: bool = False  # in the server, for as long as it was to


@dataclass(frozen=True)
class Failure:
    """Why an ask had no answer, and what holds until the next one may be sent."""

    cause: Error
    pause: float
    is_outage: bool = False  # nobody answers: what on_unreachable says holds for each piece
    is_final: bool = False  # it was answered with an error, which is the caller's
    was_heard: bool = True  # what it told is known to the server, as far as anybody can know


@dataclass
class Step:
    """What is to be done now, in this order: reports are sent, then `ask`, or else it is waited."""

    reports: list[PermitReport] = field(default_factory=list)
    ask: Ask | None = None
    until: float = math.inf
    passes_time: bool = False  # somebody waits for that time to pass, and for nothing else
    is_idle: bool = False  # nothing is held and nobody waits: it may end until the next news


class Waiter:
    """A piece that waits, until `result` is there. `wake` is called then."""

    __slots__ = ("cost", "deadline", "grant", "not_before", "refusal", "result", "wake")

    def __init__(self, cost: float, deadline: float, wake: Callable[[], object]) -> None:
        self.cost = cost
        self.deadline = deadline
        self.wake = wake
        self.not_before = -math.inf  # refused until then
        self.refusal: Admission | None = None  # the newest
        self.grant: Grant | None = None  # it was taken from
        self.result: Admission | BaseException | None = None


@dataclass(frozen=True)
class _Denial:
    """Of an ask, and so of all pieces that are no smaller."""

    least: float
    over_at: float  # when it is asked again
    retry_at: float | None  # what the server said of that; None: waiting will not help
    holds_for_waiters: bool  # False: they may still stand in the server's line
    refusal: Admission

    def blocks(self, cost: float, now: float) -> bool:
        """Whether nothing is asked for a piece of this cost."""
        return cost >= self.least and now < self.over_at

    def is_known(self, cost: float, now: float) -> bool:
        """Whether it still says something of a piece, though that may be asked for again."""
        return cost >= self.least and (self.retry_at is None or now < self.retry_at)

    def tell(self, now: float) -> Admission:
        if self.retry_at is None:
            return self.refusal
        return _later(self.refusal, max(self.retry_at - now, 0.001))


def _later(refusal: Admission, retry_after: float) -> Admission:
    return Admission(
        retry_after=retry_after,
        reason=refusal.reason,
        message=refusal.message,
        limit_kind=refusal.limit_kind,
        budget=refusal.budget,
        rule=refusal.rule,
        signal=refusal.signal,
        local=refusal.local,
    )


def _refusal_of(answer: Answer) -> Admission:
    """With the names of the limit that takes longest to admit it."""

    def lasts(violation: Violation) -> float:
        return math.inf if violation.retry_after is None else violation.retry_after

    binding = max((each for each in answer.violations if not each.warn), key=lasts, default=None)
    return Admission(
        retry_after=answer.retry_after,
        reason=answer.reason,
        message=answer.message,
        limit_kind=None if binding is None else binding.limit_kind,
        budget="" if binding is None else binding.budget,
        rule="" if binding is None else binding.rule,
        signal="" if binding is None else binding.signal,
    )


class LeaseState:
    """`decide_alone` is what the policy says of a piece, if it decides. `chance` is from 0 to below 1."""

    def __init__(
        self,
        options: LeaseOptions,
        policy: OnUnreachable,
        decide_alone: Callable[[float, float], Answer],
        chance: Callable[[], float],
    ) -> None:
        self._options = options
        self._policy = policy
        self._decide_alone = decide_alone
        self._chance = chance
        self._told = Told(options.identity, options.target)
        self._current: Grant | None = None
        self._next: Grant | None = None
        self._last: Grant | None = None  # whose use is known, once it is retired
        self._retired: deque[Grant] = deque()  # to be given back
        self._unsaid: deque[PermitReport] = deque()  # given back with an ask that failed
        self._under_way = False  # a piece of the current one, where that has one at a time
        self._ask: Ask | None = None
        self._denial: _Denial | None = None
        self._failure: Failure | None = None
        self._pause_until = -math.inf
        self._needed: float | None = None  # the largest that was refused for want of room
        self._largest = self._largest_before = 0.0  # piece that was admitted, of this lease and the last
        self._round_trip = 0.0
        self._asks_least = False
        self._waiters: list[Waiter] = []
        self._admitted = self._refused = self._local = 0  # the first without those of leases that are held
        self.news = False
        """Something has happened that `step` has not seen."""
        self.closed = ""
        """Why it takes no pieces any more; empty: it does."""
        self.knows_leases = True
        """False: the server is from before there were leases."""

    # What callers do.

    def admit(self, cost: float, now: float) -> Admission:
        """Whether one piece may be done now. Raises what Check would."""
        return ADMITTED if self.take_easily(cost, now) else self._admit_closely(cost, now)

    def take_easily(self, cost: float, now: float) -> bool:
        """Admits a piece like those before, by far the most of all; False: it has to be looked at."""
        grant = self._current
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

    def join(self, cost: float, now: float, deadline: float, wake: Callable[[], object]) -> Waiter:
        """A piece that waits if it has to. Its result may be there at once."""
        check_cost(cost, "cost")
        self._must_be_open()
        waiter = Waiter(cost, deadline, wake)
        self._serve(waiter, now)
        result = waiter.result
        if result is None:
            self._waiters.append(waiter)
            self.news = True
        elif isinstance(result, Admission) and result.reason is Reason.CAPACITY:
            self._need(cost, now)  # it has no time to wait, but may come again
        return waiter

    def leave(self, waiter: Waiter) -> None:
        """Its caller has given up: nobody does the piece."""
        if waiter in self._waiters:
            self._waiters.remove(waiter)
            self.news = True
            return
        grant, waiter.grant = waiter.grant, None
        if grant is not None and grant in (self._current, self._next, *self._retired):
            grant.put_back(waiter.cost)
            self.news = True
            if grant is self._current and grant.one_at_a_time:
                self._under_way = False

    def end_piece(self, now: float) -> None:
        """The one that is under way, where they go one at a time."""
        if self._under_way:
            self._under_way = False
            self.news = True
            self.serve_all(now)

    def settle(
        self, estimate: float, actual_cost: float | None, busy_time: float | None, now: float
    ) -> None:
        """Goes with the lease that is given back next."""
        known = self._current or self._last
        ratio = 1.0 if known is None else known.ratio
        busy_ratio = 0.0 if known is None or known.busy_ratio is None else known.busy_ratio
        if actual_cost is not None:
            self._told.settle_cost(estimate * ratio, actual_cost)
        if busy_time is not None:
            self._told.settle_busy_time(estimate * busy_ratio, busy_time)
        self.end_piece(now)

    def stats(self, now: float) -> LeaseStats:
        held = [each for each in (self._current, self._next) if each is not None]
        return LeaseStats(
            admitted=self._admitted + sum(each.pieces for each in (*held, *self._retired)),
            refused=self._refused,
            local=self._local,
            held=sum((each.left for each in held if now < each.ends), 0.0),
        )

    def close(self) -> list[PermitReport]:
        """What is left, to be given back. Whoever waits gets RuntimeError."""
        self.closed = "the lease is closed"
        self.news = True
        self._under_way = False
        for waiter in self._waiters:
            self._resolve(waiter, RuntimeError(self.closed))
        self._waiters.clear()
        self._retire_current()
        self._retire_current()
        return self.give_back()

    # What happens in the background.

    def step(self, now: float) -> Step:
        """What is to be done; to be played at once."""
        self._pass_time(now)
        self.serve_all(now)
        step = Step()
        least = self._least_wanted(now)
        if least is not None:
            step.ask = self._ask = self._make_ask(least, now)
        elif self._ask is None:
            self._retire_what_is_spent()
        step.reports = self.give_back(alone=bool(self.closed))
        if step.ask is None:
            self._fill_wait(step, now)
        self.news = False
        return step

    def give_back(self, *, alone: bool = True) -> list[PermitReport]:
        """All leases that are held no more; with `alone`, refusals too that no lease would carry."""
        reports = [self._unsaid.popleft() for _ in range(len(self._unsaid))]
        reports += [each for each in map(self._take_report, self._take_retired()) if each is not None]
        if alone and self.knows_leases and (counts := self._told.report_counts()) is not None:
            reports.append(counts)
        return reports

    @property
    def ask_is_wanted(self) -> bool:
        """False: an ask stands in line for nobody any more."""
        return self._ask is None or self._ask.max_wait <= 0 or len(self._waiters) > 0

    def answered(self, answer: Answer, now: float) -> None:
        """The ask that is under way."""
        ask = self._take_ask()
        self._failure = None
        self._pause_until = -math.inf
        waited = min(answer.waited or 0.0, max(now - ask.sent, 0.0))
        self._round_trip = max(now - ask.sent - waited, 0.0)
        self._note_returned(answer, ask)
        if answer.allowed:
            self._hold(Grant(answer, ask.most, ask.sent + waited), ask, now)
        else:
            self._deny(answer, ask, now)
        self.serve_all(now)

    def failed(self, failure: Failure, now: float) -> None:
        ask = self._take_ask()
        if failure.cause.code is not Code.CANCELLED:  # which says nothing of the server
            self._failure = failure
            self._pause_until = now + failure.pause
        returned = ask.terms.returned
        if returned is not None and returned.permit_id:
            self._unsaid.append(returned)
        elif returned is not None and returned.lease_use is not None and not failure.was_heard:
            self._told.put_back(returned.lease_use.counts)
        self.serve_all(now)

    def serve_all(self, now: float) -> None:
        """The largest first: that is what was asked for at least."""
        if not self._waiters:
            return
        for waiter in sorted(self._waiters, key=lambda each: -each.cost):
            self._serve(waiter, now)
        self._waiters = [each for each in self._waiters if each.result is None]

    # One piece.

    def _admit_closely(self, cost: float, now: float) -> Admission:
        check_cost(cost, "cost")
        self._must_be_open()
        admission = self._take(cost, now)
        if admission is None:
            self._need(cost, now)
            denial = self._denial
            if denial is not None and not denial.is_known(cost, now):
                denial = None
            admission = self._without_room(cost, now, self._failure, denial)
        if admission is ADMITTED:
            return ADMITTED
        return self._counted(admission, cost)

    def _need(self, cost: float, now: float) -> None:
        """The next ask is for that, too, though nobody waits for it; unless it was just denied."""
        if self._denial is not None and self._denial.blocks(cost, now):
            return
        self._needed = cost if self._needed is None else max(self._needed, cost)
        self.news = True

    def _counted(self, admission: Admission, cost: float) -> Admission:
        if admission.local and admission.admitted:
            self._local += 1
        elif not admission.admitted:
            self._refused += 1
            known = self._current or self._last
            self._told.refuse(admission, cost if known is None else cost * known.ratio)
        return admission

    def _take(self, cost: float, now: float) -> Admission | None:
        """From what is held; None: there is no room."""
        self._pass_time(now)
        while (grant := self._current) is not None:
            if cost > grant.largest_piece:
                return _too_large(cost, grant.largest_piece)
            if self._under_way:
                return _one_at_a_time(max(_SHORT, self._round_trip))
            if grant.has_room(cost):
                return self._take_from(grant, cost, now)
            if cost <= grant.amount:
                grant.refuse_from(now)
            if self._next is None:
                return None
            self._retire_current()
        return None

    def _take_from(self, grant: Grant, cost: float, now: float) -> Admission:
        if grant.reject_ratio > 0 and self._chance() < grant.reject_ratio:
            return _by_chance(grant, now)
        grant.take(cost)
        self._largest = max(self._largest, cost)
        self._under_way = grant.one_at_a_time
        if grant.is_half_used(now):
            grant.ease()
            self.news = True
        elif grant.pieces == 1:
            self.news = True  # at half its time the next one is wanted
        return ADMITTED

    def _without_room(
        self, cost: float, now: float, failure: Failure | None, denial: _Denial | None
    ) -> Admission:
        """A refusal, or what on_unreachable says. Raises an error that the last ask ended with."""
        if failure is not None and failure.is_final:
            raise _again(failure.cause)
        if failure is not None and failure.is_outage:
            return self._alone(cost, now, failure)
        if denial is not None:
            return denial.tell(now)
        if failure is not None:
            return Admission(
                retry_after=max(self._pause_until - now, _SHORT),
                reason=Reason.CAPACITY,
                message=str(failure.cause),
            )
        return Admission(
            retry_after=max(_SHORT, self._round_trip),
            reason=Reason.CAPACITY,
            message="No lease has room for it, and the next one is not there yet.",
        )

    def _alone(self, cost: float, now: float, failure: Failure) -> Admission:
        """As on_unreachable says."""
        if self._policy.decides:
            answer = self._decide_alone(cost, now)
            if answer.allowed:
                return _ADMITTED_ALONE
            return Admission(
                retry_after=answer.retry_after,
                reason=answer.reason,
                message=answer.message,
                local=True,
            )
        if not self._policy.waits:
            raise _again(failure.cause)
        return Admission(
            retry_after=max(_SHORT, self._round_trip),
            reason=Reason.CAPACITY,
            message=f"Headgate is unreachable: {failure.cause.message}",
            local=True,
        )

    # Those who wait.

    def _serve(self, waiter: Waiter, now: float) -> None:
        is_late = now >= waiter.deadline
        if now < waiter.not_before:
            if is_late and waiter.refusal is not None:
                self._resolve(waiter, waiter.refusal)
            return
        grant = None
        try:
            admission = self._take(waiter.cost, now)
            grant = self._current
            if admission is None:
                failure = self._failure_of_those_who_wait(now)
                denial = self._denial_of_one_who_waits(waiter, now)
                admission = self._without_room(waiter.cost, now, failure, denial)
        except Error as raised:
            self._resolve(waiter, raised)
            return
        if admission.local:
            self._need(waiter.cost, now)
        if admission.admitted:
            waiter.grant = None if admission.local else grant
            self._resolve(waiter, self._counted(admission, waiter.cost))
        elif admission.retry_after is None or is_late:
            self._resolve(waiter, self._counted(admission, waiter.cost))
        elif admission.reason is Reason.REJECT_RATIO or (admission.local and self._policy.decides):
            # It was refused as a Check is that is repeated then, and is counted so.
            waiter.refusal = self._counted(admission, waiter.cost)
            waiter.not_before = now + admission.retry_after

    def _failure_of_those_who_wait(self, now: float) -> Failure | None:
        """Whoever came after its pause was over waits for what comes of the next ask; but in an outage
        the policy decides without waiting for that."""
        failure = self._failure
        if failure is None or now < self._pause_until or (failure.is_outage and self._policy.decides):
            return failure
        return None

    def _denial_of_one_who_waits(self, waiter: Waiter, now: float) -> _Denial | None:
        """The newest, at the end of its time; until then, only one that is not to be asked about again."""
        denial = self._denial
        if denial is None or waiter.cost < denial.least:
            return None
        return denial if denial.blocks(waiter.cost, now) or now >= waiter.deadline else None

    def _resolve(self, waiter: Waiter, result: Admission | BaseException) -> None:
        waiter.result = result
        waiter.wake()

    # What is held.

    def _pass_time(self, now: float) -> None:
        if self._next is not None and now >= self._next.ends:
            self._retired.append(self._next)
            self._next = None
            self.news = True
        if self._current is None or now < self._current.ends or self._under_way:
            return
        self._retire_current()

    def _retire_current(self) -> None:
        """The next one takes its place."""
        retired, self._current, self._next = self._current, self._next, None
        if retired is not None:
            self._retired.append(retired)
            self._last = retired
            self.news = True
            if retired.pieces > 0:
                self._largest_before, self._largest = self._largest, 0.0
            if self._current is not None:
                self._current.used_from = retired.till

    def _retire_what_is_spent(self) -> None:
        """Where no ask takes it along; what is left of it is too little for the pieces that come."""
        if self._current is not None and self._current.is_full and not self._under_way:
            self._retire_current()

    def _take_retired(self) -> list[Grant]:
        retired = list(self._retired)
        self._retired.clear()
        return retired

    def _take_report(self, grant: Grant) -> PermitReport | None:
        self._admitted += grant.pieces
        return self._told.report(grant)

    def _hold(self, grant: Grant, ask: Ask, now: float) -> None:
        if self._denial is not None and self._denial.least <= ask.least:
            self._denial = None
        self._asks_least = False
        if self._needed is not None and grant.has_room(self._needed):
            self._needed = None
        if self.closed or now >= grant.ends:
            self._retired.append(grant)
        elif self._current is None:
            self._current = grant
        else:
            self._next = grant

    # When is asked, and for how much.

    def _least_wanted(self, now: float) -> float | None:
        """Of the ask that is due now; None: none is."""
        if self._ask is not None or self._next is not None or self.closed or now < self._pause_until:
            return None
        if self._under_way:
            return None
        wanted = self._costs_wanted(now)
        if wanted:
            return max(wanted) or self._usual_piece()
        current = self._current
        if current is None or current.one_at_a_time or not current.is_half_used(now):
            return None
        least = self._usual_piece()
        return None if self._denial is not None and self._denial.blocks(least, now) else least

    def _costs_wanted(self, now: float) -> list[float]:
        """Of pieces that found no room, and that a denial which holds says nothing of."""
        denial = self._denial
        costs = [] if self._needed is None else [self._needed]
        if denial is not None:
            costs = [each for each in costs if not denial.blocks(each, now)]
        for waiter in self._waiters:
            if now < waiter.not_before:
                continue
            if denial is None or not denial.holds_for_waiters or not denial.blocks(waiter.cost, now):
                costs.append(waiter.cost)
        return costs

    def _usual_piece(self) -> float:
        if self._options.piece is not None:
            return self._options.piece
        return max(self._largest, self._largest_before) or 1.0

    def _make_ask(self, least: float, now: float) -> Ask:
        current = self._current
        # A piece finds no room in it: what is left of it makes room elsewhere.
        if current is not None and (current.one_at_a_time or not current.has_room(least)):
            self._retire_current()
        elif current is not None:
            current.ease()
        most = self._most(least, now)
        waits = [each.deadline - now for each in self._waiters if now >= each.not_before]
        terms = LeaseTerms(least, self._options.time, self._returned_with_an_ask())
        self._needed = None
        return Ask(least, most, max(waits, default=0.0), terms)

    def _returned_with_an_ask(self) -> PermitReport | None:
        if not self.knows_leases:
            return None
        if self._unsaid and self._unsaid[0].lease_use is not None:
            return self._unsaid.popleft()
        if self._retired and not self._retired[0].is_old:
            return self._take_report(self._retired.popleft())
        # Counts alone are counted twice where a call is repeated: they wait for a lease to go with, whose
        # permit makes that harmless, unless none is in sight.
        return None if self._denial is None else self._told.report_counts()

    def _most(self, least: float, now: float) -> float:
        current = self._current or self._last
        if current is None or self._asks_least or now - current.ends > current.time:
            return least
        left = 0.0 if self._current is None else self._current.left
        most = _ROOM_TO_GROW * self._use_now(current, now) - left
        if current.is_full:
            most = max(most, 2 * current.amount)
        most = min(most, _MOST_GROWTH * max(current.amount, least))
        return min(max(most, least), MAX_COST)

    def _use_now(self, current: Grant, now: float) -> float:
        """In a lease's time. One that has just begun says little, unless it is half spent already."""
        before = self._last
        if before is None or before is current or current.used_from - before.till > current.time:
            return current.use(now)
        use = use_of_both(before, current, now)
        return max(use, current.use(now)) if current.spent >= current.amount / 2 else use

    # What came of an ask.

    def _take_ask(self) -> Ask:
        ask, self._ask = self._ask, None
        assert ask is not None, "an answer to no question"
        self.news = True
        return ask

    def _note_returned(self, answer: Answer, ask: Ask) -> None:
        returned = ask.terms.returned
        self.knows_leases = answer.lease is not None
        if returned is None or returned.lease_use is None:
            return
        if answer.lease is None:
            if returned.permit_id:
                self._unsaid.append(returned)
            return
        result = answer.lease.returned
        if isinstance(result, Error) and result.code is Code.NOT_FOUND and returned.permit_id:
            # By a server that has forgotten it, which can still count the pieces.
            use = returned.lease_use
            self._unsaid.append(PermitReport(permit_id=0, lease_use=use))

    def _deny(self, answer: Answer, ask: Ask, now: float) -> None:
        after = answer.retry_after
        longest = self._options.longest_wait
        if self._needed is not None and self._needed >= ask.least:
            self._needed = None
        self._asks_least = answer.lease is None  # it denies all of what was asked for, or nothing
        self._denial = _Denial(
            least=ask.least,
            over_at=now + (longest if after is None else min(max(after, 0.001), longest)),
            retry_at=None if after is None else now + after,
            holds_for_waiters=after is None or (ask.max_wait > 0 and not ask.stood_in_line),
            refusal=_refusal_of(answer),
        )

    # When there is something to do again.

    def _fill_wait(self, step: Step, now: float) -> None:
        times = [each.ends for each in (self._current, self._next) if each is not None]
        if self._under_way:
            times = []
        current = self._current
        pause_ends = [each for each in (self._pause_until, self._denial_ends()) if each > now]
        if current is not None and current.pieces > 0 and not current.one_at_a_time:
            times += pause_ends if current.is_half_used(now) else [current.half_at]
        if self._needed is not None:
            times += pause_ends
        if self._waiters:
            in_time = [each.not_before for each in self._waiters if each.not_before > now]
            in_time += pause_ends
            times += in_time + [each.deadline for each in self._waiters]
            step.passes_time = bool(in_time)
        step.until = min(times, default=math.inf)
        held = current is not None or self._ask is not None or self._needed is not None
        step.is_idle = bool(self.closed) or not (held or self._waiters)

    def _denial_ends(self) -> float:
        return -math.inf if self._denial is None else self._denial.over_at

    def _must_be_open(self) -> None:
        if self.closed:
            raise RuntimeError(self.closed)


def _again(failure: Error) -> Error:
    """One of its own for each caller: threads would share a traceback."""
    return error(failure.code, failure.message, failure.retry_delay)


def _too_large(cost: float, largest: float) -> Admission:
    return Admission(
        reason=Reason.MAX_COST, message=f"A piece of {cost:g} is above the largest, {largest:g}."
    )


def _one_at_a_time(retry_after: float) -> Admission:
    return Admission(
        retry_after=retry_after,
        reason=Reason.MAX_CONCURRENCY,
        message="One piece at a time: the last one has not ended.",
    )


def _by_chance(grant: Grant, now: float) -> Admission:
    return Admission(
        retry_after=max(grant.ends - now, 0.001),
        reason=Reason.REJECT_RATIO,
        message=f"A rule rejects {100 * grant.reject_ratio:g}% by chance, and this is one of them.",
    )
