package headgate

import "time"

// AwaitAsked returns when the lease asks for nothing any more.
func (l *Lease) AwaitAsked() {
	for {
		l.mu.Lock()
		isRunning, ended := l.isRunning, l.ended
		l.mu.Unlock()
		if !isRunning {
			return
		}
		<-ended
	}
}

// Waiting is how many calls of Wait there are that wait.
func (l *Lease) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiters)
}

// OrdersKnown is the state of the newest order.
func (l *Lease) OrdersKnown() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.orders.state
}

// IsWatching tells whether it waits for orders.
func (l *Lease) IsWatching() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.orders.cancel != nil
}

// WatchPause is how long it pauses after a call that failed so, or that told nothing.
func (l *Lease) WatchPause(err error, failures int) time.Duration { return l.watchPause(err, failures) }
