package sdk_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// twoServers is headgate-two-servers, which is told a line and answers with one. Safe for use by
// several goroutines.
type twoServers struct {
	address string

	mu   sync.Mutex // of one question at a time
	to   io.WriteCloser
	from *bufio.Reader
}

func startTwoServers(t *testing.T, folder string) *twoServers {
	t.Helper()
	process := exec.Command(program(t, "headgate-two-servers"), folder)
	process.Stderr = os.Stderr
	to, err := process.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = to.Close() // so it ends
		if err := process.Wait(); err != nil {
			t.Errorf("headgate-two-servers ended with %v", err)
		}
	})
	s := &twoServers{to: to, from: bufio.NewReader(from)}
	s.address = "127.0.0.1:" + s.line(t)
	return s
}

func (s *twoServers) do(t *testing.T, what string) string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, err := fmt.Fprintln(s.to, what); err != nil {
		t.Fatal(err)
	}
	return s.line(t)
}

func (s *twoServers) line(t *testing.T) string {
	t.Helper()
	line, err := s.from.ReadString('\n')
	if err != nil {
		t.Fatalf("headgate-two-servers says nothing: %v", err)
	}
	return strings.TrimSpace(line)
}
