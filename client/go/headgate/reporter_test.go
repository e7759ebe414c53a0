package headgate

import (
	"context"
	"reflect"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
)

// gate is a server for reports: it holds calls back until it is opened, and remembers them.
type gate struct {
	called chan struct{} // one for each call
	open   chan struct{}

	mu       sync.Mutex // guards what follows
	failures []codes.Code
	result   Reported
	leaveOut int
	batches  [][]PermitReport
}

func newGate() *gate {
	return &gate{called: make(chan struct{}, 1000), open: make(chan struct{}),
		result: Reported{Result: ReportResult{Outcome: OutcomeSettled}}}
}

func (*gate) Check(context.Context, Request, time.Duration) (Answer, error) {
	return Answer{}, &Error{Code: codes.Unimplemented, Message: "for reports only"}
}

func (g *gate) Report(ctx context.Context, reports []PermitReport, _ time.Duration) ([]Reported, error) {
	g.called <- struct{}{}
	select {
	case <-g.open:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.failures) > 0 {
		code := g.failures[0]
		g.failures = g.failures[1:]
		return nil, &Error{Code: code, Message: "as the test wants it"}
	}
	g.batches = append(g.batches, reports)
	results := make([]Reported, len(reports)-g.leaveOut)
	for i := range results {
		results[i] = g.result
	}
	return results, nil
}

func (g *gate) failNext(codes ...codes.Code) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failures = codes
}

func (g *gate) reports() (all []PermitReport, sizes []int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, batch := range g.batches {
		sizes = append(sizes, len(batch))
		all = append(all, batch...)
	}
	return all, sizes
}

func newTestReporter(t *testing.T, g *gate) *reporter {
	r := newReporter(g, 5000, newJitter(1))
	r.newToken = time.Millisecond
	t.Cleanup(func() { _ = r.stop(0) }) // what a test has left is its own matter
	return r
}

func addMany(r *reporter, from, to uint64) {
	for permit := from; permit < to; permit++ {
		r.add(PermitReport{PermitID: permit})
	}
}

func mustFlush(t *testing.T, r *reporter) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := r.flush(ctx); err != nil {
		t.Fatal(err)
	}
}

func wantStats(t *testing.T, r *reporter, want ReportStats) {
	t.Helper()
	if stats := r.statistics(); stats != want {
		t.Errorf("counted %+v, want %+v", stats, want)
	}
}

func TestReporterSendsBatchesOfUpToAThousandInOrder(t *testing.T) {
	g := newGate()
	r := newTestReporter(t, g)
	addMany(r, 0, 1)
	<-g.called // the first is on its way; the others gather meanwhile
	addMany(r, 1, 2501)
	close(g.open)
	mustFlush(t, r)
	reports, sizes := g.reports()
	if want := []int{1, 1000, 1000, 500}; !reflect.DeepEqual(sizes, want) {
		t.Errorf("batches of %v, want %v", sizes, want)
	}
	for i, report := range reports {
		if report.PermitID != uint64(i) {
			t.Fatalf("permit %d came in place %d", report.PermitID, i)
		}
	}
	wantStats(t, r, ReportStats{Delivered: 2501})
}

func TestReporterSendsByItselfSoonAfter(t *testing.T) {
	g := newGate()
	close(g.open)
	r := newTestReporter(t, g)
	addMany(r, 0, 3)
	<-g.called
}

func TestReporterSendsAMeasuredBusyTimeThatTheServerDoesNotTakeOnceMoreWithoutIt(t *testing.T) {
	g := newGate()
	g.result.Err = &Error{Code: codes.InvalidArgument, Message: "busy_time: is more than 64 times the life"}
	r := newTestReporter(t, g)
	busy := 2 * time.Hour
	r.add(PermitReport{PermitID: 1, ActualCost: Cost(5), BusyTime: &busy, Measured: true})
	r.add(PermitReport{PermitID: 2, BusyTime: &busy})
	close(g.open)
	mustFlush(t, r)
	reports, _ := g.reports()
	want := []PermitReport{{PermitID: 1, ActualCost: Cost(5), BusyTime: &busy, Measured: true},
		{PermitID: 2, BusyTime: &busy}, {PermitID: 1, ActualCost: Cost(5)}}
	if !reflect.DeepEqual(reports, want) {
		t.Errorf("sent %+v", reports)
	}
	wantStats(t, r, ReportStats{Refused: 2}) // this server takes none
}

func TestReporterRepeatsABatchUntilTheServerTakesIt(t *testing.T) {
	for _, code := range []codes.Code{codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted} {
		g := newGate()
		g.failNext(code, code)
		close(g.open)
		r := newTestReporter(t, g)
		addMany(r, 0, 3)
		mustFlush(t, r)
		wantStats(t, r, ReportStats{Delivered: 3})
	}
}

func TestReporterCountsApartWhatIsLostWithItsCall(t *testing.T) {
	g := newGate()
	close(g.open)
	r := newTestReporter(t, g)
	for _, code := range []codes.Code{codes.PermissionDenied, codes.Internal, codes.Unknown} {
		g.failNext(code)
		addMany(r, 0, 2)
		mustFlush(t, r)
	}
	wantStats(t, r, ReportStats{Failed: 6})
}

func TestReporterCountsApartWhatTheServerDoesNotAnswer(t *testing.T) {
	g := newGate()
	g.leaveOut = 1
	close(g.open)
	r := newTestReporter(t, g)
	addMany(r, 0, 3)
	mustFlush(t, r)
	wantStats(t, r, ReportStats{Delivered: 2, Failed: 1})
}

func TestReporterRepeatsABatchTwiceForAnotherToken(t *testing.T) {
	g := newGate()
	close(g.open)
	r := newTestReporter(t, g)
	refused := codes.Unauthenticated
	for _, failures := range [][]codes.Code{{refused}, {refused, refused}} {
		g.failNext(failures...)
		addMany(r, 0, 3)
		mustFlush(t, r)
	}
	wantStats(t, r, ReportStats{Delivered: 6})
	g.failNext(refused, refused, refused)
	addMany(r, 0, 2)
	mustFlush(t, r)
	wantStats(t, r, ReportStats{Delivered: 6, Failed: 2})
}

func TestReporterLeavesTimeForAnotherToken(t *testing.T) {
	r := newReporter(newGate(), 1, newJitter(1))
	defer r.stop(0)
	if r.newToken <= betweenLooks {
		t.Errorf("it asks again after %v, and files are looked at every %v", r.newToken, betweenLooks)
	}
}

func TestReporterCountsWhatAFullQueueDrops(t *testing.T) {
	g := newGate()
	r := newTestReporter(t, g)
	addMany(r, 0, 5003)
	wantStats(t, r, ReportStats{Pending: 5000, Dropped: 3})
	close(g.open)
	mustFlush(t, r)
	wantStats(t, r, ReportStats{Delivered: 5000, Dropped: 3})
}

func TestFlushEndsWithItsContext(t *testing.T) {
	g := newGate()
	r := newTestReporter(t, g)
	addMany(r, 0, 1)
	done, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.flush(done); err != context.Canceled {
		t.Errorf("it ended with %v", err)
	}
	close(g.open)
	mustFlush(t, r)
	if err := r.flush(done); err != nil {
		t.Errorf("of nothing it ended with %v", err)
	}
}

func TestStopSendsWhatIsQueued(t *testing.T) {
	g := newGate()
	g.failNext(codes.Unavailable, codes.Unavailable, codes.Unavailable)
	close(g.open)
	r := newTestReporter(t, g)
	addMany(r, 0, 2500)
	if err := r.stop(time.Minute); err != nil {
		t.Error(err)
	}
	wantStats(t, r, ReportStats{Delivered: 2500})
	addMany(r, 0, 2)
	wantStats(t, r, ReportStats{Delivered: 2500, Dropped: 2})
}

func TestStopEndsInTimeThoughTheServerHangs(t *testing.T) {
	g := newGate()
	r := newTestReporter(t, g)
	addMany(r, 0, 7)
	<-g.called
	if err := r.stop(time.Millisecond); err == nil {
		t.Error("it does not say that reports were lost")
	}
	wantStats(t, r, ReportStats{Dropped: 7})
	mustFlush(t, r) // nobody waits for what is lost
}

func TestReporterIsSharedByGoroutinesWithoutLosingAReport(t *testing.T) {
	g := newGate()
	close(g.open)
	r := newTestReporter(t, g)
	var all sync.WaitGroup
	for i := uint64(0); i < 4; i++ {
		all.Add(1)
		go func(i uint64) {
			defer all.Done()
			addMany(r, 1000*i, 1000*(i+1))
		}(i)
	}
	all.Wait()
	if err := r.stop(time.Minute); err != nil {
		t.Error(err)
	}
	wantStats(t, r, ReportStats{Delivered: 4000})
}
