"""python_lease_bench.py ADDRESS: how long it takes to admit one piece out of a lease; in microseconds.

The pieces of one thread, of two, and of a task, each as many as it can. The three figures are medians of
rounds, for one call of `admit`. Leases are renewed meanwhile, by a server that grants all of them. The goal
is 2 for one thread. Last comes the share of that thread's pieces that found no room.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import threading
import time

import headgate

_PIECES = 20_000
_ROUNDS = 51


def _round(lease: headgate.Lease | headgate.AsyncLease, pieces: int = _PIECES) -> float:
    """Microseconds a call."""
    admit = lease.admit
    began = time.perf_counter()
    for _ in range(pieces):
        admit(1.0)
    return (time.perf_counter() - began) / pieces * 1e6


def _rounds(lease: headgate.Lease, took: list[float]) -> None:
    took.extend(_round(lease) for _ in range(_ROUNDS))


def _in_threads(lease: headgate.Lease, threads: int) -> float:
    """One piece of all threads together."""
    took: list[list[float]] = [[] for _ in range(threads)]
    started = [threading.Thread(target=_rounds, args=(lease, each)) for each in took]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    return statistics.median(each for ours in took for each in ours) / threads


async def _with_asyncio(address: str) -> float:
    async with (
        headgate.AsyncClient(
            address, on_unreachable=headgate.OnUnreachable.fail(), identity="job:etl", check_deadline=5
        ) as client,
        client.lease() as lease,
    ):
        took = []
        for _ in range(_ROUNDS * 100):
            await lease.wait(max_wait=5)  # in which the loop does what else there is to do
            took.append(_round(lease, _PIECES // 100))
        return statistics.median(took)


def main(address: str) -> None:
    with (
        headgate.Client(
            address, on_unreachable=headgate.OnUnreachable.fail(), identity="job:etl", check_deadline=5
        ) as client,
        client.lease() as lease,
    ):
        assert lease.wait(max_wait=5)
        _in_threads(lease, 1)  # until leases are as large as what is used
        before = lease.stats
        one = _in_threads(lease, 1)
        after = lease.stats
        two = _in_threads(lease, 2)
    refused = (after.refused - before.refused) / (_ROUNDS * _PIECES)
    print(f"{one:.2f} {two:.2f} {asyncio.run(_with_asyncio(address)):.2f} {refused:.2%}")


if __name__ == "__main__":
    main(sys.argv[1])
