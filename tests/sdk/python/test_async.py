"""What is asyncio's own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import headgate
from headgate import AsyncClient, OnUnreachable
from headgate.testing import FakeHeadgate

from headgated import Headgated

_TASKS = 1000


def test_a_decorated_coroutine_waits_and_reports() -> None:
    async def main() -> None:
        fake = FakeHeadgate()
        async with fake.async_client(on_unreachable=OnUnreachable.fail(), identity="etl") as client:

            @client.permit(max_wait=60)
            async def double(number: int) -> int:
                return 2 * number

            fake.deny(30)
            assert await double(2) == 4
            async with client.permit() as permit:
                assert permit.answer.allowed
            assert await client.flush(20)
            assert fake.outstanding == set()
            assert fake.clock.waited == pytest.approx(30)

    asyncio.run(main())


def test_a_cancelled_task_is_let_go() -> None:
    async def main() -> None:
        fake = FakeHeadgate()
        asked = asyncio.Event()

        def deny(_: object) -> headgate.Answer:
            asked.set()
            return headgate.Answer(retry_after=1)

        fake.set_handler(deny)
        async with fake.async_client(on_unreachable=OnUnreachable.wait(), identity="etl") as client:
            waiting = asyncio.create_task(client.check_or_wait())
            await asked.wait()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting

    asyncio.run(main())


def test_a_thousand_tasks_wait_on_one_client(tmp_path: Path) -> None:
    config: dict[str, Any] = {
        "budgets": [{"name": "rows", "rate": 0.001, "burst": 10}, {"name": "free", "rate": 9, "burst": 9}],
        "rules": [
            {"name": "slow", "match": {"identity": "slow"}, "charge": ["rows"]},
            {"name": "others", "match": {"identity": "etl"}, "charge": ["free"]},
        ],
    }
    server = Headgated(tmp_path, config, state=True)

    async def main() -> None:
        async with AsyncClient(
            server.address, on_unreachable=OnUnreachable.fail(), identity="etl", check_deadline=30
        ) as client:
            assert (await client.check(identity="slow", estimated_cost=10)).allowed
            tasks = [
                asyncio.create_task(client.check_or_wait(identity="slow", estimated_cost=10))
                for _ in range(_TASKS)
            ]
            await asyncio.sleep(1)
            assert not any(task.done() for task in tasks)
            # Meanwhile others ask and report on the same client.
            answer = await client.check(estimated_cost=1)
            assert answer.permit_id is not None
            await client.report_now(answer.permit_id)
            server.write_config({**config, "rules": config["rules"][1:]})  # they are let in, all of them
            permits = await asyncio.gather(*tasks)
            assert all(permit.answer.allowed for permit in permits)

    try:
        asyncio.run(asyncio.wait_for(main(), 300))
    finally:
        server.kill()
