"""Parts of the package that are best looked at by themselves."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from google.protobuf import duration_pb2

import headgate
from headgate import _wire
from headgate._clock import Cancellation
from headgate._fallback import Fallback
from headgate._files import WatchedFiles, token_in
from headgate._jitter import Jitter
from headgate._options import OnUnreachable
from headgate._reports import ReportQueue
from headgate._types import CheckRequest, PermitReport, ReportResult
from headgate.testing import FakeClock


def floor(rate: float) -> Fallback:
    return Fallback(OnUnreachable.floor_rate(rate), 1.0)


def test_a_floor_rate_allows_exactly_its_rate_and_one_chunk() -> None:
    fallback = floor(10)
    request = CheckRequest(estimated_cost=5)
    allowed = sum(fallback.decide(request, ms / 1000).allowed for ms in range(10_001))
    assert allowed == 21  # at 0.0 s, 0.5 s, ... 10.0 s


def test_a_floor_rate_is_never_exceeded_by_rounding() -> None:
    fallback = floor(3)
    now = 0.0
    for _ in range(3000):
        assert fallback.decide(CheckRequest(), now).allowed
        retry_after = fallback.decide(CheckRequest(), now).retry_after
        assert retry_after is not None
        now += retry_after
    assert 1000 <= now < 1000.001


def test_a_floor_rate_saves_nothing_up_while_idle() -> None:
    fallback = floor(1)
    assert fallback.decide(CheckRequest(), 0).allowed
    assert fallback.decide(CheckRequest(), 3600).allowed
    assert not fallback.decide(CheckRequest(), 3600).allowed


def test_a_floor_rate_is_not_charged_for_validation() -> None:
    fallback = floor(1)
    for _ in range(3):
        assert fallback.decide(CheckRequest(validate_only=True), 0).allowed


def test_one_call_asks_on_behalf_of_all_in_an_outage() -> None:
    fallback = Fallback(OnUnreachable.proceed(), 1.0)
    fallback.failed(0)
    assert not fallback.may_ask(0.999)
    assert fallback.may_ask(1)
    assert not fallback.may_ask(1)  # while the one waits for its answer


def test_a_forked_child_has_ids_of_its_own() -> None:
    parent, child = Jitter(7), Jitter(7)
    child.after_fork()
    assert parent.request_id() != child.request_id()


def test_pauses_double_up_to_the_longest() -> None:
    jitter = Jitter(7)
    for failures, longest in enumerate([0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]):
        assert longest / 2 <= jitter.backoff(failures, 0.1, 2.0) <= longest


def report_queue(max_queued: int = 5000) -> ReportQueue:
    return ReportQueue(max_queued, Jitter(7))


def test_a_batch_has_a_thousand_reports() -> None:
    queue = report_queue()
    for number in range(1500):
        assert queue.add(PermitReport(number))
    assert [report.permit_id for report in queue.batch()] == list(range(1000))


def test_a_measured_time_that_is_not_taken_goes_once_more_without() -> None:
    queue = report_queue()
    queue.add(PermitReport(1, busy_time=1e6, measured=True))
    queue.add(PermitReport(2))
    refusal = headgate.InvalidArgumentError(headgate.Code.INVALID_ARGUMENT, "busy_time: is too long")
    queue.settle(queue.batch(), [refusal, ReportResult()])
    assert queue.batch() == [PermitReport(1)]
    queue.settle(queue.batch(), [refusal])
    assert (queue.stats.delivered, queue.stats.refused, queue.stats.pending) == (1, 1, 0)
    assert queue.done == queue.added == 2


def test_results_that_are_missing_are_failures() -> None:
    queue = report_queue()
    queue.add(PermitReport(1))
    queue.add(PermitReport(2))
    queue.settle(queue.batch(), [ReportResult()])
    assert (queue.stats.delivered, queue.stats.failed) == (1, 1)


def test_an_unknown_sender_is_tried_three_times() -> None:
    queue = report_queue()
    queue.add(PermitReport(1))
    refusal = headgate.Error(headgate.Code.UNAUTHENTICATED, "it takes a token")
    assert queue.fail(queue.batch(), refusal, closing=False) > 1
    assert queue.fail(queue.batch(), refusal, closing=False) > 1
    assert queue.fail(queue.batch(), refusal, closing=False) == 0
    assert (queue.stats.failed, queue.stats.pending) == (1, 0)


def test_an_error_that_is_not_repeated_loses_its_batch() -> None:
    queue = report_queue()
    queue.add(PermitReport(1))
    refusal = headgate.Error(headgate.Code.PERMISSION_DENIED, "no")
    assert queue.fail(queue.batch(), refusal, closing=False) == 0
    assert queue.stats.failed == 1


def watched(path: Path, clock: FakeClock, wall: float) -> WatchedFiles:
    return WatchedFiles([str(path)], clock, lambda: wall)


def test_a_file_left_alone_for_a_second_is_taken_at_once(tmp_path: Path) -> None:
    clock = FakeClock()
    path = tmp_path / "token"
    path.write_text("first")
    files = watched(path, clock, path.stat().st_ctime + 60)
    assert files.read() == [b"first"]
    path.write_text("second")
    assert files.news() is None  # it was looked at less than a second ago
    clock.advance(1)
    assert files.news() == [b"second"]
    clock.advance(1)
    assert files.news() is None


def test_a_file_that_was_just_written_is_taken_at_the_second_look(tmp_path: Path) -> None:
    clock = FakeClock()
    path = tmp_path / "token"
    path.write_text("first")
    files = watched(path, clock, path.stat().st_ctime)
    files.read()
    path.write_text("sec")
    clock.advance(1)
    assert files.news() is None
    path.write_text("second")
    clock.advance(1)
    assert files.news() is None
    clock.advance(1)
    assert files.news() == [b"second"]


def test_a_file_that_is_away_for_a_moment_changes_nothing(tmp_path: Path) -> None:
    clock = FakeClock()
    path = tmp_path / "token"
    path.write_text("first")
    files = watched(path, clock, path.stat().st_ctime + 60)
    files.read()
    os.unlink(path)
    clock.advance(1)
    assert files.news() is None


@pytest.mark.parametrize("text", [b"", b" \n", b"two words", "Grüße".encode(), b"x" * 4097])
def test_what_is_no_token(text: bytes) -> None:
    with pytest.raises(headgate.InvalidArgumentError, match="/etc/token"):
        token_in("/etc/token", text)


def test_a_token_may_end_in_a_line_break() -> None:
    assert token_in("/etc/token", b"abc\r\n") == "abc"


def test_fields_are_read_from_a_message_of_an_unknown_type() -> None:
    duration = duration_pb2.Duration(seconds=3, nanos=5)
    inner = duration.SerializeToString()
    message = b"\x08\x96\x01" + b"\x1a" + bytes([len(inner)]) + inner + b"\x25abcd" + b"\x29abcdefgh"
    assert _wire.fields(message, 3) == [inner]
    assert _wire.fields(message, 4) == []
    for end in range(1, len(message)):  # cut anywhere: nothing, or what was whole
        assert _wire.fields(message[:end], 3) in ([], [inner])


def test_a_cancellation_calls_back_at_once_where_it_is_late() -> None:
    stop = Cancellation()
    called: list[int] = []
    forget = stop.on_cancel(lambda: called.append(1))
    forget()
    stop.cancel()
    stop.on_cancel(lambda: called.append(2))
    assert called == [2]
