package headgate

import (
	"context"
	"slices"
	"time"
)

// leaseWaiter is one call of Wait. All but ended belongs to the Lease's lock.
type leaseWaiter struct {
	cost      float64
	maxWait   time.Duration
	until     time.Duration
	asked     int           // how many Checks had begun when it came
	notBefore time.Duration // a lease has refused it by chance until then
	localAt   time.Duration // likewise OnUnreachable
	isLate    bool          // its time is up, and an answer on its way
	stopRing  func() bool
	ended     chan error // one, when it is over
}

func (w *leaseWaiter) end(err error) {
	w.stopRing()
	w.ended <- err
}

// Wait takes one piece of this cost as soon as there is room for it. Where there is, that takes no
// call, else it waits in the server's line. It ends with a *TimeoutError after maxWait, which may be
// Forever, and takes at most Options.CheckDeadline more; with a *DeniedError at once if waiting will
// not help; with the context's error when that is done; else as Admit. An overloaded server is waited
// for.
func (l *Lease) Wait(ctx context.Context, cost float64, maxWait time.Duration) error {
	if ctx.Err() != nil {
		return givenUp(ctx)
	}
	if err := validCost(cost, "cost"); err != nil {
		return err
	}
	waiter, err := l.enter(cost, max(maxWait, 0))
	if waiter == nil {
		return err
	}
	select {
	case err := <-waiter.ended:
		return err
	case <-ctx.Done():
	}
	if !l.leave(waiter) {
		return <-waiter.ended // what came together with the cancellation is kept
	}
	return givenUp(ctx)
}

// enter admits it at once, or lets it wait.
func (l *Lease) enter(cost float64, maxWait time.Duration) (*leaseWaiter, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if l.takeQuickly(now, cost) {
		return nil, nil
	}
	if l.closed {
		return nil, leaseClosedError{}
	}
	waiter := &leaseWaiter{cost: cost, maxWait: maxWait, until: never, asked: l.asked,
		ended: make(chan error, 1), stopRing: func() bool { return true }}
	if maxWait < never-now {
		waiter.until = now + maxWait
		l.setWaitersAlarm(now, waiter, waiter.until)
	}
	l.waiters = append(l.waiters, waiter)
	l.step(now)
	return waiter, nil
}

// With the lock.
func (l *Lease) setWaitersAlarm(now time.Duration, waiter *leaseWaiter, at time.Duration) {
	waiter.stopRing = alarmAfter(l.client.clock, at-now, func() { l.timeIsUp(waiter) })
}

// leave tells whether it was still waiting.
func (l *Lease) leave(waiter *leaseWaiter) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := slices.Index(l.waiters, waiter)
	if at < 0 {
		return false
	}
	waiter.stopRing()
	l.waiters = slices.Delete(l.waiters, at, at+1)
	if len(l.waiters) == 0 {
		l.letAskerGo()
	}
	return true
}

// timeIsUp ends the wait, unless the answer to a Check that it has asked for is on its way: for that
// it waits a little longer.
func (l *Lease) timeIsUp(waiter *leaseWaiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	at := slices.Index(l.waiters, waiter)
	grace := waiter.until + l.client.options.CheckDeadline
	switch {
	case at < 0:
		return
	case now < waiter.until: // by a clock that stands still
		l.setWaitersAlarm(now, waiter, waiter.until)
		return
	case !waiter.isLate && !l.isTooLate(now, waiter):
		waiter.isLate = true
		l.setWaitersAlarm(now, waiter, grace)
		return
	case waiter.isLate && now < grace && !l.isTooLate(now, waiter):
		l.setWaitersAlarm(now, waiter, grace)
		return
	}
	l.waiters = slices.Delete(l.waiters, at, at+1)
	waiter.end(l.tooLate(now, waiter))
	if len(l.waiters) == 0 {
		l.letAskerGo()
	}
}

// isTooLate tells whether its time is up, and no Check that it has asked for is about to be answered.
// With the lock, as all that follows.
func (l *Lease) isTooLate(now time.Duration, waiter *leaseWaiter) bool {
	switch {
	case now < waiter.until:
		return false
	case l.cancel != nil:
		return l.answeredBy > waiter.until+shortestWait
	case l.asked > waiter.asked:
		return true
	}
	return l.isOccupied() || l.blocks(now, waiter) > now
}

func (l *Lease) endLateWaiters(now time.Duration) {
	l.endWaiters(func(waiter *leaseWaiter) (error, bool) {
		if !l.isTooLate(now, waiter) {
			return nil, false
		}
		return l.tooLate(now, waiter), true
	})
}

// tooLate is how a wait ends whose time is up. The piece is counted by what refused it.
func (l *Lease) tooLate(now time.Duration, waiter *leaseWaiter) error {
	result := &TimeoutError{Identity: l.request.Identity, MaxWait: waiter.maxWait, Asked: l.asked - waiter.asked}
	switch {
	case l.failure.err != nil:
		result.Err = l.failure.err
	case l.isOccupied():
		result.Answer = l.answerOf(isBusy, now, waiter.cost)
	case waiter.cost >= l.denial.least && l.denial.askAt > 0:
		result.Answer = l.denied(now)
		l.refused(l.denial.cause, waiter.cost)
	default:
		result.Answer = l.onItsWay(waiter.cost)
		l.hadNoRoom(waiter.cost)
	}
	return result
}

// serveWaiters admits those that there is room for by now, in the order in which they came.
func (l *Lease) serveWaiters(now time.Duration) {
	l.endWaiters(func(waiter *leaseWaiter) (error, bool) {
		if now < waiter.notBefore {
			return nil, false
		}
		switch became := l.take(waiter.cost); became {
		case admitted:
			return nil, true
		case isTooLarge:
			return &DeniedError{Answer: l.answerOf(became, now, waiter.cost)}, true
		case isRejected:
			waiter.notBefore = l.newestEnd()
		case hasNoRoom:
			if l.isSafe(now) {
				return l.serveSafely(now, waiter)
			}
			return nil, l.isLocal(now) && l.admitsLocally(now, waiter)
		}
		return nil, false
	})
}

// serveSafely is for while nobody answers, and there is a safe rate.
func (l *Lease) serveSafely(now time.Duration, waiter *leaseWaiter) (error, bool) {
	if now >= l.failure.askAt {
		l.want(waiter.cost)
	}
	if now < waiter.localAt {
		return nil, false
	}
	became, wait := l.takeSafely(now, waiter.cost)
	waiter.localAt = now + wait
	if became == isTooLarge {
		return &DeniedError{Answer: l.answerOf(became, now, waiter.cost)}, true
	}
	return nil, became == admitted
}

// admitsLocally is for while nobody answers. Now and then the server is asked nevertheless.
func (l *Lease) admitsLocally(now time.Duration, waiter *leaseWaiter) bool {
	if now >= l.failure.askAt {
		l.want(waiter.cost)
	}
	if now < waiter.localAt {
		return false
	}
	answer := l.decideLocally(waiter.cost)
	waiter.localAt = now + answer.RetryAfter
	return answer.Allowed
}

// endWaiters ends each of which the function knows how.
func (l *Lease) endWaiters(how func(*leaseWaiter) (err error, ends bool)) {
	l.waiters = slices.DeleteFunc(l.waiters, func(waiter *leaseWaiter) bool {
		err, ends := how(waiter)
		if ends {
			waiter.end(err)
		}
		return ends
	})
}
