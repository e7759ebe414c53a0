package headgate

import (
	"context"
	"sync"
	"time"
)

// openLeases is the leases of a client that nobody has closed. Safe for use by several goroutines.
type openLeases struct {
	mu       sync.Mutex // guards what follows
	open     map[*Lease]bool
	isClosed bool
}

func (o *openLeases) add(lease *Lease) (*Lease, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isClosed {
		return nil, ErrClosed
	}
	if o.open == nil {
		o.open = map[*Lease]bool{}
	}
	o.open[lease] = true
	return lease, nil
}

func (o *openLeases) remove(lease *Lease) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.open, lease)
}

// close has all of them closed. Checks that are under way may take so long to end.
func (o *openLeases) close(timeout time.Duration) {
	o.mu.Lock()
	open := o.open
	o.open, o.isClosed = nil, true
	o.mu.Unlock()
	inTime, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	for lease := range open {
		lease.shut(inTime)
	}
}
