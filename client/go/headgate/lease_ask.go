package headgate

import (
	"context"
	"time"

	"google.golang.org/grpc/codes"
)

// How a Lease asks for the next one. There is a goroutine for that while there is something to ask, so
// that one Check is under way at a time. With the lock, but for the Check and the pauses.

// Of what is used in the time of a lease this part is asked for at least, so that who waits for room
// piece by piece does not ask for each.
const partsOfUse = 20

// asker is what is known of Checks for leases.
type asker struct {
	isRunning bool
	ended     chan struct{}      // closed once the goroutine has ended that began last
	rouse     context.CancelFunc // ends its pause. Nil: it does not pause
	cancel    context.CancelFunc // ends its Check. Nil: none is under way
	// Of that Check: whether it waits in the server, and until when.
	isInLine   bool
	answeredBy time.Duration

	requestID string // of the Check that has had no answer
	asked     int    // how many Checks were begun
	roundTrip time.Duration
	isWanted  bool    // a piece was refused since, because there was no room for it,
	wanted    float64 // of this cost
	pace      pace
	amount    float64       // of the newest grant
	lasts     time.Duration // it; what the server grants may be shorter than what is asked for

	denial   denial
	failure  failure
	failures int // in a row
	// Those who wait do not ask before, if they cost as much.
	pauseUntil time.Duration
	pauseLeast float64
	patience   waiter
	// The most that is asked for of a server that knows no leases, and grants all or nothing. Zero:
	// there is no bound.
	mostOfPlain float64
	// What there is ever room for beyond one piece, as far as is known: see paced.
	mostOfLeast float64
}

// plan is what is to be asked now, or else when to look again.
type plan struct {
	isDue    bool
	least    float64       // of one piece
	sum      float64       // of the pieces that wait for this
	patience time.Duration // of the one that waits longest
	wake     time.Duration
}

// leaseCheck is one Check for a lease.
type leaseCheck struct {
	request  Request
	piece    float64 // that has to find room
	least    float64
	most     float64
	returned *PermitReport
	sent     time.Duration // the attempt that was answered
}

func (l *Lease) plan(now time.Duration) plan {
	p := plan{wake: never}
	if l.closed || l.isOccupied() {
		return p
	}
	for _, waiter := range l.waiters {
		if until := l.blocks(now, waiter); until > now {
			p.wake = min(p.wake, until)
			continue
		}
		p.isDue = true
		p.least = max(p.least, waiter.cost)
		p.sum += waiter.cost
		p.patience = max(p.patience, waiter.until-now)
	}
	if l.isWanted {
		p.isDue = true
		p.least = max(p.least, l.wanted)
	}
	if p.least == 0 {
		p.least = l.usualPiece()
	}
	if g := l.current; g != nil && !p.isDue && l.next == nil && !g.oneAtATime {
		p.isDue = g.isHalfUsed(now) && l.blockedUntil(p.least) <= now
	}
	return p
}

func (l *Lease) isAskDue(now time.Duration) bool { return l.cancel == nil && l.plan(now).isDue }

// isOccupied tells whether a piece has to end before another one can be admitted.
func (l *Lease) isOccupied() bool {
	return l.underWay > 0 && (l.current == nil || l.current.oneAtATime)
}

// blocks is until when this one does not ask.
func (l *Lease) blocks(now time.Duration, waiter *leaseWaiter) time.Duration {
	until := waiter.notBefore
	if (l.isLocal(now) || l.isSafe(now)) && now < l.failure.askAt {
		until = max(until, min(waiter.localAt, l.failure.askAt))
	}
	if waiter.cost >= l.pauseLeast {
		until = max(until, l.pauseUntil)
	}
	return until
}

// blockedUntil is until when nobody asks for so much that does not wait for it.
func (l *Lease) blockedUntil(least float64) time.Duration {
	until := time.Duration(0)
	if least >= l.denial.least {
		until = l.denial.askAt
	}
	if l.failure.err != nil {
		until = max(until, l.failure.askAt)
	}
	return until
}

// isLocal tells whether OnUnreachable decides, since nobody answers.
func (l *Lease) isLocal(now time.Duration) bool {
	return l.failure.isOutage() && l.client.fallback.decides() && !l.isSafe(now)
}

// usualPiece is what a piece costs where none is waited for.
func (l *Lease) usualPiece() float64 {
	piece := l.piece
	if piece == 0 {
		piece = max(l.largest[0], l.largest[1])
	}
	if g := l.current; g != nil {
		piece = min(piece, g.largestPiece)
	}
	if piece == 0 {
		return 1
	}
	return piece
}

func (l *Lease) want(cost float64) {
	l.wanted = max(l.wanted, cost)
	l.isWanted = true
}

// forgetWanted does so where pieces of that cost are now known to be admitted, or why they are refused.
func (l *Lease) forgetWanted(isKnown func(cost float64) bool) {
	if l.isWanted && isKnown(l.wanted) {
		l.isWanted, l.wanted = false, 0
	}
}

// wakeAsker has it begin, or look again, if there is something for it to do.
func (l *Lease) wakeAsker(now time.Duration) {
	p := l.plan(now)
	switch {
	case l.isRunning && l.rouse != nil && p.isDue:
		l.rouse()
	case !l.isRunning && (p.isDue || p.wake < never):
		l.isRunning, l.ended = true, make(chan struct{})
		go l.run(l.ended)
	}
}

// letAskerGo has it notice that nobody waits any more.
func (l *Lease) letAskerGo() {
	if l.rouse != nil {
		l.rouse()
	}
	if l.isInLine {
		l.cancelAsk()
	}
}

func (l *Lease) cancelAsk() {
	if l.cancel != nil {
		l.cancel()
	}
}

func (l *Lease) run(ended chan struct{}) {
	defer close(ended)
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		now := l.now()
		l.step(now)
		switch p := l.plan(now); {
		case p.isDue:
			l.ask(now, p)
		case p.wake < never:
			l.pause(now, p.wake)
		default:
			l.isRunning = false
			l.watchIfNeeded()
			return
		}
	}
}

// pause ends also when the last one who waits has no more time, or when there is something to do.
func (l *Lease) pause(now, until time.Duration) {
	var last time.Duration
	for _, waiter := range l.waiters {
		last = max(last, waiter.until)
	}
	roused, rouse := context.WithCancel(context.Background())
	defer rouse()
	l.rouse = rouse
	l.mu.Unlock()
	_ = l.client.clock.Sleep(roused, max(min(until, last)-now, shortestWait)) // it is looked again in any case
	l.mu.Lock()
	l.rouse = nil
}

func (l *Lease) ask(now time.Duration, p plan) {
	check := l.newCheck(now, p)
	timeout := l.client.slice(&check.request, min(p.patience, l.mostPatience(now)))
	inTime, cancel := context.WithCancel(context.Background())
	defer cancel()
	l.asked++
	l.cancel, l.isInLine, l.answeredBy = cancel, check.request.MaxWait > 0, now+check.request.MaxWait
	l.isWanted, l.wanted, l.orders.overtakes = false, 0, false
	l.giveBack() // what did not find place in the Check
	l.setQuick(now)
	l.mu.Unlock()
	var last outcome
	if l.client.fallback.mayAsk(l.client.clock.Now()) {
		last.answer, last.err = l.client.askServer(inTime, &check.request, timeout, func() { check.sent = l.now() })
	} else {
		last.err = &Error{Code: codes.Unavailable, Message: "Headgate was unreachable a moment ago"}
	}
	l.mu.Lock()
	l.cancel, l.isInLine = nil, false
	l.learn(check, last, now)
}

// newCheck asks for what will be used, and takes a lease with it that is used up.
func (l *Lease) newCheck(now time.Duration, p plan) *leaseCheck {
	isShort := false // what was granted was too little for its time
	for l.current != nil && !l.current.fits(p.least) {
		isUsed := l.current.spent >= l.current.amount/2
		isShort = isShort || isUsed
		if !l.current.oneAtATime && l.next == nil && (!isUsed || l.current.safe.rate > 0) {
			break // smaller pieces go on with it, or nobody may answer, and its safe rate is needed
		}
		l.dropCurrent()
	}
	left := 0.0
	if l.current != nil {
		left = l.current.left()
	}
	lasts := l.time
	if l.lasts > 0 {
		lasts = min(lasts, max(l.lasts, shortestLease))
	}
	used := l.pace.used(now, l.spent(), lasts)
	least := l.paced(p.least, used)
	most := 1.5*used - left
	if isShort {
		most = max(most, 2*l.amount)
	}
	most = min(max(most, p.sum), MaxCost)
	if l.mostOfPlain > 0 {
		most = min(most, l.mostOfPlain)
	}
	most = max(most, least)
	if l.largest[1] > 0 {
		l.largest = [2]float64{l.largest[1], 0}
	}
	if l.requestID == "" {
		l.requestID = l.client.jitter.requestID()
	}
	check := &leaseCheck{request: l.request, piece: p.least, least: least, most: most, sent: now}
	check.request.RequestID = l.requestID
	check.request.EstimatedCost = &check.most
	if last := len(l.returns) - 1; last >= 0 && l.returns[last].LeaseUse != nil {
		check.returned = &l.returns[last]
		l.returns = l.returns[:last:last]
	}
	check.request.Lease = &LeaseTerms{Least: check.least, Time: l.time, Returned: check.returned}
	if l.safeFor > 0 {
		rate := used / lasts.Seconds()
		if rate == 0 {
			rate = most / l.time.Seconds()
		}
		check.request.Lease.SafeRate, check.request.Lease.SafeTime = min(rate, MaxCost), l.safeFor
	}
	return check
}

// paced is what is asked for at least where a piece costs this, and so much is used in a lease's time.
func (l *Lease) paced(piece, used float64) float64 {
	least := min(used/partsOfUse, l.mostOfLeast)
	if l.current != nil {
		least = min(least, l.current.largestPiece)
	}
	if l.stats.Plain {
		least = piece
	}
	return max(least, piece)
}
