package headgate

import (
	"errors"
	"time"

	headgatev1 "github.com/headgate/headgate/client/go/headgate/v1"
)

// How a Lease answers for pieces that it has no room for. All of it with the lock.

// When to come back for what is on its way, where no Check has yet told how long that takes.
const usualRoundTrip = 5 * time.Millisecond

// denial is what the newest Check was answered that was denied.
type denial struct {
	answer  Answer
	cause   PieceCause
	least   float64       // what it asked for: what costs less may still be granted
	askAt   time.Duration // until then it stands
	retryAt time.Duration // what is told; never: waiting will not help
}

// stands tells whether it answers for a piece of this cost.
func (d *denial) stands(now time.Duration, cost float64) bool {
	return now < d.askAt && cost >= d.least
}

// failure is how the newest Check failed.
type failure struct {
	err   error // nil: it did not
	at    time.Duration
	askAt time.Duration
}

func (f *failure) isOutage() bool { return errors.Is(f.err, ErrUnreachable) }

// admitWithCare is Admit where more than taking is to be done.
func (l *Lease) admitWithCare(now time.Duration, cost float64) (answer Answer, err error) {
	if err := validCost(cost, "cost"); err != nil {
		return Answer{}, err
	}
	if l.closed {
		return Answer{}, leaseClosedError{}
	}
	l.turn(now)
	became := l.take(cost)
	if became == hasNoRoom {
		answer, err = l.refuseForRoom(now, cost)
	} else {
		answer = l.answerOf(became, now, cost)
	}
	l.step(now)
	return answer, err
}

// answerOf is what is told of a piece that a lease admitted or refused, which is counted.
func (l *Lease) answerOf(became taken, now time.Duration, cost float64) Answer {
	answer := Answer{PredictedCost: cost * l.costOfUnit}
	var limit LimitKind
	switch became {
	case admitted:
		answer.Allowed, answer.Reason = true, l.current.reason
		return answer
	case isTooLarge:
		answer.Reason, answer.Message = ReasonMaxCost, "The piece costs more than one may."
		limit = headgatev1.LimitKind_LIMIT_KIND_MAX_COST
	case isBusy:
		answer.Reason, answer.RetryAfter = ReasonMaxConcurrency, l.shortly()
		answer.Message = "One piece at a time: the one before has not been settled."
		limit = headgatev1.LimitKind_LIMIT_KIND_MAX_CONCURRENCY
	case isRejected:
		answer.Reason, answer.RetryAfter = ReasonRejectRatio, max(l.newestEnd()-now, shortestWait)
		answer.Message = "A rule refuses a share of pieces, and this is one of them."
		limit = headgatev1.LimitKind_LIMIT_KIND_RULE
	}
	l.refused(PieceCause{Reason: answer.Reason, LimitKind: limit}, cost)
	return answer
}

// newestEnd is when the dice are rolled by another lease.
func (l *Lease) newestEnd() time.Duration {
	if l.current != nil {
		return l.current.end
	}
	return l.safe.safe.until
}

func (l *Lease) refused(cause PieceCause, cost float64) {
	l.stats.Refused++
	l.count(cause, 1, cost*l.costOfUnit)
}

// refuseForRoom answers for a piece that what is held has no room for, and has the next lease asked
// for where that may help.
func (l *Lease) refuseForRoom(now time.Duration, cost float64) (Answer, error) {
	if l.failure.err != nil {
		if now >= l.failure.askAt {
			l.want(cost)
		}
		if l.isSafe(now) {
			return l.answerSafely(now, cost), nil
		}
		if !l.isLocal(now) {
			return Answer{}, l.failure.err
		}
		return l.decideLocally(cost), nil
	}
	if l.denial.stands(now, cost) {
		l.refused(l.denial.cause, cost)
		return l.denied(now), nil
	}
	l.want(cost)
	l.hadNoRoom(cost)
	return l.onItsWay(cost), nil
}

// answerSafely is what is told of a piece while there is a safe rate.
func (l *Lease) answerSafely(now time.Duration, cost float64) Answer {
	switch became, wait := l.takeSafely(now, cost); became {
	case admitted:
		return Answer{Allowed: true, Reason: l.safeLease().reason, PredictedCost: cost * l.costOfUnit}
	case hasNoRoom:
		l.hadNoRoom(cost)
		return Answer{Reason: ReasonCapacity, RetryAfter: wait, PredictedCost: cost * l.costOfUnit,
			Message: "Headgate is unreachable, and pieces are admitted at a safe rate."}
	default:
		return l.answerOf(became, now, cost)
	}
}

// denied is what the denial that stands says by now.
func (l *Lease) denied(now time.Duration) Answer {
	answer := l.denial.answer
	answer.Lease, answer.Waited, answer.RetryAfter = nil, 0, 0
	if l.denial.retryAt != never {
		answer.RetryAfter = max(l.denial.retryAt-now, shortestWait)
	}
	return answer
}

func (l *Lease) onItsWay(cost float64) Answer {
	return Answer{Reason: ReasonCapacity, RetryAfter: l.shortly(), PredictedCost: cost * l.costOfUnit,
		Message: "There is no room in the lease, and the next one is being asked for."}
}

// decideLocally is what OnUnreachable says of one piece.
func (l *Lease) decideLocally(cost float64) Answer {
	answer := l.client.fallback.decide(Request{EstimatedCost: &cost}, l.client.clock.Now())
	if answer.Allowed {
		l.stats.Local++
	}
	return answer
}

func (l *Lease) shortly() time.Duration {
	if l.roundTrip == 0 {
		return usualRoundTrip
	}
	return max(l.roundTrip, shortestWait)
}
