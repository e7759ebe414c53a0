package headgate

import (
	"errors"
	"time"
)

// What a Lease learns from the answer to a Check. All of it with the lock.

// learn takes what a Check was answered.
func (l *Lease) learn(check *leaseCheck, last outcome, began time.Duration) {
	now := l.now()
	if returned := check.returned; returned != nil {
		if lease := last.answer.Lease; last.err == nil && lease != nil && lease.Returned != nil {
			l.client.reporter.returned(*returned, *lease.Returned)
		} else {
			l.client.reporter.add(*returned)
		}
	}
	if last.err == nil || !isOutage(last.err, check.request.MaxWait > 0) && !isGivenUp(last.err) {
		l.returnSafe() // somebody is there
	}
	if last.err != nil {
		l.learnError(now, check, last)
		return
	}
	l.failure, l.failures, l.patience, l.requestID = failure{}, 0, waiter{}, ""
	l.stats.Plain = last.answer.Lease == nil
	if check.request.MaxWait == 0 {
		l.roundTrip = now - check.sent
	}
	if last.answer.Allowed {
		l.learnGrant(now, check, &last.answer)
	} else {
		l.learnDenial(now, check, last.answer, last.stoodInLine(check.request.MaxWait, now-began))
	}
}

func (l *Lease) learnGrant(now time.Duration, check *leaseCheck, answer *Answer) {
	l.explain(noRoom)
	g := newGrant(answer, check.most, min(check.sent+answer.Waited, now), now)
	g.safe.at += l.time / 4 // of the time that was asked for: an answer that is repeated says what is left
	l.amount, l.lasts = g.amount, g.end-g.begin
	l.costOfUnit, l.busyOfUnit = g.costOfUnit, g.busyOfUnit
	l.mostOfPlain *= 2
	if check.least >= l.denial.least {
		l.denial = denial{}
	}
	if check.least >= l.pauseLeast {
		l.pauseUntil = 0
	}
	if l.next != nil {
		l.dropCurrent()
	}
	if l.current == nil {
		l.current = g
	} else {
		l.next = g
	}
	l.obeyOrders()
	if !(g.amount > 0) || now >= g.end { // it has ended already, and was told once more
		l.pauseUntil, l.pauseLeast = now+l.shortly(), 0
	}
}

func (l *Lease) learnDenial(now time.Duration, check *leaseCheck, answer Answer, stoodInLine bool) {
	if answer.RetryAfter == 0 && check.least > check.piece && !l.stats.Plain {
		// It may never fit for being more than a piece.
		l.mostOfLeast = check.least / 4
		l.want(check.piece)
		return
	}
	// Whatever it asked for beyond: who waits for that waits for a piece.
	least := check.piece
	if l.stats.Plain && check.most > least {
		least, l.mostOfPlain = check.most, check.most/2
	}
	wait := max(min(answer.RetryAfter, l.client.options.LongestWait), shortestWait)
	l.denial = denial{answer: answer, cause: causeOf(&answer), least: least, askAt: now + wait, retryAt: now + answer.RetryAfter}
	l.explain(l.denial.cause)
	l.forgetWanted(func(cost float64) bool { return cost >= least })
	if answer.RetryAfter == 0 {
		l.denial.retryAt, l.denial.askAt = never, now+l.client.options.LongestWait
		l.endWaiters(func(waiter *leaseWaiter) (error, bool) {
			if waiter.cost < least {
				return nil, false
			}
			l.refused(l.denial.cause, waiter.cost)
			return &DeniedError{Answer: l.denied(now)}, true
		})
	}
	l.pauseUntil, l.pauseLeast = 0, 0
	if !stoodInLine {
		l.pauseUntil, l.pauseLeast = now+l.client.jitter.atLeast(wait), least
	}
}

func (l *Lease) learnError(now time.Duration, check *leaseCheck, last outcome) {
	if isGivenUp(last.err) && !errors.Is(last.err, ErrClosed) {
		return // nobody waits for it any more
	}
	l.explain(noRoom)
	l.isWanted, l.wanted = false, 0
	isOutage := isOutage(last.err, check.request.MaxWait > 0)
	pause, final := l.client.pauseAfter(last, &l.patience)
	pause = max(min(pause, l.client.options.LongestWait), shortestWait)
	if isOutage || !errors.Is(last.err, ErrUnreachable) { // else those who wait were sent away, to come back
		l.failure = failure{err: last.err, at: now,
			askAt: now + max(l.client.jitter.backoff(l.failures, firstPause, longestPause), pause)}
		l.failures++
	}
	switch {
	case isOutage && l.client.fallback.decides():
		l.failure.askAt = now + l.client.options.OutagePause
	case isOutage && l.isSafe(now): // who waits is admitted at that rate
	case final != nil:
		l.endWaiters(func(*leaseWaiter) (error, bool) { return final, true })
	default:
		l.pauseUntil, l.pauseLeast = now+l.client.jitter.atLeast(pause), 0
	}
}
