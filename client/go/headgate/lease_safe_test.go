package headgate_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/headgate/headgate/client/go/headgate"
)

// cutOffHolder has spent a lease of 1 s that came with a safe rate of 10 a second for 5 s, and its server
// has vanished.
type cutOffHolder struct {
	*holder
	granted time.Time
}

func safely(t *testing.T, policy headgate.OnUnreachable) *cutOffHolder {
	t.Helper()
	h := newHolder(t, policy, headgate.LeaseOptions{})
	h.grants(headgate.LeaseGrant{Amount: 10, Time: time.Second, SafeRate: 10, SafeTime: 5 * time.Second})
	h.waits(1)
	granted := h.fake.Clock().Now()
	h.fake.SetDown(true)
	t.Cleanup(func() { h.fake.SetDown(false) }) // so that closing takes no time
	h.admits(9, 1)
	return &cutOffHolder{h, granted}
}

// since is for how long its lease has been there: asking in vain takes time, too.
func (h *cutOffHolder) since() time.Duration { return h.fake.Clock().Now().Sub(h.granted) }

func (h *cutOffHolder) passesUntil(since time.Duration) {
	if h.since() > since {
		h.t.Fatalf("it is %v", h.since())
	}
	h.passes(since - h.since())
}

func TestWithoutAServerPiecesAreAdmittedAtTheSafeRateAndThenAsThePolicySays(t *testing.T) {
	h := safely(t, headgate.Fail())
	h.passesUntil(time.Second)
	admitted := 0.0
	for h.since() < 5900*time.Millisecond {
		answer, err := h.Admit(1)
		wantIs(t, err, nil)
		if answer.Allowed {
			admitted++
		} else if answer.Reason != headgate.ReasonCapacity || answer.RetryAfter <= 0 || answer.RetryAfter > 300*time.Millisecond {
			t.Fatalf("it is answered %+v", answer)
		}
		if most := max(10*(h.since()-1250*time.Millisecond).Seconds(), 0); admitted > most {
			t.Fatalf("%v were admitted, and no more than %v may be", admitted, most)
		}
		h.AwaitAsked()
		h.fake.Clock().Advance(20 * time.Millisecond)
	}
	if admitted < 43 {
		t.Errorf("%v were admitted of 46", admitted)
	}
	stats := h.Stats()
	wantEqual(t, stats.Safe, uint64(admitted))
	wantEqual(t, stats.Admitted, 10+uint64(admitted))
	wantEqual(t, stats.Local, 0)
	h.passes(300 * time.Millisecond)
	_, err := h.Admit(1)
	wantIs(t, err, headgate.ErrUnreachable)
	h.fake.SetDown(false)
	h.closes()
	for _, back := range h.returned() {
		if back.LeaseUse.Pieces > 0 {
			wantEqual(t, back.LeaseUse.Spent, 10)
			wantEqual(t, back.LeaseUse.SafeSpent, admitted)
			wantEqual(t, back.LeaseUse.Pieces, int64(10+admitted))
		}
	}
	wantEqual(t, h.told()[wasAllowed], int64(10+admitted))
	wantEqual(t, h.told()[hadNoRoom], int64(h.Stats().Refused))
}

func TestWhatWasNotSpentAtTheSafeRateDoesNotComeTogether(t *testing.T) {
	h := safely(t, headgate.Proceed())
	h.passesUntil(4 * time.Second)
	for i := 0; i < 10; i++ {
		if answer, err := h.Admit(1); err != nil || !answer.Allowed || answer.Local {
			t.Fatalf("piece %d is answered %+v, %v", i, answer, err)
		}
	}
	answer, err := h.Admit(1)
	if err != nil || answer.Allowed {
		t.Errorf("more than a second's is admitted: %+v, %v", answer, err)
	}
	wantEqual(t, h.Stats().Local, 0)
}

func TestWhoWaitsIsAdmittedAtTheSafeRate(t *testing.T) {
	h := safely(t, headgate.Fail())
	h.passesUntil(1100 * time.Millisecond)
	for i := 0; i < 20; i++ {
		wantIs(t, h.Wait(ctx, 1, headgate.Forever), nil)
		if least := 1250*time.Millisecond + time.Duration(i+1)*100*time.Millisecond; h.since() < least-time.Microsecond {
			t.Fatalf("piece %d is admitted after %v", i, h.since())
		}
	}
	if h.since() > 4*time.Second {
		t.Errorf("20 pieces took until %v", h.since())
	}
	wantEqual(t, h.Stats().Safe, 20)
	wantIs(t, h.Wait(ctx, 1000, headgate.Forever), headgate.ErrUnreachable) // more than comes to it
}

func TestALeaseThatIsKeptForItsSafeRateIsReturnedWhenSomebodyAnswers(t *testing.T) {
	for name, answer := range map[string]headgate.Answer{
		"granted": {Allowed: true}, "denied": {RetryAfter: time.Hour, Reason: headgate.ReasonHealth}} {
		t.Run(name, func(t *testing.T) {
			h := safely(t, headgate.Fail())
			h.passesUntil(2 * time.Second)
			h.admits(1, 1)
			h.fake.Handle(func(headgate.Request) (headgate.Answer, error) { return answer, nil })
			h.fake.SetDown(false)
			for ; len(h.returned()) == 0; h.passes(100 * time.Millisecond) {
				h.asks(1)
			}
			if back := h.returned()[0].LeaseUse; back.SafeSpent < 1 || h.since() > 5*time.Second {
				t.Errorf("it returns %+v at %v", back, h.since())
			}
		})
	}
}

func TestAHolderMaySayThatItWantsNoSafeRate(t *testing.T) {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{SafeTime: -1})
	h.waits(1)
	wantEqual(t, *h.checks()[0].Lease, headgate.LeaseTerms{Least: 1, Time: time.Second})
	_, err := h.client.Lease(headgate.LeaseOptions{SafeTime: 61 * time.Second})
	wantCode(t, err, codes.InvalidArgument)
}
