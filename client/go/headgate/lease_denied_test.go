package headgate_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/headgate/headgate/client/go/headgate"
	headgatev1 "github.com/headgate/headgate/client/go/headgate/v1"
)

const burst = headgatev1.LimitKind_LIMIT_KIND_BURST

// full is a budget that has no room for this or more, for so long.
func full(h *holder, cost float64, retryAfter time.Duration) {
	h.fake.Handle(func(request headgate.Request) (headgate.Answer, error) {
		if request.Lease.Least < cost {
			return headgate.Answer{Allowed: true, Lease: &headgate.LeaseGrant{Amount: request.Lease.Least}}, nil
		}
		return headgate.Answer{Reason: headgate.ReasonCapacity, RetryAfter: retryAfter, Message: "rows is full",
			Violations: []headgate.Violation{
				{Budget: "warned", LimitKind: burst, Warn: true},
				{Budget: "rows", Rule: "all", LimitKind: burst, RetryAfter: retryAfter},
				{Budget: "pages", Rule: "all", LimitKind: burst, RetryAfter: retryAfter / 2}}}, nil
	})
}

var rowsAreFull = headgate.PieceCause{Reason: headgate.ReasonCapacity, LimitKind: burst, Budget: "rows", Rule: "all"}

func TestPiecesAreRefusedAsTheirLeaseWasUntilItMayBeAskedForAgain(t *testing.T) {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{})
	full(h, 0, 2*time.Second)
	h.refuses(5, headgate.ReasonCapacity, 5*time.Millisecond)
	h.passes(500 * time.Millisecond)
	denied := h.refuses(5, headgate.ReasonCapacity, 1500*time.Millisecond)
	wantEqual(t, denied.Message, "rows is full")
	wantEqual(t, len(denied.Violations), 3)
	h.refuses(6, headgate.ReasonCapacity, 1500*time.Millisecond)
	h.wantChecks(1)
	h.passes(1500 * time.Millisecond)
	h.refuses(5, headgate.ReasonCapacity, 5*time.Millisecond)
	h.wantChecks(2)
	h.closes()
	wantEqual(t, h.told(), map[headgate.PieceCause]int64{rowsAreFull: 4}) // what the answer said that came then
	wantEqual(t, h.Stats(), headgate.LeaseStats{Refused: 4})
}

func TestSmallerPiecesAreAskedForWhileLargerOnesAreDenied(t *testing.T) {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{})
	full(h, 10, time.Minute)
	h.asks(10)
	h.refuses(12, headgate.ReasonCapacity, time.Minute)
	h.wantChecks(1)
	h.refuses(4, headgate.ReasonCapacity, 5*time.Millisecond)
	h.wantChecks(2)
	wantEqual(t, h.lastCheck().Lease.Least, 4)
	h.admits(1, 4)
	h.refuses(10, headgate.ReasonCapacity, time.Minute) // as before
}

func TestADenialIsNotBelievedForLongerThanLongestWait(t *testing.T) {
	for name, retryAfter := range map[string]time.Duration{"for an hour": time.Hour, "for good": 0} {
		t.Run(name, func(t *testing.T) {
			h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{})
			full(h, 0, retryAfter)
			h.asks(5)
			h.passes(9 * time.Second)
			h.asks(5)
			h.wantChecks(1)
			h.passes(time.Second)
			h.asks(5)
			h.wantChecks(2)
		})
	}
}

func TestRefusalsAreToldWithinTheLeasesTimeThoughNothingComesBack(t *testing.T) {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{})
	full(h, 0, time.Hour)
	h.asks(5)
	h.asks(5)
	h.passes(time.Second - 1)
	wantEqual(t, len(h.returned()), 0)
	h.passes(1)
	wantEqual(t, h.told(), map[headgate.PieceCause]int64{rowsAreFull: 2})
	wantEqual(t, h.fake.Reports()[0].PermitID, 0)
}

func TestWhoWaitsStandsInTheServersLine(t *testing.T) {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{})
	h.fake.Deny(20*time.Second, headgate.ReasonCapacity)
	h.waits(5)
	wantEqual(t, h.fake.Clock().Waited(), 20*time.Second)
	checks := h.checks()
	wantEqual(t, checks[0].MaxWait, 125*time.Millisecond) // it only looks whether the server answers
	wantEqual(t, checks[1].MaxWait, 30*time.Second)
	wantEqual(t, checks[2].MaxWait, 0) // for the next lease nobody waits
	wantEqual(t, h.Stats().Refused, 0)
	h.closes()
	wantEqual(t, h.told(), map[headgate.PieceCause]int64{wasAllowed: 1})
}

func TestTheTimeOfALeaseThatWaitedCountsFromItsAdmission(t *testing.T) {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{})
	h.fake.Deny(20*time.Second, headgate.ReasonCapacity)
	h.fake.Allow(headgate.Answer{Lease: &headgate.LeaseGrant{Amount: 100}})
	h.waits(5)
	h.passes(time.Second - 1)
	wantEqual(t, h.Stats().Held, 95+*h.lastCheck().EstimatedCost) // which came at half its time
	h.passes(1)
	wantEqual(t, h.Stats().Held, *h.lastCheck().EstimatedCost)
}

func TestWhereTheServerLetsNobodyWaitTheLeaseIsAskedForAgain(t *testing.T) {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{})
	h.fake.SetAnswerAtOnce(true)
	h.fake.Deny(2*time.Second, headgate.ReasonCapacity)
	h.fake.Deny(time.Hour, headgate.ReasonHealth)
	h.waits(5)
	waits := h.fake.Clock().Waits()
	wantEqual(t, len(waits), 2)
	wantBetween(t, waits[0], 2*time.Second, 2500*time.Millisecond)
	wantBetween(t, waits[1], 10*time.Second, 12500*time.Millisecond) // Options.LongestWait
}

func TestAWaitThatIsTooLongSaysWhatItWaitedFor(t *testing.T) {
	for name, atOnce := range map[string]bool{"in the server": false, "in the client": true} {
		t.Run(name, func(t *testing.T) {
			h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{})
			h.fake.SetAnswerAtOnce(atOnce)
			full(h, 0, time.Hour)
			err := h.Wait(ctx, 5, 3*time.Second)
			wantCode(t, err, codes.DeadlineExceeded)
			var late *headgate.TimeoutError
			if !asError(err, &late) || late.Answer.Message != "rows is full" || late.Asked == 0 {
				t.Fatalf("it ends with %#v", err)
			}
			wantEqual(t, h.fake.Clock().Waited(), 3*time.Second)
			h.closes()
			wantEqual(t, h.told(), map[headgate.PieceCause]int64{rowsAreFull: 1})
		})
	}
}

func TestAWaitOfNothingAsksOnce(t *testing.T) {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{})
	wantIs(t, h.Wait(ctx, 5, 0), nil)
	h.AwaitAsked()
	asked := len(h.checks())
	full(h, 0, time.Hour)
	h.passes(2 * time.Second)
	wantCode(t, h.Wait(ctx, 5, 0), codes.DeadlineExceeded)
	if more := len(h.checks()) - asked; more < 1 || more > 2 { // the next lease is one
		t.Errorf("it has asked %d times", more)
	}
}

func TestWaitingEndsAtOnceWhereItWillNotHelp(t *testing.T) {
	h := newHolder(t, headgate.Wait(), headgate.LeaseOptions{})
	h.fake.DenyForGood(headgate.ReasonDenyRule)
	err := h.Wait(ctx, 5, headgate.Forever)
	wantIs(t, err, headgate.ErrDenied)
	h.closes()
	wantEqual(t, h.told(), map[headgate.PieceCause]int64{{Reason: headgate.ReasonDenyRule}: 1})
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{})
	stopped, stop := cancellable()
	h.fake.Handle(func(headgate.Request) (headgate.Answer, error) {
		stop()
		return headgate.Answer{RetryAfter: time.Millisecond}, nil
	})
	wantIs(t, h.Wait(stopped, 5, headgate.Forever), errCanceled)
	h.AwaitAsked() // for nobody is asked any more
	asked := len(h.checks())
	wantIs(t, h.Wait(stopped, 5, headgate.Forever), errCanceled)
	h.wantChecks(asked)
	h.closes()
	wantEqual(t, len(h.fake.Reports()), 0) // whose caller hears of no decision does not count
}

func TestThoseWhoWaitAreAdmittedInTheirOrderByOneCheckForAll(t *testing.T) {
	h := granted(t, headgate.LeaseGrant{Amount: 100, OneAtATime: true})
	order := make(chan int, 3)
	for i := 0; i < 3; i++ {
		i := i
		go func() {
			wantIs(t, h.Wait(ctx, 1, headgate.Forever), nil)
			order <- i
		}()
		awaitWaiters(t, h, i+1)
	}
	for want := 0; want < 3; want++ {
		wantIs(t, h.Settle(1), nil)
		wantEqual(t, <-order, want)
	}
	h.wantChecks(1)
}

// One Check asks for all that wait: for the largest at least, and for all of them at most.
func TestACheckAsksForAllWhoWait(t *testing.T) {
	h := granted(t, headgate.LeaseGrant{Amount: 5, OneAtATime: true})
	ended := make(chan error)
	for i, cost := range []float64{40, 30} {
		cost := cost
		go func() { ended <- h.Wait(ctx, cost, headgate.Forever) }()
		awaitWaiters(t, h, i+1)
	}
	h.fake.Handle(func(headgate.Request) (headgate.Answer, error) { return headgate.Answer{Allowed: true}, nil })
	wantIs(t, h.Settle(1), nil)
	wantIs(t, <-ended, nil)
	wantIs(t, <-ended, nil)
	asked := h.checks()[1]
	wantEqual(t, asked.Lease.Least, 40)
	wantEqual(t, *asked.EstimatedCost, 70)
	if asked.Lease.Returned == nil {
		t.Error("the place is not given back before the next is asked for")
	}
}

// busy is one that spends 10 each 10 ms, so that 1000 are used in the time of a lease.
func busy(t *testing.T) *holder {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{})
	for i := 0; i < 200; i++ {
		h.waits(10)
		h.passes(10 * time.Millisecond)
	}
	return h
}

func TestWhoWaitsForRoomPieceByPieceAsksForAPartOfItsUse(t *testing.T) {
	h := busy(t)
	full(h, 0, time.Minute)
	for h.asks(1).Allowed {
	}
	h.asks(1)
	if least := h.lastCheck().Lease.Least; least < 50 || least > 150 { // what was left went at once
		t.Errorf("it asks for %v at least, and uses 1000", least)
	}
	h.refuses(1, headgate.ReasonCapacity, time.Minute) // there is no room for a piece either
}

func TestWhatThereIsNeverRoomForIsAPartOfTheUseAndNotThePiece(t *testing.T) {
	h := busy(t)
	h.fake.Handle(func(request headgate.Request) (headgate.Answer, error) {
		if request.Lease.Least > 5 {
			return headgate.Answer{Reason: headgate.ReasonCapacity}, nil
		}
		return headgate.Answer{Allowed: true, Lease: &headgate.LeaseGrant{Amount: 5, Time: time.Second}}, nil
	})
	for h.Stats().Held >= 1 {
		h.asks(1)
	}
	before := len(h.checks())
	h.waits(1)
	if asked := len(h.checks()) - before; asked > 4 {
		t.Errorf("it has asked %d times", asked)
	}
}
