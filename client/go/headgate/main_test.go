package headgate

import (
	"testing"

	"go.uber.org/goleak"
)

// No test may leave a goroutine behind: what a client has begun ends with Close.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
