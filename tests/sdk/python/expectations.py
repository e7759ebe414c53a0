"""Holds what came out of a step against what was expected."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lease_steps import Piece, Told, check_stats

import headgate

from values import check_value

_ANSWER_VALUES = (
    "retry_after",
    "waited",
    "chunk_scale",
    "predicted_busy_time",
    "predicted_cost",
    "priority",
    "probe",
    "local",
    "allowed",
)
_STATS = ("pending", "delivered", "refused", "failed", "dropped", "overrun", "unsettled")


@dataclass
class Outcome:
    """Of one step: what it returned, or how it failed, and for how long it took."""

    result: Any = None
    error: headgate.Error | None = None
    took: float = 0.0
    asked: str = ""  # which of two servers: first, or second

    @property
    def answer(self) -> headgate.Answer:
        """Of an answer, or of a permit."""
        answer = self.result.answer if isinstance(self.result, headgate.Permit) else self.result
        assert isinstance(answer, headgate.Answer), f"there is no answer: {self.result}, {self.error}"
        return answer


class Judge:
    """`judges_upper` is false on a server, where a machine's speed must not decide."""

    def __init__(self, named: dict[str, Any], *, judges_upper: bool) -> None:
        self._named = named
        self._judges_upper = judges_upper

    def check(self, outcome: Outcome, expect: dict[str, Any]) -> None:
        """Without `error` it has to have succeeded."""
        if "error" in expect:
            assert outcome.error is not None, f"no {expect['error']}, but {outcome.result}"
            assert outcome.error.code.name == expect["error"], f"{outcome.error!r}"
        elif outcome.error is not None:
            raise AssertionError(f"unexpected {outcome.error}") from outcome.error
        for key, wanted in expect.items():
            self._check_one(key, wanted, outcome)

    def _check_one(self, key: str, wanted: Any, outcome: Outcome) -> None:
        if key == "error":
            return
        if isinstance(outcome.result, Piece | Told):
            outcome.result.check(key, wanted)
            return
        if isinstance(outcome.result, headgate.LeaseStats):
            check_stats(outcome.result, key, wanted)
            return
        if key == "took":
            check_value(key, outcome.took, wanted, judges_upper=self._judges_upper)
        elif key == "asked":
            assert outcome.asked == wanted, f"the {outcome.asked} server was asked"
        elif key == "retry_delay":
            assert outcome.error is not None
            check_value(key, outcome.error.retry_delay, wanted)
        elif key == "message":
            said = outcome.error.message if outcome.error is not None else outcome.answer.message
            assert wanted in said, f"{said!r} does not say {wanted!r}"
        elif key in ("outcome", "overruns", "unsettled_budgets"):
            self._check_result(key, wanted, outcome.result)
        elif key in _STATS:
            check_value(key, getattr(outcome.result, key), wanted)
        elif key in ("done", "sizes"):
            assert outcome.result == wanted, f"{key} is {outcome.result}, and should be {wanted}"
        else:
            self._check_answer(key, wanted, outcome.answer)

    def _check_answer(self, key: str, wanted: Any, answer: headgate.Answer) -> None:
        if key in _ANSWER_VALUES:
            judges_upper = self._judges_upper or key != "waited"
            check_value(key, getattr(answer, key), wanted, judges_upper=judges_upper)
        elif key == "reason":
            assert answer.reason.name == wanted, f"reason is {answer.reason.name}: {answer.message}"
        elif key == "permit":
            assert (answer.permit_id is not None) is wanted, f"the permit is {answer.permit_id}"
        elif key == "same_permit_as":
            assert answer.permit_id == self._permit_id(wanted)
        elif key == "other_permit_than":
            assert answer.permit_id != self._permit_id(wanted)
        elif key == "violations":
            assert len(answer.violations) == len(wanted), f"{answer.violations}"
            for violation, fields in zip(answer.violations, wanted, strict=True):
                check_fields("violation", violation, fields)
        elif key == "health":
            if wanted == "absent":
                assert answer.health is None
            else:
                assert answer.health is not None
                check_fields("health", answer.health, wanted)
        else:
            raise AssertionError(f"there is no expectation {key}")

    def _permit_id(self, name: str) -> int:
        permit_id = Outcome(self._named[name]).answer.permit_id
        assert permit_id is not None
        return permit_id

    def _check_result(self, key: str, wanted: Any, result: Any) -> None:
        assert isinstance(result, headgate.ReportResult), f"{result} is no result of a report"
        if key == "outcome":
            assert result.outcome.name == wanted, f"outcome is {result.outcome.name}"
            return
        if key == "unsettled_budgets":
            assert list(result.unsettled) == wanted, f"unsettled are {result.unsettled}"
            return
        assert len(result.overruns) == len(wanted), f"overruns are {result.overruns}"
        for overrun, fields in zip(result.overruns, wanted, strict=True):
            check_fields("overrun", overrun, fields)


def check_fields(what: str, found: Any, wanted: dict[str, Any]) -> None:
    """Each wanted field of an object; names of enumerations as their members'."""
    for name, value in wanted.items():
        has = getattr(found, name)
        check_value(f"{what}'s {name}", getattr(has, "name", has), value)
