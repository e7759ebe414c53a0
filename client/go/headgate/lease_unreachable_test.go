package headgate_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/headgate/headgate/client/go/headgate"
)

var errCanceled = context.Canceled

func cancellable() (context.Context, context.CancelFunc) { return context.WithCancel(ctx) }

// cutOff is one whose server has vanished, and whose lease is spent and over, so that it asks when it
// is told to.
func cutOff(t *testing.T, policy headgate.OnUnreachable) *holder {
	t.Helper()
	h := newHolder(t, policy, headgate.LeaseOptions{})
	h.grants(headgate.LeaseGrant{Amount: 100})
	h.waits(1)
	h.fake.SetDown(true)
	t.Cleanup(func() { h.fake.SetDown(false) }) // so that closing takes no time
	h.admits(99, 1)                             // what it has is spent, whatever the policy
	h.passes(2 * time.Second)
	return h
}

func TestWithoutAServerALeaseFailsAsACheckDoes(t *testing.T) {
	for name, policy := range map[string]headgate.OnUnreachable{"fail": headgate.Fail(), "wait": headgate.Wait()} {
		t.Run(name, func(t *testing.T) {
			h := cutOff(t, policy)
			_, err := h.Admit(1)
			wantIs(t, err, headgate.ErrUnreachable)
			h.AwaitAsked()
			wantEqual(t, h.Stats(), headgate.LeaseStats{Admitted: 100})
			h.fake.SetDown(false)
			h.passes(5 * time.Second)
			_, err = h.Admit(1) // which has it ask again
			wantIs(t, err, headgate.ErrUnreachable)
			h.AwaitAsked()
			h.admits(1, 1)
		})
	}
}

func TestWithoutAServerWaitingFails(t *testing.T) {
	h := cutOff(t, headgate.Fail())
	wantIs(t, h.Wait(ctx, 1, headgate.Forever), headgate.ErrUnreachable)
}

func TestWithoutAServerWaitingGoesOnUntilItsTimeIsUp(t *testing.T) {
	h := cutOff(t, headgate.Wait())
	before := h.fake.Clock().Waited()
	err := h.Wait(ctx, 1, time.Minute)
	wantIs(t, err, context.DeadlineExceeded)
	wantIs(t, err, headgate.ErrUnreachable)
	wantBetween(t, h.fake.Clock().Waited()-before, 59*time.Second, 62*time.Second)
}

func TestWaitingOutlastsAnOutage(t *testing.T) {
	h := cutOff(t, headgate.Wait())
	before := h.fake.Clock().Waited()
	back := h.fake.Clock().AfterFunc(20*time.Second, func() { h.fake.SetDown(false) })
	defer back()
	h.waits(1)
	wantBetween(t, h.fake.Clock().Waited()-before, 20*time.Second, 23*time.Second)
	wantEqual(t, h.Stats().Local, 0)
}

func TestWithoutAServerPiecesAreHeldToTheFloorRate(t *testing.T) {
	h := cutOff(t, headgate.FloorRate(1))
	if answer := h.asks(1); !answer.Allowed || !answer.Local {
		t.Errorf("it is answered %+v", answer)
	}
	denied := h.asks(1) // the server was asked meanwhile, which took a part of the second
	wantEqual(t, denied.Reason, headgate.ReasonCapacity)
	wantBetween(t, denied.RetryAfter, 500*time.Millisecond, time.Second)
	before := h.fake.Clock().Now()
	for i := 0; i < 20; i++ {
		wantIs(t, h.Wait(ctx, 1, headgate.Forever), nil)
	}
	wantBetween(t, h.fake.Clock().Now().Sub(before), 19*time.Second, 60*time.Second)
	wantEqual(t, h.Stats(), headgate.LeaseStats{Admitted: 100, Local: 21})
}

func TestWhatWasNotReturnedInAnOutageIsReturnedAfterIt(t *testing.T) {
	h := cutOff(t, headgate.Proceed())
	h.passes(10 * time.Second)
	wantEqual(t, len(h.fake.Reports()), 0)
	h.fake.SetDown(false)
	wantEqual(t, h.told(), map[headgate.PieceCause]int64{wasAllowed: 100})
	wantEqual(t, len(h.fake.Outstanding()), 0)
}

func TestWhoIsSentAwayWhileWaitingForALeaseComesBack(t *testing.T) {
	for name, policy := range map[string]headgate.OnUnreachable{"fail": headgate.Fail(), "proceed": headgate.Proceed()} {
		t.Run(name, func(t *testing.T) {
			h := newHolder(t, policy, headgate.LeaseOptions{})
			h.fake.Fail(&headgate.Error{Code: codes.Unavailable, Message: "the server stops", RetryDelay: time.Second})
			h.fake.Deny(5*time.Second, headgate.ReasonCapacity)
			h.waits(1)
			wantEqual(t, h.Stats().Local, 0)
			wantBetween(t, h.fake.Clock().Waits()[0], time.Second, 1250*time.Millisecond)
		})
	}
}

func TestAnOverloadedServerIsWaitedFor(t *testing.T) {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{})
	full := &headgate.Error{Code: codes.ResourceExhausted, Message: "table is full", RetryDelay: 2 * time.Second}
	h.fake.Fail(full)
	h.waits(1)
	wantBetween(t, h.fake.Clock().Waited(), 2*time.Second, 2500*time.Millisecond)
	h.passes(time.Hour)
	h.fake.Fail(full)
	h.asks(1)
	_, err := h.Admit(1)
	wantCode(t, err, codes.ResourceExhausted)
}

func TestWhatTheServerRefusesToAnswerIsTheError(t *testing.T) {
	for _, code := range []codes.Code{codes.InvalidArgument, codes.NotFound, codes.PermissionDenied, codes.Unauthenticated} {
		h := newHolder(t, headgate.Proceed(), headgate.LeaseOptions{})
		h.fake.Handle(func(headgate.Request) (headgate.Answer, error) {
			return headgate.Answer{}, &headgate.Error{Code: code, Message: "as the test wants it"}
		})
		wantCode(t, h.Wait(ctx, 1, headgate.Forever), code)
		_, err := h.Admit(1)
		wantCode(t, err, code)
		h.AwaitAsked()
		h.wantChecks(1) // not with each piece
		h.fake.Handle(func(headgate.Request) (headgate.Answer, error) { return headgate.Answer{Allowed: true}, nil })
		h.waits(1) // it asks as a Check would
		h.admits(1, 1)
		wantEqual(t, h.Stats().Local, 0)
	}
}

func TestAServerFromBeforeLeasesGivesPermits(t *testing.T) {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{Time: 5 * time.Second})
	h.fake.SetWithoutLeases(true)
	h.fake.Handle(func(request headgate.Request) (headgate.Answer, error) {
		return headgate.Answer{Allowed: true, PredictedCost: 2 * *request.EstimatedCost}, nil
	})
	h.waits(3)
	wantEqual(t, h.Stats().Plain, true)
	h.admits(1, 2)
	h.passes(3 * time.Second) // each for a second, whatever the Lease would like
	wantEqual(t, h.Stats().Held, 0)
	h.closes()
	var cost float64
	for _, report := range h.fake.Reports() {
		if report.PermitID == 0 || report.LeaseUse != nil {
			t.Errorf("it is told what it does not know: %+v", report)
		}
		cost += *report.ActualCost
	}
	wantEqual(t, cost, 10)
	wantEqual(t, len(h.fake.Outstanding()), 0)
}

// It grants all or nothing.
func TestAServerFromBeforeLeasesIsAskedForLessWhereItDeniesMuch(t *testing.T) {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{Piece: 1})
	h.fake.SetWithoutLeases(true)
	h.fake.Handle(func(request headgate.Request) (headgate.Answer, error) {
		return headgate.Answer{Allowed: *request.EstimatedCost <= 10, Reason: headgate.ReasonMaxCost}, nil
	})
	for i := 0; i < 200; i++ {
		wantIs(t, h.Wait(ctx, 1, headgate.Forever), nil)
	}
	h.AwaitAsked()
	if asked := len(h.checks()); asked > 100 {
		t.Errorf("200 pieces took %d Checks", asked)
	}
}
