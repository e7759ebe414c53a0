package headgate

import (
	"context"
	"time"
)

// Clock is how the client tells the time and lets it pass, so that tests need not wait: package
// headgatetest has one whose time is virtual. Implementations are safe for use by several
// goroutines.
type Clock interface {
	Now() time.Time
	// Sleep returns when the time has passed, or with the context's error as soon as that is done.
	Sleep(ctx context.Context, duration time.Duration) error
}

// SystemClock is the real time, which a client uses unless Options.Clock is another.
type SystemClock struct{}

// Now is time.Now.
func (SystemClock) Now() time.Time { return time.Now() }

// Sleep waits for a timer.
func (SystemClock) Sleep(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
