"""forking.py ADDRESS CHILDREN: forks so often with a client in use, and says what became of the children.

A thread waits in the server's line all the time, and the parent works between two forks. Children end in
both ways that there are, with what Python does at its end and without.
"""

from __future__ import annotations

import os
import sys
import threading
import time

import headgate

_LONGEST = 20.0


def _wait(client: headgate.Client, stop: headgate.Cancellation) -> None:
    try:
        client.check_or_wait(identity="slow", estimated_cost=10, cancellation=stop)
    except headgate.CancelledError:
        return
    raise AssertionError("the one that waits was let in")


def _work(client: headgate.Client) -> None:
    with client.permit(max_wait=_LONGEST) as permit:
        assert permit.answer.permit_id is not None
    assert client.flush(_LONGEST), "the report was not sent"


def _child(client: headgate.Client, number: int) -> None:
    _work(client)
    stats = client.report_stats
    assert (stats.delivered, stats.failed, stats.dropped) == (1, 0, 0), stats
    if number % 2 == 0:
        os._exit(0)
    sys.exit(0)


def _status(child: int) -> str:
    give_up_at = time.monotonic() + 2 * _LONGEST
    while time.monotonic() < give_up_at:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid == child:
            return "good" if status == 0 else "failed"
        time.sleep(0.001)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return "hung"


def main(address: str, children: int) -> None:
    client = headgate.Client(
        address, on_unreachable=headgate.OnUnreachable.fail(), identity="job:etl", check_deadline=10
    )
    stop = headgate.Cancellation()
    assert client.check(identity="slow", estimated_cost=10).allowed
    waiting = threading.Thread(target=_wait, args=(client, stop))
    waiting.start()
    ends = {"good": 0, "failed": 0, "hung": 0}
    for number in range(children):
        _work(client)
        child = os.fork()
        if child == 0:
            _child(client, number)
        ends[_status(child)] += 1
    _work(client)
    stop.cancel()
    waiting.join(_LONGEST)
    assert not waiting.is_alive(), "the one that waits does not end"
    assert client.report_stats.delivered == children + 1, client.report_stats
    client.close()
    print(" ".join(f"{how}={count}" for how, count in ends.items()))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
