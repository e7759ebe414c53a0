"""What the table of scenarios cannot say, because it is Python's own."""

from __future__ import annotations

import inspect
import pickle
import signal
import threading
import time
from pathlib import Path

import pytest

import headgate
from headgate import Client, OnUnreachable, Reason
from headgate.testing import FakeHeadgate


def test_a_permit_is_a_context_that_reports(fake: FakeHeadgate, client: Client) -> None:
    with client.permit(estimated_cost=5, max_wait=10) as permit:
        assert fake.outstanding == {permit.answer.permit_id}
    assert client.flush(20)
    assert fake.outstanding == set()


def test_an_exception_is_reported_and_goes_on(fake: FakeHeadgate, client: Client) -> None:
    with pytest.raises(ZeroDivisionError):  # noqa: PT012, SIM117
        with client.permit():
            fake.clock.advance(3)
            raise ZeroDivisionError
    assert client.flush(20)
    assert [report.busy_time for report in fake.reports] == [pytest.approx(3)]


def test_a_decorated_function_waits_for_each_call(fake: FakeHeadgate, client: Client) -> None:
    @client.permit(estimated_cost=5)
    def double(number: int) -> int:
        return 2 * number

    fake.deny(30, Reason.HEALTH)
    assert [double(1), double(2)] == [2, 4]
    assert client.flush(20)
    assert len(fake.reports) == 2
    assert fake.clock.waited == pytest.approx(30)


def test_a_loop_that_is_left_reports_its_last_chunk(fake: FakeHeadgate, client: Client) -> None:
    for chunk in client.chunks(None, start=10):
        if chunk.first == 20:
            break
    assert client.flush(20)
    assert len(fake.reports) == 3


@pytest.mark.parametrize(
    ("total", "start", "smallest", "largest"),
    [(-1, 5, 1, None), (10, 0, 1, None), (10, 5, 0, None), (10, 5, 6, None), (10, 5, 1, 4)],
)
def test_sizes_of_chunks_that_cannot_be(
    client: Client, total: int, start: int, smallest: int, largest: int | None
) -> None:
    with pytest.raises(headgate.InvalidArgumentError):
        list(client.chunks(total, start=start, smallest=smallest, largest=largest))


def test_on_unreachable_has_no_default() -> None:
    with pytest.raises(TypeError, match="on_unreachable"):
        Client()  # type: ignore[call-arg]


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="check_dedline"):
        Client(on_unreachable=OnUnreachable.fail(), check_dedline=1)  # type: ignore[call-arg]


def test_errors_are_those_that_python_has_besides() -> None:
    assert issubclass(headgate.NotInTimeError, TimeoutError)
    assert issubclass(headgate.UnreachableError, ConnectionError)
    assert issubclass(headgate.InvalidArgumentError, ValueError)


def test_errors_come_through_task_queues() -> None:
    sent = headgate.UnreachableError(headgate.Code.UNAVAILABLE, "nobody listens", 2.0)
    received = pickle.loads(pickle.dumps(sent))
    assert isinstance(received, headgate.UnreachableError)
    assert (received.code, received.message, received.retry_delay) == (sent.code, "nobody listens", 2.0)


def test_jitter_follows_from_the_seed() -> None:
    def waits(seed: int) -> list[float]:
        fake = FakeHeadgate()
        fake.set_lets_wait(False)
        for _ in range(5):
            fake.deny(4)
        with fake.client(on_unreachable=OnUnreachable.fail(), identity="etl", seed=seed) as client:
            client.check_or_wait()
        return fake.clock.waits

    assert waits(7) == waits(7)
    assert waits(7) != waits(8)


def test_clients_of_different_seeds_have_different_ids(fake: FakeHeadgate) -> None:
    for seed in range(3):
        with fake.client(on_unreachable=OnUnreachable.fail(), identity="etl", seed=seed) as client:
            client.check()
    assert len({check.request_id for check in fake.checks}) == 3


def test_threads_share_a_client_without_losing_a_permit(fake: FakeHeadgate, client: Client) -> None:
    def work() -> None:
        for _ in range(100):
            with client.permit():
                pass

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert client.flush(20)
    assert len(fake.reports) == 800
    assert fake.outstanding == set()


def test_a_signal_may_cancel_a_wait(fake: FakeHeadgate, client: Client) -> None:
    stop = headgate.Cancellation()
    before = signal.signal(signal.SIGUSR1, lambda *_: stop.cancel())
    fake.set_handler(lambda _: _raise_and_deny())
    try:
        with pytest.raises(headgate.CancelledError):
            client.check_or_wait(cancellation=stop)
    finally:
        signal.signal(signal.SIGUSR1, before)


def _raise_and_deny() -> headgate.Answer:
    signal.raise_signal(signal.SIGUSR1)
    return headgate.Answer(retry_after=1)


def test_a_thousand_reports_do_not_wait_for_company(client: Client) -> None:
    for number in range(2500):
        client.report(number)
    began = time.monotonic()
    assert client.flush(20)
    assert client.report_stats.delivered == 2500
    assert time.monotonic() - began < 20


def test_the_package_has_types() -> None:
    package = Path(inspect.getfile(headgate)).parent
    assert (package / "py.typed").exists()
