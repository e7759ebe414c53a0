package headgatetest

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Clock is virtual time: it stands still until something waits, or a test advances it. Safe for use
// by several goroutines.
type Clock struct {
	mu     sync.Mutex // guards what follows
	now    time.Time
	waits  []time.Duration
	alarms []*alarm
}

type alarm struct {
	at   time.Time
	call func()
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
	c.waits = append(c.waits, duration)
	c.mu.Unlock()
	c.Advance(duration)
	return nil
}

// Advance makes it later, as work does that takes time. It returns when all calls of AfterFunc that
// are due by then have returned, each of which was made at its own time.
func (c *Clock) Advance(by time.Duration) {
	for {
		step, call := c.nextAlarm(by)
		by -= step
		if call == nil {
			return
		}
		call()
	}
}

// AfterFunc calls once the time has been made so much later, by whoever makes it so. It does not
// make it later itself.
func (c *Clock) AfterFunc(after time.Duration, call func()) (stop func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	made := &alarm{at: c.now.Add(after), call: call}
	c.alarms = append(c.alarms, made)
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.remove(made)
	}
}

// nextAlarm makes it as late as the first alarm that is due within this time, which is then off; where
// there is none, by all of it.
func (c *Clock) nextAlarm(within time.Duration) (step time.Duration, call func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var first *alarm
	for _, each := range c.alarms {
		if first == nil || each.at.Before(first.at) {
			first = each
		}
	}
	if first == nil || first.at.Sub(c.now) > within {
		c.now = c.now.Add(within)
		return within, nil
	}
	step = max(first.at.Sub(c.now), 0)
	c.now = c.now.Add(step)
	c.remove(first)
	return step, first.call
}

// With the lock.
func (c *Clock) remove(alarm *alarm) bool {
	at := slices.Index(c.alarms, alarm)
	if at < 0 {
		return false
	}
	c.alarms = slices.Delete(c.alarms, at, at+1)
	return true
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
