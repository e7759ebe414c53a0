import datetime

from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Verdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERDICT_UNSPECIFIED: _ClassVar[Verdict]
    VERDICT_ALLOWED: _ClassVar[Verdict]
    VERDICT_DENIED: _ClassVar[Verdict]

class Reason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REASON_UNSPECIFIED: _ClassVar[Reason]
    REASON_EXEMPT: _ClassVar[Reason]
    REASON_DENY_RULE: _ClassVar[Reason]
    REASON_REJECT_RATIO: _ClassVar[Reason]
    REASON_HEALTH: _ClassVar[Reason]
    REASON_MAX_COST: _ClassVar[Reason]
    REASON_MAX_CONCURRENCY: _ClassVar[Reason]
    REASON_CAPACITY: _ClassVar[Reason]
    REASON_PERMITS: _ClassVar[Reason]
    REASON_UNMATCHED: _ClassVar[Reason]
    REASON_LINE: _ClassVar[Reason]
    REASON_LINE_FULL: _ClassVar[Reason]
    REASON_APPROXIMATE: _ClassVar[Reason]

class BudgetUnit(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BUDGET_UNIT_UNSPECIFIED: _ClassVar[BudgetUnit]
    BUDGET_UNIT_COST: _ClassVar[BudgetUnit]
    BUDGET_UNIT_BUSY_TIME: _ClassVar[BudgetUnit]

class LimitKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    LIMIT_KIND_UNSPECIFIED: _ClassVar[LimitKind]
    LIMIT_KIND_RULE: _ClassVar[LimitKind]
    LIMIT_KIND_HEALTH: _ClassVar[LimitKind]
    LIMIT_KIND_RATE: _ClassVar[LimitKind]
    LIMIT_KIND_BURST: _ClassVar[LimitKind]
    LIMIT_KIND_MAX_COST: _ClassVar[LimitKind]
    LIMIT_KIND_MAX_CONCURRENCY: _ClassVar[LimitKind]
    LIMIT_KIND_PROBE: _ClassVar[LimitKind]
    LIMIT_KIND_PERMITS: _ClassVar[LimitKind]
    LIMIT_KIND_LINE: _ClassVar[LimitKind]
    LIMIT_KIND_LINE_FULL: _ClassVar[LimitKind]
    LIMIT_KIND_APPROXIMATE: _ClassVar[LimitKind]

class HealthState(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    HEALTH_STATE_UNSPECIFIED: _ClassVar[HealthState]
    HEALTH_STATE_UNMONITORED: _ClassVar[HealthState]
    HEALTH_STATE_WARMING: _ClassVar[HealthState]
    HEALTH_STATE_HEALTHY: _ClassVar[HealthState]
    HEALTH_STATE_STALE: _ClassVar[HealthState]

class ConditionKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CONDITION_KIND_UNSPECIFIED: _ClassVar[ConditionKind]
    CONDITION_KIND_UNMEASURED: _ClassVar[ConditionKind]
    CONDITION_KIND_HEALTHY: _ClassVar[ConditionKind]
    CONDITION_KIND_RECOVERING: _ClassVar[ConditionKind]
    CONDITION_KIND_STANDBY_MISSING: _ClassVar[ConditionKind]
    CONDITION_KIND_SLOWED: _ClassVar[ConditionKind]
    CONDITION_KIND_WARMING: _ClassVar[ConditionKind]
    CONDITION_KIND_STALE: _ClassVar[ConditionKind]
    CONDITION_KIND_SHUT: _ClassVar[ConditionKind]

class ReportOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    REPORT_OUTCOME_UNSPECIFIED: _ClassVar[ReportOutcome]
    REPORT_OUTCOME_SETTLED: _ClassVar[ReportOutcome]
    REPORT_OUTCOME_ALREADY_SETTLED: _ClassVar[ReportOutcome]
    REPORT_OUTCOME_FORGOTTEN: _ClassVar[ReportOutcome]

class RuleEffect(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    RULE_EFFECT_UNSPECIFIED: _ClassVar[RuleEffect]
    RULE_EFFECT_APPLIED: _ClassVar[RuleEffect]
    RULE_EFFECT_OVERRULED: _ClassVar[RuleEffect]
VERDICT_UNSPECIFIED: Verdict
VERDICT_ALLOWED: Verdict
VERDICT_DENIED: Verdict
REASON_UNSPECIFIED: Reason
REASON_EXEMPT: Reason
REASON_DENY_RULE: Reason
REASON_REJECT_RATIO: Reason
REASON_HEALTH: Reason
REASON_MAX_COST: Reason
REASON_MAX_CONCURRENCY: Reason
REASON_CAPACITY: Reason
REASON_PERMITS: Reason
REASON_UNMATCHED: Reason
REASON_LINE: Reason
REASON_LINE_FULL: Reason
REASON_APPROXIMATE: Reason
BUDGET_UNIT_UNSPECIFIED: BudgetUnit
BUDGET_UNIT_COST: BudgetUnit
BUDGET_UNIT_BUSY_TIME: BudgetUnit
LIMIT_KIND_UNSPECIFIED: LimitKind
LIMIT_KIND_RULE: LimitKind
LIMIT_KIND_HEALTH: LimitKind
LIMIT_KIND_RATE: LimitKind
LIMIT_KIND_BURST: LimitKind
LIMIT_KIND_MAX_COST: LimitKind
LIMIT_KIND_MAX_CONCURRENCY: LimitKind
LIMIT_KIND_PROBE: LimitKind
LIMIT_KIND_PERMITS: LimitKind
LIMIT_KIND_LINE: LimitKind
LIMIT_KIND_LINE_FULL: LimitKind
LIMIT_KIND_APPROXIMATE: LimitKind
HEALTH_STATE_UNSPECIFIED: HealthState
HEALTH_STATE_UNMONITORED: HealthState
HEALTH_STATE_WARMING: HealthState
HEALTH_STATE_HEALTHY: HealthState
HEALTH_STATE_STALE: HealthState
CONDITION_KIND_UNSPECIFIED: ConditionKind
CONDITION_KIND_UNMEASURED: ConditionKind
CONDITION_KIND_HEALTHY: ConditionKind
CONDITION_KIND_RECOVERING: ConditionKind
CONDITION_KIND_STANDBY_MISSING: ConditionKind
CONDITION_KIND_SLOWED: ConditionKind
CONDITION_KIND_WARMING: ConditionKind
CONDITION_KIND_STALE: ConditionKind
CONDITION_KIND_SHUT: ConditionKind
REPORT_OUTCOME_UNSPECIFIED: ReportOutcome
REPORT_OUTCOME_SETTLED: ReportOutcome
REPORT_OUTCOME_ALREADY_SETTLED: ReportOutcome
REPORT_OUTCOME_FORGOTTEN: ReportOutcome
RULE_EFFECT_UNSPECIFIED: RuleEffect
RULE_EFFECT_APPLIED: RuleEffect
RULE_EFFECT_OVERRULED: RuleEffect

class CheckRequest(_message.Message):
    __slots__ = ("identity", "target", "estimated_cost", "pattern", "tags", "request_id", "validate_only", "max_wait", "lease")
    class TagsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_COST_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    VALIDATE_ONLY_FIELD_NUMBER: _ClassVar[int]
    MAX_WAIT_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    identity: str
    target: str
    estimated_cost: float
    pattern: str
    tags: _containers.ScalarMap[str, str]
    request_id: str
    validate_only: bool
    max_wait: _duration_pb2.Duration
    lease: LeaseTerms
    def __init__(self, identity: _Optional[str] = ..., target: _Optional[str] = ..., estimated_cost: _Optional[float] = ..., pattern: _Optional[str] = ..., tags: _Optional[_Mapping[str, str]] = ..., request_id: _Optional[str] = ..., validate_only: bool = ..., max_wait: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., lease: _Optional[_Union[LeaseTerms, _Mapping]] = ...) -> None: ...

class LeaseTerms(_message.Message):
    __slots__ = ("least", "time", "returned", "safe_rate", "safe_time", "watch")
    LEAST_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    RETURNED_FIELD_NUMBER: _ClassVar[int]
    SAFE_RATE_FIELD_NUMBER: _ClassVar[int]
    SAFE_TIME_FIELD_NUMBER: _ClassVar[int]
    WATCH_FIELD_NUMBER: _ClassVar[int]
    least: float
    time: _duration_pb2.Duration
    returned: PermitReport
    safe_rate: float
    safe_time: _duration_pb2.Duration
    watch: LeaseWatch
    def __init__(self, least: _Optional[float] = ..., time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., returned: _Optional[_Union[PermitReport, _Mapping]] = ..., safe_rate: _Optional[float] = ..., safe_time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., watch: _Optional[_Union[LeaseWatch, _Mapping]] = ...) -> None: ...

class LeaseWatch(_message.Message):
    __slots__ = ("state",)
    STATE_FIELD_NUMBER: _ClassVar[int]
    state: int
    def __init__(self, state: _Optional[int] = ...) -> None: ...

class CheckResponse(_message.Message):
    __slots__ = ("decision",)
    DECISION_FIELD_NUMBER: _ClassVar[int]
    decision: Decision
    def __init__(self, decision: _Optional[_Union[Decision, _Mapping]] = ...) -> None: ...

class BatchCheckRequest(_message.Message):
    __slots__ = ("checks",)
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    checks: _containers.RepeatedCompositeFieldContainer[CheckRequest]
    def __init__(self, checks: _Optional[_Iterable[_Union[CheckRequest, _Mapping]]] = ...) -> None: ...

class BatchCheckResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[CheckResult]
    def __init__(self, results: _Optional[_Iterable[_Union[CheckResult, _Mapping]]] = ...) -> None: ...

class CheckStreamRequest(_message.Message):
    __slots__ = ("checks", "number")
    CHECKS_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    checks: _containers.RepeatedCompositeFieldContainer[CheckRequest]
    number: int
    def __init__(self, checks: _Optional[_Iterable[_Union[CheckRequest, _Mapping]]] = ..., number: _Optional[int] = ...) -> None: ...

class CheckStreamResponse(_message.Message):
    __slots__ = ("results", "number")
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[CheckResult]
    number: int
    def __init__(self, results: _Optional[_Iterable[_Union[CheckResult, _Mapping]]] = ..., number: _Optional[int] = ...) -> None: ...

class CheckResult(_message.Message):
    __slots__ = ("decision", "error")
    DECISION_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    decision: Decision
    error: Error
    def __init__(self, decision: _Optional[_Union[Decision, _Mapping]] = ..., error: _Optional[_Union[Error, _Mapping]] = ...) -> None: ...

class Error(_message.Message):
    __slots__ = ("code", "message", "field")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    FIELD_FIELD_NUMBER: _ClassVar[int]
    code: int
    message: str
    field: str
    def __init__(self, code: _Optional[int] = ..., message: _Optional[str] = ..., field: _Optional[str] = ...) -> None: ...

class Decision(_message.Message):
    __slots__ = ("verdict", "reason", "permit_id", "predicted_cost", "retry_after", "violations", "health", "message", "priority", "chunk_scale", "predicted_busy_time", "probe", "waited", "lease")
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    PERMIT_ID_FIELD_NUMBER: _ClassVar[int]
    PREDICTED_COST_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    HEALTH_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    CHUNK_SCALE_FIELD_NUMBER: _ClassVar[int]
    PREDICTED_BUSY_TIME_FIELD_NUMBER: _ClassVar[int]
    PROBE_FIELD_NUMBER: _ClassVar[int]
    WAITED_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    verdict: Verdict
    reason: Reason
    permit_id: int
    predicted_cost: float
    retry_after: _duration_pb2.Duration
    violations: _containers.RepeatedCompositeFieldContainer[Violation]
    health: Health
    message: str
    priority: int
    chunk_scale: float
    predicted_busy_time: _duration_pb2.Duration
    probe: bool
    waited: _duration_pb2.Duration
    lease: Lease
    def __init__(self, verdict: _Optional[_Union[Verdict, str]] = ..., reason: _Optional[_Union[Reason, str]] = ..., permit_id: _Optional[int] = ..., predicted_cost: _Optional[float] = ..., retry_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., violations: _Optional[_Iterable[_Union[Violation, _Mapping]]] = ..., health: _Optional[_Union[Health, _Mapping]] = ..., message: _Optional[str] = ..., priority: _Optional[int] = ..., chunk_scale: _Optional[float] = ..., predicted_busy_time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., probe: bool = ..., waited: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., lease: _Optional[_Union[Lease, _Mapping]] = ...) -> None: ...

class Lease(_message.Message):
    __slots__ = ("amount", "time", "largest_piece", "reject_ratio", "one_at_a_time", "returned", "safe_rate", "safe_time", "state")
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    LARGEST_PIECE_FIELD_NUMBER: _ClassVar[int]
    REJECT_RATIO_FIELD_NUMBER: _ClassVar[int]
    ONE_AT_A_TIME_FIELD_NUMBER: _ClassVar[int]
    RETURNED_FIELD_NUMBER: _ClassVar[int]
    SAFE_RATE_FIELD_NUMBER: _ClassVar[int]
    SAFE_TIME_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    amount: float
    time: _duration_pb2.Duration
    largest_piece: float
    reject_ratio: float
    one_at_a_time: bool
    returned: ReportResult
    safe_rate: float
    safe_time: _duration_pb2.Duration
    state: int
    def __init__(self, amount: _Optional[float] = ..., time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., largest_piece: _Optional[float] = ..., reject_ratio: _Optional[float] = ..., one_at_a_time: bool = ..., returned: _Optional[_Union[ReportResult, _Mapping]] = ..., safe_rate: _Optional[float] = ..., safe_time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., state: _Optional[int] = ...) -> None: ...

class Violation(_message.Message):
    __slots__ = ("budget", "rule", "limit_kind", "level", "observed", "limit", "signal", "warn", "retry_after", "unit", "reported_debt")
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    LIMIT_KIND_FIELD_NUMBER: _ClassVar[int]
    LEVEL_FIELD_NUMBER: _ClassVar[int]
    OBSERVED_FIELD_NUMBER: _ClassVar[int]
    LIMIT_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    WARN_FIELD_NUMBER: _ClassVar[int]
    RETRY_AFTER_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    REPORTED_DEBT_FIELD_NUMBER: _ClassVar[int]
    budget: str
    rule: str
    limit_kind: LimitKind
    level: str
    observed: float
    limit: float
    signal: str
    warn: bool
    retry_after: _duration_pb2.Duration
    unit: BudgetUnit
    reported_debt: ReportedDebt
    def __init__(self, budget: _Optional[str] = ..., rule: _Optional[str] = ..., limit_kind: _Optional[_Union[LimitKind, str]] = ..., level: _Optional[str] = ..., observed: _Optional[float] = ..., limit: _Optional[float] = ..., signal: _Optional[str] = ..., warn: bool = ..., retry_after: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., unit: _Optional[_Union[BudgetUnit, str]] = ..., reported_debt: _Optional[_Union[ReportedDebt, _Mapping]] = ...) -> None: ...

class ReportedDebt(_message.Message):
    __slots__ = ("reported_at", "reported", "owed_for")
    REPORTED_AT_FIELD_NUMBER: _ClassVar[int]
    REPORTED_FIELD_NUMBER: _ClassVar[int]
    OWED_FOR_FIELD_NUMBER: _ClassVar[int]
    reported_at: _timestamp_pb2.Timestamp
    reported: float
    owed_for: _duration_pb2.Duration
    def __init__(self, reported_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., reported: _Optional[float] = ..., owed_for: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class Health(_message.Message):
    __slots__ = ("profile", "state", "speed", "pressure", "signal", "sample_age", "condition")
    PROFILE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    SPEED_FIELD_NUMBER: _ClassVar[int]
    PRESSURE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    SAMPLE_AGE_FIELD_NUMBER: _ClassVar[int]
    CONDITION_FIELD_NUMBER: _ClassVar[int]
    profile: str
    state: HealthState
    speed: float
    pressure: float
    signal: str
    sample_age: _duration_pb2.Duration
    condition: ConditionKind
    def __init__(self, profile: _Optional[str] = ..., state: _Optional[_Union[HealthState, str]] = ..., speed: _Optional[float] = ..., pressure: _Optional[float] = ..., signal: _Optional[str] = ..., sample_age: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., condition: _Optional[_Union[ConditionKind, str]] = ...) -> None: ...

class ReportRequest(_message.Message):
    __slots__ = ("reports",)
    REPORTS_FIELD_NUMBER: _ClassVar[int]
    reports: _containers.RepeatedCompositeFieldContainer[PermitReport]
    def __init__(self, reports: _Optional[_Iterable[_Union[PermitReport, _Mapping]]] = ...) -> None: ...

class PermitReport(_message.Message):
    __slots__ = ("permit_id", "actual_cost", "busy_time", "lease_use")
    PERMIT_ID_FIELD_NUMBER: _ClassVar[int]
    ACTUAL_COST_FIELD_NUMBER: _ClassVar[int]
    BUSY_TIME_FIELD_NUMBER: _ClassVar[int]
    LEASE_USE_FIELD_NUMBER: _ClassVar[int]
    permit_id: int
    actual_cost: float
    busy_time: _duration_pb2.Duration
    lease_use: LeaseUse
    def __init__(self, permit_id: _Optional[int] = ..., actual_cost: _Optional[float] = ..., busy_time: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., lease_use: _Optional[_Union[LeaseUse, _Mapping]] = ...) -> None: ...

class LeaseUse(_message.Message):
    __slots__ = ("spent", "pieces", "counts", "identity", "target", "safe_spent", "id")
    SPENT_FIELD_NUMBER: _ClassVar[int]
    PIECES_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    IDENTITY_FIELD_NUMBER: _ClassVar[int]
    TARGET_FIELD_NUMBER: _ClassVar[int]
    SAFE_SPENT_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    spent: float
    pieces: int
    counts: _containers.RepeatedCompositeFieldContainer[PieceCount]
    identity: str
    target: str
    safe_spent: float
    id: int
    def __init__(self, spent: _Optional[float] = ..., pieces: _Optional[int] = ..., counts: _Optional[_Iterable[_Union[PieceCount, _Mapping]]] = ..., identity: _Optional[str] = ..., target: _Optional[str] = ..., safe_spent: _Optional[float] = ..., id: _Optional[int] = ...) -> None: ...

class PieceCount(_message.Message):
    __slots__ = ("verdict", "reason", "limit_kind", "budget", "rule", "signal", "pieces", "cost")
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    LIMIT_KIND_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    SIGNAL_FIELD_NUMBER: _ClassVar[int]
    PIECES_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    verdict: Verdict
    reason: Reason
    limit_kind: LimitKind
    budget: str
    rule: str
    signal: str
    pieces: int
    cost: float
    def __init__(self, verdict: _Optional[_Union[Verdict, str]] = ..., reason: _Optional[_Union[Reason, str]] = ..., limit_kind: _Optional[_Union[LimitKind, str]] = ..., budget: _Optional[str] = ..., rule: _Optional[str] = ..., signal: _Optional[str] = ..., pieces: _Optional[int] = ..., cost: _Optional[float] = ...) -> None: ...

class ReportResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[ReportResult]
    def __init__(self, results: _Optional[_Iterable[_Union[ReportResult, _Mapping]]] = ...) -> None: ...

class ReportResult(_message.Message):
    __slots__ = ("outcome", "error", "overruns", "unsettled")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    OVERRUNS_FIELD_NUMBER: _ClassVar[int]
    UNSETTLED_FIELD_NUMBER: _ClassVar[int]
    outcome: ReportOutcome
    error: Error
    overruns: _containers.RepeatedCompositeFieldContainer[Overrun]
    unsettled: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, outcome: _Optional[_Union[ReportOutcome, str]] = ..., error: _Optional[_Union[Error, _Mapping]] = ..., overruns: _Optional[_Iterable[_Union[Overrun, _Mapping]]] = ..., unsettled: _Optional[_Iterable[str]] = ...) -> None: ...

class Overrun(_message.Message):
    __slots__ = ("budget", "reported", "charged")
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    REPORTED_FIELD_NUMBER: _ClassVar[int]
    CHARGED_FIELD_NUMBER: _ClassVar[int]
    budget: str
    reported: float
    charged: float
    def __init__(self, budget: _Optional[str] = ..., reported: _Optional[float] = ..., charged: _Optional[float] = ...) -> None: ...

class ExplainRequest(_message.Message):
    __slots__ = ("check",)
    CHECK_FIELD_NUMBER: _ClassVar[int]
    check: CheckRequest
    def __init__(self, check: _Optional[_Union[CheckRequest, _Mapping]] = ...) -> None: ...

class ExplainResponse(_message.Message):
    __slots__ = ("decision", "reject_ratio", "rules", "buckets", "matched_rules", "to_be_allowed", "lines", "warnings", "last_checks", "leases")
    DECISION_FIELD_NUMBER: _ClassVar[int]
    REJECT_RATIO_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    BUCKETS_FIELD_NUMBER: _ClassVar[int]
    MATCHED_RULES_FIELD_NUMBER: _ClassVar[int]
    TO_BE_ALLOWED_FIELD_NUMBER: _ClassVar[int]
    LINES_FIELD_NUMBER: _ClassVar[int]
    WARNINGS_FIELD_NUMBER: _ClassVar[int]
    LAST_CHECKS_FIELD_NUMBER: _ClassVar[int]
    LEASES_FIELD_NUMBER: _ClassVar[int]
    decision: Decision
    reject_ratio: float
    rules: _containers.RepeatedScalarFieldContainer[str]
    buckets: _containers.RepeatedCompositeFieldContainer[BucketState]
    matched_rules: _containers.RepeatedCompositeFieldContainer[MatchedRule]
    to_be_allowed: _containers.RepeatedScalarFieldContainer[str]
    lines: _containers.RepeatedCompositeFieldContainer[LineState]
    warnings: _containers.RepeatedScalarFieldContainer[str]
    last_checks: _containers.RepeatedCompositeFieldContainer[LastCheck]
    leases: LeasesHeld
    def __init__(self, decision: _Optional[_Union[Decision, _Mapping]] = ..., reject_ratio: _Optional[float] = ..., rules: _Optional[_Iterable[str]] = ..., buckets: _Optional[_Iterable[_Union[BucketState, _Mapping]]] = ..., matched_rules: _Optional[_Iterable[_Union[MatchedRule, _Mapping]]] = ..., to_be_allowed: _Optional[_Iterable[str]] = ..., lines: _Optional[_Iterable[_Union[LineState, _Mapping]]] = ..., warnings: _Optional[_Iterable[str]] = ..., last_checks: _Optional[_Iterable[_Union[LastCheck, _Mapping]]] = ..., leases: _Optional[_Union[LeasesHeld, _Mapping]] = ...) -> None: ...

class LeasesHeld(_message.Message):
    __slots__ = ("leases", "amount", "ends_in", "overdue", "overdue_amount")
    LEASES_FIELD_NUMBER: _ClassVar[int]
    AMOUNT_FIELD_NUMBER: _ClassVar[int]
    ENDS_IN_FIELD_NUMBER: _ClassVar[int]
    OVERDUE_FIELD_NUMBER: _ClassVar[int]
    OVERDUE_AMOUNT_FIELD_NUMBER: _ClassVar[int]
    leases: int
    amount: float
    ends_in: _duration_pb2.Duration
    overdue: int
    overdue_amount: float
    def __init__(self, leases: _Optional[int] = ..., amount: _Optional[float] = ..., ends_in: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., overdue: _Optional[int] = ..., overdue_amount: _Optional[float] = ...) -> None: ...

class LastCheck(_message.Message):
    __slots__ = ("at", "verdict", "estimated_cost", "predicted_cost", "pattern", "tags")
    class TagsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    AT_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    ESTIMATED_COST_FIELD_NUMBER: _ClassVar[int]
    PREDICTED_COST_FIELD_NUMBER: _ClassVar[int]
    PATTERN_FIELD_NUMBER: _ClassVar[int]
    TAGS_FIELD_NUMBER: _ClassVar[int]
    at: _timestamp_pb2.Timestamp
    verdict: Verdict
    estimated_cost: float
    predicted_cost: float
    pattern: str
    tags: _containers.ScalarMap[str, str]
    def __init__(self, at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ..., verdict: _Optional[_Union[Verdict, str]] = ..., estimated_cost: _Optional[float] = ..., predicted_cost: _Optional[float] = ..., pattern: _Optional[str] = ..., tags: _Optional[_Mapping[str, str]] = ...) -> None: ...

class LineState(_message.Message):
    __slots__ = ("waits_for", "waiting", "longest_waited", "position", "expected_turn", "cost_ahead", "priority", "unit")
    WAITS_FOR_FIELD_NUMBER: _ClassVar[int]
    WAITING_FIELD_NUMBER: _ClassVar[int]
    LONGEST_WAITED_FIELD_NUMBER: _ClassVar[int]
    POSITION_FIELD_NUMBER: _ClassVar[int]
    EXPECTED_TURN_FIELD_NUMBER: _ClassVar[int]
    COST_AHEAD_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    waits_for: str
    waiting: int
    longest_waited: _duration_pb2.Duration
    position: int
    expected_turn: _duration_pb2.Duration
    cost_ahead: float
    priority: int
    unit: BudgetUnit
    def __init__(self, waits_for: _Optional[str] = ..., waiting: _Optional[int] = ..., longest_waited: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., position: _Optional[int] = ..., expected_turn: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., cost_ahead: _Optional[float] = ..., priority: _Optional[int] = ..., unit: _Optional[_Union[BudgetUnit, str]] = ...) -> None: ...

class MatchedRule(_message.Message):
    __slots__ = ("name", "action", "effect", "overruled_by", "overruled_because", "expires_at")
    NAME_FIELD_NUMBER: _ClassVar[int]
    ACTION_FIELD_NUMBER: _ClassVar[int]
    EFFECT_FIELD_NUMBER: _ClassVar[int]
    OVERRULED_BY_FIELD_NUMBER: _ClassVar[int]
    OVERRULED_BECAUSE_FIELD_NUMBER: _ClassVar[int]
    EXPIRES_AT_FIELD_NUMBER: _ClassVar[int]
    name: str
    action: str
    effect: RuleEffect
    overruled_by: str
    overruled_because: str
    expires_at: _timestamp_pb2.Timestamp
    def __init__(self, name: _Optional[str] = ..., action: _Optional[str] = ..., effect: _Optional[_Union[RuleEffect, str]] = ..., overruled_by: _Optional[str] = ..., overruled_because: _Optional[str] = ..., expires_at: _Optional[_Union[datetime.datetime, _timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class BucketState(_message.Message):
    __slots__ = ("budget", "rule", "bucket", "cost", "debt", "burst", "rate", "speed", "outstanding", "max_concurrency", "max_cost", "room_in", "ask_again", "unit", "reported_debt", "line", "found")
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    RULE_FIELD_NUMBER: _ClassVar[int]
    BUCKET_FIELD_NUMBER: _ClassVar[int]
    COST_FIELD_NUMBER: _ClassVar[int]
    DEBT_FIELD_NUMBER: _ClassVar[int]
    BURST_FIELD_NUMBER: _ClassVar[int]
    RATE_FIELD_NUMBER: _ClassVar[int]
    SPEED_FIELD_NUMBER: _ClassVar[int]
    OUTSTANDING_FIELD_NUMBER: _ClassVar[int]
    MAX_CONCURRENCY_FIELD_NUMBER: _ClassVar[int]
    MAX_COST_FIELD_NUMBER: _ClassVar[int]
    ROOM_IN_FIELD_NUMBER: _ClassVar[int]
    ASK_AGAIN_FIELD_NUMBER: _ClassVar[int]
    UNIT_FIELD_NUMBER: _ClassVar[int]
    REPORTED_DEBT_FIELD_NUMBER: _ClassVar[int]
    LINE_FIELD_NUMBER: _ClassVar[int]
    FOUND_FIELD_NUMBER: _ClassVar[int]
    budget: str
    rule: str
    bucket: str
    cost: float
    debt: float
    burst: float
    rate: float
    speed: float
    outstanding: int
    max_concurrency: int
    max_cost: float
    room_in: _duration_pb2.Duration
    ask_again: bool
    unit: BudgetUnit
    reported_debt: ReportedDebt
    line: LineState
    found: str
    def __init__(self, budget: _Optional[str] = ..., rule: _Optional[str] = ..., bucket: _Optional[str] = ..., cost: _Optional[float] = ..., debt: _Optional[float] = ..., burst: _Optional[float] = ..., rate: _Optional[float] = ..., speed: _Optional[float] = ..., outstanding: _Optional[int] = ..., max_concurrency: _Optional[int] = ..., max_cost: _Optional[float] = ..., room_in: _Optional[_Union[datetime.timedelta, _duration_pb2.Duration, _Mapping]] = ..., ask_again: bool = ..., unit: _Optional[_Union[BudgetUnit, str]] = ..., reported_debt: _Optional[_Union[ReportedDebt, _Mapping]] = ..., line: _Optional[_Union[LineState, _Mapping]] = ..., found: _Optional[str] = ...) -> None: ...
