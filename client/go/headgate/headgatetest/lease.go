package headgatetest

import (
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
func (f *Fake) fillLease(request headgate.Request, answer *headgate.Answer, returned *headgate.Reported) {
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
	answer.Lease = &grant
}

func (f *Fake) knowsNo(lease *headgate.LeaseTerms) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return lease == nil || f.noLeases
}
