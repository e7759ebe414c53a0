package headgate

import (
	"fmt"
	"sync/atomic"
	"time"
)

// jitter spreads the pauses of clients over time, and tells their requests apart. It is the
// client's only randomness (SplitMix64): all of it follows from the seed alone, in the order of the
// calls. Safe for use by several goroutines.
type jitter struct {
	name     uint64
	state    atomic.Uint64
	requests atomic.Uint64
}

const jitterStep = 0x9e3779b97f4a7c15

func newJitter(seed uint64) *jitter {
	j := &jitter{name: mix(seed ^ 0xd1b54a32d192ed03)}
	j.state.Store(seed)
	return j
}

// unit is at least 0 and below 1.
func (j *jitter) unit() float64 { return float64(mix(j.state.Add(jitterStep))>>11) * 0x1p-53 }

// atLeast is never earlier than wait, and up to a quarter later.
func (j *jitter) atLeast(wait time.Duration) time.Duration {
	return time.Duration(float64(wait) * (1 + j.unit()/4))
}

// backoff is the pause after the given number of failures in a row, from 0: doubling up to longest,
// and anywhere in its upper half.
func (j *jitter) backoff(failures int, first, longest time.Duration) time.Duration {
	pause := min(first<<min(failures, 20), longest)
	return time.Duration(float64(pause) * (0.5 + j.unit()/2))
}

// requestID differs from all others of this client, and from those of clients with other seeds.
func (j *jitter) requestID() string {
	return fmt.Sprintf("%016x-%x", j.name, j.requests.Add(1)-1)
}

// number is one such as that of a LeaseUse: not zero, and likely no other's.
func (j *jitter) number() uint64 {
	return max(mix(j.name+jitterStep*j.requests.Add(1)), 1)
}

func mix(x uint64) uint64 {
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}
