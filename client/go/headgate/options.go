package headgate

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"google.golang.org/grpc"
)

// Options of a client. Zero is the default of each.
type Options struct {
	// Of requests that name none.
	Identity string
	Target   string
	// For one answer, retries included, beyond the time for which it may wait in the server: 250 ms.
	CheckDeadline time.Duration
	// Where CheckOrWait does not wait in the server, it asks again after this long at most, whatever
	// the answer says: meanwhile the database may have recovered, or the rules been changed. 10 s.
	LongestWait time.Duration
	// Once Headgate was unreachable, Proceed and FloorRate decide without asking for this long, so
	// that an outage does not cost each chunk a deadline: 1 s.
	OutagePause time.Duration
	// When so many reports wait to be sent, further ones are dropped: 65,536.
	MaxQueuedReports int
	// How long Close may take to send what is queued: 2 s.
	FlushTimeout time.Duration

	// Nil: plaintext.
	TLS *TLS
	// A file with a bearer token, sent with each call; only over TLS. Read again when it changes.
	TokenFile string
	// Further options of gRPC, after the client's own.
	DialOptions []grpc.DialOption

	// Nil: SystemClock.
	Clock Clock
	// Of request ids and jitter, for tests. Zero: drawn from the system, and different in each
	// process, as request ids have to be.
	Seed uint64
}

func (o *Options) complete() error {
	for _, each := range []struct {
		field        string
		value        *time.Duration
		defaultValue time.Duration
	}{
		{"check_deadline", &o.CheckDeadline, 250 * time.Millisecond},
		{"longest_wait", &o.LongestWait, 10 * time.Second},
		{"outage_pause", &o.OutagePause, time.Second},
		{"flush_timeout", &o.FlushTimeout, 2 * time.Second},
	} {
		if *each.value < 0 {
			return invalid("%s: %v is below zero", each.field, *each.value)
		}
		if *each.value == 0 {
			*each.value = each.defaultValue
		}
	}
	if o.MaxQueuedReports < 0 {
		return invalid("max_queued_reports: %d is below zero", o.MaxQueuedReports)
	}
	if o.MaxQueuedReports == 0 {
		o.MaxQueuedReports = 1 << 16
	}
	if o.Clock == nil {
		o.Clock = SystemClock{}
	}
	if o.Seed == 0 {
		var bytes [8]byte
		if _, err := rand.Read(bytes[:]); err != nil {
			return fmt.Errorf("headgate: the system has no randomness for request ids: %w", err)
		}
		o.Seed = binary.LittleEndian.Uint64(bytes[:])
	}
	return nil
}
