"""A fake server and a client of it, for tests of what the client does by itself."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from headgate import Client, OnUnreachable
from headgate.testing import FakeHeadgate


@pytest.fixture
def fake() -> FakeHeadgate:
    return FakeHeadgate()


@pytest.fixture
def client(fake: FakeHeadgate) -> Iterator[Client]:
    with fake.client(on_unreachable=OnUnreachable.fail(), identity="job:etl") as client:
        yield client
