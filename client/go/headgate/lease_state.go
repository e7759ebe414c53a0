package headgate

import (
	"context"
	"math"
	"time"
)

// How a Lease takes pieces from its grants, and lets go of them. All of it with the lock.

const never time.Duration = math.MaxInt64

// taken is what became of a piece.
type taken int

const (
	admitted   taken = iota
	hasNoRoom        // in what is held
	isTooLarge       // for any lease
	isBusy           // another piece has to end first
	isRejected       // by chance
)

// take admits a piece, if there is room for it now.
func (l *Lease) take(cost float64) taken {
	if l.isOccupied() {
		return isBusy
	}
	if l.current == nil {
		return hasNoRoom
	}
	newest := l.current
	if l.next != nil {
		newest = l.next
	}
	if cost > newest.largestPiece {
		return isTooLarge
	}
	from := l.current
	if !from.fits(cost) {
		if from = l.next; from == nil || !from.fits(cost) {
			return hasNoRoom
		}
	}
	switch {
	case from.oneAtATime && l.underWay > 0:
		return isBusy
	case newest.rejectRatio > 0 && l.client.jitter.unit() < newest.rejectRatio:
		return isRejected
	}
	if from == l.next {
		l.dropCurrent()
	}
	from.spend(cost)
	l.largest[1] = max(l.largest[1], cost)
	if from.oneAtATime {
		l.underWay++
	}
	return admitted
}

// turn lets go of what is over.
func (l *Lease) turn(now time.Duration) {
	if now-l.failure.at > l.client.options.LongestWait+l.client.options.OutagePause {
		l.failure = failure{} // nobody has asked since
	}
	for l.current != nil && now >= l.current.end {
		l.dropCurrent()
	}
	if l.safe != nil && now >= l.safe.safe.until {
		l.returnSafe()
	}
}

// dropCurrent retires it, and the next one takes its place.
func (l *Lease) dropCurrent() {
	g := l.current
	l.current, l.next = l.next, nil
	l.returnSafe()
	if !l.keepSafe(g) {
		l.retire(g)
	}
}

// retire counts what was done with a lease, and has it go back.
func (l *Lease) retire(g *grant) {
	l.spentBefore += g.sum()
	l.stats.Admitted += uint64(g.pieces)
	if g.pieces > 0 && !g.plain { // else the server has counted the Check
		l.count(g.cause, g.pieces, g.sum()*g.costOfUnit)
	}
	if g.permit == 0 {
		l.told = told{} // nothing is charged
		return
	}
	report := PermitReport{PermitID: g.permit}
	l.told.addTo(&report, g)
	if !g.plain {
		report.LeaseUse = l.use(g)
	}
	l.returns = append(l.returns, report)
}

// use tells what was spent of this grant, and what became of all pieces. Nil: of none, only that.
func (l *Lease) use(g *grant) *LeaseUse {
	use := &LeaseUse{Identity: l.request.Identity, Target: l.request.Target, Counts: l.counts.take(),
		ID: l.client.jitter.number()}
	if g != nil {
		use.Spent, use.SafeSpent, use.Pieces = g.spent, g.safe.spent, g.pieces
	}
	return use
}

func (l *Lease) count(cause PieceCause, pieces int64, cost float64) {
	if !l.hasCounts() {
		l.countsSince = l.now()
	}
	l.counts.add(cause, pieces, cost)
}

func (l *Lease) hasCounts() bool { return !l.counts.isEmpty() || l.unexplained.pieces > 0 }

// hadNoRoom counts a piece that was refused since the next lease is not there yet.
func (l *Lease) hadNoRoom(cost float64) {
	if !l.hasCounts() {
		l.countsSince = l.now()
	}
	l.stats.Refused++
	l.unexplained.add(1, cost*l.costOfUnit)
}

// explain says what has refused those pieces.
func (l *Lease) explain(cause PieceCause) {
	if unexplained := l.unexplained; unexplained.pieces > 0 {
		l.unexplained = pieceSum{}
		l.count(cause, unexplained.pieces, unexplained.cost)
	}
}

// giveBack sends what no Check takes with it.
func (l *Lease) giveBack() {
	for _, each := range l.returns {
		l.client.reporter.add(each)
	}
	l.returns = nil
}

// countsDue is when counts go alone, lest they be late: what is held takes them with it in time.
func (l *Lease) countsDue() time.Duration {
	if !l.hasCounts() || l.current != nil && l.current.permit != 0 {
		return never
	}
	return l.countsSince + l.time
}

// tellCounts sends what became of pieces, where no lease is there with which that could go. An answer
// that comes later than this explains nothing any more.
func (l *Lease) tellCounts() {
	l.explain(noRoom)
	if l.counts.isEmpty() {
		return
	}
	use := l.use(nil)
	if !l.stats.Plain { // such a server does not count pieces
		l.client.reporter.add(PermitReport{LeaseUse: use})
	}
}

func (l *Lease) hasRoom(cost float64) bool {
	return l.current != nil && l.current.fits(cost) || l.next != nil && l.next.fits(cost)
}

// spent is all that was ever spent.
func (l *Lease) spent() float64 {
	spent := l.spentBefore
	for _, each := range []*grant{l.current, l.next, l.safe} {
		if each != nil {
			spent += each.sum()
		}
	}
	return spent
}

// step does what is due by now, and sees to it that what is due later will be done.
func (l *Lease) step(now time.Duration) {
	l.turn(now)
	if !l.closed {
		l.serveWaiters(now)
		l.forgetWanted(l.hasRoom)
		l.endLateWaiters(now)
		l.wakeAsker(now)
	}
	l.watchIfNeeded()
	if !l.isAskDue(now) {
		l.giveBack()
	}
	if now >= l.countsDue() {
		l.tellCounts()
	}
	l.setQuick(now)
	l.setAlarm(now)
}

// setQuick says how far pieces are taken without a further look.
func (l *Lease) setQuick(now time.Duration) {
	g := l.current
	l.quickUntil = 0
	if g == nil || l.closed || g.rejectRatio > 0 || g.oneAtATime {
		return
	}
	l.quickUntil, l.quickAmount, l.quickLargest = g.end, g.amount, g.largestPiece
	if l.next != nil {
		l.quickLargest = min(l.quickLargest, l.next.largestPiece)
		if l.next.rejectRatio > 0 {
			l.quickUntil = 0
		}
		return
	}
	if l.cancel != nil {
		return
	}
	if blocked := l.blockedUntil(l.usualPiece()); blocked > now {
		l.quickUntil = min(g.end, blocked)
		return
	}
	l.quickUntil, l.quickAmount = g.half(), math.Nextafter(g.amount/2, 0)
}

// setAlarm has tick called when something is due though nobody asks for a piece.
func (l *Lease) setAlarm(now time.Duration) {
	at := never
	if !l.closed {
		if g := l.current; g != nil {
			at = g.end
			if now < g.half() && l.next == nil {
				at = g.half()
			}
		}
		if l.safe != nil {
			at = min(at, l.safe.safe.until)
		}
		at = min(at, l.countsDue())
	}
	// One that rings too early finds nothing to do, and sets the next.
	if at == never || l.alarmAt <= at && l.alarmAt > now {
		return
	}
	l.stopAlarm()
	l.alarmAt = at
	l.stopRing = alarmAfter(l.client.clock, at-now, l.tick)
}

func (l *Lease) stopAlarm() {
	if l.alarmAt != never {
		l.stopRing()
		l.alarmAt = never
	}
}

// Without the lock.
func (l *Lease) tick() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	now := l.now()
	if l.alarmAt <= now {
		l.alarmAt = never
	}
	l.step(now)
}

// Without the lock. A Check that is under way may still bring a lease, unless the context is done;
// one that waits in the server is ended.
func (l *Lease) shut(ctx context.Context) {
	l.mu.Lock()
	l.closed, l.quickUntil = true, 0
	l.stopAlarm()
	for _, each := range l.waiters {
		each.end(leaseClosedError{})
	}
	l.waiters = nil
	l.letAskerGo()
	ended := l.ended
	l.mu.Unlock()
	if ended != nil {
		select {
		case <-ended:
		case <-ctx.Done():
			l.mu.Lock()
			l.cancelAsk()
			l.mu.Unlock()
			<-ended
		}
	}
	l.stopWatching()
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.current != nil {
		l.dropCurrent()
	}
	l.returnSafe()
	l.giveBack()
	l.tellCounts()
}
