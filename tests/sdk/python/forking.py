"""forking.py ADDRESS CHILDREN: forks so often with a client in use, and says what became of the children.
forking.py ADDRESS: forks without a pause, for longer than a client's check_deadline.

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


class _Waiting:
    """A thread that waits in line from now on."""

    def __init__(self, client: headgate.Client) -> None:
        self._client = client
        self._stop = headgate.Cancellation()
        self._raised: BaseException | None = None
        assert client.check(identity="slow", estimated_cost=10).allowed
        self._thread = threading.Thread(target=self._wait)
        self._thread.start()

    def _wait(self) -> None:
        try:
            self._client.check_or_wait(identity="slow", estimated_cost=10, cancellation=self._stop)
        except headgate.Error as raised:
            self._raised = raised

    def end(self) -> None:
        assert self._thread.is_alive(), f"it waits no more: {self._raised!r}"
        self._stop.cancel()
        self._thread.join(_LONGEST)
        assert not self._thread.is_alive(), "the one that waits does not end"
        assert isinstance(self._raised, headgate.CancelledError), f"it got {self._raised!r}"


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


def _client(address: str, deadline: float) -> headgate.Client:
    return headgate.Client(
        address, on_unreachable=headgate.OnUnreachable.fail(), identity="job:etl", check_deadline=deadline
    )


def fork_without_a_pause(address: str) -> None:
    deadline = 8.0  # which no answer takes on a machine that is busy with forks
    with _client(address, deadline) as client:
        waiting = _Waiting(client)
        end = time.monotonic() + 1.5 * deadline
        while time.monotonic() < end:
            child = os.fork()
            if child == 0:
                os._exit(0)
            os.waitpid(child, 0)
        waiting.end()


def fork_and_work(address: str, children: int) -> None:
    client = _client(address, 10)
    waiting = _Waiting(client)
    ends = {"good": 0, "failed": 0, "hung": 0}
    for number in range(children):
        _work(client)
        child = os.fork()
        if child == 0:
            _child(client, number)
        ends[_status(child)] += 1
    _work(client)
    waiting.end()
    assert client.report_stats.delivered == children + 1, client.report_stats
    client.close()
    print(" ".join(f"{how}={count}" for how, count in ends.items()))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        fork_and_work(sys.argv[1], int(sys.argv[2]))
    else:
        fork_without_a_pause(sys.argv[1])
