package headgate

import (
	"time"

	headgatev1 "github.com/headgate/headgate/client/go/headgate/v1"
)

// The words of the API. A server newer than this client may have others.
type (
	// Reason is the first stage that denied, or what let a Check pass unexamined.
	Reason = headgatev1.Reason
	// LimitKind is the kind of limit that refused.
	LimitKind = headgatev1.LimitKind
	// HealthState tells what is known of a target's health.
	HealthState = headgatev1.HealthState
	// BudgetUnit is what a budget is measured in.
	BudgetUnit = headgatev1.BudgetUnit
	// ReportOutcome says what a report did.
	ReportOutcome = headgatev1.ReportOutcome
)

// Why a Check was denied, or passed unexamined.
const (
	ReasonNone           = headgatev1.Reason_REASON_UNSPECIFIED
	ReasonExempt         = headgatev1.Reason_REASON_EXEMPT
	ReasonDenyRule       = headgatev1.Reason_REASON_DENY_RULE
	ReasonRejectRatio    = headgatev1.Reason_REASON_REJECT_RATIO
	ReasonHealth         = headgatev1.Reason_REASON_HEALTH
	ReasonMaxCost        = headgatev1.Reason_REASON_MAX_COST
	ReasonMaxConcurrency = headgatev1.Reason_REASON_MAX_CONCURRENCY
	ReasonCapacity       = headgatev1.Reason_REASON_CAPACITY
	ReasonPermits        = headgatev1.Reason_REASON_PERMITS
	ReasonLine           = headgatev1.Reason_REASON_LINE
	ReasonLineFull       = headgatev1.Reason_REASON_LINE_FULL
	ReasonApproximate    = headgatev1.Reason_REASON_APPROXIMATE

	// Only in what is counted of the pieces of a lease, as in the throttle log.
	ReasonUnmatched = headgatev1.Reason_REASON_UNMATCHED
)

// What became of a report.
const (
	OutcomeSettled        = headgatev1.ReportOutcome_REPORT_OUTCOME_SETTLED
	OutcomeAlreadySettled = headgatev1.ReportOutcome_REPORT_OUTCOME_ALREADY_SETTLED
	OutcomeForgotten      = headgatev1.ReportOutcome_REPORT_OUTCOME_FORGOTTEN
)

// Answer is what one Check was answered. A denial is an answer, not an error.
type Answer struct {
	Allowed bool
	Reason  Reason
	// What a report refers to. Zero: there is nothing to report.
	PermitID uint64
	// What is predicted of the cost, in the unit of the estimate: what each budget of cost was charged.
	// With neither an estimate nor anything learnt of the pattern each is charged its own default, and
	// this is the largest of those.
	PredictedCost float64
	// What is predicted of the time at work, which budgets of busy time were charged. Zero: there is
	// none among them.
	PredictedBusyTime time.Duration
	// It was let through though more was predicted than a budget could ever admit, so that the
	// prediction is measured: the report of this one counts for those that follow.
	Probe bool
	// On a denial, when to ask again. Zero: waiting will not help.
	RetryAfter time.Duration
	Violations []Violation
	// Nil where no health profile applies.
	Health *Health
	// One sentence for a person.
	Message  string
	Priority int
	// Advice, a factor on the estimate, without which there is none: multiply the size of the next
	// chunk by this; DoChunks does. Zero: there is none.
	ChunkScale float64
	// How long this Check waited in the server. Zero: it was answered at once.
	Waited time.Duration
	// Of a Check for a lease. Nil: it was none, or the server knows no leases.
	Lease *LeaseGrant
	// Headgate was unreachable: this is what OnUnreachable says.
	Local bool
}

// Violation is one limit that refused, or would have.
type Violation struct {
	Budget     string
	Rule       string
	LimitKind  LimitKind
	Level      string
	Observed   float64 // in the limit's unit
	Limit      float64
	Signal     string
	Warn       bool          // this one did not deny
	RetryAfter time.Duration // zero: never
	Unit       BudgetUnit
	// To which the debt is due. Nil: there is none, or it is not known any more.
	ReportedDebt *ReportedDebt
}

// ReportedDebt is a report that left a budget with more debt than its burst.
type ReportedDebt struct {
	ReportedAt time.Time
	Reported   float64       // in the unit of the budget: cost, or seconds
	OwedFor    time.Duration // until what is above the burst has drained
}

// Health is one verdict of a health profile on a target.
type Health struct {
	Profile  string
	State    HealthState
	Speed    float64 // 0..1
	Pressure float64
	Signal   string
	// Nil: there is no sample.
	SampleAge *time.Duration
}

// ReportResult is what came of one report.
type ReportResult struct {
	Outcome  ReportOutcome
	Overruns []Overrun
	// Unsettled budgets stay charged what was predicted: since the Check they were split or measured
	// in another way, or changed more often than is remembered.
	Unsettled []string
}

// Overrun is what a budget was not charged of a report, since it was too far above what was
// predicted.
type Overrun struct {
	Budget   string
	Reported float64 // in the unit of the budget: cost, or seconds
	Charged  float64 // of it
}
