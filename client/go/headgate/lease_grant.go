package headgate

import (
	"math"
	"time"
)

// What a server from before leases allows is spent for so long, as a lease by default is.
const usualLeaseTime = time.Second

// grant is one lease that a holder has. Times are by the holder's own clock. Not safe for use by
// several goroutines.
type grant struct {
	permit       uint64 // zero: nothing limits it, and nothing is returned
	plain        bool   // an ordinary permit, of a server that knows no leases
	amount       float64
	largestPiece float64
	rejectRatio  float64
	oneAtATime   bool
	begin, end   time.Duration
	state        uint64     // in which it was granted: see leaseOrders
	reason       Reason     // of its pieces,
	cause        PieceCause // as the throttle log has them
	// What is predicted of the cost of one unit, and of its busy time.
	costOfUnit float64
	busyOfUnit float64 // seconds

	spent  float64
	pieces int64

	safe safeRate
}

// newGrant is the lease that a Check was granted by now which asked for so much at most. It was sent, or
// admitted where it waited, at this time.
func newGrant(answer *Answer, asked float64, at, now time.Duration) *grant {
	g := &grant{permit: answer.PermitID, amount: asked, largestPiece: math.Inf(1), begin: at,
		end: at + usualLeaseTime, plain: answer.Lease == nil, reason: answer.Reason, cause: causeOf(answer), costOfUnit: 1}
	if lease := answer.Lease; lease != nil {
		g.amount, g.end = lease.Amount, at+lease.Time
		g.rejectRatio, g.oneAtATime, g.state = lease.RejectRatio, lease.OneAtATime, lease.State
		if lease.LargestPiece > 0 {
			g.largestPiece = lease.LargestPiece
		}
		if lease.SafeRate > 0 && g.permit != 0 {
			// The server's lease began no later than now, and no earlier than this one.
			g.safe = safeRate{rate: lease.SafeRate, at: now + lease.Time, until: g.end + lease.SafeTime}
		}
	}
	if answer.PredictedCost > 0 && g.amount > 0 {
		g.costOfUnit = answer.PredictedCost / g.amount
	}
	if g.amount > 0 {
		g.busyOfUnit = answer.PredictedBusyTime.Seconds() / g.amount
	}
	return g
}

func (g *grant) left() float64 { return g.amount - g.spent }

func (g *grant) half() time.Duration { return g.begin + (g.end-g.begin)/2 }

func (g *grant) fits(cost float64) bool { return g.spent+cost <= g.amount && cost <= g.largestPiece }

// isHalfUsed tells whether the next one is to be asked for by now.
func (g *grant) isHalfUsed(now time.Duration) bool {
	return g.pieces > 0 && (g.spent >= g.amount/2 || now >= g.half())
}

// sum is all that was spent by it.
func (g *grant) sum() float64 { return g.spent + g.safe.spent }

func (g *grant) spend(cost float64) {
	g.spent += cost
	g.pieces++
}

// told is what callers said of their pieces beyond what was predicted, and not yet reported: costs in
// the unit of the estimate, busy time in seconds.
type told struct {
	cost, busy       float64
	hasCost, hasBusy bool
}

// addTo says in the report what a lease's pieces took, where anything was said of them. What would
// make it less than nothing is left for the next lease's.
func (t *told) addTo(report *PermitReport, g *grant) {
	if t.hasCost || g.plain {
		cost := g.sum()*g.costOfUnit + t.cost
		report.ActualCost = Cost(min(max(cost, 0), MaxCost))
		t.cost = min(cost, 0)
		t.hasCost = t.cost < 0
	}
	if t.hasBusy || g.plain && g.busyOfUnit > 0 {
		busy := g.sum()*g.busyOfUnit + t.busy
		spent := time.Duration(min(max(busy, 0)*1e9, float64(longestBusy)))
		report.BusyTime, report.Measured = &spent, true
		t.busy = min(busy, 0)
		t.hasBusy = t.busy < 0
	}
}

// Beyond any server's bound, and far from what a Duration cannot hold.
const longestBusy = 100 * 365 * 24 * time.Hour
