package headgate

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	headgatev1 "github.com/headgate/headgate/client/go/headgate/v1"
)

const (
	// So long a server is to let one wait for an order.
	watchSlice = 30 * time.Second
	// Until a server is asked again that does not know the call, or refuses it.
	unknownWatchPause = 30 * time.Second
	firstWatchPause   = 50 * time.Millisecond
	longestWatchPause = 2 * time.Second
)

// LeaseWatch says whose leases an order may take back.
type LeaseWatch struct {
	Identity string
	Target   string
	Pattern  string
	Tags     map[string]string
	// The newest state that is known. Zero: none.
	State   uint64
	MaxWait time.Duration
}

// LeaseWatcher is what a Transport may be besides: one that hears of orders. Where it is none, leases
// end by their time alone.
type LeaseWatcher interface {
	// WatchLease waits until an order takes leases back, MaxWait at most, and returns the state of what
	// decides about them: what was granted in any other (LeaseGrant.State) is to be given back. Where
	// none is known it returns at once. Errors as of Check; Unimplemented: the server does not know.
	WatchLease(ctx context.Context, watch LeaseWatch, timeout time.Duration) (state uint64, err error)
}

// leaseOrders is what a Lease knows of orders that take back what it holds. With the lock.
type leaseOrders struct {
	state     uint64             // of the newest one
	overtakes bool               // it came while a Check was under way, which may have been decided before
	cancel    context.CancelFunc // ends the waiting for the next. Nil: nobody waits
	watches   sync.WaitGroup     // that have not ended; those who wait for them do so without the lock
}

// watchIfNeeded waits for orders while there is something to take back, or to be had.
func (l *Lease) watchIfNeeded() {
	watcher, isWatcher := l.client.transport.(LeaseWatcher)
	if !isWatcher {
		return
	}
	isNeeded := !l.closed && (l.current != nil || l.isRunning || len(l.waiters) > 0)
	switch {
	case isNeeded && l.orders.cancel == nil:
		ctx, cancel := context.WithCancel(context.Background())
		l.orders.cancel = cancel
		l.orders.watches.Add(1)
		go l.watch(ctx, watcher)
	case !isNeeded && l.orders.cancel != nil:
		l.orders.cancel()
		l.orders.cancel = nil
	}
}

// watch runs without the lock.
func (l *Lease) watch(ctx context.Context, watcher LeaseWatcher) {
	defer l.orders.watches.Done()
	watch := LeaseWatch{Identity: l.request.Identity, Target: l.request.Target, Pattern: l.request.Pattern,
		Tags: maps.Clone(l.request.Tags), MaxWait: watchSlice}
	l.mu.Lock()
	watch.State = l.orders.state
	l.mu.Unlock()
	for failures := 0; ctx.Err() == nil; {
		began := time.Now()
		state, err := watcher.WatchLease(ctx, watch, watchSlice+l.client.options.CheckDeadline)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && state == 0:
			err = &Error{Code: codes.Unimplemented, Message: "the server does not know of states"}
		case err == nil && state != watch.State:
			watch.State, failures = state, 0
			l.order(ctx, state)
			continue
		case err == nil && time.Since(began) >= watchSlice/2:
			failures = 0
			continue
		}
		// What is answered at once though nothing has changed would be asked all the time.
		pause := time.NewTimer(l.watchPause(err, failures))
		failures++
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
		}
	}
}

func (l *Lease) watchPause(err error, failures int) time.Duration {
	pause := l.client.jitter.backoff(failures, firstWatchPause, longestWatchPause)
	if err == nil {
		return pause
	}
	var told *Error
	if !errors.As(err, &told) {
		return pause
	}
	switch told.Code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted:
		return max(pause, told.RetryDelay)
	}
	return l.client.jitter.atLeast(unknownWatchPause)
}

// order is one that says in which state leases are granted now: what was granted in any other goes
// back at once, and what was denied may be had. Nothing, if the context is done.
func (l *Lease) order(ctx context.Context, state uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || ctx.Err() != nil {
		return
	}
	isFirst := l.orders.state == 0 // of which it is not known whether it has changed
	l.orders.state, l.orders.overtakes = state, l.cancel != nil
	l.takeBack()
	if !isFirst {
		l.denial = denial{}
		if l.failure.err == nil {
			l.pauseUntil = 0
		}
	}
	l.step(l.now())
}

// obeyOrders takes back what the answer to a Check brought that may have been decided before the newest
// order; what was asked for afterwards can only be newer. With the lock.
func (l *Lease) obeyOrders() {
	if l.orders.overtakes {
		l.orders.overtakes = false
		l.takeBack()
	}
}

// takeBack retires what was granted in another state than the newest order's, and has more asked for
// where any of it was used. With the lock.
func (l *Lease) takeBack() {
	isUsed := false
	if l.safe != nil && l.safe.state != l.orders.state {
		l.returnSafe()
	}
	held := []*grant{l.current, l.next}
	l.current, l.next = nil, nil
	var kept []*grant
	for _, each := range held {
		switch {
		case each == nil:
		case each.state == l.orders.state:
			kept = append(kept, each)
		default:
			isUsed = isUsed || each.pieces > 0
			each.safe.rate = 0 // somebody has just said that it is not to be used
			l.current = each
			l.dropCurrent()
		}
	}
	for _, each := range kept {
		if l.current == nil {
			l.current = each
		} else {
			l.next = each
		}
	}
	if isUsed && l.current == nil {
		l.want(l.usualPiece())
	}
}

// stopWatching ends the waiting for orders, and returns when it has ended. Without the lock.
func (l *Lease) stopWatching() {
	l.mu.Lock()
	if l.orders.cancel != nil {
		l.orders.cancel()
		l.orders.cancel = nil
	}
	l.mu.Unlock()
	l.orders.watches.Wait()
}

// WatchLease is one call, to whoever decides: it knows of gates, and of what it decides, before others
// do.
func (t *grpcTransport) WatchLease(ctx context.Context, watch LeaseWatch, timeout time.Duration) (state uint64, err error) {
	server := t.owners.readyFor(watch.Target)
	isOwner := server != nil
	if !isOwner {
		server = t.configured
	}
	connection, release, err := server.take(true)
	if err != nil {
		return 0, err
	}
	defer release()
	// A server that does not know what a watch is refuses validate_only with max_wait, and decides nothing.
	request := &headgatev1.CheckRequest{Identity: watch.Identity, Target: watch.Target, Pattern: watch.Pattern,
		Tags: watch.Tags, ValidateOnly: true, MaxWait: durationpb.New(watch.MaxWait),
		Lease: &headgatev1.LeaseTerms{Watch: &headgatev1.LeaseWatch{State: watch.State}}}
	err = call(ctx, connection, timeout, func(ctx context.Context, stub headgatev1.ThrottlerServiceClient) error {
		response, err := stub.Check(ctx, request)
		state = response.GetDecision().GetLease().GetState()
		return err
	})
	if isOwner && !isDecided(ctx, err) {
		t.owners.forget(server)
	}
	return state, err
}
