"""A lease's state by itself: what a piece is taken from, what is asked for and when, what is told."""

from __future__ import annotations

import contextlib
import itertools
import math
import random
from collections.abc import Iterator
from typing import Any

import pytest

import headgate
from headgate import (
    Admission,
    Answer,
    Code,
    GrantedLease,
    LimitKind,
    OnUnreachable,
    PermitReport,
    PieceCount,
    Reason,
    ReportResult,
    Verdict,
    Violation,
)
from headgate._fallback import Fallback
from headgate._lease_counts import Told
from headgate._lease_state import LeaseState
from headgate._lease_step import Ask, Failure, LeaseOptions, Step, Waiter
from headgate._types import CheckRequest

_RTT = 0.002


class Play:
    """A holder on a time of its own, and its server, played by hand."""

    def __init__(
        self,
        *,
        policy: OnUnreachable | None = None,
        piece: float | None = None,
        dice: Iterator[float] | None = None,
    ) -> None:
        policy = policy or OnUnreachable.fail()
        fallback = Fallback(policy, 1.0)
        rolls = itertools.repeat(0.999) if dice is None else dice
        self.now = 100.0
        self.reports: list[PermitReport] = []
        self.permits = itertools.count(1)
        self.state = LeaseState(
            LeaseOptions("job:etl", "", piece, 1.0, 10.0, 10.0),
            policy,
            lambda cost, now: fallback.decide(CheckRequest(estimated_cost=cost), now),
            lambda: next(rolls),
            itertools.count(1).__next__,
        )

    def step(self) -> Step:
        step = self.state.step(self.now)
        self.reports += step.reports
        if step.ask is not None:
            step.ask.sent = self.now
        return step

    def ask(self) -> Ask:
        step = self.step()
        assert step.ask is not None
        return step.ask

    def asks_nothing(self) -> bool:
        return self.step().ask is None

    def grant(self, amount: float, answer: dict[str, Any] | None = None, **lease: Any) -> None:
        """Of one second, to the ask that is under way, after the time that an answer takes."""
        fields = {"permit_id": next(self.permits), "predicted_cost": amount, **(answer or {})}
        lease = {"amount": amount, "time": 1.0, **lease}
        self.now += _RTT
        self.state.answered(
            Answer(verdict=Verdict.ALLOWED, lease=GrantedLease(**lease), **fields), self.now
        )

    def deny(self, retry_after: float | None, reason: Reason = Reason.CAPACITY, **answer: Any) -> None:
        self.now += _RTT
        denial = Answer(reason=reason, retry_after=retry_after, lease=GrantedLease(), **answer)
        self.state.answered(denial, self.now)

    def fail(self, code: Code, pause: float = 0.1, **failure: Any) -> None:
        self.now += _RTT
        self.state.failed(Failure(headgate.Error(code, "played"), pause, **failure), self.now)

    def admit(self, cost: float = 1.0) -> Admission:
        return self.state.admit(cost, self.now)

    def admits(self, pieces: int, cost: float = 1.0) -> int:
        return sum(self.admit(cost).admitted for _ in range(pieces))

    def join(self, cost: float = 1.0, max_wait: float = math.inf) -> Waiter:
        return self.state.join(cost, self.now, self.now + max_wait, lambda: None)

    def holds(self, amount: float, answer: dict[str, Any] | None = None, **lease: Any) -> None:
        """Its first lease, of so much."""
        assert not self.admit()
        self.ask()
        self.grant(amount, answer, **lease)


def counted(reports: list[PermitReport]) -> dict[tuple[Verdict, Reason], int]:
    counts: dict[tuple[Verdict, Reason], int] = {}
    for report in reports:
        assert report.lease_use is not None
        for each in report.lease_use.counts:
            key = (each.verdict, each.reason)
            counts[key] = counts.get(key, 0) + each.pieces
    return counts


def counts_of(report: PermitReport | None) -> tuple[PieceCount, ...]:
    assert report is not None
    assert report.lease_use is not None
    return report.lease_use.counts


def test_it_asks_for_nothing_before_the_first_piece() -> None:
    play = Play()
    step = play.step()
    assert step.ask is None
    assert step.is_idle


def test_the_first_piece_is_refused_and_asked_for() -> None:
    play = Play()
    refused = play.admit(5)
    assert (refused.admitted, refused.reason, refused.retry_after) == (False, Reason.CAPACITY, 0.005)
    ask = play.ask()
    assert (ask.least, ask.most, ask.max_wait, ask.terms.time) == (5, 5, 0, 1.0)
    assert play.asks_nothing()  # while that one is under way
    play.grant(5)
    assert play.admit(5)


def test_no_more_is_spent_than_was_granted() -> None:
    play = Play()
    play.holds(10)
    assert play.admits(100, 3) == 3
    assert play.state.stats(play.now).held == 1


def test_pieces_fit_to_the_last_digit() -> None:
    play = Play()
    play.holds(0.3)
    assert play.admits(100, 0.1) <= 3


def test_no_piece_begins_when_the_time_is_over() -> None:
    play = Play()
    play.holds(100)
    play.now = 100 + 0.9999  # counted from when it was asked for
    assert play.admit()
    play.now = 100 + 1.0
    assert not play.admit()


def test_the_time_in_line_is_not_part_of_the_time() -> None:
    play = Play()
    play.join()
    play.ask()
    play.now += 30
    play.grant(10, {"waited": 30.0})
    play.now += 0.9
    assert play.admit()
    play.now += 0.2
    assert not play.admit()


def test_an_answer_that_comes_when_its_time_is_over_is_given_back_whole() -> None:
    play = Play()
    play.admit()
    play.ask()
    play.now += 2
    play.grant(10)
    assert not play.admit()
    assert play.ask().terms.returned is not None


def test_the_next_is_asked_for_when_half_of_the_amount_is_used() -> None:
    play = Play()
    play.holds(10)
    assert play.admits(4) == 4
    assert play.asks_nothing()
    assert play.admits(1) == 1
    assert play.state.news
    assert play.ask().least == 1


def test_the_next_is_asked_for_when_half_of_the_time_is_over() -> None:
    play = Play()
    play.holds(10)
    play.admit()
    step = play.step()
    assert (step.ask, step.until) == (None, 100.5)
    play.now = 100.5
    ask = play.ask()
    assert ask.most == 1  # 1.5 of 2 in a second are less than the 9 that are left
    assert ask.terms.returned is None or ask.terms.returned.permit_id == 0


def test_of_what_nobody_uses_no_next_is_asked_for_and_all_is_given_back() -> None:
    play = Play()
    play.holds(10)
    play.now = 100.9
    assert play.asks_nothing()
    play.now = 101.0
    step = play.step()
    assert step.ask is None
    assert step.is_idle
    (report,) = play.reports
    assert report.permit_id == 1
    assert report.lease_use is not None
    assert (report.lease_use.spent, report.lease_use.pieces) == (0, 0)
    # And when somebody comes again, it begins again.
    play.now = 200
    assert not play.admit()
    assert play.ask().most == 1


def test_pieces_go_on_from_the_next_and_the_one_before_returns_with_an_ask() -> None:
    play = Play()
    play.holds(10)
    assert play.admits(9) == 9
    assert play.ask().terms.returned is None
    play.grant(20)
    assert play.admits(11) == 11
    returned = play.ask().terms.returned
    assert returned is not None
    assert (returned.permit_id, returned.actual_cost, returned.busy_time) == (1, None, None)
    assert returned.lease_use is not None
    assert (returned.lease_use.spent, returned.lease_use.pieces) == (10, 10)
    assert (returned.lease_use.identity, returned.lease_use.target) == ("job:etl", "")


def test_what_is_spent_goes_back_at_once_where_no_ask_is_due() -> None:
    play = Play()
    play.holds(10)
    play.admits(5)
    play.ask()
    play.grant(20)
    play.now = 101  # the first one's time is over, the next is not half used
    assert play.asks_nothing()
    assert [each.permit_id for each in play.reports] == [1]


def test_what_is_spent_goes_back_at_once_where_none_may_be_asked_for() -> None:
    play = Play()
    play.holds(10)
    play.admits(2, 3)
    play.ask()
    play.deny(60.0)
    assert play.admits(2, 3) == 1
    assert play.asks_nothing()
    assert [each.permit_id for each in play.reports] == [1]


def test_a_next_lease_that_ends_before_the_current_one_is_given_back_then() -> None:
    play = Play()
    play.holds(10)
    play.admits(5)
    play.ask()
    play.grant(20, time=0.2)
    assert play.step().until == pytest.approx(100.202)
    play.now = 100.3
    assert play.ask().least == 1
    assert play.admits(10) == 5


def test_pieces_that_were_refused_and_now_fit_are_not_asked_for_again() -> None:
    play = Play()
    play.admit()
    play.ask()
    play.admits(5)
    play.grant(10)
    assert play.asks_nothing()


def test_who_has_no_time_to_wait_is_asked_for_all_the_same() -> None:
    play = Play()
    waiter = play.join(3, 0.0)
    assert isinstance(waiter.result, Admission)
    assert not waiter.result.admitted
    assert play.ask().least == 3
    play.grant(3)
    waiter = play.join(3, 0.0)
    assert isinstance(waiter.result, Admission)
    assert waiter.result.admitted


def test_of_pieces_that_were_put_back_nothing_is_spent() -> None:
    play = Play()
    waiters = [play.join(cost) for cost in (0.1, 0.2, 0.7)]
    play.ask()
    play.grant(1.1)
    for waiter in waiters:
        play.state.leave(waiter)
    (report,) = play.state.close(play.now)
    assert report.lease_use is not None
    assert (report.lease_use.spent, report.lease_use.pieces) == (0, 0)


def test_sizes_follow_use() -> None:
    play = Play()
    refused = 0
    for millisecond in range(6000):  # ten pieces in each, evenly
        play.now += 0.001
        admitted = play.admits(10)
        step = play.step()
        if step.ask is not None:
            play.grant(step.ask.most)
        if millisecond >= 1000:  # then sizes have grown
            refused += 10 - admitted
            assert play.state.stats(play.now).held <= 25_000
    assert refused == 0
    for _ in range(3000):  # and once in a second
        play.now += 1.0
        play.admit()
        step = play.step()
        if step.ask is not None:
            play.grant(step.ask.most)
    assert play.state.stats(play.now).held <= 10


def test_an_early_end_at_least_doubles_the_next() -> None:
    play = Play()
    play.holds(100)
    play.now = 100.9
    assert play.admits(100) == 100
    assert not play.admit()
    assert play.ask().most >= 200


def test_a_first_piece_that_comes_at_once_is_no_sign_of_thousands() -> None:
    play = Play()
    play.holds(1)
    assert play.admit()
    assert play.ask().most == 10


def test_a_large_piece_is_what_is_asked_for_at_least() -> None:
    play = Play()
    play.holds(10)
    assert not play.admit(50)
    ask = play.ask()
    assert ask.least == 50
    # What is left of the lease makes room for it.
    assert ask.terms.returned is not None
    assert ask.terms.returned.permit_id == 1


def test_who_says_what_a_piece_costs_asks_for_that() -> None:
    play = Play(piece=7)
    play.holds(70)
    assert play.admits(40, 1) == 40
    assert play.ask().least == 7


def test_the_largest_piece_seen_lately_is_what_is_asked_for() -> None:
    play = Play()
    play.holds(10)
    play.admits(3, 2)
    assert play.ask().least == 2


def test_a_lease_that_is_told_again_bounds_no_piece() -> None:
    play = Play()
    play.holds(10, largest_piece=10)
    assert play.admit(20).retry_after is not None


def test_a_share_is_refused_by_chance() -> None:
    play = Play(dice=iter(random.Random(7).random, 2.0))
    play.holds(10_000, reject_ratio=0.25)
    admitted = play.admits(4000)
    assert 2850 <= admitted <= 3150
    refused = [play.admit() for _ in range(100)]
    by_chance = next(each for each in refused if not each)
    assert by_chance.reason is Reason.REJECT_RATIO
    assert by_chance.retry_after == pytest.approx(1 - _RTT)


def test_who_waits_is_rolled_for_once_in_a_lease() -> None:
    play = Play(dice=iter([0.1, 0.9]))
    play.holds(10, reject_ratio=0.5)
    waiter = play.join()
    assert waiter.result is None
    play.now = 100.5
    step = play.step()
    assert (waiter.result, step.until, step.passes_time) == (None, 101.0, True)
    play.now = 101.0
    returned = play.ask().terms.returned
    assert returned is not None
    assert counted([returned])[Verdict.DENIED, Reason.REJECT_RATIO] == 1
    play.grant(10, reject_ratio=0.5)
    assert isinstance(waiter.result, Admission)
    assert waiter.result.admitted


def test_one_piece_at_a_time() -> None:
    play = Play()
    play.holds(10, one_at_a_time=True)
    assert play.admit()
    refused = play.admit()
    assert (refused.reason, refused.retry_after) == (Reason.MAX_CONCURRENCY, 0.005)
    waiter = play.join()
    assert waiter.result is None
    play.state.end_piece(play.now)
    assert waiter.result is not None
    assert not play.admit()
    play.state.settle(1, 5, None, play.now)
    assert play.admit()


def test_one_at_a_time_holds_one_place() -> None:
    play = Play()
    play.holds(4, one_at_a_time=True)
    for _ in range(4):
        assert play.admit()
        assert play.asks_nothing()  # half used, or while the last piece is under way
        play.state.end_piece(play.now)
    assert not play.admit()
    ask = play.ask()
    assert ask.terms.returned is not None
    assert ask.terms.returned.permit_id == 1


def test_a_piece_that_outlasts_its_lease_keeps_the_place() -> None:
    play = Play()
    play.holds(4, one_at_a_time=True)
    assert play.admit()
    play.now = 105
    assert play.admit().reason is Reason.MAX_CONCURRENCY
    assert play.asks_nothing()
    play.state.settle(1, 8, None, play.now)
    assert not play.admit()
    returned = play.ask().terms.returned
    assert returned is not None
    assert returned.actual_cost == 8


_VIOLATIONS = (
    Violation(budget="soon", rule="a", limit_kind=LimitKind.BURST, retry_after=1.0),
    Violation(budget="late", rule="b", limit_kind=LimitKind.RATE, retry_after=4.0),
    Violation(budget="warns", rule="c", limit_kind=LimitKind.BURST, retry_after=9.0, warn=True),
)


def test_a_denial_holds_for_pieces_that_are_no_smaller() -> None:
    play = Play()
    play.admit(5)
    play.ask()
    play.deny(4.0, violations=_VIOLATIONS, message="no room")
    play.now += 1
    refused = play.admit(6)
    assert refused.retry_after == pytest.approx(3.0)
    assert (refused.reason, refused.message) == (Reason.CAPACITY, "no room")
    assert (refused.limit_kind, refused.budget, refused.rule) == (LimitKind.RATE, "late", "b")
    assert play.asks_nothing()
    refused = play.admit(2)
    assert refused.retry_after == 0.005
    assert play.ask().least == 2
    play.grant(2)
    assert play.admit(2)
    assert play.admit(5).budget == "late"  # of which the grant says nothing


def test_a_denial_is_over_in_time() -> None:
    play = Play()
    play.admit(5)
    play.ask()
    play.deny(4.0)
    play.now += 4.0
    assert play.asks_nothing()  # nobody has come since
    assert play.admit(5).retry_after == 0.005
    assert play.ask().least == 5


def test_a_long_denial_is_looked_at_again() -> None:
    play = Play()
    play.admit()
    play.ask()
    play.deny(3600.0)
    play.now += 9
    assert play.admit().retry_after == pytest.approx(3591)
    assert play.asks_nothing()
    play.now += 1
    play.admit()
    assert play.ask()


def test_a_denial_for_good_is_told_to_whoever_waits() -> None:
    play = Play()
    waiter = play.join()
    play.ask()
    play.deny(None, Reason.DENY_RULE, message="never")
    assert waiter.result == Admission(reason=Reason.DENY_RULE, message="never")
    assert play.join().result == waiter.result
    assert play.admit() == waiter.result


def test_who_waits_stands_in_the_servers_line() -> None:
    play = Play()
    first, second = play.join(2, 5.0), play.join(3, 9.0)
    ask = play.ask()
    assert (ask.least, ask.max_wait) == (3, 9.0)
    play.grant(5)
    assert first.result == second.result
    assert isinstance(first.result, Admission)
    assert first.result.admitted


def test_who_comes_after_a_denial_stands_in_line_at_once() -> None:
    play = Play()
    play.admit()
    play.ask()
    play.deny(60.0)
    play.join(1, 30.0)
    ask = play.ask()
    assert ask.max_wait == pytest.approx(30.0)
    play.deny(50.0)  # by a server that lets nobody wait
    step = play.step()
    assert (step.ask, step.passes_time) == (None, True)
    assert step.until == pytest.approx(play.now + 10.0)  # longest_wait


def test_whose_time_is_up_in_line_is_refused_with_the_denial() -> None:
    play = Play()
    short, long = play.join(1, 1.0), play.join(1, 60.0)
    ask = play.ask()
    ask.stood_in_line = True
    play.now += 30
    play.deny(5.0, Reason.LINE, message="others wait")
    assert isinstance(short.result, Admission)
    assert (short.result.reason, short.result.message) == (Reason.LINE, "others wait")
    assert short.result.retry_after == pytest.approx(5.0)
    assert long.result is None
    assert play.ask().max_wait == pytest.approx(30.0, abs=0.01)


def test_the_largest_that_waits_is_served_first() -> None:
    play = Play()
    small, large = play.join(1), play.join(10)
    play.ask()
    play.grant(10)
    assert small.result is None
    assert large.result is not None


def test_an_ask_for_nobody_is_not_wanted() -> None:
    play = Play()
    waiter = play.join(1, 60.0)
    play.ask()
    assert play.state.ask_is_wanted
    play.state.leave(waiter)
    assert not play.state.ask_is_wanted


def test_what_was_admitted_to_who_has_gone_is_put_back() -> None:
    play = Play()
    waiter = play.join(4)
    play.ask()
    play.grant(10)
    assert play.state.stats(play.now).held == 6
    play.state.leave(waiter)
    stats = play.state.stats(play.now)
    assert (stats.held, stats.admitted) == (10, 0)


def test_every_piece_is_counted_by_its_cause() -> None:
    play = Play()
    warning = {"violations": _VIOLATIONS[2:], "predicted_cost": 30.0}
    play.holds(10, warning)
    play.admits(4, 2)
    play.admits(2, 100)
    play.now = 101
    (report,) = [each for each in play.state.close(play.now) if each.permit_id]
    assert counts_of(report) == (
        PieceCount(Verdict.ALLOWED, Reason.NONE, LimitKind.BURST, "warns", "c", "", pieces=4, cost=24.0),
        # The first was refused before there was a prediction.
        PieceCount(Verdict.DENIED, Reason.CAPACITY, pieces=3, cost=601.0),
    )


def test_refusals_go_with_the_next_message() -> None:
    play = Play()
    play.admits(3)
    assert play.ask().terms.returned is None  # of which the answer says what refused them
    play.deny(0.5, Reason.HEALTH)
    play.now += 0.5
    play.admits(4)
    returned = play.ask().terms.returned
    assert counts_of(returned) == (PieceCount(Verdict.DENIED, Reason.HEALTH, pieces=3, cost=3.0),)
    assert returned is not None
    assert returned.permit_id == 0
    play.deny(60.0, Reason.DENY_RULE)
    play.admits(2)
    (report,) = play.state.close(play.now)
    assert counts_of(report) == (PieceCount(Verdict.DENIED, Reason.DENY_RULE, pieces=6, cost=6.0),)


def test_refusals_are_told_within_the_time_of_a_lease() -> None:
    play = Play()
    play.admits(3)
    play.ask()
    play.deny(60.0, Reason.HEALTH)
    play.now += 0.5
    play.admits(1)
    step = play.step()
    assert (step.reports, step.is_idle) == ([], False)
    assert step.until == pytest.approx(101.0)
    play.now = 101.0
    (report,) = play.step().reports
    assert counts_of(report) == (PieceCount(Verdict.DENIED, Reason.HEALTH, pieces=4, cost=4.0),)
    assert play.step().is_idle


def test_while_an_ask_stands_in_line_nothing_is_told_later() -> None:
    play = Play()
    play.holds(10)
    assert play.admit(2)
    waiter = play.join(9.0)
    assert not play.admit(9)
    ask = play.ask()
    assert ask.max_wait == math.inf
    assert ask.terms.returned is not None
    assert play.state.overdue(play.now + 0.9) == []
    play.now += 1
    (counts,) = play.state.overdue(play.now)
    assert counts_of(counts) == (PieceCount(Verdict.DENIED, Reason.CAPACITY, pieces=1, cost=9.0),)
    play.grant(9, {"waited": 1.0})
    assert waiter.result
    assert counted(play.state.close(play.now)) == {(Verdict.ALLOWED, Reason.NONE): 1}


def test_whoever_waits_piece_by_piece_asks_for_a_part_of_its_use() -> None:
    play = Play()
    play.holds(1000)
    for _ in range(50):
        play.now += 0.01
        assert play.admits(10) == 10
    ask = play.ask()
    assert ask.piece == 1
    assert 49 < ask.least < 60
    play.deny(1.0)
    assert play.admits(1000) == 500
    assert play.asks_nothing()  # there is no room for a piece either
    refused = play.admit()
    assert refused.retry_after == pytest.approx(1.0)


def test_what_there_is_never_room_for_is_a_part_of_the_use_and_not_the_piece() -> None:
    play = Play()
    play.holds(1000)
    for _ in range(50):
        play.now += 0.01
        assert play.admits(10) == 10
    assert play.ask().least > 49
    play.deny(None)
    assert 12 < play.ask().least < 16
    play.deny(None)
    assert 3 < play.ask().least < 4
    play.deny(None)
    assert play.ask().least == 1
    play.grant(5)
    assert play.admits(505) == 505


def test_causes_are_bounded() -> None:
    told = Told("job:etl", "", itertools.count(1).__next__)
    for number in range(300):
        refused = Admission(reason=Reason.HEALTH, limit_kind=LimitKind.HEALTH, signal=f"lag on {number}")
        told.refuse(refused, 2.0, 100.0)
    counts = counts_of(told.report_counts())
    assert len(counts) == 99
    assert counts[-1] == PieceCount(Verdict.DENIED, Reason.CAPACITY, pieces=202, cost=404.0)
    assert told.report_counts() is None


def test_a_message_that_was_not_heard_is_told_again() -> None:
    play = Play()
    play.holds(10)
    play.admits(10)
    play.ask()
    play.fail(Code.UNAVAILABLE, is_outage=True)
    play.now += 1
    step = play.step()
    assert [each.permit_id for each in play.reports] == [1]  # it is charged and counted once, by its permit
    assert step.ask is None


def test_what_may_not_have_been_heard_is_told_again_by_its_number() -> None:
    play = Play()
    play.admits(2)
    play.ask()
    play.deny(0.5)
    play.now += 0.5
    play.admits(1)
    first = play.ask().terms.returned
    play.fail(Code.UNAVAILABLE)
    again, last = play.state.close(play.now)
    assert again == first
    assert again.lease_use is not None
    assert last.lease_use is not None
    assert again.lease_use.id != last.lease_use.id
    assert sum(counted([again, last]).values()) == 3


def test_a_server_that_has_forgotten_a_lease_still_counts_its_pieces() -> None:
    play = Play()
    play.holds(10)
    play.admits(10)
    returned = play.ask().terms.returned
    assert returned is not None
    assert returned.lease_use is not None
    unknown = headgate.NotFoundError(Code.NOT_FOUND, "permit_id: 1 was not issued by this server")
    play.grant(10, returned=unknown)
    play.step()
    (report,) = play.reports
    assert report.permit_id == 0
    assert counts_of(report)[0].pieces == 10
    assert report.lease_use is not None
    assert report.lease_use.id == returned.lease_use.id


def test_what_is_refunded_beyond_one_lease_is_refunded_by_the_next() -> None:
    play = Play()
    play.holds(10)
    assert play.admits(9) == 9
    play.ask()
    play.grant(10)
    assert play.admits(3) == 3
    for _ in range(11):
        play.state.settle(1, 0, None, play.now)
    first, second = [each for each in play.state.close(play.now) if each.permit_id]
    # The first was of 10 pieces, so one is left to be refunded of the two of the second.
    assert (first.actual_cost, second.actual_cost) == (0, 1)


def test_an_outage_is_the_policys_once_what_is_held_is_spent() -> None:
    play = Play(policy=OnUnreachable.proceed())
    play.holds(4)
    play.admits(2)
    play.ask()
    play.fail(Code.UNAVAILABLE, 1.0, is_outage=True)
    assert [play.admit().local for _ in range(4)] == [False, False, True, True]
    stats = play.state.stats(play.now)
    assert (stats.admitted, stats.local) == (4, 2)
    assert play.asks_nothing()
    play.now += 1
    play.ask()
    play.grant(10)
    assert not play.admit().local


def test_who_only_waits_is_asked_for_again_after_an_outage() -> None:
    play = Play(policy=OnUnreachable.proceed())
    play.join()
    play.ask()
    play.fail(Code.UNAVAILABLE, 1.0, is_outage=True)
    play.now += 1
    play.join()
    assert play.ask().least == 1


def test_a_floor_rate_holds_for_pieces() -> None:
    play = Play(policy=OnUnreachable.floor_rate(10))
    play.admit()
    play.ask()
    play.fail(Code.UNAVAILABLE, 60.0, is_outage=True)
    admitted = 0
    for _ in range(1000):
        admitted += play.admit().admitted
        play.now += 0.01
    assert 99 <= admitted <= 101
    waiter = play.join()
    play.now = 1000.0
    play.state.serve_all(play.now)
    assert isinstance(waiter.result, Admission)
    assert waiter.result.local


def test_with_wait_an_outage_refuses_and_lets_who_waits_wait() -> None:
    play = Play(policy=OnUnreachable.wait())
    waiter = play.join()
    play.ask()
    play.fail(Code.UNAVAILABLE, is_outage=True)
    with pytest.raises(headgate.UnreachableError):
        play.admit()
    assert waiter.result is None
    play.now += 0.1
    play.ask()
    play.grant(5)
    assert isinstance(waiter.result, Admission)
    assert waiter.result.admitted


class Safely(Play):
    """It has spent its lease of a second, which came with a safe rate of 10 a second for 5 s at 100.002,
    and nobody answers."""

    def __init__(self, policy: OnUnreachable) -> None:
        super().__init__(policy=policy)
        self.holds(10, safe_rate=10.0, safe_time=5.0)
        assert self.admits(10) == 10
        ask = self.ask()
        assert ask.terms.returned is None  # it is kept
        assert (ask.terms.safe_rate > 0, ask.terms.safe_time) == (True, 10.0)
        self.fail(Code.UNAVAILABLE, 1.0, is_outage=True)

    def goes_on(self, until: float) -> int:
        """How many are admitted of one each 10 ms."""
        admitted = 0
        while self.now < until:
            self.now += 0.01
            admitted += self.admit().admitted
            if self.step().ask is not None:
                self.fail(Code.UNAVAILABLE, 1.0, is_outage=True)
        return admitted


def test_an_outage_is_gone_through_at_the_safe_rate_and_then_as_the_policy_says() -> None:
    play = Safely(OnUnreachable.fail())
    play.now = 101.0
    assert play.goes_on(101.24) == 0
    refused = play.admit()
    assert refused.reason is Reason.CAPACITY
    assert refused.retry_after == pytest.approx(0.1, abs=0.02)
    assert play.goes_on(105.96) in (46, 47)
    admitted = play.state.stats(play.now).safe
    assert play.state.stats(play.now).local == 0
    play.now = 106.0
    with pytest.raises(headgate.UnreachableError):
        play.admit()
    reports = play.reports + play.state.close(play.now)
    (use,) = [each.lease_use for each in reports if each.permit_id and each.lease_use is not None]
    assert (use.spent, use.safe_spent, use.pieces) == (10, admitted, 10 + admitted)
    assert counted(reports)[Verdict.ALLOWED, Reason.NONE] == 10 + admitted
    assert counted(reports)[Verdict.DENIED, Reason.CAPACITY] == play.state.stats(play.now).refused


def test_what_was_not_spent_at_the_safe_rate_does_not_come_together() -> None:
    play = Safely(OnUnreachable.proceed())
    play.now = 105.0
    assert play.admits(20) == 10
    assert play.state.stats(play.now).local == 0


def test_who_waits_is_admitted_at_the_safe_rate() -> None:
    play = Safely(OnUnreachable.fail())
    play.now = 101.1
    waiters = [play.join(2) for _ in range(2)]
    play.ask()
    play.fail(Code.UNAVAILABLE, 2.0, is_outage=True)
    assert play.step().until == pytest.approx(101.452)
    play.now = 101.453
    play.step()
    assert [each.result is None for each in waiters].count(True) == 1
    play.now = 101.653
    play.step()
    assert all(waiter.result for waiter in waiters)
    late = play.join(5, max_wait=0.1)
    play.now += 0.1
    play.step()
    assert isinstance(late.result, Admission)
    assert not late.result.admitted


@pytest.mark.parametrize("granted", [True, False])
def test_a_lease_that_is_kept_for_its_safe_rate_returns_when_somebody_answers(granted: bool) -> None:
    play = Safely(OnUnreachable.fail())
    play.now = 102.1
    assert play.admits(3) == 3
    assert play.admits(100) < 100
    returned = play.ask().terms.returned
    assert returned is None or not returned.permit_id  # only counts
    if granted:
        play.grant(10)
    else:
        play.deny(60.0)
    play.step()
    (report,) = [each for each in play.reports if each.permit_id]
    assert report.lease_use is not None
    assert report.lease_use.spent == 10
    assert report.lease_use.safe_spent >= 3


def test_who_wants_no_safe_rate_asks_for_none() -> None:
    play = Play()
    play.state._options = LeaseOptions("job:etl", "", None, 1.0, 0.0, 10.0)
    play.admit()
    terms = play.ask().terms
    assert (terms.safe_rate, terms.safe_time) == (0, 0)


def test_an_error_that_is_the_callers_is_raised_to_it() -> None:
    play = Play()
    waiter = play.join()
    play.ask()
    play.fail(Code.NOT_FOUND, is_final=True)
    assert isinstance(waiter.result, headgate.NotFoundError)
    with pytest.raises(headgate.NotFoundError):
        play.admit()
    assert play.asks_nothing()
    play.now += 1
    play.ask()
    play.grant(5)
    assert play.admit()


def test_an_overloaded_server_is_waited_for() -> None:
    play = Play()
    waiter = play.join()
    play.ask()
    play.fail(Code.RESOURCE_EXHAUSTED, 2.0)
    assert waiter.result is None
    refused = play.admit()
    assert refused.retry_after == pytest.approx(2.0)
    assert refused.message == "RESOURCE_EXHAUSTED: played"
    step = play.step()
    assert step.until == pytest.approx(play.now + 1.0)  # when the refusal is told
    play.now += 1
    step = play.step()
    assert len(step.reports) == 1
    assert step.until == pytest.approx(play.now + 1.0)
    assert step.passes_time


def test_an_old_server_gives_a_permit_of_all() -> None:
    play = Play()
    play.admits(3, 5)
    ask = play.ask()
    play.now += _RTT
    answer = Answer(verdict=Verdict.ALLOWED, permit_id=9, predicted_cost=10, predicted_busy_time=2.0)
    play.state.answered(answer, play.now)
    assert ask.most == 5
    assert play.admits(3, 2) == 2
    assert play.ask().terms.returned is None
    (report,) = play.reports
    assert (report.permit_id, report.actual_cost, report.lease_use) == (9, 8.0, None)
    assert report.busy_time == pytest.approx(1.6)


def test_an_old_server_that_denies_is_asked_for_less() -> None:
    play = Play()
    play.admit()
    play.ask()
    play.now += _RTT
    play.state.answered(Answer(verdict=Verdict.ALLOWED, permit_id=9, predicted_cost=1), play.now)
    assert play.admit()
    assert play.ask().most == 10
    play.state.answered(Answer(reason=Reason.CAPACITY, retry_after=0.1), play.now)
    play.now += 0.2
    play.admit()
    assert play.ask().most == 1


def test_a_closed_lease_gives_everything_back_and_takes_nothing() -> None:
    play = Play()
    play.holds(10)
    play.admits(5)
    play.ask()
    play.grant(20)
    waiter = play.join(1000)
    reports = play.state.close(play.now)
    assert [each.permit_id for each in reports] == [1, 2]
    assert isinstance(waiter.result, RuntimeError)
    for call in (lambda: play.admit(), lambda: play.join()):
        with pytest.raises(RuntimeError, match="the lease is closed"):
            call()
    assert play.state.stats(play.now).held == 0


def test_what_is_granted_to_a_closed_lease_is_given_back() -> None:
    play = Play()
    play.join()
    play.ask()
    assert play.state.close(play.now) == []
    play.grant(10)
    assert play.step().is_idle
    assert [each.permit_id for each in play.reports] == [1]


def test_costs_that_cannot_be_are_refused() -> None:
    play = Play()
    play.holds(10)
    play.admit()
    wrong: list[Any] = [-1, math.nan, math.inf, "5", None]
    for cost in wrong:
        with pytest.raises(headgate.InvalidArgumentError, match="cost"):
            play.admit(cost)
        with pytest.raises(headgate.InvalidArgumentError, match="cost"):
            play.join(cost)


def test_pieces_that_cost_nothing_need_a_lease_too() -> None:
    play = Play()
    assert not play.admit(0)
    assert play.ask().least == 1
    play.grant(1)
    assert play.admits(100, 0) == 100


@pytest.mark.parametrize("seed", range(20))
def test_nothing_is_spent_twice_nor_lost_whatever_happens(seed: int) -> None:
    dice = random.Random(seed)
    play = Play(policy=OnUnreachable.wait(), dice=iter(dice.random, 2.0))
    granted: dict[int, float] = {}
    reports: list[PermitReport] = []
    ask: Ask | None = None
    waiters: list[Waiter] = []
    for _ in range(3000):
        play.now += dice.choice([0.0, 0.001, 0.05, 0.4])
        cost = dice.choice([0.0, 0.1, 1.0, 3.0, 40.0])
        what = dice.random()
        if what < 0.6:
            with contextlib.suppress(headgate.UnreachableError):  # which is neither admitted nor refused
                play.admit(cost)
            play.state.end_piece(play.now)
        elif what < 0.65:
            waiters.append(play.join(cost, dice.choice([0.0, 0.5, 30.0])))
        elif what < 0.7 and waiters:
            waiter = waiters.pop(dice.randrange(len(waiters)))
            if waiter.result is None:
                play.state.leave(waiter)
        elif ask is None:
            ask = play.step().ask
        elif (returned := ask.terms.returned) is not None and dice.random() < 0.1:
            play.fail(Code.UNAVAILABLE, 0.1, is_outage=True)
            ask = None
        else:
            if returned is not None:
                reports.append(returned)
            known = ReportResult()
            if dice.random() < 0.3:
                play.deny(dice.choice([0.01, 2.0]))
            else:
                amount = dice.uniform(ask.least, ask.most)
                permit_id = next(play.permits)
                granted[permit_id] = amount
                play.grant(
                    amount,
                    {"permit_id": permit_id},
                    returned=known,
                    reject_ratio=dice.choice([0.0, 0.2]),
                    one_at_a_time=dice.random() < 0.2,
                )
            ask = None
    reports += play.reports
    if ask is not None:
        play.deny(1.0)
        returned = ask.terms.returned
        reports += [] if returned is None else [returned]
    reports += play.state.close(play.now)
    stats = play.state.stats(play.now)
    told = counted(reports)
    assert (
        sum(count for (verdict, _), count in told.items() if verdict is Verdict.ALLOWED) == stats.admitted
    )
    assert sum(count for (verdict, _), count in told.items() if verdict is Verdict.DENIED) == stats.refused
    of_permits = [each for each in reports if each.permit_id]
    assert sorted(each.permit_id for each in of_permits) == sorted(granted)
    for each in of_permits:
        assert each.lease_use is not None
        assert each.lease_use.spent <= granted[each.permit_id]
    assert stats.admitted > 100
