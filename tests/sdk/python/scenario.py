"""Plays one scenario; tests/sdk/scenarios/README.md says what its parts mean."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from lease_steps import Piece, Told

import headgate

from drivers import ChunksError, Driver, Pending
from expectations import Judge, Outcome
from places import OnFake, OnServer, OnTwoServers, Place, Scenario
from values import number, seconds

_SCENARIO_KEYS = {
    *("name", "claim", "on", "languages", "server", "servers", "state", "certificates", "files"),
    "copies",
    *("client", "clients", "steps"),
}
_MODIFIERS = {
    *("on", "client", "as", "repeat", "background", "workers", "cancelled", "eventually", "expect"),
}
_BETWEEN_TRIES = 0.05
_OF_THE_FAKE = ("fake", "seen")
_OF_THE_SERVER = ("headgate", "config", "file", "servers")


class Player:
    def __init__(self, scenario: Scenario, driver: Driver, place: Place) -> None:
        unknown = set(scenario) - _SCENARIO_KEYS
        assert not unknown, f"a scenario has no {unknown}"
        self._driver = driver
        self._place = place
        self._clients: dict[str, Any] = {}
        self._named: dict[str, Any] = {}
        self._leases: dict[str, Any] = {}
        self._pending: dict[str, list[Pending]] = {}
        self._judge = Judge(self._named, judges_upper=isinstance(place, OnFake))
        self._steps = scenario["steps"]
        self._clients["default"] = self._new_client(scenario.get("client", {}))
        for name, options in scenario.get("clients", {}).items():
            self._clients[name] = self._new_client(options)

    def play(self) -> None:
        try:
            self._play_steps(self._steps)
        finally:
            for client in self._clients.values():
                # What is still queued is no business of a scenario that has ended.
                self._call(client, _close, {})

    def _play_steps(self, steps: list[dict[str, Any]]) -> None:
        for number_, step in enumerate(steps, 1):
            try:
                self._play_step(step)
            except AssertionError as failure:
                raise AssertionError(f"step {number_}, {step}: {failure}") from failure

    def _play_step(self, step: dict[str, Any]) -> None:
        verbs = set(step) - _MODIFIERS
        assert len(verbs) == 1, f"a step has one verb, and not {verbs}"
        (verb,) = verbs
        on_fake = isinstance(self._place, OnFake)
        if step.get("on", "fake" if on_fake else "server") != ("fake" if on_fake else "server"):
            return
        if verb in (_OF_THE_SERVER if on_fake else _OF_THE_FAKE):
            return
        give_up_at = time.monotonic() + seconds(step.get("eventually", "0s"))
        while True:
            try:
                self._play_verb(verb, step)
                return
            except AssertionError:
                if time.monotonic() >= give_up_at:
                    raise
            time.sleep(_BETWEEN_TRIES)
            if on_fake:
                self._place.passes(_BETWEEN_TRIES)

    def _play_verb(self, verb: str, step: dict[str, Any]) -> None:
        action = getattr(self, f"_do_{verb}", None)
        assert action is not None, f"there is no verb {verb}"
        repeat = step.get("repeat", 1)
        name = step.get("as", "permit" if verb == "check_or_wait" else None)
        for turn in range(1, repeat + 1):
            outcome = action(step[verb], step)
            if outcome is None:
                assert "expect" not in step or verb in ("join", "seen"), f"{verb} has no outcome"
                return
            if verb == "flush" and "expect" not in step:
                assert outcome.result, "not all reports were sent in time"
            self._judge.check(outcome, step.get("expect", {}))
            if name is not None and outcome.error is None:
                self._named[name if repeat == 1 else f"{name}-{turn}"] = outcome.result

    # What a job does.

    def _do_check(self, work: dict[str, Any], step: dict[str, Any]) -> Outcome | None:
        return self._ask(step, _check, _work(work))

    def _do_check_or_wait(self, work: dict[str, Any], step: dict[str, Any]) -> Outcome | None:
        return self._ask(step, _check_or_wait, _work(work))

    def _ask(self, step: dict[str, Any], action: Any, work: dict[str, Any]) -> Outcome | None:
        client = self._client(step)
        if "background" in step:
            workers = [self._driver.begin(action, client, work) for _ in range(step.get("workers", 1))]
            self._pending[step["background"]] = workers
            return None
        return self._call(client, action, work, cancelled=step.get("cancelled", False))

    def _call(self, client: Any, action: Any, work: dict[str, Any], *, cancelled: bool = False) -> Outcome:
        asked = self._place.asked()
        outcome = Outcome()
        began = self._place.now()
        try:
            outcome.result = self._driver.call(action, client, work, cancelled=cancelled)
        except headgate.Error as failure:
            outcome.error = failure
        outcome.took = self._place.now() - began
        outcome.asked = "second" if self._place.asked() == asked else "first"
        return outcome

    def _do_join(self, name: str, step: dict[str, Any]) -> None:
        expect = dict(step.get("expect", {}))
        outcomes = [self._outcome_of(pending) for pending in self._pending.pop(name)]
        if "allowed_count" in expect:
            wanted = expect.pop("allowed_count")
            outcomes = [each for each in outcomes if each.error is None and each.answer.allowed]
            assert len(outcomes) == wanted, f"{len(outcomes)} were allowed"
        for outcome in outcomes:
            self._judge.check(outcome, expect)

    def _outcome_of(self, pending: Pending) -> Outcome:
        outcome = self._piece(_outcome_of, pending)
        if not isinstance(outcome.result.admission, headgate.Admission | None):
            outcome.result = outcome.result.admission  # of a Check
        return outcome

    def _do_cancel(self, name: str, _step: dict[str, Any]) -> None:
        for pending in self._pending[name]:
            pending.cancel()

    def _do_report(self, done: dict[str, Any], _step: dict[str, Any]) -> Outcome:
        permit = self._named[done.get("permit", "permit")]
        return self._call(permit, _report, _done(done))

    def _do_end(self, ended: dict[str, Any], _step: dict[str, Any]) -> None:
        failure = ZeroDivisionError("the chunk failed") if ended.get("error") else None
        self._driver.end(self._named[ended.get("permit", "permit")], failure)

    def _do_dismiss(self, dismissed: dict[str, Any], _step: dict[str, Any]) -> None:
        self._named[dismissed.get("permit", "permit")].dismiss()

    def _do_report_id(self, done: dict[str, Any], step: dict[str, Any]) -> Outcome:
        work = {"permit_id": self._permit_id(done), **_done(done)}
        return self._call(self._client(step), _report, work)

    def _do_report_now(self, done: dict[str, Any], step: dict[str, Any]) -> Outcome:
        work = {"permit_id": self._permit_id(done), **_done(done)}
        return self._call(self._client(step), _report_now, work)

    def _do_chunks(self, work: dict[str, Any], step: dict[str, Any]) -> Outcome:
        try:
            return Outcome(result=self._driver.chunks(self._client(step), _work(work)))
        except ChunksError as ended:
            return Outcome(result=ended.sizes, error=ended.cause)

    def _do_flush(self, timeout: str, step: dict[str, Any]) -> Outcome:
        return self._call(self._client(step), _flush, {"timeout": seconds(timeout)})

    def _do_stats(self, _nothing: dict[str, Any], step: dict[str, Any]) -> Outcome:
        return Outcome(result=self._client(step).report_stats)

    def _do_close(self, _nothing: dict[str, Any], step: dict[str, Any]) -> None:
        self._call(self._client(step), _close, {})

    def _do_new_client(self, options: dict[str, Any], step: dict[str, Any]) -> Outcome:
        try:
            client = self._new_client(options)
        except headgate.Error as failure:
            return Outcome(error=failure)
        self._clients[step.get("as", "new")] = client
        return Outcome(result=client)

    def _do_pass(self, duration: str, _step: dict[str, Any]) -> None:
        self._place.passes(seconds(duration))

    def _do_fork(self, fork: dict[str, Any], _step: dict[str, Any]) -> None:
        children = [self._fork(fork["steps"]) for _ in range(fork["children"])]
        give_up_at = time.monotonic() + 60
        for child in children:
            while True:
                pid, status = os.waitpid(child, os.WNOHANG)
                if pid == child:
                    break
                assert time.monotonic() < give_up_at, "a forked child hangs"
                time.sleep(0.01)
            assert status == 0, f"a forked child ended with {status}"

    def _fork(self, steps: list[dict[str, Any]]) -> int:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                self._play_steps(steps)
                status = 0
            except BaseException as failure:
                print(f"in a forked child: {failure}", flush=True)
            finally:
                os._exit(status)
        return child

    # What it does with leases.

    def _do_lease(self, options: dict[str, Any], step: dict[str, Any]) -> Outcome:
        options = {key: seconds(value) if "time" in key else value for key, value in options.items()}
        outcome = self._call(self._client(step), _lease, options)
        if outcome.error is None:
            self._leases[step.get("as", "lease")] = outcome.result
        return outcome

    def _do_admit(self, piece: dict[str, Any], _step: dict[str, Any]) -> Outcome:
        return self._piece(self._call, self._lease(piece), _admit, {"cost": piece.get("cost", 1.0)})

    def _do_wait(self, piece: dict[str, Any], step: dict[str, Any]) -> Outcome | None:
        lease = self._lease(piece)
        work = {"cost": piece.get("cost", 1.0), "max_wait": seconds(piece.get("max_wait", "forever"))}
        if "background" in step:
            begun = [self._driver.begin(_wait, lease, work) for _ in range(step.get("workers", 1))]
            self._pending[step["background"]] = begun
            return None
        return self._piece(self._call, lease, _wait, work)

    def _piece(self, call: Any, *what: Any) -> Outcome:
        try:
            outcome: Outcome = call(*what)
        except RuntimeError as raised:
            if "closed" not in str(raised):
                raise
            return Outcome(result=Piece())
        outcome.result = Piece(outcome.result)
        return outcome

    def _do_settle(self, done: dict[str, Any], _step: dict[str, Any]) -> Outcome:
        work = {"estimate": done.get("estimate", 1.0)}
        work |= {key: number(value) for key, value in done.items() if key in ("actual_cost", "busy_time")}
        return self._call(self._lease(done), _settle, work)

    def _do_close_lease(self, which: dict[str, Any], step: dict[str, Any]) -> None:
        self._call(self._lease(which), _close, {})
        assert self._call(self._client(step), _flush, {"timeout": 60.0}).result, "it is not given back"

    def _do_lease_stats(self, which: dict[str, Any], _step: dict[str, Any]) -> Outcome:
        return Outcome(result=self._lease(which).stats)

    def _do_told(self, of: dict[str, Any], _step: dict[str, Any]) -> Outcome:
        stats = {name: lease.stats for name, lease in self._leases.items()}
        told = Told(stats, on_fake=isinstance(self._place, OnFake))
        if isinstance(self._place, OnFake):
            told.take(self._place.fake.checks, self._place.fake.reports)
        else:
            assert isinstance(self._place, OnServer)
            identity = of.get("identity", "nightly:etl")
            words = ["log", identity, "--by", "outcome", "--by", "reason", "-o", "json"]
            told.read(self._place.headgate(words))
        return Outcome(result=told)

    def _lease(self, what: dict[str, Any]) -> Any:
        return self._leases[what.get("lease", "lease")]

    # What happens to it.

    def _do_server(self, action: str, _step: dict[str, Any]) -> None:
        self._place.set_server(action)

    def _do_servers(self, what: str, _step: dict[str, Any]) -> None:
        assert isinstance(self._place, OnTwoServers)
        self._place.do(what)

    def _do_file(self, file: dict[str, str], _step: dict[str, Any]) -> None:
        assert isinstance(self._place, OnServer)
        self._place.file(**file)

    def _do_config(self, config: dict[str, Any], _step: dict[str, Any]) -> None:
        assert isinstance(self._place, OnServer)
        self._place.config(config)

    def _do_headgate(self, words: list[str], _step: dict[str, Any]) -> None:
        assert isinstance(self._place, OnServer)
        self._place.headgate(words)

    def _do_fake(self, said: dict[str, Any], _step: dict[str, Any]) -> None:
        assert isinstance(self._place, OnFake)
        self._place.tell(said)

    def _do_seen(self, _nothing: dict[str, Any], step: dict[str, Any]) -> None:
        assert isinstance(self._place, OnFake)
        self._place.seen.check(step.get("expect", {}))

    def _client(self, step: dict[str, Any]) -> Any:
        return self._clients[step.get("client", "default")]

    def _new_client(self, options: dict[str, Any]) -> Any:
        return self._place.new_client(self._driver, _client_options(options))

    def _permit_id(self, done: dict[str, Any]) -> int:
        if "id" in done:
            return int(done["id"])
        permit_id = Outcome(self._named[done["of"]]).answer.permit_id
        assert permit_id is not None, f"{done['of']} has no permit"
        return permit_id


def in_folder(value: Any, folder: Path) -> Any:
    """With the scenario's own folder instead of $DIR."""
    if isinstance(value, str):
        return value.replace("$DIR", str(folder))
    if isinstance(value, list):
        return [in_folder(each, folder) for each in value]
    if isinstance(value, dict):
        return {key: in_folder(each, folder) for key, each in value.items()}
    return value


def _check(client: Any, **work: Any) -> Any:
    return client.check(**work)


def _check_or_wait(client: Any, **work: Any) -> Any:
    return client.check_or_wait(**work)


def _report(reporter: Any, **done: Any) -> Any:
    return reporter.report(**done)


def _report_now(client: Any, **done: Any) -> Any:
    return client.report_now(**done)


def _flush(client: Any, **work: Any) -> Any:
    return client.flush(**work)


def _lease(client: Any, **options: Any) -> Any:
    return client.lease(**options)


def _admit(lease: Any, cost: float) -> Any:
    return lease.admit(cost)


def _wait(lease: Any, cost: float, **work: Any) -> Any:
    return lease.wait(cost, **work)


def _settle(lease: Any, estimate: float, **work: Any) -> Any:
    return lease.settle(estimate, **work)


def _close(client: Any) -> Any:
    return client.close()


def _outcome_of(pending: Pending) -> Outcome:
    try:
        return Outcome(result=pending.result())
    except headgate.Error as failure:
        return Outcome(error=failure)


def _work(work: dict[str, Any]) -> dict[str, Any]:
    return {key: seconds(value) if key == "max_wait" else value for key, value in work.items()}


def _done(done: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in done.items() if key not in ("permit", "of", "id")}
    return {key: number(value) for key, value in kept.items()}


def _client_options(options: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {"identity": "nightly:etl", "on_unreachable": headgate.OnUnreachable.fail()}
    for key, value in options.items():
        if key == "on_unreachable":
            made[key] = _policy(value)
        elif key == "tls":
            made[key] = headgate.TlsOptions(**value)
        elif key in ("check_deadline", "longest_wait", "outage_pause", "flush_timeout"):
            made[key] = seconds(value)
        else:
            made[key] = value
    return made


def _policy(policy: str | dict[str, float]) -> headgate.OnUnreachable:
    if isinstance(policy, dict):
        return headgate.OnUnreachable.floor_rate(cost_units_per_second=policy["floor_rate"])
    return {
        "fail": headgate.OnUnreachable.fail,
        "wait": headgate.OnUnreachable.wait,
        "proceed": headgate.OnUnreachable.proceed,
    }[policy]()
