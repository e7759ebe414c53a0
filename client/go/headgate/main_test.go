package headgate

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// jobOfTest is set where a test has begun this program anew as a process that it does something to.
const jobOfTest = "HEADGATE_TEST_JOB"

var jobsOfTests = map[string]func(){}

// No test may leave a goroutine behind: what a client has begun ends with Close.
func TestMain(m *testing.M) {
	if job, ok := jobsOfTests[os.Getenv(jobOfTest)]; ok {
		job()
		return
	}
	goleak.VerifyTestMain(m)
}
