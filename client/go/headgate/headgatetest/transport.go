package headgatetest

import (
	"context"
	"time"

	"github.com/headgate/headgate/client/go/headgate"
)

// However soon a denial lets a Check come back: a handler's may be the same for ever.
const shortestStep = time.Millisecond

type transport struct {
	fake  *Fake
	clock headgate.Clock
}

func (t *transport) Check(ctx context.Context, request headgate.Request, _ time.Duration) (headgate.Answer, error) {
	if err := t.fake.reached(); err != nil {
		return headgate.Answer{}, err
	}
	t.fake.remember(request)
	returned := t.fake.takeBack(request)
	state, _ := t.fake.stateNow() // whatever is ordered meanwhile
	decided := t.fake.decide(request)
	if request.MaxWait > 0 && !t.fake.answersAtOnce() {
		decided = t.wait(ctx, request, decided)
	}
	if decided.err == nil {
		t.fake.fillLease(request, &decided.answer, returned, state)
	}
	return decided.answer, decided.err
}

func (t *transport) Report(_ context.Context, reports []headgate.PermitReport, _ time.Duration) ([]headgate.Reported, error) {
	if err := t.fake.reached(); err != nil {
		return nil, err
	}
	return t.fake.settle(reports), nil
}

// wait lasts until the denial is over and is decided again, until the time is up.
func (t *transport) wait(ctx context.Context, request headgate.Request, decided decision) decision {
	var waited time.Duration
	for decided.err == nil && !decided.answer.Allowed && decided.answer.RetryAfter > 0 && waited < request.MaxWait {
		deniedFor := max(decided.answer.RetryAfter, shortestStep)
		step := min(deniedFor, request.MaxWait-waited)
		if err := t.clock.Sleep(ctx, step); err != nil {
			return decision{err: err}
		}
		waited += step
		if err := t.fake.reached(); err != nil {
			return decision{err: err}
		}
		if step == deniedFor {
			decided = t.fake.decide(request)
			continue
		}
		decided.answer.RetryAfter = deniedFor - step
		if decided.scripted {
			t.fake.putBack(decided)
		}
	}
	decided.answer.Waited = waited
	return decided
}

func (f *Fake) answersAtOnce() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.atOnce
}
