package headgatetest

import (
	"context"
	"time"

	"github.com/headgate/headgate/client/go/headgate"
)

// Of a lease that does not say for how long it is wanted.
const usualLeaseTime = time.Second

// takeBack settles the lease that comes back with a Check for the next one.
func (f *Fake) takeBack(request headgate.Request) *headgate.Reported {
	if f.knowsNo(request.Lease) || request.Lease.Returned == nil {
		return nil
	}
	return &f.settle([]headgate.PermitReport{*request.Lease.Returned})[0]
}

// fillLease says what the Check was granted, where the answer has not said it.
// It was decided when this was the state.
func (f *Fake) fillLease(request headgate.Request, answer *headgate.Answer, returned *headgate.Reported, state uint64) {
	if f.knowsNo(request.Lease) {
		answer.Lease = nil
		return
	}
	var grant headgate.LeaseGrant
	if answer.Lease != nil {
		grant = *answer.Lease
	} else if answer.Allowed {
		grant = headgate.LeaseGrant{Amount: *request.EstimatedCost, Time: request.Lease.Time}
	}
	if answer.Allowed && grant.Time == 0 {
		grant.Time = usualLeaseTime
	}
	grant.Returned = returned
	if answer.Allowed && grant.State == 0 {
		grant.State = state
	}
	answer.Lease = &grant
}

// TakeBackLeases is an order that reaches those who hold leases: what was granted before goes back.
func (f *Fake) TakeBackLeases() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.state++
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *Fake) stateNow() (state uint64, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.state, f.changed
}

// WatchLease waits in real time: an order comes when the test gives it.
func (t *transport) WatchLease(ctx context.Context, watch headgate.LeaseWatch, _ time.Duration) (uint64, error) {
	for {
		if err := t.fake.reached(); err != nil {
			return 0, err
		}
		if t.fake.knowsNo(&headgate.LeaseTerms{}) {
			return 0, nil
		}
		state, changed := t.fake.stateNow()
		if state != watch.State {
			return state, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

func (f *Fake) knowsNo(lease *headgate.LeaseTerms) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return lease == nil || f.noLeases
}
