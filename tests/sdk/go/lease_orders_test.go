package sdk_test

import (
	"testing"
	"time"

	"github.com/headgate/headgate/client/go/headgate"
)

// It takes milliseconds, and has ten seconds: far from what a busy machine adds.
func TestAnOrderReachesWhoHoldsALeaseLongBeforeItsEnd(t *testing.T) {
	t.Parallel()
	h := newHolder(t, rowsPerSecond, clientOptions{}, headgate.LeaseOptions{Piece: 1, Time: 10 * time.Second})
	until(t, func() bool {
		answer, err := h.Admit(0.1)
		return err == nil && answer.Allowed
	})
	h.pauses()
	began := time.Now()
	until(t, func() bool {
		answer, err := h.Admit(0.1)
		return err == nil && answer.Reason == headgate.ReasonDenyRule
	})
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if held := h.Stats().Held; held != 0 {
		t.Errorf("%v is held still", held)
	}
	h.closes()
}
