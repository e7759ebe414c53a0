package headgate

import "time"

// How a Lease goes on at a safe rate while nobody can be reached. A lease that came with one, and is over
// meanwhile, is kept: the server charges its rate until it is returned, so it is returned when somebody has
// answered, or the rate's time is over. All of it with the lock.

// safeRate is what may be spent after a lease's end, beginning with nothing. Not safe for use by several
// goroutines.
type safeRate struct {
	rate  float64       // a second; zero: there is none
	at    time.Duration // what it has come to until then is in left
	until time.Duration
	left  float64
	spent float64
}

// wait is for how long there is no room for a piece of this cost. No more comes together than in a lease's
// time, or than one piece needs: who has not worked for a while does not make up for it.
func (s *safeRate) wait(now time.Duration, cost float64, within time.Duration) time.Duration {
	since := max(now-s.at, 0)
	s.left = min(s.left+s.rate*since.Seconds(), max(s.rate*within.Seconds(), cost))
	s.at = max(s.at, now)
	if cost <= s.left {
		return 0
	}
	missing := min((cost-s.left)/s.rate, longestBusy.Seconds())
	return max(time.Duration(missing*float64(time.Second))+s.at-now, shortestWait)
}

// isSafe tells whether pieces are admitted at a safe rate, or will be.
func (l *Lease) isSafe(now time.Duration) bool {
	g := l.safeLease()
	return g != nil && l.failure.isOutage() && now < g.safe.until
}

// safeLease is the one whose safe rate is spent where nobody answers, or will be when it is over. Nil: there
// is none.
func (l *Lease) safeLease() *grant {
	newest := l.safe
	if l.next != nil {
		newest = l.next
	} else if l.current != nil {
		newest = l.current
	}
	if newest == nil || newest.safe.rate == 0 {
		return nil
	}
	return newest
}

// takeSafely admits a piece at the safe rate, or tells what became of it and when there is room for it.
func (l *Lease) takeSafely(now time.Duration, cost float64) (taken, time.Duration) {
	g := l.safeLease()
	switch {
	case cost > g.largestPiece:
		return isTooLarge, 0
	case g.rejectRatio > 0 && l.client.jitter.unit() < g.rejectRatio:
		return isRejected, max(g.safe.until-now, 1)
	}
	if wait := g.safe.wait(now, cost, l.time); wait > 0 {
		return hasNoRoom, min(wait, max(g.safe.until-now, shortestWait))
	}
	g.safe.left -= cost
	g.safe.spent += cost
	g.pieces++
	l.stats.Safe++
	return admitted, 0
}

// keepSafe keeps a lease that is over where nobody may be there to grant the next one. It tells whether it
// does.
func (l *Lease) keepSafe(g *grant) bool {
	isAlone := l.cancel != nil || l.failure.isOutage()
	if g.safe.rate == 0 || l.current != nil || !isAlone || l.closed {
		return false
	}
	l.safe = g
	return true
}

// returnSafe gives it back, if there is one.
func (l *Lease) returnSafe() {
	if g := l.safe; g != nil {
		l.safe = nil
		l.retire(g)
	}
}

// mostPatience is for how long a Check may stand in line: who has no answer at the end of a lease with a
// safe rate knows then that nobody answers.
func (l *Lease) mostPatience(now time.Duration) time.Duration {
	if last := l.safeLease(); last != nil {
		return max(last.end-now, 0)
	}
	return never
}
