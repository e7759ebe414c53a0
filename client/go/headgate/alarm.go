package headgate

import "time"

// AlarmClock is a Clock that can also call when a time has come, without letting it pass for that. A
// Lease wants it for what it does in the background: SystemClock and package headgatetest's are such.
// With any other Clock a Lease looks at it again after as much real time.
type AlarmClock interface {
	Clock
	// AfterFunc calls in a goroutine of its own, or in the one that moves the time, once so much has
	// passed. Stop has it not called, if it tells that it was in time.
	AfterFunc(after time.Duration, call func()) (stop func() bool)
}

// AfterFunc is time.AfterFunc.
func (SystemClock) AfterFunc(after time.Duration, call func()) func() bool {
	return time.AfterFunc(after, call).Stop
}

// A time that another Clock has stopped must not make anything spin.
const betweenLooksAtClock = time.Millisecond

func alarmAfter(clock Clock, after time.Duration, call func()) (stop func() bool) {
	if alarms, ok := clock.(AlarmClock); ok {
		return alarms.AfterFunc(after, call)
	}
	return SystemClock{}.AfterFunc(max(after, betweenLooksAtClock), call)
}
