"""What became of pieces of leases, and what was said of them, held against a scenario."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import headgate
from headgate import Admission, LimitKind, PieceCount, Reason, Verdict

from values import check_value, seconds

Cause = tuple[Verdict, Reason, "LimitKind | None", str, str, str]


@dataclass
class Piece:
    """Of one that was asked for, or waited for."""

    admission: Admission | None = None  # None: its lease takes none any more, or there is an error

    def check(self, key: str, wanted: Any) -> None:
        if key == "closed":
            assert (self.admission is None) is wanted, f"{self.admission}"
            return
        assert self.admission is not None, "its lease is closed"
        found: Any = {
            "admitted": self.admission.admitted,
            "for_good": not self.admission.admitted and self.admission.retry_after is None,
            "reason": self.admission.reason.name,
            "retry_after": self.admission.retry_after,
            "local": self.admission.local,
        }[key]
        check_value(key, found, wanted)


@dataclass
class Told:
    """By holders to the fake, or by the throttle log."""

    leases: dict[str, headgate.LeaseStats]
    on_fake: bool
    counts: dict[Cause, tuple[int, float]] = field(default_factory=dict)
    asks: list[headgate.CheckRequest] = field(default_factory=list)
    uses: list[headgate.LeaseUse] = field(default_factory=list)
    actual_cost: float | None = None
    busy_time: float | None = None

    def take(
        self, checks: Iterable[headgate.CheckRequest], reports: Iterable[headgate.PermitReport]
    ) -> None:
        self.asks = [check for check in checks if check.lease is not None]
        for report in reports:
            if report.actual_cost is not None:
                self.actual_cost = (self.actual_cost or 0.0) + report.actual_cost
            if report.busy_time is not None:
                self.busy_time = (self.busy_time or 0.0) + report.busy_time
            if report.lease_use is not None:
                self.uses.append(report.lease_use)
                for count in report.lease_use.counts:
                    self._count(_cause_of(count), count.pieces, count.cost)

    def read(self, log: str) -> None:
        """What `headgate log --by outcome --by reason -o json` says."""
        for each in json.loads(log)["sums"]:
            denied = int(each["denied"])
            pieces = denied + int(each["allowed"]) + int(each["would_be_denied"])
            if pieces == 0:
                continue  # the time that Checks have waited
            reason = each["reason"].removeprefix("REASON_")
            reason = Reason.NONE if reason == "UNSPECIFIED" else Reason[reason]
            verdict = Verdict.DENIED if denied else Verdict.ALLOWED
            self._count(
                (verdict, reason, None, "", "", ""), pieces, each["allowed_cost"] + each["denied_cost"]
            )

    def _count(self, cause: Cause, pieces: int, cost: float) -> None:
        before, sum_before = self.counts.get(cause, (0, 0.0))
        self.counts[cause] = (before + pieces, sum_before + cost)

    def check(self, key: str, wanted: Any) -> None:
        if key == "counted":
            self._check_counts(wanted)
        elif key == "counted_as":
            stats = self.leases[wanted]
            pieces = {Verdict.ALLOWED: 0, Verdict.DENIED: 0}
            for cause, (count, _) in self.counts.items():
                pieces[cause[0]] += count
            assert (pieces[Verdict.ALLOWED], pieces[Verdict.DENIED]) == (stats.admitted, stats.refused), (
                f"{self.counts} are counted, and the lease has {stats}"
            )
        elif not self.on_fake:
            raise AssertionError(f"there is no expectation {key} of the throttle log")
        elif key in ("least", "most"):
            for ask in self.asks:
                assert ask.lease is not None
                check_value(key, ask.lease.least if key == "least" else ask.estimated_cost, wanted)
        else:
            ids = {use.id for use in self.uses}
            found: Any = {
                "spent": sum(use.spent for use in self.uses),
                "safe_spent": sum(use.safe_spent for use in self.uses),
                "pieces": sum(use.pieces for use in self.uses),
                "actual_cost": self.actual_cost,
                "busy_time": self.busy_time,
                "numbered": len(ids) == len(self.uses) and 0 not in ids,
                "asks": len(self.asks),
            }[key]
            check_value(key, found, wanted)

    def _check_counts(self, wanted: list[dict[str, Any]]) -> None:
        """Each is there with these values, and no other is."""
        left = dict(self.counts)
        for each in wanted:
            unknown = set(each) - {
                *("verdict", "reason", "limit_kind", "budget", "rule", "signal", "pieces", "cost")
            }
            assert not unknown, f"a count has no {unknown}"
            cause = self._wanted_cause(each)
            assert cause in left, f"nothing is counted as {cause}, but {left}"
            pieces, cost = left.pop(cause)
            if "pieces" in each:
                check_value(f"pieces of {cause}", pieces, each["pieces"])
            if "cost" in each:
                check_value(f"cost of {cause}", cost, each["cost"])
        assert not left, f"counted are, too, {left}"

    def _wanted_cause(self, each: dict[str, Any]) -> Cause:
        verdict, reason = Verdict[each["verdict"]], Reason[each.get("reason", "NONE")]
        if not self.on_fake:
            return (verdict, reason, None, "", "", "")
        kind = LimitKind[each["limit_kind"]] if "limit_kind" in each else None
        return (verdict, reason, kind, each.get("budget", ""), each.get("rule", ""), each.get("signal", ""))


def _cause_of(count: PieceCount) -> Cause:
    return (count.verdict, count.reason, count.limit_kind, count.budget, count.rule, count.signal)


def check_stats(stats: headgate.LeaseStats, key: str, wanted: Any) -> None:
    check_value(key, stats.held if key == "held" else getattr(stats, key.removesuffix("_pieces")), wanted)


def granted(fields: dict[str, Any]) -> headgate.GrantedLease:
    """What the fake is to grant."""
    times: dict[str, Any] = {key: seconds(fields[key]) for key in ("time", "safe_time") if key in fields}
    given: dict[str, Any] = {"time": 1.0, **fields, **times}
    return headgate.GrantedLease(**given)


def violations(said: list[dict[str, Any]]) -> tuple[headgate.Violation, ...]:
    """Of what the fake is to say."""
    return tuple(
        headgate.Violation(
            **{
                **each,
                "limit_kind": LimitKind[each.get("limit_kind", "BURST")],
                "retry_after": seconds(each["retry_after"]) if "retry_after" in each else None,
            }
        )
        for each in said
    )
