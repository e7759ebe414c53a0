"""python_bench.py ADDRESS: what a permit takes beyond bare calls, and what a Check alone does; prints both.

Alternately the same number of permits, with all their reports delivered, and of pairs of bare calls, Check
and then Report, over one channel each. Then Checks that no rule charges, after which there is nothing to
report, and bare ones. Nobody waits. The median of the rounds' ratios counts.
"""

from __future__ import annotations

import statistics
import sys
import time
from typing import Any

import grpc

import headgate
from headgate.v1 import throttler_service_pb2 as v1

_PAIRS = 1000
_ROUNDS = 9
_SERVICE = "/headgate.v1.ThrottlerService/"
_WORK: dict[str, Any] = {"estimated_cost": 1.0, "pattern": "copy"}


def _method(channel: grpc.Channel, name: str, request: Any, response: Any) -> Any:
    return channel.unary_unary(
        _SERVICE + name,
        request_serializer=request.SerializeToString,
        response_deserializer=response.FromString,
    )


def _bare(check: Any, report: Any, identity: str) -> float:
    began = time.perf_counter()
    for number in range(_PAIRS):
        request = v1.CheckRequest(**_WORK, identity=identity, request_id=f"{began}-{number}")
        decision = check(request, timeout=5).decision
        if decision.HasField("permit_id"):
            report(v1.ReportRequest(reports=[v1.PermitReport(permit_id=decision.permit_id)]), timeout=5)
    return time.perf_counter() - began


def _permits(client: headgate.Client, identity: str) -> float:
    began = time.perf_counter()
    for _ in range(_PAIRS):
        with client.check_or_wait(max_wait=0, identity=identity, **_WORK):
            pass
    assert client.flush(20), "not all reports were delivered"
    return time.perf_counter() - began


def main(address: str) -> None:
    channel = grpc.insecure_channel(address)
    check = _method(channel, "Check", v1.CheckRequest, v1.CheckResponse)
    report = _method(channel, "Report", v1.ReportRequest, v1.ReportResponse)
    with headgate.Client(address, on_unreachable=headgate.OnUnreachable.fail(), check_deadline=5) as client:

        def ratio(identity: str) -> float:
            rounds = [
                _permits(client, identity) / _bare(check, report, identity) for _ in range(_ROUNDS + 1)
            ]
            return statistics.median(rounds[1:])  # the first round connects

        permit, alone = ratio("job:etl"), ratio("job:free")
        stats = client.report_stats
    assert stats.delivered == _PAIRS * (_ROUNDS + 1), stats
    print(f"{permit:.2f} {alone:.2f}")


if __name__ == "__main__":
    main(sys.argv[1])
