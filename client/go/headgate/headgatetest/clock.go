package headgatetest

import (
	"context"
	"sync"
	"time"
)

// Clock is virtual time: it stands still until something waits, or a test advances it. Safe for use
// by several goroutines.
type Clock struct {
	mu    sync.Mutex // guards what follows
	now   time.Time
	waits []time.Duration
}

func newClock() *Clock { return &Clock{now: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)} }

// Now is the virtual time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Sleep makes it as much later, at once, unless the context is done.
func (c *Clock) Sleep(ctx context.Context, duration time.Duration) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(duration)
	c.waits = append(c.waits, duration)
	return nil
}

// Advance makes it later, as work does that takes time.
func (c *Clock) Advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}

// Waits is all that was waited for, in order.
func (c *Clock) Waits() []time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]time.Duration(nil), c.waits...)
}

// Waited is the sum of Waits.
func (c *Clock) Waited() time.Duration {
	var sum time.Duration
	for _, wait := range c.Waits() {
		sum += wait
	}
	return sum
}
