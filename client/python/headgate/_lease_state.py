"""What becomes of each piece, and what is asked for and when: pure, for both kinds of client.

Half of the current lease used, or half its time over, the next one is asked for in the background, so that
whoever does thousands of pieces a second never waits. How much follows from what was used: whoever stops
has little out, and asks for nothing more.

Who uses this brings the time, plays what `step` says, and tells what came of it. At any time: no more is
spent of a lease than was granted, no piece begins when its time is over, every piece is counted once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from headgate import _lease_refusals as refusals
from headgate._checked import check_cost
from headgate._errors import Code, Error
from headgate._lease_failures import Failures
from headgate._lease_grant import Grant
from headgate._lease_holdings import Holdings
from headgate._lease_refusals import ADMITTED, Denial
from headgate._lease_returns import Returns
from headgate._lease_step import Ask, Failure, LeaseOptions, Step, Waiter
from headgate._lease_types import Admission, LeaseStats, LeaseTerms
from headgate._options import OnUnreachable
from headgate._types import MAX_COST, Answer, PermitReport, Reason


class LeaseState:
    """Thread-compatible.

    `decide_alone` is what the policy says of a piece, if it decides. `chance` is from 0 to below 1,
    `new_id` a number by chance.
    """

    def __init__(
        self,
        options: LeaseOptions,
        policy: OnUnreachable,
        decide_alone: Callable[[float, float], Answer],
        chance: Callable[[], float],
        new_id: Callable[[], int],
    ) -> None:
        self._options = options
        self._policy = policy
        self._held = Holdings(chance)
        self.take_easily = self._held.take_easily
        self._returns = Returns(self._held, options, new_id)
        self._ask: Ask | None = None  # under way
        self._denial: Denial | None = None  # the newest
        self._failures = Failures(policy, decide_alone)
        self._needed: float | None = None  # the largest piece that was refused for want of room
        self._asks_least = False
        self._order = 0  # the state that the newest order made
        self._is_overtaken = False  # the ask, by that
        self._most_of_least = math.inf  # beyond one piece there is never room for more, as far as is known
        self._waiters: list[Waiter] = []
        self._refused = self._local = 0
        self.news = False
        """Something has happened that `step` has not seen."""
        self.closed = ""
        """Why it takes no pieces any more; empty: it does."""

    # What callers do.

    def admit(self, cost: float, now: float) -> Admission:
        """Whether one piece may be done now. Raises what Check would."""
        if self.take_easily(cost, now):
            return ADMITTED
        check_cost(cost, "cost")
        self._must_be_open()
        admission = self._take(cost, now)
        if admission is None:
            self._need(cost, now)
            denial = self._denial
            if denial is not None and not denial.is_known(cost, now):
                denial = None
            admission = self._safely(cost, now)
            if admission is None:
                admission = self._failures.refusal(cost, now, denial)
        return self._counted(admission, cost, now)

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
        self.news = True
        if waiter in self._waiters:
            self._waiters.remove(waiter)
        elif waiter.grant is not None:
            self._held.put_back(waiter.grant, waiter.cost)
            waiter.grant = None

    def end_piece(self, now: float) -> None:
        """The one that is under way, where they go one at a time."""
        if self._held.under_way:
            self._held.under_way = False
            self.news = True
            self.serve_all(now)

    def settle(
        self, estimate: float, actual_cost: float | None, busy_time: float | None, now: float
    ) -> None:
        """What a piece really was; it has ended."""
        self._returns.settle(estimate, actual_cost, busy_time)
        self.end_piece(now)

    def stats(self, now: float) -> LeaseStats:
        return LeaseStats(
            admitted=self._returns.pieces,
            safe=self._held.safe_pieces,
            refused=self._refused,
            local=self._local,
            held=self._held.left(now),
        )

    def overdue(self, now: float) -> list[PermitReport]:
        """What is to be sent now, though an ask stands in line: leases that are over, and counts that have
        waited for its answer for as long as a lease lasts."""
        self._held.pass_time(now)
        return self._returns.by_report(now, is_last=False)

    def close(self, now: float) -> list[PermitReport]:
        """What is left, to be given back. Whoever waits gets RuntimeError."""
        self.closed = "the lease is closed"
        for waiter in self._waiters:
            waiter.end(RuntimeError(self.closed))
        self._waiters.clear()
        self._held.retire_all()
        return self._returns.by_report(now, is_last=True)

    # What happens in the background.

    def step(self, now: float) -> Step:
        """What is to be done; to be played at once."""
        self._held.pass_time(now)
        self.serve_all(now)
        step = Step()
        least = self._least_wanted(now)
        if least is not None:
            step.ask = self._ask = self._make_ask(least, now)
        elif self._ask is None:
            self._held.retire_what_is_spent()
        step.reports = self._returns.by_report(now, is_last=bool(self.closed))
        if step.ask is None:
            self._fill_wait(step, now)
        self.news = self._held.news = False
        return step

    @property
    def ask_is_wanted(self) -> bool:
        """False: an ask stands in line for nobody any more."""
        return self._ask is None or self._ask.max_wait <= 0 or len(self._waiters) > 0

    def answered(self, answer: Answer, now: float) -> None:
        """The ask that is under way."""
        ask = self._take_ask()
        self._held.return_safe()
        waited = min(answer.waited or 0.0, max(now - ask.sent, 0.0))
        self._failures.answered(max(now - ask.sent - waited, 0.0))
        self._returns.answered(ask, answer)
        if answer.allowed:
            self._hold(Grant(answer, ask.most, ask.sent + waited, now + self._options.time / 4), ask, now)
            if self._is_overtaken:
                # It may have been decided before the order, and then nobody would take it back.
                self._take_back(now)
        else:
            self._deny(answer, ask, now)
        self.serve_all(now)

    def failed(self, failure: Failure, now: float) -> None:
        """The ask that is under way."""
        ask = self._take_ask()
        if failure.cause.code is not Code.CANCELLED:  # which says nothing of the server
            self._failures.note(failure, now)
            self._held.may_be_alone = failure.is_outage
            if not failure.is_outage:
                self._held.return_safe()
        else:
            self._held.may_be_alone = self._failures.is_outage
        self._returns.failed(ask)
        self._returns.explain()
        self.serve_all(now)

    def obey(self, state: int, now: float) -> None:
        """An order: what was granted in any other state goes back, also what an answer under way brings,
        and what was denied may be had."""
        if self.closed:
            return
        is_first = self._order == 0  # of which it is not known whether it has changed
        self._order = state
        self._is_overtaken = self._ask is not None
        self._take_back(now)
        if not is_first:
            self._denial = None
            self._failures.ask_at_once()
        self.news = True
        self.serve_all(now)

    def _take_back(self, now: float) -> None:
        """Whoever used what goes back will want more."""
        held = self._held
        if held.retire_unlike(self._order, now) and held.current is None and self._needed is None:
            self._needed = held.usual_piece() if self._options.piece is None else self._options.piece

    def serve_all(self, now: float) -> None:
        """The largest first: that is what was asked for at least."""
        if not self._waiters:
            return
        for waiter in sorted(self._waiters, key=lambda each: -each.cost):
            self._serve(waiter, now)
        self._waiters = [each for each in self._waiters if each.result is None]

    # One piece.

    def _take(self, cost: float, now: float) -> Admission | None:
        admission = self._held.take(cost, now)
        self.news = self.news or self._held.news
        return admission

    def _safely(self, cost: float, now: float) -> Admission | None:
        return self._held.take_safely(cost, now) if self._failures.is_outage else None

    def _need(self, cost: float, now: float) -> None:
        """The next ask is for that, too, though nobody waits for it; unless it was just denied."""
        if self._denial is not None and self._denial.blocks(cost, now):
            return
        self._needed = cost if self._needed is None else max(self._needed, cost)
        self.news = True

    def _counted(self, admission: Admission, cost: float, now: float) -> Admission:
        """Those that leases admit are counted with them; what nobody but the policy refuses is not."""
        if admission.local:
            self._local += admission.admitted
        elif not admission.admitted:
            self._refused += 1
            self._returns.refuse(admission, cost, now)
        return admission

    # Those who wait.

    def _serve(self, waiter: Waiter, now: float) -> None:
        is_late = now >= waiter.deadline
        if now < waiter.not_before:
            if is_late and waiter.refusal is not None:
                waiter.end(waiter.refusal)
            return
        try:
            admission = self._admission_of(waiter, now)
        except Error as raised:
            waiter.end(raised)
            return
        is_safe = self._failures.is_outage and self._held.safe_lease is not None
        if admission.local or is_safe:
            self._need(waiter.cost, now)
        if admission.admitted or admission.retry_after is None or is_late:
            waiter.end(self._counted(admission, waiter.cost, now))
        elif admission.reason is Reason.REJECT_RATIO or (admission.local and self._policy.decides):
            # It was refused as a Check is that is repeated then, and is counted so.
            waiter.refusal = self._counted(admission, waiter.cost, now)
            waiter.not_before = now + admission.retry_after
        elif is_safe:
            waiter.not_before = min(now + admission.retry_after, waiter.deadline)

    def _admission_of(self, waiter: Waiter, now: float) -> Admission:
        admission = self._take(waiter.cost, now)
        if admission is None:
            admission = self._safely(waiter.cost, now)  # of which nothing is put back
            if admission is None:
                denial = self._denial_of(waiter, now)
                admission = self._failures.refusal_of_waiter(waiter.cost, now, denial)
        elif admission.admitted:
            waiter.grant = self._held.current
        return admission

    def _denial_of(self, waiter: Waiter, now: float) -> Denial | None:
        """The newest, at the end of its time; until then, only one that is not to be asked about again."""
        denial = self._denial
        if denial is None or waiter.cost < denial.least:
            return None
        return denial if denial.blocks(waiter.cost, now) or now >= waiter.deadline else None

    # When is asked, and for how much.

    def _least_wanted(self, now: float) -> float | None:
        """Of the ask that is due now; None: none is."""
        held = self._held
        if self._ask is not None or self.closed or now < self._failures.pause_until:
            return None
        if held.next is not None or held.under_way:
            return None
        usual = held.usual_piece() if self._options.piece is None else self._options.piece
        wanted = self._costs_wanted(now)
        if wanted:
            return max(wanted) or usual
        blocked = self._denial is not None and self._denial.blocks(usual, now)
        return usual if held.is_next_due(now) and not blocked else None

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

    def _make_ask(self, piece: float, now: float) -> Ask:
        self._held.make_room(piece)
        least = piece if self._asks_least else self._held.paced(piece, self._most_of_least, now)
        most = piece if self._asks_least else self._held.most(least, now)
        waits = [each.deadline - now for each in self._waiters if now >= each.not_before]
        max_wait = max(waits, default=0.0)
        if (until := self._held.longest_in_line) is not None:
            max_wait = min(max_wait, max(until - now, 0.0))
        safe_rate = safe_time = 0.0
        if self._options.safe_time > 0:
            safe_time = self._options.safe_time
            safe_rate = min(self._held.rate(now) or most / self._options.time, MAX_COST)
        returned = self._returns.with_an_ask()
        terms = LeaseTerms(least, self._options.time, returned, safe_rate, safe_time)
        self._needed = None
        self._is_overtaken = False
        self._held.may_be_alone = not self.closed
        return Ask(least, most, max_wait, terms, piece)

    # What came of an ask.

    def _take_ask(self) -> Ask:
        ask, self._ask = self._ask, None
        assert ask is not None, "an answer to no question"
        self._held.may_be_alone = False
        self.news = True
        return ask

    def _hold(self, grant: Grant, ask: Ask, now: float) -> None:
        self._returns.explain()
        self._asks_least = False
        if self._denial is not None and self._denial.least <= ask.least:
            self._denial = None
        if self._needed is not None and grant.has_room(self._needed):
            self._needed = None
        self._held.hold(grant, now)
        if self.closed:
            self._held.retire_all()

    def _deny(self, answer: Answer, ask: Ask, now: float) -> None:
        self._asks_least = answer.lease is None  # it denies all of what was asked for, or nothing
        if answer.retry_after is None and ask.least > ask.piece:
            # It may never fit for being more than a piece.
            self._most_of_least = ask.least / 4
            self._needed = max(self._needed or 0.0, ask.piece)
            return
        if self._needed is not None and self._needed >= ask.piece:
            self._needed = None
        # Whatever it asked for beyond: who waits for that waits for a piece.
        self._denial = refusals.denial_of(
            answer,
            ask.piece,
            now,
            longest=self._options.longest_wait,
            holds_for_waiters=ask.max_wait > 0 and not ask.stood_in_line,
        )
        self._returns.explain(self._denial.refusal)

    # When there is something to do again.

    def _fill_wait(self, step: Step, now: float) -> None:
        held, current = self._held, self._held.current
        times = [each.ends for each in (current, held.next) if each is not None and not held.under_way]
        over_at = -math.inf if self._denial is None else self._denial.over_at
        pause_ends = [each for each in (self._failures.pause_until, over_at) if each > now]
        if current is not None and current.pieces > 0 and not current.one_at_a_time:
            times += pause_ends if current.is_half_used(now) else [current.half_at]
        if self._needed is not None:
            times += pause_ends
        if self._waiters:
            in_time = [each.not_before for each in self._waiters if each.not_before > now]
            in_time += pause_ends
            times += in_time + [each.deadline for each in self._waiters]
            step.passes_time = bool(in_time)
        times.append(self._returns.due_at)
        if held.safe is not None and held.safe.safe is not None:
            times.append(held.safe.safe.until)
        step.until = min(times)
        is_held = current is not None or self._ask is not None or self._needed is not None
        is_held = is_held or held.safe is not None or self._returns.due_at < math.inf
        step.is_idle = bool(self.closed) or not (is_held or self._waiters)

    def _must_be_open(self) -> None:
        if self.closed:
            raise RuntimeError(self.closed)
