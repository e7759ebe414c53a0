"""Leases of both clients against the fake: on virtual time, waiting for nothing but threads."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import pickle
import random
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import headgate
from headgate import (
    Answer,
    AsyncLease,
    CheckRequest,
    Client,
    Code,
    GrantedLease,
    Lease,
    OnUnreachable,
    PieceCount,
    Reason,
    Verdict,
)
from headgate.testing import FakeHeadgate

_LONGEST = 60.0
_POLICIES = {
    "fail": OnUnreachable.fail(),
    "wait": OnUnreachable.wait(),
    "proceed": OnUnreachable.proceed(),
    "floor_rate": OnUnreachable.floor_rate(10),
}


@pytest.fixture
def lease(client: Client) -> Iterator[Lease]:
    with client.lease() as lease:
        yield lease


def rest(lease: Lease) -> None:
    """Until its threads have nothing to do any more, as nothing is held."""
    for thread in (lease._thread, lease._orders._thread):
        if thread is not None:
            thread.join(_LONGEST)
            assert not thread.is_alive()


def in_thread(action: Any) -> tuple[threading.Thread, list[Any]]:
    """What it returned or raised, once the thread has ended."""
    results: list[Any] = []

    def play() -> None:
        try:
            results.append(action())
        except BaseException as raised:
            results.append(raised)

    thread = threading.Thread(target=play, daemon=True)
    thread.start()
    return thread, results


def told(pieces: list[PieceCount], verdict: Verdict) -> int:
    return sum(each.pieces for each in pieces if each.verdict is verdict)


def test_pieces_are_admitted_counted_and_given_back(
    fake: FakeHeadgate, client: Client, lease: Lease
) -> None:
    for _ in range(1000):
        assert lease.wait(2)
    assert len(fake.checks) < 20
    lease.close()
    assert told(fake.pieces, Verdict.ALLOWED) == lease.stats.admitted == 1000
    assert fake.outstanding == set()
    assert client.report_stats.pending == 0


def test_a_check_for_a_lease_says_what_the_lease_was_asked_for(client: Client, fake: FakeHeadgate) -> None:
    work: Any = {"identity": "x:etl", "target": "db", "pattern": "copy", "tags": {"a": "b"}}
    with client.lease(**work, piece=3, time=0.5) as lease:
        assert lease.wait(1)
    (first, *_) = fake.checks
    assert (first.identity, first.target, first.pattern, first.tags) == tuple(work.values())
    assert first.lease is not None
    assert (first.lease.least, first.lease.time, first.estimated_cost) == (1, 0.5, 1)
    assert first.request_id
    report = fake.reports[-1]
    assert report.lease_use is not None
    assert (report.lease_use.identity, report.lease_use.target) == ("x:etl", "db")


def test_a_refusal_is_false_and_says_when_to_come_back(fake: FakeHeadgate, lease: Lease) -> None:
    fake.set_handler(lambda _request: Answer(reason=Reason.HEALTH, retry_after=30))
    fake.set_lets_wait(False)
    first = lease.admit()
    assert (bool(first), first.reason, first.retry_after) == (False, Reason.CAPACITY, 0.005)
    refused = lease.wait(max_wait=10)
    assert (bool(refused), refused.reason) == (False, Reason.HEALTH)
    assert fake.clock.waited == pytest.approx(10)
    assert lease.admit().retry_after == pytest.approx(20)


@pytest.mark.parametrize("lets_wait", [True, False])
def test_it_waits_its_turn_in_the_server_or_in_the_client(
    fake: FakeHeadgate, lease: Lease, lets_wait: bool
) -> None:
    fake.set_lets_wait(lets_wait)
    fake.deny(5)
    assert lease.wait(3, max_wait=60)
    assert fake.clock.waited == pytest.approx(5)


def test_a_mistake_in_a_transport_is_an_error_and_ends_nothing(fake: FakeHeadgate, lease: Lease) -> None:
    def fails(_request: CheckRequest) -> Answer:
        raise ZeroDivisionError

    fake.set_handler(fails)
    with pytest.raises(headgate.Error, match="ZeroDivisionError"):
        lease.wait()
    fake.set_handler(lambda _request: Answer(verdict=Verdict.ALLOWED))
    fake.clock.advance(1)
    assert lease.wait()


@pytest.mark.parametrize("policy", _POLICIES.values(), ids=_POLICIES)
def test_what_is_held_is_spent_before_the_policy_decides(policy: OnUnreachable) -> None:
    fake = FakeHeadgate()
    whole = Answer(verdict=Verdict.ALLOWED, lease=GrantedLease(amount=100, time=1.0))
    fake.set_handler(lambda _request: whole)
    with fake.client(on_unreachable=policy, identity="etl") as client, client.lease() as lease:
        assert lease.wait()
        fake.set_reachable(False)
        for _ in range(99):
            assert not lease.admit().local
        fake.clock.advance(1)
        rest_of_outage(policy, lease, fake)
        fake.set_reachable(True)
        fake.clock.advance(10)
        assert lease.wait(max_wait=60)
        lease.close()
        assert told(fake.pieces, Verdict.ALLOWED) == lease.stats.admitted
        assert told(fake.pieces, Verdict.DENIED) == lease.stats.refused
        assert fake.outstanding == set()


def rest_of_outage(policy: OnUnreachable, lease: Lease, fake: FakeHeadgate) -> None:
    if policy == _POLICIES["fail"]:
        with pytest.raises(headgate.UnreachableError):
            lease.wait(max_wait=5)
        with pytest.raises(headgate.UnreachableError):
            lease.admit()
    elif policy == _POLICIES["wait"]:
        refused = lease.wait(max_wait=5)
        assert (refused.admitted, refused.local) == (False, True)
        assert "unreachable" in refused.message
        with pytest.raises(headgate.UnreachableError):
            lease.admit()
    else:
        began = fake.clock.now()
        assert all(lease.wait(2, max_wait=60).local for _ in range(10))
        waited = fake.clock.now() - began
        # At a floor rate of ten a second, nine have to drain before the tenth; what is waited longer is
        # the client asking again.
        assert waited >= (1.8 if policy.is_floor_rate else 0)
        assert lease.stats.local == 10


def test_who_is_sent_away_comes_back_whatever_the_policy_says(fake: FakeHeadgate) -> None:
    fake.fail(Code.UNAVAILABLE, "the server stops", retry_delay=2.0)
    with (
        fake.client(on_unreachable=OnUnreachable.proceed(), identity="etl") as client,
        client.lease() as lease,
    ):
        assert not lease.wait(max_wait=60).local
        assert fake.clock.waited >= 2


def test_an_old_server_is_logged_once(
    fake: FakeHeadgate, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    fake.set_knows_leases(False)
    with caplog.at_level(logging.WARNING, "headgate"), client.lease() as lease:
        for _ in range(100):
            assert lease.wait(2)
        assert not lease.wait(5000, max_wait=0)
    assert [each.getMessage() for each in caplog.records] == [
        "this Headgate is from before there were leases: job:etl gets permits of whole amounts"
    ]
    assert fake.outstanding == set()
    assert all(check.lease is not None and check.lease.returned is None for check in fake.checks)
    assert sum(each.actual_cost or 0 for each in fake.reports) == 200
    assert fake.pieces == []


def test_what_is_not_used_is_given_back_when_its_time_is_over(
    fake: FakeHeadgate, client: Client, lease: Lease
) -> None:
    assert lease.wait()
    for _ in range(3):
        fake.clock.advance(1)
    rest(lease)
    assert client.flush(_LONGEST)
    assert fake.outstanding == set()
    checks = len(fake.checks)
    fake.clock.advance(3600)
    assert len(fake.checks) == checks
    assert lease.wait()


def test_many_threads_never_spend_more_than_was_granted(fake: FakeHeadgate, lease: Lease) -> None:
    dice = random.Random(7)

    def grant(request: CheckRequest) -> Answer:
        assert request.lease is not None
        assert request.estimated_cost is not None
        amount = dice.uniform(request.lease.least, request.estimated_cost)
        lease = GrantedLease(amount=amount, time=1.0, reject_ratio=dice.choice([0.0, 0.1]))
        answers.append(Answer(verdict=Verdict.ALLOWED, permit_id=len(answers) + 1, lease=lease))
        return answers[-1]

    answers: list[Answer] = []
    fake.set_handler(grant)

    def work(number: int) -> None:
        costs = random.Random(number)
        for _ in range(500):
            lease.admit(costs.choice([0.5, 1, 2]))
            if not costs.randrange(10):
                assert lease.wait(costs.choice([1, 7]), max_wait=3600)

    threads = [in_thread(lambda number=number: work(number)) for number in range(8)]
    for thread, results in threads:
        thread.join(_LONGEST)
        assert results == [None]
    lease.close()
    spent = {each.permit_id: each.lease_use.spent for each in fake.reports if each.lease_use is not None}
    granted = {each.permit_id: each.lease.amount for each in answers if each.lease is not None}
    assert spent.keys() - {0} == granted.keys()
    assert all(spent[permit_id] <= amount for permit_id, amount in granted.items() if permit_id)
    assert told(fake.pieces, Verdict.ALLOWED) == lease.stats.admitted
    assert told(fake.pieces, Verdict.DENIED) == lease.stats.refused
    assert lease.stats.admitted + lease.stats.refused >= 8 * 500


def test_a_wait_is_cancelled_from_another_thread(fake: FakeHeadgate, lease: Lease) -> None:
    stop = headgate.Cancellation()
    fake.set_handler(lambda _request: Answer(verdict=Verdict.ALLOWED, lease=one_at_a_time()))
    assert lease.wait()
    thread, results = in_thread(lambda: lease.wait(cancellation=stop))
    stop.cancel()
    thread.join(_LONGEST)
    assert isinstance(results[0], headgate.CancelledError)
    lease.done()
    assert lease.admit()
    assert lease.stats.admitted == 2


def one_at_a_time() -> GrantedLease:
    return GrantedLease(amount=100, time=10.0, one_at_a_time=True)


def test_one_piece_at_a_time_among_threads(fake: FakeHeadgate, lease: Lease) -> None:
    fake.set_handler(lambda _request: Answer(verdict=Verdict.ALLOWED, lease=one_at_a_time()))
    at_once = threading.Semaphore(1)

    def work() -> None:
        for number in range(50):
            assert lease.wait()
            assert at_once.acquire(blocking=False)
            at_once.release()
            if number % 2:
                lease.done()
            else:
                lease.settle(1, actual_cost=2)

    threads = [in_thread(work) for _ in range(4)]
    for thread, results in threads:
        thread.join(_LONGEST)
        assert results == [None]
    lease.close()
    assert sum(each.actual_cost or 0 for each in fake.reports) == pytest.approx(200 + 100, abs=1)


def test_closing_gives_everything_back_and_ends_those_who_wait(
    fake: FakeHeadgate, client: Client, lease: Lease
) -> None:
    fake.set_handler(lambda _request: Answer(verdict=Verdict.ALLOWED, lease=one_at_a_time()))
    assert lease.wait()
    thread, results = in_thread(lease.wait)
    while not lease._state._waiters:
        threading.Event().wait(0)
    lease.close()
    lease.close()
    thread.join(_LONGEST)
    assert isinstance(results[0], RuntimeError)
    assert fake.outstanding == set()
    for call in (lease.admit, lease.wait):
        with pytest.raises(RuntimeError, match="the lease is closed"):
            call()
    assert lease._thread is None
    assert client.check().allowed  # the client is as it was


def test_a_client_closes_its_leases_first(fake: FakeHeadgate) -> None:
    client = fake.client(on_unreachable=OnUnreachable.fail(), identity="etl")
    leases = [client.lease() for _ in range(3)]
    assert all(lease.wait() for lease in leases)
    client.close()
    assert fake.outstanding == set()
    assert told(fake.pieces, Verdict.ALLOWED) == 3
    with pytest.raises(RuntimeError, match="the lease is closed"):
        leases[0].admit()
    with pytest.raises(RuntimeError, match="the client is closed"):
        client.lease()


def test_closing_does_not_wait_for_a_place_in_line() -> None:
    asked = threading.Event()

    class Line:
        """Lets nobody in, until it leaves."""

        def check(self, request: CheckRequest, _timeout: float, stop: Any) -> Answer:
            assert request.max_wait > 0
            asked.set()
            assert stop.wait(_LONGEST)
            raise headgate.CancelledError(Code.CANCELLED, "it has left")

        def report(self, reports: Any, *_: Any) -> Any:
            return [headgate.ReportResult() for _ in reports]

        def close(self) -> None: ...

    transport: Any = Line()
    client = Client(on_unreachable=OnUnreachable.wait(), transport=transport, identity="etl")
    lease = client.lease()
    thread, results = in_thread(lease.wait)
    assert asked.wait(_LONGEST)
    client.close()
    thread.join(_LONGEST)
    assert isinstance(results[0], RuntimeError)
    # And whoever gives up leaves it, too.
    client = Client(on_unreachable=OnUnreachable.wait(), transport=transport, identity="etl")
    stop = headgate.Cancellation()
    lease = client.lease()
    asked.clear()
    thread, results = in_thread(lambda: lease.wait(cancellation=stop))
    assert asked.wait(_LONGEST)
    stop.cancel()
    thread.join(_LONGEST)
    rest(lease)
    client.close()


def test_a_lease_that_nobody_has_any_more_is_given_back(fake: FakeHeadgate, client: Client) -> None:
    lease = client.lease()
    assert lease.wait()
    known = weakref.ref(lease)
    for _ in range(3):
        fake.clock.advance(1)
    rest(lease)
    del lease
    gc.collect()
    assert known() is None
    assert client.flush(_LONGEST)
    assert fake.outstanding == set()


def test_a_forked_child_holds_nothing_of_its_parents(fake: FakeHeadgate, client: Client) -> None:
    lease = client.lease()
    fake.set_handler(
        lambda _request: Answer(verdict=Verdict.ALLOWED, lease=GrantedLease(amount=1000, time=10.0))
    )
    assert lease.wait()
    child = os.fork()
    if child == 0:
        try:
            stats = lease.stats
            good = (stats.admitted, stats.held) == (0, 0) and not lease.admit(10)
            good = good and lease.stats.refused == 1
        finally:
            os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert lease.admit(10)
    assert lease.stats.admitted == 2


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"piece": 0}, "piece: is 0"),
        ({"piece": -1}, "piece: -1 is not a cost"),
        ({"piece": "5"}, "piece: '5' is not a number"),
        ({"time": 0.05}, r"time: 0\.05 is not from 0\.1 to 10\.0 seconds"),
        ({"time": float("nan")}, "time: nan is not"),
        ({"time": "1s"}, "time: '1s' is not a number of seconds"),
        ({"identity": 5}, "identity: has to be a str"),
        ({"tags": ["x"]}, "tags: has to map keys to values"),
    ],
    ids=str,
)
def test_what_cannot_be_asked_for_is_named(client: Client, wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(headgate.InvalidArgumentError, match=says):
        client.lease(**wrong)


def test_what_cannot_be_done_with_a_lease_is_said(lease: Lease) -> None:
    wrong: Any = "5s"
    with pytest.raises(headgate.InvalidArgumentError, match="max_wait"):
        lease.wait(max_wait=wrong)
    with pytest.raises(headgate.InvalidArgumentError, match="estimate"):
        lease.settle(-1, actual_cost=1)
    with pytest.raises(headgate.InvalidArgumentError, match="busy_time"):
        lease.settle(1, busy_time=-1)
    with pytest.raises(TypeError, match="neither pickled nor copied"):
        pickle.dumps(lease)
    unknown: Any = {"estimated_cost": 5}
    with pytest.raises(TypeError, match="estimated_cost"):
        FakeHeadgate().client(on_unreachable=OnUnreachable.fail()).lease(**unknown)


# The same with asyncio, and what is asyncio's own.


def play(action: Any, policy: OnUnreachable | None = None) -> FakeHeadgate:
    """An action with a lease of a fake's client."""
    fake = FakeHeadgate()

    async def main() -> None:
        async with (
            fake.async_client(on_unreachable=policy or OnUnreachable.fail(), identity="etl") as client,
            client.lease() as lease,
        ):
            await action(fake, lease)
            await lease.close()
            assert told(fake.pieces, Verdict.ALLOWED) == lease.stats.admitted

    asyncio.run(asyncio.wait_for(main(), _LONGEST))
    assert fake.outstanding == set()
    return fake


def test_tasks_share_a_lease() -> None:
    async def action(_fake: FakeHeadgate, lease: AsyncLease) -> None:
        admitted = await asyncio.gather(*(lease.wait() for _ in range(1000)))
        assert all(admitted)
        while not lease.admit():
            await asyncio.sleep(0)

    fake = play(action)
    assert told(fake.pieces, Verdict.ALLOWED) == 1001


@pytest.mark.parametrize("lets_wait", [True, False])
def test_a_task_waits_its_turn(lets_wait: bool) -> None:
    async def action(fake: FakeHeadgate, lease: AsyncLease) -> None:
        fake.set_lets_wait(lets_wait)
        fake.deny(5)
        assert await lease.wait(3, max_wait=60)
        assert fake.clock.waited == pytest.approx(5)
        fake.deny(30, Reason.HEALTH)
        refused = await lease.wait(5000, max_wait=10)
        assert (refused.admitted, refused.reason) == (False, Reason.HEALTH)

    play(action)


@pytest.mark.parametrize("policy", _POLICIES.values(), ids=_POLICIES)
def test_an_outage_with_asyncio(policy: OnUnreachable) -> None:
    async def action(fake: FakeHeadgate, lease: AsyncLease) -> None:
        fake.set_reachable(False)
        if policy == _POLICIES["fail"]:
            with pytest.raises(headgate.UnreachableError):
                await lease.wait(max_wait=5)
        else:
            admission = await lease.wait(max_wait=5)
            assert (admission.admitted, admission.local) == (policy.decides, True)
        fake.set_reachable(True)
        fake.clock.advance(10)
        while not await lease.wait(max_wait=60) or lease.stats.admitted == 0:
            fake.clock.advance(1)
            await asyncio.sleep(0)

    play(action, policy)


def test_a_cancelled_task_leaves_the_line() -> None:
    async def action(fake: FakeHeadgate, lease: AsyncLease) -> None:
        fake.set_handler(lambda _request: Answer(verdict=Verdict.ALLOWED, lease=one_at_a_time()))
        assert await lease.wait()
        waiting = asyncio.create_task(lease.wait())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        lease.done()
        assert lease.admit()
        assert lease.stats.admitted == 2

    play(action)


def test_a_task_that_is_cancelled_when_it_is_admitted_puts_that_back() -> None:
    async def action(fake: FakeHeadgate, lease: AsyncLease) -> None:
        fake.set_handler(lambda _request: Answer(verdict=Verdict.ALLOWED, lease=one_at_a_time()))
        assert await lease.wait()
        waiting = asyncio.create_task(lease.wait(5))
        await asyncio.sleep(0)
        lease.done()  # it is let in, and has not heard of it
        assert lease.stats.admitted == 2
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert lease.stats.admitted == 1
        assert lease.admit(5)

    play(action)


def test_what_is_not_used_is_given_back_with_asyncio() -> None:
    async def action(fake: FakeHeadgate, lease: AsyncLease) -> None:
        assert await lease.wait()
        while lease._task is not None:
            fake.clock.advance(1)
            await asyncio.sleep(0)
        assert lease.stats.held == 0

    play(action)


def test_a_closed_lease_ends_tasks_that_wait() -> None:
    async def action(fake: FakeHeadgate, lease: AsyncLease) -> None:
        fake.set_handler(lambda _request: Answer(verdict=Verdict.ALLOWED, lease=one_at_a_time()))
        assert await lease.wait()
        waiting = asyncio.create_task(lease.wait())
        await asyncio.sleep(0)
        await lease.close()
        with pytest.raises(RuntimeError, match="the lease is closed"):
            await waiting
        with pytest.raises(RuntimeError, match="the lease is closed"):
            lease.admit()

    play(action)


def test_an_async_client_closes_its_leases_first() -> None:
    async def main() -> None:
        fake = FakeHeadgate()
        client = fake.async_client(on_unreachable=OnUnreachable.fail(), identity="etl")
        leases = [client.lease() for _ in range(3)]
        assert all([await lease.wait() for lease in leases])
        await client.close()
        assert fake.outstanding == set()
        assert told(fake.pieces, Verdict.ALLOWED) == 3

    asyncio.run(main())


def test_a_lease_of_asyncio_does_not_come_along_into_a_fork() -> None:
    async def action(_fake: FakeHeadgate, lease: AsyncLease) -> None:
        assert await lease.wait()
        child = os.fork()
        if child == 0:
            try:
                lease.admit()
            except RuntimeError as raised:
                os._exit(0 if "forked since" in str(raised) else 1)
            os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert await lease.wait()

    play(action)
