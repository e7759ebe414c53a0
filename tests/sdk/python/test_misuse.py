"""What callers do by mistake is said, and costs nothing else."""

from __future__ import annotations

import asyncio
import copy
import datetime
import os
import pickle
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import headgate
from headgate import AsyncClient, Client, OnUnreachable
from headgate.testing import FakeHeadgate

from headgated import Headgated

_LONGEST = 20.0  # also the deadline of clients of a real server: a busy machine must not fail a test
_SLOW = {
    "budgets": [{"name": "slow", "rate": 0.001, "burst": 10}],
    "rules": [{"name": "slow", "match": {"identity": "slow"}, "charge": ["slow"]}],
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Headgated]:
    """Whose only budget has nothing left, for whoever waits."""
    server = Headgated(tmp_path, _SLOW)
    with _client(server, OnUnreachable.fail()) as client:
        assert client.check(estimated_cost=10).allowed
    yield server
    server.kill()


def _client(server: Headgated, on_unreachable: OnUnreachable) -> Client:
    """Who has been answered before, and so waits in the server for longer than _LONGEST at a time."""
    client = Client(server.address, on_unreachable=on_unreachable, identity="slow", check_deadline=_LONGEST)
    client.check(validate_only=True)
    return client


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"identity": 5}, "identity: has to be a str; it is 5"),
        ({"identity": "\ud800"}, "identity: "),
        ({"target": b"main"}, "target: has to be a str"),
        ({"pattern": None}, "pattern: has to be a str"),
        ({"tags": ["urgent"]}, "tags: has to map keys to values"),
        ({"tags": {"urgent": 1}}, r"tags\['urgent'\]: has to be a str; it is 1"),
        ({"estimated_cost": "12"}, "estimated_cost: '12' is not a number"),
        ({"estimated_cost": float("nan")}, "estimated_cost: nan is not a cost"),
        ({"max_wait": None}, "max_wait: None is not a number of seconds"),
        ({"max_wait": "5s"}, "max_wait: '5s' is not a number of seconds"),
        ({"max_wait": datetime.timedelta(seconds=5)}, "max_wait: .* is not a number of seconds"),
    ],
    ids=str,
)
def test_what_is_of_a_wrong_kind_is_named(client: Client, wrong: dict[str, Any], says: str) -> None:
    for call in (client.check, client.check_or_wait):
        with pytest.raises(headgate.InvalidArgumentError, match=says):
            call(**wrong)


def test_the_policy_is_one_of_four() -> None:
    policies: list[Any] = ["wait", None, OnUnreachable.wait]
    for policy in policies:
        with pytest.raises(headgate.InvalidArgumentError, match=r"OnUnreachable\.wait\(\)"):
            Client(on_unreachable=policy)


def test_an_address_is_no_url() -> None:
    for url in ("http://headgate:8080", "https://headgate"):
        with pytest.raises(headgate.InvalidArgumentError, match=r"address: http.* is a URL"):
            Client(url, on_unreachable=OnUnreachable.wait())


def test_options_are_numbers() -> None:
    wrong: Any = "5"
    with pytest.raises(
        headgate.InvalidArgumentError, match="check_deadline: '5' is not a number of seconds"
    ):
        Client(on_unreachable=OnUnreachable.fail(), check_deadline=wrong)


def test_chunks_are_of_whole_rows(client: Client) -> None:
    wrong: Any = 5.5
    with pytest.raises(headgate.InvalidArgumentError, match=r"total: has to be a whole number; it is 5\.5"):
        list(client.chunks(wrong, start=2))


@pytest.mark.parametrize("permit_id", ["5", None, 1.5, -1, 2**64], ids=str)
def test_a_report_of_no_permit_is_refused_and_the_next_one_sent(
    fake: FakeHeadgate, client: Client, permit_id: Any
) -> None:
    with pytest.raises(headgate.InvalidArgumentError, match="permit_id"):
        client.report(permit_id)
    with pytest.raises(headgate.InvalidArgumentError, match="permit_id"):
        client.report_now(permit_id)
    with client.permit():
        pass
    assert client.flush(_LONGEST)
    assert len(fake.reports) == 1


class _Broken:
    """A transport with a mistake in it, which fails once."""

    def __init__(self) -> None:
        self.reported: list[int] = []
        self._is_broken = True

    def check(self, *_: Any) -> headgate.Answer:
        return headgate.Answer(verdict=headgate.Verdict.ALLOWED)

    def report(self, reports: list[headgate.PermitReport], *_: Any) -> list[headgate.ReportResult]:
        if self._is_broken:
            self._is_broken = False
            raise ZeroDivisionError
        self.reported += [report.permit_id for report in reports]
        return [headgate.ReportResult()] * len(reports)

    def close(self) -> None: ...


class _AsyncBroken:
    def __init__(self) -> None:
        self._broken = _Broken()
        self.reported = self._broken.reported

    async def check(self, *_: Any) -> headgate.Answer:
        return self._broken.check()

    async def report(self, reports: list[headgate.PermitReport], *_: Any) -> list[headgate.ReportResult]:
        return self._broken.report(reports)

    async def close(self) -> None: ...


def test_a_mistake_in_a_transport_costs_one_batch_of_reports() -> None:
    broken: Any = _Broken()
    with Client(on_unreachable=OnUnreachable.fail(), transport=broken) as client:
        for permit_id in (1, 2):
            client.report(permit_id)
            assert client.flush(_LONGEST)
        assert (client.report_stats.failed, client.report_stats.delivered) == (1, 1)
    assert broken.reported == [2]


def test_so_it_is_with_asyncio() -> None:
    async def play() -> list[int]:
        broken: Any = _AsyncBroken()
        async with AsyncClient(on_unreachable=OnUnreachable.fail(), transport=broken) as client:
            for permit_id in (1, 2):
                client.report(permit_id)
                assert await client.flush(_LONGEST)
        reported: list[int] = broken.reported
        return reported

    assert asyncio.run(play()) == [2]


def test_functions_that_work_after_they_return_are_not_decorated(client: Client) -> None:
    async def coroutine() -> None: ...

    def generator() -> Iterator[int]:
        yield 1

    async def both() -> AsyncIterator[int]:
        yield 1

    functions: list[Callable[..., Any]] = [coroutine, generator, both]
    for function in functions:
        with pytest.raises(TypeError, match="when the permit is reported already"):
            client.permit()(function)


def test_a_plain_function_is_not_decorated_with_asyncio(fake: FakeHeadgate) -> None:
    plain: Any = len
    with pytest.raises(TypeError, match="is not a coroutine function"):
        fake.async_client(on_unreachable=OnUnreachable.fail()).permit()(plain)


def test_a_permit_has_one_block_at_a_time(fake: FakeHeadgate, client: Client) -> None:
    permit = client.permit(estimated_cost=1)
    with permit, pytest.raises(RuntimeError, match="call permit"), permit:
        pass
    with permit:
        pass
    assert client.flush(_LONGEST)
    assert len(fake.reports) == 2


def test_a_permit_that_was_not_given_is_asked_for_again(fake: FakeHeadgate, client: Client) -> None:
    permit = client.permit(estimated_cost=1, max_wait=0)
    fake.deny_for_good(headgate.Reason.MAX_COST)
    with pytest.raises(headgate.DeniedForGoodError), permit:
        pass
    with permit as given:
        assert given.answer.allowed


def test_what_belongs_to_a_process_is_not_copied(fake: FakeHeadgate, client: Client) -> None:
    things = [client, client.check_or_wait(), fake.async_client(on_unreachable=OnUnreachable.fail())]
    for thing in things:
        copies: list[Callable[[Any], Any]] = [pickle.dumps, copy.copy, copy.deepcopy]
        for make_copy in copies:
            with pytest.raises(TypeError, match="can be neither pickled nor copied"):
                make_copy(thing)


def test_a_closed_client_is_not_asked(fake: FakeHeadgate) -> None:
    client = fake.client(on_unreachable=OnUnreachable.proceed(), identity="job:etl")
    client.close()
    client.close()
    calls: list[Callable[[], Any]] = [
        client.check,
        client.check_or_wait,
        lambda: client.report_now(1),
        client.__enter__,
        lambda: list(client.chunks(5, start=1)),
    ]
    for call in calls:
        with pytest.raises(RuntimeError, match="the client is closed"):
            call()
    assert fake.checks == []


def test_who_waits_is_told_that_the_client_is_closed(server: Headgated) -> None:
    client = _client(server, OnUnreachable.wait())
    told: list[str] = []

    def wait() -> None:
        try:
            client.check_or_wait(estimated_cost=10)
        except RuntimeError as raised:
            told.append(str(raised))

    waiting = threading.Thread(target=wait)
    waiting.start()
    server.await_waiting(1)
    client.close()
    waiting.join(_LONGEST)
    assert told == ["the client is closed"]


def test_a_task_that_waits_is_told_and_not_cancelled(server: Headgated) -> None:
    async def play() -> None:
        client = AsyncClient(
            server.address, on_unreachable=OnUnreachable.wait(), identity="slow", check_deadline=_LONGEST
        )
        await client.check(validate_only=True)
        waiting = asyncio.create_task(client.check_or_wait(estimated_cost=10))
        await asyncio.to_thread(server.await_waiting, 1)
        await client.close()
        with pytest.raises(RuntimeError, match="the client is closed"):
            await asyncio.wait_for(waiting, _LONGEST)

    asyncio.run(play())


def test_an_asyncio_client_stays_with_its_loop(server: Headgated) -> None:
    client = AsyncClient(
        server.address, on_unreachable=OnUnreachable.fail(), identity="job", check_deadline=_LONGEST
    )
    assert asyncio.run(client.check()).allowed
    with pytest.raises(RuntimeError, match="make another one for this loop"):
        asyncio.run(client.check())


def test_an_interrupt_ends_a_wait_at_once(server: Headgated) -> None:
    began: list[float] = []

    def interrupt_when_it_waits() -> None:
        server.await_waiting(1)
        began.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)

    with _client(server, OnUnreachable.wait()) as client:
        interrupt = threading.Thread(target=interrupt_when_it_waits)
        interrupt.start()
        with pytest.raises(KeyboardInterrupt):
            client.check_or_wait(estimated_cost=10)
        ended = time.monotonic()
        interrupt.join(_LONGEST)
    assert ended - began[0] < _LONGEST
