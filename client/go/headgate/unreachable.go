package headgate

import (
	"math"
	"sync"
	"time"
)

// OnUnreachable says what to do while Headgate is unreachable: no answer within the deadline, or no
// connection. There is no default, and the zero value is refused: only the job knows whether it
// harms more by working blindly or by standing still.
type OnUnreachable struct {
	kind unreachableKind
	rate float64
}

type unreachableKind int

const (
	unreachableUnset unreachableKind = iota
	unreachableFail
	unreachableWait
	unreachableProceed
	unreachableFloorRate
)

// Fail has both calls return the error.
func Fail() OnUnreachable { return OnUnreachable{kind: unreachableFail} }

// Wait has CheckOrWait keep asking until its time is up. Check, which never waits, returns the
// error.
func Wait() OnUnreachable { return OnUnreachable{kind: unreachableWait} }

// Proceed allows everything.
func Proceed() OnUnreachable { return OnUnreachable{kind: unreachableProceed} }

// FloorRate allows as much as drains at this rate, by this client's own count: a chunk starts when
// the ones before it have drained, or a day after the last. A Check without an estimate counts as 1.
func FloorRate(unitsPerSecond float64) OnUnreachable {
	return OnUnreachable{kind: unreachableFloorRate, rate: unitsPerSecond}
}

func (o OnUnreachable) validate() error {
	switch {
	case o.kind == unreachableUnset:
		return invalid("on_unreachable: choose Fail, Wait, Proceed or FloorRate")
	case o.kind == unreachableFloorRate && !(o.rate > 0 && !math.IsInf(o.rate, 1)):
		return invalid("on_unreachable: a floor rate of %v is not finite and above zero", o.rate)
	}
	return nil
}

// A mistaken estimate must not hold its process for good.
const longestDrain = 24 * time.Hour

// fallback is what the client decides by itself while Headgate is unreachable.
//
// An outage begins with a call that failed and ends with one that succeeds. While it lasts, one
// call in each pause still goes to the server and the others need not wait for a deadline. Fail and
// Wait decide nothing here, so their calls always go.
//
// The floor rate is a reverse leaky bucket without a burst: a Check is allowed once everything
// allowed before has drained. What is allowed in an interval is therefore at most its length times
// the rate, plus the one Check that was allowed last.
//
// Safe for use by several goroutines.
type fallback struct {
	policy OnUnreachable
	pause  time.Duration

	mu        sync.Mutex // guards what follows
	answered  bool       // the last call had an answer
	outage    bool
	askAt     time.Time // in an outage
	drainedAt time.Time
}

// decides tells whether decide has an answer.
func (f *fallback) decides() bool {
	return f.policy.kind == unreachableProceed || f.policy.kind == unreachableFloorRate
}

// mayAsk tells whether this call may go to the server.
func (f *fallback) mayAsk(now time.Time) bool {
	if !f.decides() {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.outage && now.Before(f.askAt) {
		return false
	}
	f.askAt = now.Add(f.pause) // this call asks on behalf of all
	return true
}

func (f *fallback) failed(now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answered, f.outage, f.askAt = false, true, now.Add(f.pause)
}

func (f *fallback) succeeded() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answered, f.outage = true, false
}

func (f *fallback) sentAway() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answered = false
}

func (f *fallback) isAnswered() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.answered
}

func (f *fallback) decide(request Request, now time.Time) Answer {
	answer := Answer{Allowed: true, PredictedCost: 1, Local: true,
		Message: "Headgate is unreachable: allowed without it"}
	if request.EstimatedCost != nil {
		answer.PredictedCost = *request.EstimatedCost
	}
	if f.policy.kind == unreachableProceed {
		return answer
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if now.Before(f.drainedAt) {
		answer.Allowed = false
		answer.Reason = ReasonCapacity
		answer.RetryAfter = f.drainedAt.Sub(now)
		answer.Message = "Headgate is unreachable: held to the client's floor rate"
	} else if !request.ValidateOnly {
		// Rounded up, so that many small costs don't add up to more than the rate.
		drain := math.Ceil(answer.PredictedCost * 1e9 / f.policy.rate)
		f.drainedAt = now.Add(time.Duration(min(drain, float64(longestDrain))))
	}
	return answer
}
