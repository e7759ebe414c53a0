package headgate_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/headgate/headgate/client/go/headgate"
	"github.com/headgate/headgate/client/go/headgate/headgatetest"
)

func TestWaitInLineDoesNotSpinWhateverTheServerSays(t *testing.T) {
	for name, waited := range map[string]time.Duration{"cuts waits short": 3 * time.Millisecond,
		"only says that it waited": 30 * time.Second} {
		t.Run(name, func(t *testing.T) {
			fake := headgatetest.New()
			fake.SetAnswerAtOnce(true)
			client := answered(t, fake, headgate.Fail())
			asked := 0
			fake.Handle(func(headgate.Request) (headgate.Answer, error) {
				asked++
				return headgate.Answer{Allowed: asked > 5, RetryAfter: 2 * time.Second, Waited: waited}, nil
			})
			allowed(t, client, headgate.Request{})
			waits := fake.Clock().Waits()
			wantEqual(t, len(waits), 5)
			for _, wait := range waits {
				wantBetween(t, wait, 2*time.Second, 2500*time.Millisecond)
			}
		})
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	for name, atOnce := range map[string]bool{"in the server": false, "in the client": true} {
		t.Run(name, func(t *testing.T) {
			fake := headgatetest.New()
			fake.SetAnswerAtOnce(atOnce)
			client := fake.NewClient(t, headgate.Fail(), headgate.Options{Clock: headgate.SystemClock{},
				LongestWait: time.Hour, Identity: "etl"})
			stopped, stop := context.WithCancel(ctx)
			fake.Handle(func(headgate.Request) (headgate.Answer, error) {
				time.AfterFunc(time.Millisecond, stop)
				return headgate.Answer{RetryAfter: time.Hour}, nil
			})
			_, err := client.CheckOrWait(stopped, headgate.Request{}, headgate.Forever)
			wantIs(t, err, context.Canceled)
		})
	}
}

func TestNothingIsAskedOnceTheContextIsDone(t *testing.T) {
	fake := headgatetest.New()
	client := fake.NewClient(t, headgate.Proceed(), self)
	stopped, stop := context.WithCancel(ctx)
	stop()
	_, err := client.Check(stopped, headgate.Request{})
	wantIs(t, err, context.Canceled)
	_, err = client.CheckOrWait(stopped, headgate.Request{}, headgate.Forever)
	wantIs(t, err, context.Canceled)
	_, err = client.ReportNow(stopped, 1)
	wantIs(t, err, context.Canceled)
	wantEqual(t, len(fake.Checks()), 0)
}

func TestAPermitThatCameTogetherWithTheCancellationIsKept(t *testing.T) {
	fake := headgatetest.New()
	client := fake.NewClient(t, headgate.Fail(), self)
	stopped, stop := context.WithCancel(ctx)
	fake.Handle(func(headgate.Request) (headgate.Answer, error) {
		stop()
		return headgate.Answer{Allowed: true}, nil
	})
	_, err := client.CheckOrWait(stopped, headgate.Request{}, headgate.Forever)
	wantIs(t, err, nil)
}

func TestWaitingWillNotHelpIsADeniedError(t *testing.T) {
	fake := headgatetest.New()
	fake.DenyForGood(headgate.ReasonMaxCost)
	_, err := fake.NewClient(t, headgate.Wait(), self).CheckOrWait(ctx, headgate.Request{}, headgate.Forever)
	wantIs(t, err, headgate.ErrDenied)
	wantCode(t, err, codes.FailedPrecondition)
	var denied *headgate.DeniedError
	if !asError(err, &denied) || denied.Answer.Reason != headgate.ReasonMaxCost {
		t.Errorf("the error is %#v", err)
	}
}

// Neither is it an error, nor is the work allowed because nobody answers.
func TestWhoIsSentAwayComesBackToTheNextServerWhateverThePolicy(t *testing.T) {
	for name, policy := range map[string]headgate.OnUnreachable{"fail": headgate.Fail(), "wait": headgate.Wait(),
		"proceed": headgate.Proceed(), "floor rate": headgate.FloorRate(1)} {
		t.Run(name, func(t *testing.T) {
			fake := headgatetest.New()
			client := answered(t, fake, policy)
			fake.Fail(&headgate.Error{Code: codes.Unavailable, Message: "the server stops", RetryDelay: time.Second})
			fake.Deny(5*time.Second, headgate.ReasonCapacity)
			permit := allowed(t, client, headgate.Request{})
			wantEqual(t, permit.Local(), false)
			wantBetween(t, fake.Clock().Waits()[0], time.Second, 1250*time.Millisecond)
		})
	}
}

func TestErrorsOfAnOutageAreUnreachable(t *testing.T) {
	fake := headgatetest.New()
	fake.SetDown(true)
	_, err := fake.NewClient(t, headgate.Fail(), self).Check(ctx, headgate.Request{})
	wantIs(t, err, headgate.ErrUnreachable)
	wantCode(t, err, codes.Unavailable)
	_, err = fake.NewClient(t, headgate.Wait(), self).CheckOrWait(ctx, headgate.Request{}, time.Minute)
	wantIs(t, err, context.DeadlineExceeded)
	wantIs(t, err, headgate.ErrUnreachable) // which is why
	wantBetween(t, fake.Clock().Waited(), time.Minute, time.Minute+500*time.Millisecond)
}

func TestCheckOrWaitIsSharedByGoroutinesWithoutLosingAPermit(t *testing.T) {
	fake := headgatetest.New()
	var asked atomic.Int64
	fake.Handle(func(headgate.Request) (headgate.Answer, error) {
		return headgate.Answer{Allowed: asked.Add(1)%3 != 0, RetryAfter: time.Second}, nil
	})
	client := fake.NewClient(t, headgate.Fail(), self)
	var all sync.WaitGroup
	for i := 0; i < 8; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; i < 100; i++ {
				permit, err := client.CheckOrWait(ctx, headgate.Request{}, headgate.Forever)
				if err != nil {
					t.Error(err)
					return
				}
				wantIs(t, permit.Done(), nil)
			}
		}()
	}
	all.Wait()
	flush(t, client)
	wantEqual(t, len(fake.Reports()), 800)
	wantEqual(t, len(fake.Outstanding()), 0)
}
