package headgate_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/headgate/headgate/client/go/headgate"
	"github.com/headgate/headgate/client/go/headgate/headgatetest"
)

// holder is a lease of a fake's.
type holder struct {
	*headgate.Lease
	t      *testing.T
	fake   *headgatetest.Fake
	client *headgate.Client
}

func newHolder(t *testing.T, policy headgate.OnUnreachable, options headgate.LeaseOptions) *holder {
	t.Helper()
	fake := headgatetest.New()
	client := fake.NewClient(t, policy, self)
	lease, err := client.Lease(options)
	if err != nil {
		t.Fatal(err)
	}
	return &holder{Lease: lease, t: t, fake: fake, client: client}
}

// granted is one whose every lease is of this, and which has spent 1 of the first.
func granted(t *testing.T, grant headgate.LeaseGrant) *holder {
	t.Helper()
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{})
	h.grants(grant)
	h.waits(1)
	return h
}

func (h *holder) grants(grant headgate.LeaseGrant) {
	h.fake.Handle(func(headgate.Request) (headgate.Answer, error) {
		return headgate.Answer{Allowed: true, Lease: &grant}, nil
	})
}

func (h *holder) waits(cost float64) {
	h.t.Helper()
	if err := h.Wait(ctx, cost, headgate.Forever); err != nil {
		h.t.Fatal(err)
	}
	h.AwaitAsked()
}

// asks is one piece, and the end of what that has begun.
func (h *holder) asks(cost float64) headgate.Answer {
	h.t.Helper()
	answer, err := h.Admit(cost)
	if err != nil {
		h.t.Fatal(err)
	}
	h.AwaitAsked()
	return answer
}

// admits is so many pieces in a row.
func (h *holder) admits(pieces int, cost float64) {
	h.t.Helper()
	for i := 0; i < pieces; i++ {
		if answer := h.asks(cost); !answer.Allowed {
			h.t.Fatalf("piece %d is refused: %+v", i+1, answer)
		}
	}
}

func (h *holder) refuses(cost float64, reason headgate.Reason, retryAfter time.Duration) headgate.Answer {
	h.t.Helper()
	answer := h.asks(cost)
	if answer.Allowed || answer.Reason != reason || answer.RetryAfter != retryAfter {
		h.t.Errorf("a piece of %v is answered %+v, want %v for %v", cost, answer, reason, retryAfter)
	}
	return answer
}

// passes lets so much time go by: in small steps while a lease may be held, so that what is asked for
// comes at its time, and does not find that much more has passed meanwhile.
func (h *holder) passes(span time.Duration) {
	for passed := time.Duration(0); passed < span; {
		step := min(span-passed, 50*time.Millisecond)
		if passed >= 5*time.Second {
			step = span - passed
		}
		h.fake.Clock().Advance(step)
		h.AwaitAsked()
		passed += step
	}
}

func (h *holder) checks() []headgate.Request { return h.fake.Checks() }

func (h *holder) wantChecks(want int) {
	h.t.Helper()
	if got := len(h.checks()); got != want {
		h.t.Errorf("it has asked %d times, want %d", got, want)
	}
}

func (h *holder) lastCheck() headgate.Request {
	h.t.Helper()
	checks := h.checks()
	if len(checks) == 0 {
		h.t.Fatal("it has asked for nothing")
	}
	return checks[len(checks)-1]
}

func (h *holder) closes() {
	h.t.Helper()
	if err := h.Close(ctx); err != nil {
		h.t.Fatal(err)
	}
}

// returned is what came back so far.
func (h *holder) returned() []headgate.PermitReport {
	h.t.Helper()
	flush(h.t, h.client)
	return h.fake.Reports()
}

// told is how many pieces the server was told of, by what became of them.
func (h *holder) told() map[headgate.PieceCause]int64 {
	h.t.Helper()
	sums := map[headgate.PieceCause]int64{}
	for _, report := range h.returned() {
		for _, count := range report.LeaseUse.Counts {
			sums[count.PieceCause] += count.Pieces
		}
	}
	return sums
}

var (
	wasAllowed = headgate.PieceCause{Allowed: true}
	hadNoRoom  = headgate.PieceCause{Reason: headgate.ReasonCapacity}
)

// awaitWaiters returns when so many calls of Wait do.
func awaitWaiters(t *testing.T, h *holder, want int) {
	t.Helper()
	until(t, func() bool { return h.Waiting() == want })
}

// until looks again and again; generously, since a busy machine must not make a test fail.
func until(t *testing.T, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); runtime.Gosched() {
		if time.Since(began) > time.Minute {
			t.Fatal("it does not come about")
		}
	}
}
