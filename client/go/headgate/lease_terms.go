package headgate

import "time"

// LeaseTerms make a Check one for a lease, as Client.Lease asks for it: granted in part, as much of
// the estimate as there is room for, but no less than Least.
type LeaseTerms struct {
	// The smallest amount that is of use, which is what one piece costs. Above 0, and at most the
	// estimate, which is the most.
	Least float64
	// For how long it is spent. Zero: what the server grants by itself, 1 s.
	Time time.Duration
	// The lease before, which is given back with this Check. Nil: there is none.
	Returned *PermitReport
	// What the holder would go on with, a second, where it can reach nobody any more, and for how long
	// after the lease's end. Zero: it stops.
	SafeRate float64
	SafeTime time.Duration
}

// LeaseGrant is what a Check for a lease was answered, beside its verdict. Of a denial only Returned
// says something.
type LeaseGrant struct {
	// In the unit of the estimate.
	Amount float64
	// For how long, from when the Check was sent, or, where it waited in the server, from when it was
	// admitted: no piece begins later.
	Time time.Duration
	// The largest estimate of one piece. Zero: there is no limit.
	LargestPiece float64
	// The share of pieces that the holder refuses by chance.
	RejectRatio float64
	// It holds one place of a budget with max_concurrency, so that one piece has to end before the
	// next begins.
	OneAtATime bool
	// In which it was granted: see LeaseWatcher. Zero: not known.
	State uint64
	// What is reserved of LeaseTerms.SafeRate, and for how long after the end. Zero: nothing.
	SafeRate float64
	SafeTime time.Duration
	// What LeaseTerms.Returned did. Nil: nothing was returned.
	Returned *Reported
}

// LeaseUse is what was done with a lease, and what became of pieces since it was said last.
type LeaseUse struct {
	// The sum of the estimates of the pieces that were admitted, and how many those were.
	Spent  float64
	Pieces int64
	// Likewise of those at its safe rate, which are in Pieces as well.
	SafeSpent float64
	// The throttle log counts these as if each piece had been asked. At most 100.
	Counts []PieceCount
	// As in the Check that asked for the lease.
	Identity string
	Target   string
	// By what the server knows this when it comes again, so that it counts it once: made up by chance, and
	// the same where it is repeated. Zero: it has none.
	ID uint64
}

// PieceCount is pieces that were admitted, or refused for one cause.
type PieceCount struct {
	PieceCause
	Pieces int64
	// What was predicted of their cost.
	Cost float64
}

// PieceCause is what became of a piece, and why.
type PieceCause struct {
	Allowed bool
	Reason  Reason
	// What refused, or of a budget that only warns would have. Unspecified: nothing did.
	LimitKind LimitKind
	Budget    string
	Rule      string
	Signal    string
}
