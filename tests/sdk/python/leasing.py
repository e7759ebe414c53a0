"""leasing.py ADDRESS forks: forks with a lease in use; each child takes leases of its own.
leasing.py ADDRESS forgets: ends without closing anything.

Prints how many pieces were admitted and refused, in all processes.
"""

from __future__ import annotations

import os
import sys

import headgate

_LONGEST = 60.0
_CHILDREN = 10
_PIECES = 200


def _client(address: str) -> headgate.Client:
    return headgate.Client(
        address,
        on_unreachable=headgate.OnUnreachable.fail(),
        identity="job:etl",
        check_deadline=_LONGEST,
        flush_timeout=_LONGEST,
    )


def _work(lease: headgate.Lease) -> None:
    for _ in range(_PIECES):
        lease.admit()
        assert lease.wait(max_wait=_LONGEST)


def _child(client: headgate.Client, lease: headgate.Lease, pipe: int) -> None:
    stats = lease.stats
    assert (stats.admitted, stats.refused, stats.held) == (0, 0, 0), stats
    _work(lease)
    client.close()
    stats = lease.stats
    os.write(pipe, f"{stats.admitted} {stats.refused}\n".encode())


def fork_and_work(address: str) -> None:
    client = _client(address)
    lease = client.lease(time=0.5)
    reads, writes = os.pipe()
    for _ in range(_CHILDREN):
        _work(lease)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                _child(client, lease, writes)
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0, "a child failed"
    _work(lease)
    client.close()
    os.close(writes)
    stats = lease.stats
    admitted, refused = stats.admitted, stats.refused
    with os.fdopen(reads) as lines:
        for line in lines:
            more_admitted, more_refused = line.split()
            admitted += int(more_admitted)
            refused += int(more_refused)
    print(admitted, refused)


def work_and_forget(address: str) -> None:
    lease = _client(address).lease(time=10.0)
    _work(lease)
    stats = lease.stats
    print(stats.admitted, stats.refused)


if __name__ == "__main__":
    {"forks": fork_and_work, "forgets": work_and_forget}[sys.argv[2]](sys.argv[1])
