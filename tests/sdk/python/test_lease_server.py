"""Leases against a real headgated: what holders say of themselves is what the server says of them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headgate
from headgate import AsyncClient, Client, LeaseStats, OnUnreachable, Reason

from headgated import Headgated

_LONGEST = 60.0  # also the deadline of clients: a busy machine must not fail a test
_CONFIG: dict[str, Any] = {
    "budgets": [
        {"name": "rows", "rate": 2000, "burst": 200},
        {"name": "slow", "rate": 0.001, "burst": 100},
        {"name": "one", "max_concurrency": 1},
    ],
    "rules": [
        {"name": "rows", "match": {"identity": "etl"}, "charge": ["rows"]},
        {"name": "slow", "match": {"identity": "slow"}, "charge": ["slow"]},
        {"name": "one", "match": {"identity": "one"}, "charge": ["one"]},
    ],
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Headgated]:
    server = Headgated(tmp_path, _CONFIG, state=True)
    yield server
    server.kill()


def client_of(
    server: Headgated,
    policy: OnUnreachable | None = None,
    *,
    identity: str = "job:etl",
    deadline: float = _LONGEST,
) -> Client:
    return Client(
        server.address,
        on_unreachable=policy or OnUnreachable.fail(),
        identity=identity,
        check_deadline=deadline,
        flush_timeout=_LONGEST,
    )


def sums(server: Headgated, identity: str = "job:etl") -> dict[tuple[str, str], tuple[int, float]]:
    """The throttle log's Checks and their cost, by outcome and reason."""
    words = ["log", identity, "--by", "outcome", "--by", "reason", "-o", "json"]
    found = {}
    for each in json.loads(server.headgate(words))["sums"]:
        # The time that Checks waited is a sum besides, of no Checks.
        checks = sum(int(each[what]) for what in ("allowed", "would_be_denied", "denied"))
        outcome, reason = each["outcome"].removeprefix("OUTCOME_"), each["reason"].removeprefix("REASON_")
        if outcome != "WAITED":
            found[outcome, reason] = (checks, each["allowed_cost"] + each["denied_cost"])
    return found


def assert_counted(server: Headgated, stats: LeaseStats, identity: str = "job:etl") -> None:
    """To the piece."""
    counts = sums(server, identity)
    assert sum(count for (what, _), (count, _) in counts.items() if what != "DENIED") == stats.admitted
    assert sum(count for (what, _), (count, _) in counts.items() if what == "DENIED") == stats.refused


def in_threads(action: Any, threads: int = 4) -> None:
    raised: list[BaseException] = []

    def play() -> None:
        try:
            action()
        except BaseException as caught:
            raised.append(caught)

    started = [threading.Thread(target=play) for _ in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    assert not raised, raised


def test_pieces_of_threads_are_counted_to_the_piece_and_stay_within_the_budget(server: Headgated) -> None:
    began = time.monotonic()
    with client_of(server) as client, client.lease() as lease:

        def work() -> None:
            for _ in range(500):
                lease.admit(2)
                assert lease.wait(1, max_wait=_LONGEST)

        in_threads(work)
        lease.close()
        stats = lease.stats
    took = time.monotonic() - began
    assert stats.admitted >= 2000
    assert_counted(server, stats)
    cost = sum(cost for (what, _), (_, cost) in sums(server).items() if what != "DENIED")
    assert 2000 <= cost <= 200 + 2000 * took


def test_pieces_of_tasks_are_counted_to_the_piece(server: Headgated) -> None:
    async def main() -> LeaseStats:
        async with (
            AsyncClient(
                server.address,
                on_unreachable=OnUnreachable.fail(),
                identity="job:etl",
                check_deadline=_LONGEST,
                flush_timeout=_LONGEST,
            ) as client,
            client.lease() as lease,
        ):

            async def work() -> None:
                for _ in range(50):
                    lease.admit(2)
                    assert await lease.wait(max_wait=_LONGEST)

            await asyncio.gather(*(work() for _ in range(20)))
            # Those who are cancelled in line are counted by nobody.
            waiting = [asyncio.create_task(lease.wait(150)) for _ in range(20)]
            await asyncio.sleep(0)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            await lease.close()
            return lease.stats

    stats = asyncio.run(asyncio.wait_for(main(), 300))
    assert stats.admitted >= 1000
    assert_counted(server, stats)


def test_a_pause_reaches_the_holder_within_a_leases_time(server: Headgated) -> None:
    with client_of(server) as client, client.lease() as lease:
        assert lease.wait(max_wait=_LONGEST)
        stop = threading.Event()
        paused_at: list[float] = []
        late: list[float] = []

        def work() -> None:
            while not stop.is_set():
                began = time.monotonic()
                admission = lease.admit()
                if not admission:
                    if admission.reason is Reason.DENY_RULE:
                        return
                    stop.wait(admission.retry_after)
                elif paused_at and began >= paused_at[0] + 1.0:
                    late.append(began)

        threads = [threading.Thread(target=work) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            server.headgate(["pause", "etl", "--for", "1h", "--yes", "--reason", "a test"])
            paused_at.append(time.monotonic())
            for thread in threads:
                thread.join(_LONGEST)
                assert not thread.is_alive(), "the pause has not reached it"
        finally:
            stop.set()
        assert late == []
        refused = lease.admit()
        assert refused.reason is Reason.DENY_RULE
        assert refused.rule.startswith("override 1: paused")
        lease.close()
        assert_counted(server, lease.stats)


@pytest.mark.parametrize(
    "policy",
    [
        OnUnreachable.fail(),
        OnUnreachable.wait(),
        OnUnreachable.proceed(),
        OnUnreachable.floor_rate(1000),
    ],
    ids=lambda policy: policy.kind.name,
)
def test_a_server_is_killed_and_comes_back(server: Headgated, policy: OnUnreachable) -> None:
    with client_of(server, policy, deadline=1.0) as client, client.lease(safe_time=0) as lease:
        until(lambda: bool(lease.wait(max_wait=_LONGEST)) and lease.stats.admitted > 0)
        server.kill()
        if policy == OnUnreachable.fail():
            until(lambda: raises(lambda: lease.wait(max_wait=_LONGEST)))
            until(lambda: raises(lease.admit))
        elif policy == OnUnreachable.wait():
            until(lambda: lease.wait(max_wait=0.1).local)
            until(lambda: raises(lease.admit))
        else:
            until(lambda: lease.wait(max_wait=_LONGEST).local)
            assert lease.stats.local > 0
        server.start()
        before = lease.stats.admitted
        until(lambda: not raises(lambda: lease.wait(max_wait=1)) and lease.stats.admitted > before)


def until(condition: Any) -> None:
    """Its calls wait by themselves, or are answered at once."""
    give_up_at = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < give_up_at, "it does not come about"
        time.sleep(0.001)


def raises(action: Any) -> bool:
    try:
        action()
    except (headgate.UnreachableError, headgate.NotInTimeError):
        return True
    return False


def test_who_waits_goes_on_after_a_restart(server: Headgated) -> None:
    with client_of(server, identity="slow") as client:
        assert client.check(estimated_cost=100).allowed
        with client.lease() as lease:
            admissions: list[Any] = []
            thread = threading.Thread(
                target=lambda: admissions.append(lease.wait(50, max_wait=10 * _LONGEST))
            )
            thread.start()
            server.await_waiting(1)
            server.stop()
            server.write_config({**_CONFIG, "rules": []})
            server.start()
            thread.join(_LONGEST)
            assert [bool(each) for each in admissions] == [True]


def test_where_concurrency_is_limited_pieces_go_one_at_a_time(server: Headgated) -> None:
    at_once = threading.Semaphore(1)
    with client_of(server, identity="one") as client, client.lease(time=0.2) as lease:

        def work() -> None:
            for _ in range(50):
                assert lease.wait(max_wait=10 * _LONGEST)
                assert at_once.acquire(blocking=False), "two pieces side by side"
                at_once.release()
                lease.done()

        in_threads(work, 3)
        assert lease.wait(max_wait=_LONGEST)
        refused = lease.admit()
        assert refused.reason is Reason.MAX_CONCURRENCY
        lease.done()
        lease.close()
        assert_counted(server, lease.stats, "one")
        # The place is free again.
        assert client.check(validate_only=True).allowed


@pytest.mark.parametrize("how", ["forks", "forgets"])
def test_processes_count_and_give_back_what_is_theirs(server: Headgated, how: str) -> None:
    done = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "leasing.py"), server.address, how],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    admitted, refused = map(int, done.stdout.split())
    assert_counted(server, LeaseStats(admitted=admitted, refused=refused))
    with client_of(server) as client:
        # Of ten seconds' leases nothing is out any more.
        assert client.check_or_wait(estimated_cost=200, max_wait=1).answer.allowed


def test_an_order_reaches_holders_long_before_their_leases_end(server: Headgated) -> None:
    async def main(sync: Client) -> None:
        async with AsyncClient(
            server.address, on_unreachable=OnUnreachable.fail(), identity="job:etl", check_deadline=_LONGEST
        ) as client:
            with sync.lease(piece=1.0, time=10.0) as lease:
                async with client.lease(piece=1.0, time=10.0) as other:
                    assert lease.wait()
                    assert await other.wait()
                    server.headgate(["pause", "etl", "--for", "1h", "--yes", "--reason", "a test"])
                    began = time.monotonic()
                    while lease.admit() or other.admit():
                        await asyncio.sleep(0.001)
                    # Each had one of which no more than a moment had passed.
                    assert time.monotonic() - began < 5
                    assert lease.stats.held == other.stats.held == 0

    with client_of(server) as client:
        asyncio.run(main(client))
