package headgate

import (
	"context"
	"time"
)

// Transport is the two calls that a Client makes, by gRPC or by whatever else implements this. One that
// is a LeaseWatcher, too, hears of orders that take leases back.
//
// Implementations are safe for use by several goroutines, and never retry, wait or batch by
// themselves: the Client does. An *Error, or an error of gRPC's, with the code Unavailable or
// DeadlineExceeded means that Headgate could not be reached; after it a call may have been carried
// out or not. Any other is an answer of the server's, but for the context's error when that is done.
type Transport interface {
	// Check returns within timeout, and soon after the context is done. A denial is an answer.
	Check(ctx context.Context, request Request, timeout time.Duration) (Answer, error)
	// Report settles at most MaxReports permits; one result for each, in order.
	Report(ctx context.Context, reports []PermitReport, timeout time.Duration) ([]Reported, error)
}

// MaxReports is the most that one call of Report may have.
const MaxReports = 1000

// PermitReport is what is reported of the work under one permit.
type PermitReport struct {
	PermitID uint64
	// In the unit of the estimate. Nil: the predicted cost stands.
	ActualCost *float64
	// How long the database was busy. Nil: the time from the answer to the report.
	BusyTime *time.Duration
	// The busy time was measured by the permit, or is a lease's sum, and not given by the job. Where
	// the server takes none that is so long, the report is sent again without it, and the server's own
	// bound counts.
	Measured bool
	// Of a lease: what was spent of it. Without a PermitID it only tells what became of pieces.
	LeaseUse *LeaseUse
}

// Reported is what came of one report, or why it was refused.
type Reported struct {
	Result ReportResult
	Err    error
}
