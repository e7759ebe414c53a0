package headgate

import (
	"context"
	"maps"
	"math"
	"sync"
	"time"
)

const (
	shortestLease = 100 * time.Millisecond
	longestLease  = 10 * time.Second
	usualSafe     = 10 * time.Second
	longestSafe   = time.Minute
)

// LeaseOptions say whose a Lease is. All of it may be left out where the client's Options have the
// names.
type LeaseOptions struct {
	// As in a Request.
	Identity string
	Target   string
	Pattern  string
	Tags     map[string]string
	// What one piece costs, where none waits for more. Zero: as much as the largest one lately, and 1
	// at first.
	Piece float64
	// For how long what is granted is spent, from 100 ms to 10 s: so late a pause or a new rule is
	// noticed where the server cannot tell it at once. Zero: 1 s.
	Time time.Duration
	// For how long to go on at a safe rate where Headgate cannot be reached, at most a minute. A holder
	// that dies is charged its safe rate for so long. Zero: 10 s. Below zero: not at all.
	SafeTime time.Duration
}

// Lease admits many small pieces of work out of amounts that the server has granted in advance, so
// that a piece takes no call: it is for who does thousands a second. For less there is CheckOrWait.
//
//	lease, err := client.Lease(headgate.LeaseOptions{Identity: "sync-rows:etl"})
//	if err != nil {
//		return err
//	}
//	defer lease.Close(ctx)
//	for row := range rows {
//		if err := lease.Wait(ctx, 1, headgate.Forever); err != nil {
//			return err
//		}
//		copyRow(row)
//	}
//
// What it guarantees:
//
//   - No more is spent than was granted, however many goroutines there are, and no piece begins when
//     the time of its lease is over. So what an operator does reaches them within LeaseOptions.Time,
//     and mostly in milliseconds: a second goroutine waits for orders while anything is held.
//   - The next lease is asked for in the background when half of one is used, or half of its time is
//     over, and is sized by what was used lately. What is left goes back. Where nothing is used,
//     nothing is asked for.
//   - The throttle log counts each piece as if it had been asked, with what refused it.
//   - While Headgate is unreachable, what is left is spent. Then pieces are admitted at the safe rate that
//     the server has reserved for this holder, which all holders together keep to; when SafeTime is over,
//     OnUnreachable decides each piece, as it does each Check. With rate: auto or max_concurrency, or while
//     it stands in line, a holder has no such rate.
//
// A server that knows no leases gives permits, which are spent likewise; LeaseStats.Plain tells so.
//
// Safe for use by several goroutines. Close it, or its client: until then it is kept.
type Lease struct {
	client  *Client
	request Request // what each of its Checks has
	piece   float64
	time    time.Duration
	safeFor time.Duration // zero: not at all
	base    time.Time     // since which it counts the time, so that a clock that is set does no harm
	isReal  bool          // its clock is the system's

	mu sync.Mutex // guards what follows
	// Within these a piece is taken from current without a further look; in no case beyond.
	quickUntil   time.Duration
	quickAmount  float64
	quickLargest float64

	current, next *grant // no next without a current
	safe          *grant // over, and kept for its safe rate; nil: none is
	spentBefore   float64
	stats         LeaseStats // of grants that have ended, and what has none
	underWay      int        // pieces of leases that are one_at_a_time
	largest       [2]float64 // the largest piece between the last two Checks, and since
	costOfUnit    float64    // of the newest grant; and of busy time, in seconds
	busyOfUnit    float64
	told          told
	counts        pieceCounts
	unexplained   pieceSum // refused for want of room: the next answer says by what
	countsSince   time.Duration
	returns       []PermitReport // that go with the next Check if one is due, else by themselves
	asker
	orders   leaseOrders
	waiters  []*leaseWaiter
	alarmAt  time.Duration // when stopAlarm's rings; never: there is none
	stopRing func() bool
	closed   bool
}

// LeaseStats counts the pieces of a Lease, and says what it holds.
type LeaseStats struct {
	// By leases of the server's.
	Admitted uint64
	// Of those, at a safe rate.
	Safe uint64
	// By the server, by a lease, or because there was no room in it: what the throttle log has, too. What
	// OnUnreachable refuses, and what ends without anybody deciding, is not among them.
	Refused uint64
	// Admitted without a server, which OnUnreachable had it do.
	Local uint64
	// What may be spent now without asking, in the unit of the estimates.
	Held float64
	// The server that answered last knows no leases.
	Plain bool
}

// Lease makes one, and asks for nothing yet. Errors are ErrClosed, and an *Error that names an option
// which cannot be. Each has its own amounts: goroutines that do the same work share one.
func (c *Client) Lease(options LeaseOptions) (*Lease, error) {
	request, err := c.complete(Request{Identity: options.Identity, Target: options.Target, Pattern: options.Pattern,
		Tags: maps.Clone(options.Tags)})
	if err != nil {
		return nil, err
	}
	if err := validCost(options.Piece, "piece"); err != nil {
		return nil, err
	}
	if options.Time != 0 && (options.Time < shortestLease || options.Time > longestLease) {
		return nil, invalid("time: %v is not from %v to %v", options.Time, shortestLease, longestLease)
	}
	if options.SafeTime > longestSafe {
		return nil, invalid("safe_time: %v is above %v", options.SafeTime, longestSafe)
	}
	request.RequestID = ""
	lease := &Lease{client: c, request: request, piece: options.Piece, time: options.Time, base: c.clock.Now(),
		costOfUnit: 1, alarmAt: never, asker: asker{mostOfLeast: math.Inf(1)}}
	if lease.time == 0 {
		lease.time = usualLeaseTime
	}
	if lease.safeFor = max(options.SafeTime, 0); options.SafeTime == 0 {
		lease.safeFor = usualSafe
	}
	_, lease.isReal = c.clock.(SystemClock)
	return c.leases.add(lease)
}

// Admit takes one piece of this cost, if there is room for it, and never blocks: it takes no call to
// the server, only starts one in the background. What the first pieces find is that the first lease
// is on its way.
//
// As of a Check, a denial is an answer, with when to come back and why, and no error. RetryAfter zero
// is never: it costs more than one piece may. Errors are an *Error of the server's about this Lease
// (InvalidArgument, NotFound, PermissionDenied, Unauthenticated), or about this cost; one that is
// ErrUnreachable where OnUnreachable does not say what to do instead; or ErrClosed.
func (l *Lease) Admit(cost float64) (answer Answer, err error) {
	l.mu.Lock()
	now := l.now()
	if l.takeQuickly(now, cost) {
		answer.Allowed, answer.Reason = true, l.current.reason
		answer.PredictedCost = cost * l.costOfUnit
	} else {
		answer, err = l.admitWithCare(now, cost)
	}
	l.mu.Unlock()
	return answer, err
}

// takeQuickly admits a piece where there is nothing else to do.
func (l *Lease) takeQuickly(now time.Duration, cost float64) bool {
	// A cost that is no number is not below anything.
	if !(cost >= 0 && cost <= l.quickLargest && now < l.quickUntil && l.current.spent+cost <= l.quickAmount) {
		return false
	}
	l.current.spend(cost)
	if cost > l.largest[1] {
		l.largest[1] = cost
	}
	return true
}

// Settle says that a piece which was admitted with this estimate has ended, and what it really took;
// that is charged, or given back, with the lease that is returned next. It is needed where a piece cost
// something else than was estimated, and, for each piece, where a budget has max_concurrency: then the
// next one begins when this one has ended.
//
//	lease.Settle(10, headgate.ActualCost(12))
//
// An error says that a cost is not from 0 to MaxCost, that the busy time is below zero, or ErrClosed:
// nothing has changed then.
func (l *Lease) Settle(estimate float64, work ...Work) error {
	if err := validCost(estimate, "estimate"); err != nil {
		return err
	}
	report, err := newReport(0, work)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return leaseClosedError{}
	}
	if report.ActualCost != nil {
		l.told.cost += *report.ActualCost - estimate*l.costOfUnit
		l.told.hasCost = true
	}
	if report.BusyTime != nil {
		l.told.busy += report.BusyTime.Seconds() - estimate*l.busyOfUnit
		l.told.hasBusy = true
	}
	if l.underWay > 0 {
		l.underWay--
		l.step(l.now())
	}
	return nil
}

// Stats counts until now, also after Close.
func (l *Lease) Stats() LeaseStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	stats := l.stats
	for _, each := range []*grant{l.current, l.next, l.safe} {
		if each == nil {
			continue
		}
		stats.Admitted += uint64(each.pieces)
		if now < each.end {
			stats.Held += each.left()
		}
	}
	return stats
}

// Close returns what is left, and waits until the server has it, or the context is done: then it is
// still sent in the background, as all reports are. Calls in progress, and later ones, end with
// ErrClosed. Closing again does nothing. Client.Close closes all leases of a client.
func (l *Lease) Close(ctx context.Context) error {
	l.shut(ctx)
	l.client.leases.remove(l)
	return l.client.reporter.flush(ctx)
}

func (l *Lease) now() time.Duration {
	if l.isReal {
		return time.Since(l.base) // reads one clock, where Now reads two
	}
	return l.client.clock.Now().Sub(l.base)
}
