package headgate

import (
	"sync"
	"time"
)

// Work is what one chunk of work really took: ActualCost, BusyTime, or both. Mostly nothing need be
// said.
type Work func(*PermitReport)

// ActualCost is what the work cost, in the unit of its estimate: rows where that was rows. Seconds
// are no cost, unless the estimate was in seconds. Without it the predicted cost stands.
func ActualCost(units float64) Work {
	return func(report *PermitReport) { report.ActualCost = &units }
}

// BusyTime is how long the database was busy with the work: longer than it took where it ran on
// several connections, shorter where some of the time was another system's.
func BusyTime(busy time.Duration) Work {
	return func(report *PermitReport) { report.BusyTime = &busy }
}

func newReport(permitID uint64, work []Work) (PermitReport, error) {
	report := PermitReport{PermitID: permitID}
	for _, say := range work {
		say(&report)
	}
	if report.ActualCost != nil {
		if err := validCost(*report.ActualCost, "actual_cost"); err != nil {
			return report, err
		}
	}
	if report.BusyTime != nil && *report.BusyTime < 0 {
		return report, invalid("busy_time: %v is below zero", *report.BusyTime)
	}
	return report, nil
}

// Permit is leave to do one chunk of work. It holds its place in budgets that limit concurrency
// until Done; the server takes that back after its permit_ttl.
//
// A Permit reports once. Safe for use by several goroutines, and after its client was closed: it is
// then not reported any more, only counted as dropped.
type Permit struct {
	client    *Client
	grantedAt time.Time
	answer    Answer

	mu      sync.Mutex
	settled bool
}

func newPermit(client *Client, answer Answer) *Permit {
	return &Permit{client: client, grantedAt: client.clock.Now(), answer: answer,
		settled: answer.PermitID == 0}
}

// Done reports the work, and only the first call does: so `defer permit.Done()` right after the
// permit is granted reports whatever becomes of the work. Without a cost the predicted one stands;
// without a busy time it is the time since the permit was granted. That is right for every budget.
//
//	permit.Done()
//	permit.Done(headgate.ActualCost(rows))
//	permit.Done(headgate.ActualCost(rows), headgate.BusyTime(4*took)) // on four connections
//
// Reporting neither blocks nor fails for want of a connection: see Client.Report. An error says that
// the cost is not from 0 to MaxCost, or the busy time below zero: the permit is then as it was.
func (p *Permit) Done(work ...Work) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	report, err := newReport(p.answer.PermitID, work)
	if err != nil || p.settled {
		return err
	}
	if report.BusyTime == nil {
		elapsed := p.Elapsed()
		report.BusyTime, report.Measured = &elapsed, true
	}
	p.client.reporter.add(report)
	p.settled = true
	return nil
}

// Dismiss reports nothing, now or later: what was predicted stays charged.
func (p *Permit) Dismiss() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.settled = true
}

// Answer is the answer that granted it; the advised size of the next chunk is there.
func (p *Permit) Answer() *Answer { return &p.answer }

// Local tells whether the client itself gave it, because Headgate was unreachable. There is nothing
// to report then.
func (p *Permit) Local() bool { return p.answer.Local }

// Elapsed is the time since it was granted.
func (p *Permit) Elapsed() time.Duration {
	return max(p.client.clock.Now().Sub(p.grantedAt), 0)
}

// settle is Done of what the permit has measured itself, which is never refused.
func (p *Permit) settle() { _ = p.Done() }
