"""Orders that take leases back: what a holder does with them, and how it waits for them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from test_lease_state import Play

from headgate import Answer, Client, Code, GrantedLease, Lease, LeaseWatch, OnUnreachable, Reason, Verdict
from headgate._core import Core, run
from headgate._errors import Error, error
from headgate._lease_orders import Orders
from headgate._types import CheckRequest
from headgate.testing import FakeHeadgate

_LONGEST = 60.0


def until(holds: Callable[[], object]) -> None:
    """Looks again and again; generously, since a busy machine must not make a test fail."""
    end = time.monotonic() + _LONGEST
    while not holds():
        assert time.monotonic() < end, "it does not come about"
        time.sleep(0.001)


# What a holder does.


def granted(play: Play, state: int, amount: float = 10.0) -> None:
    """What is asked for, in this state."""
    assert play.step().ask is not None
    answer(play, state, amount)


def answer(play: Play, state: int, amount: float = 10.0) -> None:
    lease = GrantedLease(amount=amount, time=10.0, state=state)
    play.state.answered(
        Answer(verdict=Verdict.ALLOWED, permit_id=next(play.permits), lease=lease), play.now
    )


def test_an_order_takes_back_what_was_granted_in_another_state() -> None:
    play = Play(piece=1.0)
    play.state.admit(1, play.now)
    granted(play, 1)
    assert play.state.admit(1, play.now)
    play.state.obey(2, play.now)
    assert not play.state.admit(1, play.now)
    ask = play.step().ask
    assert ask is not None, "whoever used it wants more"
    assert ask.terms.returned is not None
    assert ask.terms.returned.lease_use is not None
    assert (ask.terms.returned.permit_id, ask.terms.returned.lease_use.spent) == (1, 1)
    answer(play, 2)
    assert play.state.admit(1, play.now)


def test_an_order_leaves_what_was_granted_in_its_state() -> None:
    play = Play(piece=1.0)
    play.state.admit(1, play.now)
    granted(play, 2)
    play.state.obey(2, play.now)
    assert play.state.stats(play.now).held == 10


def test_an_order_takes_back_what_an_answer_under_way_brings() -> None:
    play = Play(piece=1.0)
    play.state.admit(1, play.now)
    assert play.step().ask is not None
    play.state.obey(2, play.now)
    answer(play, 1)
    assert play.state.stats(play.now).held == 0
    play.state.admit(1, play.now)
    granted(play, 2)
    assert play.state.admit(1, play.now)


def test_what_was_asked_for_after_an_order_is_newer() -> None:
    play = Play(piece=1.0)
    play.state.obey(1, play.now)
    play.state.admit(1, play.now)
    granted(play, 2)
    assert play.state.stats(play.now).held == 10


def test_what_nothing_was_used_of_is_not_asked_for_again() -> None:
    play = Play(piece=1.0)
    play.state.admit(1, play.now)
    granted(play, 1)
    play.state.obey(2, play.now)
    step = play.step()
    assert step.ask is None
    assert [each.permit_id for each in step.reports] == [1]
    assert step.is_idle


def test_a_piece_under_way_ends_in_the_lease_that_was_taken_back() -> None:
    play = Play(piece=1.0)
    play.state.admit(1, play.now)
    play.step()
    lease = GrantedLease(amount=10, time=10.0, state=1, one_at_a_time=True)
    play.state.answered(Answer(verdict=Verdict.ALLOWED, permit_id=7, lease=lease), play.now)
    assert play.state.admit(1, play.now)
    play.state.obey(2, play.now)
    assert play.step().reports == []
    play.state.settle(1, 3.0, None, play.now)
    assert not play.state.admit(1, play.now)
    ask = play.step().ask
    assert ask is not None
    assert ask.terms.returned is not None
    assert (ask.terms.returned.permit_id, ask.terms.returned.actual_cost) == (7, 3.0)


def test_an_order_ends_a_denial() -> None:
    play = Play(piece=1.0)
    play.state.obey(1, play.now)
    play.state.admit(1, play.now)
    play.step()
    play.state.answered(Answer(reason=Reason.DENY_RULE), play.now)
    assert play.state.admit(1, play.now).retry_after is None
    assert play.step().ask is None
    play.state.obey(2, play.now)
    play.state.admit(1, play.now)
    assert play.step().ask is not None


# How it waits for the next.


class Told:
    """An Io that is told states, or failures."""

    def __init__(self, *said: int | Error) -> None:
        self.said = list(said)
        self.asked: list[LeaseWatch] = []

    async def watch_lease(self, watch: LeaseWatch, _timeout: float) -> int:
        self.asked.append(watch)
        said = self.said.pop(0)
        if isinstance(said, Error):
            raise said
        return said


def next_of(orders: Orders, io: Any) -> tuple[int | None, float]:
    return run(orders.next(io))


@pytest.fixture
def orders(client: Client) -> Orders:
    core: Core = client._core
    return Orders(core, CheckRequest("job:etl", "orders", pattern="sync", tags={"team": "data"}))


def test_each_other_state_is_an_order_and_the_next_call_knows_it(orders: Orders) -> None:
    io = Told(5, 6)
    assert next_of(orders, io) == (5, 0.0)
    assert next_of(orders, io) == (6, 0.0)
    assert io.asked == [
        LeaseWatch("job:etl", "orders", "sync", {"team": "data"}, state, 30.0) for state in (0, 5)
    ]


def test_the_same_state_at_once_is_a_failure(orders: Orders) -> None:
    io = Told(5, 5, 5)
    next_of(orders, io)
    first, second = next_of(orders, io), next_of(orders, io)
    assert first[0] is None
    assert 0.025 <= first[1] <= 0.05
    assert 0.05 <= second[1] <= 0.1


@pytest.mark.parametrize("code", [Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.RESOURCE_EXHAUSTED])
def test_pauses_grow_with_failures_and_begin_anew(orders: Orders, code: Code) -> None:
    io = Told(*[error(code, "")] * 10, 5, error(code, ""), error(code, "", 7.0))
    pauses = [next_of(orders, io)[1] for _ in range(13)]
    assert 0.025 <= pauses[0] <= 0.05
    assert 1 <= pauses[9] <= 2
    assert pauses[10] == 0
    assert 0.025 <= pauses[11] <= 0.05
    assert pauses[12] == 7


@pytest.mark.parametrize("said", [0, error(Code.INVALID_ARGUMENT, ""), error(Code.UNIMPLEMENTED, "")])
def test_a_server_that_does_not_know_is_asked_again_after_a_while(
    orders: Orders, said: int | Error
) -> None:
    assert next_of(orders, Told(said))[1] >= 30


# All of it, against the fake.


def refuses(lease: Lease) -> bool:
    return lease.admit().reason is Reason.DENY_RULE


def deny_all(fake: FakeHeadgate) -> None:
    fake.set_handler(lambda _: Answer(reason=Reason.DENY_RULE, retry_after=3600.0))


def test_an_order_reaches_a_holder_while_time_stands_still(fake: FakeHeadgate, client: Client) -> None:
    with client.lease(piece=1.0, time=10.0) as lease:
        assert lease.wait()
        deny_all(fake)
        fake.take_back_leases()
        until(lambda: refuses(lease))
        until(lambda: not fake.outstanding)
        assert lease.stats.held == 0


def order_threads() -> list[threading.Thread]:
    return [each for each in threading.enumerate() if each.name == "headgate-lease-orders"]


def test_nobody_waits_for_orders_where_nothing_is_held(fake: FakeHeadgate, client: Client) -> None:
    with client.lease(piece=1.0) as lease:
        assert not order_threads()
        assert lease.wait()
        until(order_threads)
        until(lambda: lease.stats.held)
        fake.clock.advance(20)
        until(lambda: not order_threads())
        assert lease.wait()
        until(order_threads)
    until(lambda: not order_threads())


def test_a_server_without_leases_takes_nothing_back(fake: FakeHeadgate, client: Client) -> None:
    fake.set_knows_leases(False)
    with client.lease(piece=1.0) as lease:
        assert lease.wait()
        fake.take_back_leases()
        assert lease.stats.admitted == 1


def test_an_order_reaches_a_task(fake: FakeHeadgate) -> None:
    async def work() -> None:
        async with fake.async_client(on_unreachable=OnUnreachable.fail(), identity="job:etl") as client:
            async with client.lease(piece=1.0, time=10.0) as lease:
                assert await lease.wait()
                deny_all(fake)
                fake.take_back_leases()
                end = time.monotonic() + _LONGEST
                while lease.admit().reason is not Reason.DENY_RULE or fake.outstanding:
                    assert time.monotonic() < end, "no order reaches it"
                    await asyncio.sleep(0.001)
            assert not [each for each in asyncio.all_tasks() if "_follow" in repr(each)]

    asyncio.run(work())
