// Package headgatetest is Headgate inside a test, without sockets or waiting.
//
//	func TestBackfillWaitsWhileTheReplicaLags(t *testing.T) {
//		fake := headgatetest.New()
//		client := fake.NewClient(t, headgate.Fail(), headgate.Options{})
//		fake.Deny(30*time.Second, headgate.ReasonHealth) // the first Check; the others are allowed
//		if err := Backfill(ctx, client); err != nil {
//			t.Fatal(err)
//		}
//		client.Flush(ctx)
//		if left := fake.Outstanding(); len(left) > 0 {
//			t.Errorf("permits %v were not reported", left)
//		}
//		if waited := fake.Clock().Waited(); waited < 30*time.Second {
//			t.Errorf("it waited for %v", waited)
//		}
//	}
package headgatetest

import (
	"sort"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/headgate/headgate/client/go/headgate"
)

// Fake allows every Check unless it is told otherwise, hands out permits, and remembers what it was
// asked and told. Clients made by it tell the time by its Clock, which is virtual: a wait is over at
// once, and moves the time.
//
// As the real one it lets a Check with MaxWait wait in its line: one that is denied for a time waits
// until that is over or its own time is up, and then gets what comes next. CheckOrWait waits so. What
// is left of a scripted denial when a Check's time is up is for the next Check.
//
// A Check for a lease is granted all of it, for as long as it asks, unless the answer has a
// LeaseGrant of its own; what it gives back is among the Reports. A Lease asks in the background even
// here: a test begins with Lease.Wait, which returns when there is an answer. Its time passes by the
// Clock: what is due when a lease is over is done when the Clock has passed that.
//
// Reports come in the background even here: call Client.Flush before looking at them.
//
// Safe for use by several goroutines.
type Fake struct {
	clock *Clock

	mu          sync.Mutex // guards what follows
	down        bool
	atOnce      bool
	noLeases    bool
	script      []decision
	handler     Handler
	checks      []headgate.Request
	reports     []headgate.PermitReport
	overruns    []headgate.Overrun
	unsettled   []string
	nextPermit  uint64
	outstanding map[uint64]bool
	state       uint64        // of what decides about leases
	changed     chan struct{} // closed when that changes
}

// Handler decides a Check. It may use the Fake.
type Handler func(headgate.Request) (headgate.Answer, error)

type decision struct {
	answer   headgate.Answer
	err      error
	scripted bool
}

// New makes one that allows everything.
func New() *Fake {
	return &Fake{clock: newClock(), nextPermit: 1, outstanding: map[uint64]bool{}, state: 1,
		changed: make(chan struct{}),
		handler: func(headgate.Request) (headgate.Answer, error) { return headgate.Answer{Allowed: true}, nil }}
}

// NewClient makes a client of this fake, on its clock unless the options have another. The test
// closes it at its end, and fails where there can be no such client.
func (f *Fake) NewClient(t testing.TB, onUnreachable headgate.OnUnreachable, options headgate.Options) *headgate.Client {
	t.Helper()
	if options.Clock == nil {
		options.Clock = f.clock
	}
	if options.Seed == 0 {
		options.Seed = 1
	}
	client, err := headgate.NewClientOver(f.Transport(options.Clock), onUnreachable, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() }) // says what it could not report, which a test may want
	return client
}

// Transport is a client's way to this fake. Whoever waits there does so by this clock.
func (f *Fake) Transport(clock headgate.Clock) headgate.Transport {
	return &transport{fake: f, clock: clock}
}

// Clock is the virtual time.
func (f *Fake) Clock() *Clock { return f.clock }

// Allow is what the next Check gets, after those that earlier calls of Allow, Deny, DenyForGood and
// Fail were for. A permit is added where it is missing.
func (f *Fake) Allow(answer headgate.Answer) {
	answer.Allowed = true
	f.next(decision{answer: answer})
}

// Deny has the next Check denied, for so long.
func (f *Fake) Deny(retryAfter time.Duration, reason headgate.Reason) {
	f.next(decision{answer: headgate.Answer{Reason: reason, RetryAfter: retryAfter,
		Message: "denied by the test's script"}})
}

// DenyForGood has the next Check denied in a way that waiting will not change.
func (f *Fake) DenyForGood(reason headgate.Reason) {
	f.next(decision{answer: headgate.Answer{Reason: reason, Message: "denied for good by the test's script"}})
}

// Fail has the next Check end with this error: a *headgate.Error, or one of gRPC's.
func (f *Fake) Fail(err error) { f.next(decision{err: err}) }

// Handle says what all others get; at first, each is allowed.
func (f *Fake) Handle(handler Handler) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handler = handler
}

// SetOverruns says what reports that settle are told from now on; at first, nothing.
func (f *Fake) SetOverruns(overruns ...headgate.Overrun) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.overruns = overruns
}

// SetUnsettled says which budgets reports that settle are told to have left as they were.
func (f *Fake) SetUnsettled(budgets ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unsettled = budgets
}

// SetDown says whether calls do not arrive. Those are UNAVAILABLE, and not remembered.
func (f *Fake) SetDown(down bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

// SetAnswerAtOnce makes it a server that knows no MaxWait and answers each Check at once, so that it
// is the client that waits.
func (f *Fake) SetAnswerAtOnce(atOnce bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.atOnce = atOnce
}

// SetWithoutLeases makes it a server from before leases, which takes a Check for one for any other.
func (f *Fake) SetWithoutLeases(without bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.noLeases = without
}

// Checks is what arrived, oldest first.
func (f *Fake) Checks() []headgate.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]headgate.Request(nil), f.checks...)
}

// Reports is what arrived, oldest first.
func (f *Fake) Reports() []headgate.PermitReport {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]headgate.PermitReport(nil), f.reports...)
}

// Outstanding is the permits that were given and not reported.
func (f *Fake) Outstanding() []uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	var permits []uint64
	for permit := range f.outstanding {
		permits = append(permits, permit)
	}
	sort.Slice(permits, func(i, j int) bool { return permits[i] < permits[j] })
	return permits
}

func (f *Fake) next(scripted decision) {
	scripted.scripted = true
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script = append(f.script, scripted)
}

// putBack keeps what is left of a scripted denial that nobody could wait for any longer.
func (f *Fake) putBack(denial decision) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.script = append([]decision{denial}, f.script...)
}

func (f *Fake) reached() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return &headgate.Error{Code: codes.Unavailable, Message: "the fake's network is down"}
	}
	return nil
}

func (f *Fake) remember(request headgate.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.checks = append(f.checks, request)
}

func (f *Fake) decide(request headgate.Request) decision {
	f.mu.Lock()
	handler := f.handler
	var decided decision
	if len(f.script) > 0 {
		decided, f.script = f.script[0], f.script[1:]
	}
	f.mu.Unlock()
	if !decided.scripted {
		// Without the lock, so that the handler may use the fake.
		decided.answer, decided.err = handler(request)
	}
	if decided.err != nil || !decided.answer.Allowed || request.ValidateOnly {
		return decided
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if decided.answer.PermitID == 0 {
		decided.answer.PermitID = f.nextPermit
		f.nextPermit++
	}
	f.outstanding[decided.answer.PermitID] = true
	return decided
}

func (f *Fake) settle(reports []headgate.PermitReport) []headgate.Reported {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reports = append(f.reports, reports...)
	results := make([]headgate.Reported, len(reports))
	for i, report := range reports {
		results[i].Result.Outcome = headgate.OutcomeAlreadySettled
		if report.PermitID == 0 && report.LeaseUse != nil { // it only counts
			results[i].Result.Outcome = headgate.OutcomeSettled
		}
		if f.outstanding[report.PermitID] {
			delete(f.outstanding, report.PermitID)
			results[i].Result = headgate.ReportResult{
				Outcome: headgate.OutcomeSettled, Overruns: f.overruns, Unsettled: f.unsettled}
		}
	}
	return results
}
