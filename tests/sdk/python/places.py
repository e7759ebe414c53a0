"""Where a scenario is played: against a real headgated, or against the fake."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import Any, Protocol

from lease_steps import granted, violations

import headgate
from headgate.testing import FakeHeadgate

from drivers import Driver
from headgated import Headgated, replace_file
from seen import Seen
from two_servers import TwoServers
from values import number, seconds

_CERTIFICATES = Path(__file__).parent.parent / "certificates.sh"

Scenario = dict[str, Any]


class Place(Protocol):
    def new_client(self, driver: Driver, options: dict[str, Any]) -> Any: ...

    def now(self) -> float: ...

    def passes(self, duration: float) -> None: ...

    def set_server(self, action: str) -> None: ...

    def asked(self) -> str:
        """How often the first of two servers was asked; always the same where there are no two."""
        ...

    def finish(self) -> None: ...


class OnServer:
    def __init__(self, scenario: Scenario, folder: Path) -> None:
        if scenario.get("certificates"):
            subprocess.run([str(_CERTIFICATES), str(folder)], check=True)
        for name, text in scenario.get("files", {}).items():
            (folder / name).write_text(text)
        for name, source in scenario.get("copies", {}).items():
            (folder / name).write_bytes((folder / source).read_bytes())
        self._folder = folder
        self._server = Headgated(folder, scenario.get("server", {}), state=scenario.get("state", False))

    def new_client(self, driver: Driver, options: dict[str, Any]) -> Any:
        # A busy machine must not fail a test.
        return driver.new_client(self._server.address, {"check_deadline": 10.0, **options})

    def now(self) -> float:
        return time.monotonic()

    def passes(self, duration: float) -> None:
        time.sleep(duration)

    def asked(self) -> str:
        return ""

    def set_server(self, action: str) -> None:
        {"kill": self._server.kill, "stop": self._server.stop, "start": self._server.start}[action]()

    def finish(self) -> None:
        self._server.kill()

    def file(self, name: str, text: str | None = None, copy: str | None = None) -> None:
        content = text.encode() if text is not None else (self._folder / str(copy)).read_bytes()
        replace_file(self._folder / name, content)

    def config(self, config: dict[str, Any]) -> None:
        self._server.write_config(config)

    def headgate(self, words: list[str]) -> str:
        return self._server.headgate(words)


class OnTwoServers:
    """Of which scenarios set who owns what."""

    def __init__(self, folder: Path) -> None:
        self._servers = TwoServers(folder)

    def new_client(self, driver: Driver, options: dict[str, Any]) -> Any:
        # A busy machine must not fail a test.
        return driver.new_client(self._servers.address, {"check_deadline": 10.0, **options})

    def now(self) -> float:
        return time.monotonic()

    def passes(self, duration: float) -> None:
        time.sleep(duration)

    def set_server(self, action: str) -> None:
        raise AssertionError(f"of two servers, which one is to {action}?")

    def asked(self) -> str:
        return self._servers.do("asked")

    def do(self, what: str) -> None:
        said = self._servers.do(what)
        assert said == "done", said

    def finish(self) -> None:
        self._servers.end()


class OnFake:
    def __init__(self) -> None:
        self.fake = FakeHeadgate()
        self.seen = Seen(self.fake)

    def new_client(self, driver: Driver, options: dict[str, Any]) -> Any:
        return driver.fake_client(self.fake, options)

    def now(self) -> float:
        return self.fake.clock.now()

    def passes(self, duration: float) -> None:
        self.fake.clock.advance(duration)

    def asked(self) -> str:
        return ""

    def set_server(self, action: str) -> None:
        assert action in ("kill", "stop", "start")
        self.fake.set_reachable(action == "start")

    def finish(self) -> None: ...

    def tell(self, said: dict[str, Any]) -> None:
        """The verb `fake`."""
        said = dict(said)
        if "knows_leases" in said:
            self.fake.set_knows_leases(said.pop("knows_leases"))
        if "waiting" in said:
            self.fake.set_lets_wait({"in_server": True, "in_client": False}[said.pop("waiting")])
        if "overruns" in said:
            overruns = said.pop("overruns")
            self.fake.set_overruns(*(headgate.Overrun(**each) for each in overruns))
        if "unsettled" in said:
            self.fake.set_unsettled(*said.pop("unsettled"))
        if "always" in said:
            self._tell_always(said.pop("always"))
        if said:
            for _ in range(said.pop("times", 1)):
                _tell(self.fake, _said(said))

    def _tell_always(self, said: dict[str, Any]) -> None:
        always = _said(said)
        self.fake.set_handler(lambda _request: always)


def _tell(fake: FakeHeadgate, said: headgate.Answer | headgate.Error) -> None:
    if isinstance(said, headgate.Error):
        fake.fail(said.code, said.message, said.retry_delay)
    elif said.allowed:
        fake.allow(said)
    elif said.retry_after is None:
        fake.deny_for_good(said.reason)
    else:
        fake.deny(said.retry_after, said.reason)


def _said(said: dict[str, Any]) -> headgate.Answer | headgate.Error:
    """What one Check gets."""
    said = dict(said)
    if "allow" in said:
        fields = dict(said.pop("allow"))
        if "reason" in fields:
            fields["reason"] = headgate.Reason[fields["reason"]]
        if "lease" in fields:
            fields["lease"] = granted(fields.pop("lease"))
        if "violations" in fields:
            fields["violations"] = violations(fields.pop("violations"))
        if "predicted_busy_time" in fields:
            fields["predicted_busy_time"] = seconds(fields["predicted_busy_time"])
        result: headgate.Answer | headgate.Error
        result = headgate.Answer(verdict=headgate.Verdict.ALLOWED, **fields)
    elif "deny" in said:
        reason = headgate.Reason[said.pop("reason", "CAPACITY")]
        limits = violations(said.pop("violations", []))
        result = headgate.Answer(reason=reason, retry_after=seconds(said.pop("deny")), violations=limits)
    elif "deny_for_good" in said:
        result = headgate.Answer(reason=headgate.Reason[said.pop("deny_for_good")])
    else:
        code = headgate.Code[said.pop("fail")]
        delay = said.pop("retry_delay", None)
        make = _ERRORS.get(code, headgate.Error)
        result = make(code, said.pop("message", ""), None if delay is None else number(delay))
    assert not said, f"the fake does not know {said}"
    return result


_ERRORS = {headgate.Code.UNAVAILABLE: headgate.UnreachableError}
