"""Between the API's messages and this package's own types."""

from __future__ import annotations

import datetime
import enum
from typing import Any, TypeVar

import grpc
from google.protobuf import any_pb2, duration_pb2

from headgate import _wire
from headgate._errors import Code, Error, error
from headgate._lease_types import GrantedLease, LeaseTerms, LeaseUse, LeaseWatch, PieceCount
from headgate._types import (
    Answer,
    BudgetUnit,
    CheckRequest,
    Health,
    HealthState,
    LimitKind,
    Overrun,
    PermitReport,
    Reason,
    ReportedDebt,
    ReportOutcome,
    ReportResult,
    Verdict,
    Violation,
)
from headgate.v1 import throttler_service_pb2 as v1

E = TypeVar("E", bound=enum.Enum)

# Of counts alone; no decision has such a reason.
_REASON_UNMATCHED = Reason.UNMATCHED.value


def _known(kind: type[E], number: int, unknown: E) -> E:
    """A server may be newer than this package, and have more words."""
    try:
        return kind(number)
    except ValueError:
        return unknown


def _seconds(duration: duration_pb2.Duration) -> float:
    return duration.seconds + duration.nanos / 1e9


def _set(seconds: float, duration: duration_pb2.Duration) -> None:
    duration.FromNanoseconds(round(seconds * 1e9))


def check_request(request: CheckRequest) -> v1.CheckRequest:
    proto = v1.CheckRequest(
        identity=request.identity,
        target=request.target,
        estimated_cost=request.estimated_cost,
        pattern=request.pattern,
        tags=request.tags,
        request_id=request.request_id,
        validate_only=request.validate_only,
    )
    if request.max_wait > 0:
        _set(request.max_wait, proto.max_wait)
    if request.lease is not None:
        _set_terms(request.lease, proto.lease)
    return proto


def lease_watch(watch: LeaseWatch) -> v1.CheckRequest:
    """A server that does not know of watches refuses validate_only with max_wait, and decides nothing."""
    proto = v1.CheckRequest(
        identity=watch.identity,
        target=watch.target,
        pattern=watch.pattern,
        tags=watch.tags,
        validate_only=True,
    )
    _set(watch.max_wait, proto.max_wait)
    proto.lease.watch.state = watch.state
    return proto


def state_of(response: v1.CheckResponse) -> int:
    return int(response.decision.lease.state)


def _set_terms(terms: LeaseTerms, proto: v1.LeaseTerms) -> None:
    proto.least = terms.least
    _set(terms.time, proto.time)
    if terms.safe_time > 0:
        proto.safe_rate = terms.safe_rate
        _set(terms.safe_time, proto.safe_time)
    if terms.returned is not None:
        _fill_report(terms.returned, proto.returned)


def report_request(reports: list[PermitReport]) -> v1.ReportRequest:
    proto = v1.ReportRequest()
    for report in reports:
        _fill_report(report, proto.reports.add())
    return proto


def _fill_report(report: PermitReport, proto: v1.PermitReport) -> None:
    proto.permit_id = report.permit_id
    if report.actual_cost is not None:
        proto.actual_cost = report.actual_cost
    if report.busy_time is not None:
        _set(report.busy_time, proto.busy_time)
    if report.lease_use is not None:
        proto.lease_use.CopyFrom(_lease_use(report.lease_use))


def _lease_use(use: LeaseUse) -> v1.LeaseUse:
    return v1.LeaseUse(
        spent=use.spent,
        pieces=use.pieces,
        counts=[_piece_count(each) for each in use.counts],
        identity=use.identity,
        target=use.target,
        safe_spent=use.safe_spent,
        id=use.id,
    )


def _piece_count(count: PieceCount) -> v1.PieceCount:
    return v1.PieceCount(
        verdict=_number(count.verdict),
        reason=_number(count.reason),
        limit_kind=_number(count.limit_kind),
        budget=count.budget,
        rule=count.rule,
        signal=count.signal,
        pieces=count.pieces,
        cost=count.cost,
    )


def _number(word: enum.Enum | None) -> Any:
    """In the API; 0, which is unspecified, of none and of one that is unknown here."""
    return 0 if word is None else max(word.value, 0)


def _granted(decision: v1.Decision) -> GrantedLease | None:
    if not decision.HasField("lease"):
        return None
    proto = decision.lease
    return GrantedLease(
        amount=proto.amount,
        time=_seconds(proto.time),
        largest_piece=proto.largest_piece if proto.HasField("largest_piece") else None,
        reject_ratio=proto.reject_ratio,
        one_at_a_time=proto.one_at_a_time,
        state=proto.state,
        safe_rate=proto.safe_rate,
        safe_time=_seconds(proto.safe_time),
        returned=_result(proto.returned) if proto.HasField("returned") else None,
    )


def _violation(proto: v1.Violation) -> Violation:
    debt = None
    if proto.HasField("reported_debt"):
        debt = ReportedDebt(
            reported_at=proto.reported_debt.reported_at.ToDatetime(tzinfo=datetime.timezone.utc),
            reported=proto.reported_debt.reported,
            owed_for=_seconds(proto.reported_debt.owed_for),
        )
    return Violation(
        budget=proto.budget,
        rule=proto.rule,
        limit_kind=_known(LimitKind, proto.limit_kind, LimitKind.UNKNOWN),
        level=proto.level,
        observed=proto.observed,
        limit=proto.limit,
        signal=proto.signal,
        warn=proto.warn,
        retry_after=_seconds(proto.retry_after) if proto.HasField("retry_after") else None,
        unit=_known(BudgetUnit, proto.unit, BudgetUnit.UNKNOWN),
        reported_debt=debt,
    )


def _health(proto: v1.Health) -> Health:
    return Health(
        profile=proto.profile,
        state=_known(HealthState, proto.state, HealthState.UNKNOWN),
        speed=proto.speed,
        pressure=proto.pressure,
        signal=proto.signal,
        sample_age=_seconds(proto.sample_age) if proto.HasField("sample_age") else None,
    )


def answer(response: v1.CheckResponse) -> Answer:
    decision = response.decision
    if decision.verdict not in (v1.VERDICT_ALLOWED, v1.VERDICT_DENIED):
        raise error(Code.INTERNAL, "the server's answer has no verdict")
    has = decision.HasField
    reason = 0 if decision.reason == _REASON_UNMATCHED else decision.reason
    return Answer(
        verdict=Verdict(decision.verdict),
        reason=_known(Reason, reason, Reason.UNKNOWN),
        permit_id=decision.permit_id if has("permit_id") else None,
        predicted_cost=decision.predicted_cost,
        predicted_busy_time=(
            _seconds(decision.predicted_busy_time) if has("predicted_busy_time") else None
        ),
        probe=decision.probe,
        retry_after=_seconds(decision.retry_after) if has("retry_after") else None,
        violations=tuple(_violation(each) for each in decision.violations),
        health=_health(decision.health) if has("health") else None,
        message=decision.message,
        priority=decision.priority,
        chunk_scale=decision.chunk_scale if has("chunk_scale") else None,
        waited=_seconds(decision.waited) if has("waited") else None,
        lease=_granted(decision),
    )


def _result(proto: v1.ReportResult) -> ReportResult | Error:
    if proto.outcome != v1.REPORT_OUTCOME_UNSPECIFIED:
        try:
            outcome = ReportOutcome(proto.outcome)
        except ValueError:
            return error(Code.INTERNAL, f"the server's outcome {proto.outcome} is not known here")
        return ReportResult(
            outcome=outcome,
            overruns=tuple(
                Overrun(budget=each.budget, reported=each.reported, charged=each.charged)
                for each in proto.overruns
            ),
            unsettled=tuple(proto.unsettled),
        )
    if proto.HasField("error"):
        return error(_known(Code, proto.error.code, Code.UNKNOWN), proto.error.message)
    return error(Code.INTERNAL, "the server's result of a report has neither outcome nor error")


def results(response: v1.ReportResponse) -> list[ReportResult | Error]:
    return [_result(each) for each in response.results]


def _retry_delay(status: bytes) -> float | None:
    """Of a google.rpc.Status: its details are field 3, a google.rpc.RetryInfo's delay is field 1."""
    for detail in _wire.fields(status, 3):
        packed = any_pb2.Any.FromString(detail)
        if packed.type_url.endswith("/google.rpc.RetryInfo"):
            for delay in _wire.fields(packed.value, 1):
                return _seconds(duration_pb2.Duration.FromString(delay))
    return None


def call_error(failure: grpc.RpcError, cancelled: bool) -> Error:
    """What a call failed with. One that nobody here has cancelled was cut by the server."""
    code = _known(Code, failure.code().value[0], Code.UNKNOWN)
    message = failure.details() or ""
    if code is Code.CANCELLED and not cancelled:
        return error(Code.UNAVAILABLE, f"the server cut the call: {message}")
    delay = None
    for key, value in failure.trailing_metadata() or ():
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            delay = _retry_delay(value)
    return error(code, message, delay)
