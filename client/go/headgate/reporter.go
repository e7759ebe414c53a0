package headgate

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
)

const (
	reportWindow      = 50 * time.Millisecond // in which a report waits for company
	reportTimeout     = time.Second
	firstReportPause  = 50 * time.Millisecond
	longestPauseAtEnd = 200 * time.Millisecond // while being stopped

	// A call that comes a little over a second after another looks into the token's file again.
	newTokenPause = 1100 * time.Millisecond
	maxRefused    = 3 // after so many in a row no other token is hoped for
)

// ReportStats counts reports.
type ReportStats struct {
	Pending   uint64 // queued or being sent
	Delivered uint64 // taken by the server, settled before included
	Refused   uint64 // the server knows no such permit, or takes no such cost or busy time
	// Lost: their call failed, with another error than those of a server that cannot be reached or
	// is overloaded. Such are a proxy's errors, PERMISSION_DENIED, and UNAUTHENTICATED three times.
	Failed  uint64
	Dropped uint64 // lost: the queue was full, or the client was closed
	// Of those delivered: a budget was not charged all of it, since it was too far above what was
	// expected (max_overrun). Mostly a mistake of units.
	Overrun uint64
	// Likewise: a budget stays charged what was predicted (ReportResult.Unsettled).
	Unsettled uint64
}

// reporter sends reports in the background, in batches, and loses none without counting it.
//
// A report waits at most 50 ms for company, then goes out with up to 999 others, in the order in
// which they came. A batch that the server could not be given is tried again, with growing pauses
// of up to 2 s, until it is taken or time is up: reporting twice is harmless. One whose sender the
// server does not know is tried twice more, each time late enough for another token to be found. A
// call that fails otherwise loses its batch. A report whose measured busy time the server does not
// take goes once more, without it. When the queue is full, further reports are dropped.
//
// Safe for use by several goroutines; has one of its own until it is stopped.
type reporter struct {
	transport Transport
	maxQueued int
	jitter    *jitter
	newToken  time.Duration // after so long another token may be found
	refused   int           // UNAUTHENTICATED in a row; for the reporter's own goroutine alone

	wake     chan struct{}   // the reporter's goroutine looks again at what it waits for
	abandon  context.Context // time is up: even calls in progress end
	giveUp   context.CancelFunc
	finished chan struct{} // the goroutine has ended

	mu       sync.Mutex     // guards what follows
	queue    []PermitReport // those that are being sent are still in it
	added    uint64         // to the queue, ever
	done     uint64         // removed from its front, ever
	progress chan struct{}  // closed, and replaced, whenever done has grown
	flushTo  uint64         // send without waiting for company while done is below
	stopping bool
	stats    ReportStats // Pending aside
}

func newReporter(transport Transport, maxQueued int, jitter *jitter) *reporter {
	r := &reporter{transport: transport, maxQueued: maxQueued, jitter: jitter, newToken: newTokenPause,
		wake: make(chan struct{}, 1), finished: make(chan struct{}), progress: make(chan struct{})}
	r.abandon, r.giveUp = context.WithCancel(context.Background())
	go r.run()
	return r
}

// add never blocks for longer than a lock.
func (r *reporter) add(report PermitReport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopping || len(r.queue) >= r.maxQueued {
		r.stats.Dropped++
		return
	}
	r.queue = append(r.queue, report)
	r.added++
	// The goroutine sleeps through a window that has begun, unless the batch is full.
	if len(r.queue) == 1 || len(r.queue) == MaxReports {
		r.rouse()
	}
}

func (r *reporter) flush(ctx context.Context) error {
	r.mu.Lock()
	target := r.added
	r.flushTo = max(r.flushTo, target)
	r.rouse()
	r.mu.Unlock()
	return r.awaitDone(ctx, target)
}

// stop sends what is queued, for at most this long, and ends; what remains is dropped, and so is
// what is added later.
func (r *reporter) stop(timeout time.Duration) error {
	r.mu.Lock()
	r.stopping = true
	target := r.added
	r.rouse()
	r.mu.Unlock()
	inTime, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	_ = r.awaitDone(inTime, target) // what is left is counted below
	r.giveUp()
	<-r.finished

	r.mu.Lock()
	defer r.mu.Unlock()
	left := len(r.queue)
	r.stats.Dropped += uint64(left)
	r.queue, r.done = nil, r.added
	r.tellProgress()
	if left > 0 {
		return fmt.Errorf("headgate: %d reports could not be delivered within %v", left, timeout)
	}
	return nil
}

func (r *reporter) statistics() ReportStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	stats := r.stats
	stats.Pending = uint64(len(r.queue))
	return stats
}

func (r *reporter) rouse() {
	select {
	case r.wake <- struct{}{}:
	default: // it is about to look
	}
}

// With the lock.
func (r *reporter) tellProgress() {
	close(r.progress)
	r.progress = make(chan struct{})
}

func (r *reporter) awaitDone(ctx context.Context, target uint64) error {
	for {
		r.mu.Lock()
		done, progress := r.done >= target, r.progress
		r.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// await returns when the condition holds, which is asked with the lock, when the time is over, or
// when all is abandoned.
func (r *reporter) await(limit time.Duration, condition func() bool) {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	for {
		r.mu.Lock()
		holds := condition()
		r.mu.Unlock()
		if holds {
			return
		}
		select {
		case <-r.wake:
		case <-timer.C:
			return
		case <-r.abandon.Done():
			return
		}
	}
}

func (r *reporter) run() {
	defer close(r.finished)
	for failures := 0; r.abandon.Err() == nil; {
		r.await(Forever, func() bool { return r.stopping || len(r.queue) > 0 })
		r.await(reportWindow, func() bool {
			return r.stopping || r.done < r.flushTo || len(r.queue) >= MaxReports
		})
		batch := r.batch()
		if len(batch) == 0 {
			return
		}
		if missed := r.send(batch); missed != nil {
			r.pause(failures, missed)
			failures++
		} else {
			failures = 0
		}
	}
}

func (r *reporter) batch() []PermitReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]PermitReport(nil), r.queue[:min(len(r.queue), MaxReports)]...)
}

// send is one attempt to send the head of the queue. It returns why it has to be repeated; nil: it
// need not be.
func (r *reporter) send(batch []PermitReport) *Error {
	results, err := r.transport.Report(r.abandon, batch, reportTimeout)
	told := errorOf(err)
	if told != nil && (r.abandon.Err() != nil || r.mayRepeat(told.Code)) {
		return told
	}
	r.refused = 0
	r.mu.Lock()
	defer r.mu.Unlock()
	again := r.count(batch, results)
	r.queue = append(again, r.queue[len(batch):]...)
	r.done += uint64(len(batch) - len(again))
	r.tellProgress()
	return nil
}

// mayRepeat tells whether the server could not be given the batch now, as opposed to not wanting it.
func (r *reporter) mayRepeat(code codes.Code) bool {
	switch code {
	case codes.Unauthenticated:
		r.refused++
		return r.refused < maxRefused
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted:
		return true
	}
	return false
}

// count counts what came of a batch whose call has ended. It returns what is to be sent once more.
func (r *reporter) count(batch []PermitReport, results []Reported) []PermitReport {
	var again []PermitReport
	answered := min(len(results), len(batch))
	for i, result := range results[:answered] {
		if next := r.countOne(batch[i], result); next != nil {
			again = append(again, *next)
		}
	}
	r.stats.Failed += uint64(len(batch) - answered)
	return again
}

// countOne counts what came of one report. It returns what is to be sent instead: without a busy time
// that the server does not take, and of a lease that it does not know what became of its pieces.
func (r *reporter) countOne(report PermitReport, result Reported) *PermitReport {
	if result.Err == nil {
		r.stats.Delivered++
		if len(result.Result.Overruns) > 0 {
			r.stats.Overrun++
		}
		if len(result.Result.Unsettled) > 0 {
			r.stats.Unsettled++
		}
		return nil
	}
	code := errorOf(result.Err).Code
	if code == codes.InvalidArgument && report.Measured {
		report.BusyTime, report.Measured = nil, false
		return &report
	}
	r.stats.Refused++
	if code == codes.NotFound {
		return countsAlone(report)
	}
	return nil
}

// countsAlone is what a server counts that does not know the lease, such as one that was started anew. It
// has the number of the report, and is counted once whatever is repeated.
func countsAlone(report PermitReport) *PermitReport {
	use := report.LeaseUse
	if use == nil || report.PermitID == 0 || len(use.Counts) == 0 {
		return nil
	}
	return &PermitReport{LeaseUse: &LeaseUse{Counts: use.Counts, Identity: use.Identity, Target: use.Target, ID: use.ID}}
}

// returned counts a report that went with a Check, whose result this is. It goes once more where nobody
// decided for its target just then.
func (r *reporter) returned(report PermitReport, result Reported) {
	if result.Err != nil && errorOf(result.Err).Code == codes.Unavailable {
		r.add(report)
		return
	}
	r.mu.Lock()
	again := r.countOne(report, result)
	r.mu.Unlock()
	if again != nil {
		r.add(*again)
	}
}

func (r *reporter) pause(failures int, why *Error) {
	r.mu.Lock()
	atEnd := r.stopping
	r.mu.Unlock()
	longest := longestPause
	if atEnd {
		longest = longestPauseAtEnd
	}
	pause := r.jitter.backoff(failures, firstReportPause, longest)
	if why.Code == codes.Unauthenticated {
		pause = r.newToken
	}
	r.await(pause, func() bool { return r.stopping != atEnd })
}
