package sdk_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/headgate/headgate/client/go/headgate"
	"github.com/headgate/headgate/client/go/headgate/headgatetest"
)

// world is what one scenario is played in: a folder, a server or a fake, and clients of it.
type world struct {
	t       *testing.T
	place   string // "fake" or "server"
	folder  string
	fake    *headgatetest.Fake
	server  *serverProcess
	servers *twoServers // nil but where the scenario has `servers: true`
	clients map[string]*headgate.Client
	leases  map[string]*headgate.Lease
	running map[string]*background
	shown   seen // that an earlier `seen` has told

	mu      sync.Mutex // guards what follows: a step may go on in the background
	results map[string]result
}

// background is a step that goes on while others follow.
type background struct {
	cancel context.CancelFunc
	ended  chan result // one from each worker
	count  int
}

// serverProcess is headgated on a free port of loopback, which it keeps.
type serverProcess struct {
	t       *testing.T
	folder  string
	flags   []string
	address string
	process *exec.Cmd
	log     bytes.Buffer // read only when it has ended
}

func program(t *testing.T, name string) string {
	t.Helper()
	bin := os.Getenv("HEADGATE_BIN")
	if bin == "" {
		t.Fatal("HEADGATE_BIN has to be the folder of headgated and headgate; ./dev go sets it")
	}
	return filepath.Join(bin, name)
}

func newWorld(t *testing.T, text written, place string) (*world, scenario) {
	t.Helper()
	w := &world{t: t, place: place, folder: t.TempDir(), clients: map[string]*headgate.Client{},
		leases:  map[string]*headgate.Lease{},
		running: map[string]*background{}, results: map[string]result{}}
	s, err := text.in(w.folder)
	if err != nil {
		t.Fatal(err)
	}
	w.prepareFiles(s)
	if place == "fake" {
		w.fake = headgatetest.New()
	} else if s.Servers {
		w.servers = startTwoServers(t, w.folder)
	} else {
		w.startServer(s)
	}
	for name, options := range s.Clients {
		w.addClient(name, options)
	}
	w.addClient("default", s.Client)
	return w, s
}

func (w *world) prepareFiles(s scenario) {
	w.t.Helper()
	if s.Certificates {
		made, err := exec.Command("bash", "../certificates.sh", w.folder).CombinedOutput()
		if err != nil {
			w.t.Fatalf("certificates.sh: %v: %s", err, made)
		}
	}
	for name, text := range s.Files {
		w.write(name, []byte(text))
	}
	for name, from := range s.Copies {
		w.write(name, w.read(from))
	}
}

func (w *world) read(name string) []byte {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.folder, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return text
}

// write renames, as an editor does, so that nobody sees half a file.
func (w *world) write(name string, text []byte) {
	w.t.Helper()
	draft := filepath.Join(w.folder, "draft")
	if err := os.WriteFile(draft, text, 0o600); err != nil {
		w.t.Fatal(err)
	}
	if err := os.Rename(draft, filepath.Join(w.folder, name)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) writeConfig(config map[string]any) {
	w.t.Helper()
	text, err := yaml.Marshal(config) // `{}` of none
	if err != nil {
		w.t.Fatal(err)
	}
	w.write("headgate.yaml", text)
}

func (w *world) startServer(s scenario) {
	w.t.Helper()
	w.writeConfig(s.Server)
	w.server = &serverProcess{t: w.t, folder: w.folder, address: "127.0.0.1:0"}
	if s.State {
		state := filepath.Join(w.folder, "state")
		if err := os.Mkdir(state, 0o700); err != nil {
			w.t.Fatal(err)
		}
		w.server.flags = []string{"--state-dir=" + state}
	}
	w.server.start()
	w.t.Cleanup(func() {
		if w.server.process != nil {
			w.server.end(syscall.SIGTERM)
		}
		if w.t.Failed() {
			w.t.Logf("the server's log:\n%s", w.server.log.String())
		}
	})
}

// start returns once it listens.
func (s *serverProcess) start() {
	s.t.Helper()
	portFile := filepath.Join(s.folder, "port")
	_ = os.Remove(portFile) // of an earlier start, if there was one
	s.process = exec.Command(program(s.t, "headgated"), append(s.flags, "--grpc-address="+s.address,
		"--http-address=off", "--port-file="+portFile, "--config="+filepath.Join(s.folder, "headgate.yaml"))...)
	s.process.Stderr = &s.log
	if err := s.process.Start(); err != nil {
		s.t.Fatal(err)
	}
	for waited := time.Duration(0); waited < 2*time.Minute; waited += 10 * time.Millisecond {
		if port, err := os.ReadFile(portFile); err == nil && bytes.HasSuffix(port, []byte("\n")) {
			s.address = "127.0.0.1:" + strings.TrimSpace(string(port))
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.end(syscall.SIGKILL)
	s.t.Fatalf("headgated does not start to serve:\n%s", s.log.String())
}

func (s *serverProcess) end(signal syscall.Signal) {
	s.t.Helper()
	if s.process == nil {
		s.t.Fatal("the server does not run")
	}
	if err := s.process.Process.Signal(signal); err != nil {
		s.t.Errorf("headgated has ended by itself: %v", err)
	}
	if err := s.process.Wait(); err != nil && signal != syscall.SIGKILL {
		s.t.Errorf("headgated ended with %v", err)
	}
	s.process = nil
}

// client makes one, and has the end of the test close it.
func (w *world) client(given clientOptions) (*headgate.Client, error) {
	options := headgate.Options{Identity: "nightly:etl", Target: given.Target, TokenFile: given.TokenFile,
		LongestWait: time.Duration(given.LongestWait), OutagePause: time.Duration(given.OutagePause),
		FlushTimeout: time.Duration(given.FlushTimeout), MaxQueuedReports: given.MaxQueuedReports}
	if given.Identity != nil {
		options.Identity = *given.Identity
	}
	if w.place == "server" {
		options.CheckDeadline = 10 * time.Second
	}
	if given.CheckDeadline != nil {
		options.CheckDeadline = time.Duration(*given.CheckDeadline)
	}
	if given.TLS != nil {
		tls := headgate.TLS(*given.TLS)
		options.TLS = &tls
	}
	var client *headgate.Client
	var err error
	if w.place == "fake" {
		options.Clock = w.fake.Clock()
		client, err = headgate.NewClientOver(w.fake.Transport(options.Clock), given.OnUnreachable.policy(), options)
	} else {
		client, err = headgate.NewClient(w.address(), given.OnUnreachable.policy(), options)
	}
	if err == nil {
		w.t.Cleanup(func() { _ = client.Close() }) // says what it could not report
	}
	return client, err
}

func (w *world) address() string {
	if w.servers != nil {
		return w.servers.address
	}
	return w.server.address
}

func (w *world) addClient(name string, options clientOptions) {
	w.t.Helper()
	client, err := w.client(options)
	if err != nil {
		w.t.Fatalf("client %s: %v", name, err)
	}
	w.clients[name] = client
}

func (u unreachable) policy() headgate.OnUnreachable {
	switch u.name {
	case "", "fail":
		return headgate.Fail()
	case "wait":
		return headgate.Wait()
	case "proceed":
		return headgate.Proceed()
	case "floor_rate":
		return headgate.FloorRate(u.rate)
	}
	panic(fmt.Sprintf("there is no policy %q", u.name))
}

func (w *world) clientNamed(name string) *headgate.Client {
	w.t.Helper()
	if name == "" {
		name = "default"
	}
	client := w.clients[name]
	if client == nil {
		w.t.Fatalf("there is no client %s", name)
	}
	return client
}

func (w *world) keep(name string, got result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.results[name] = got
}

func (w *world) permit(name string) *headgate.Permit {
	w.t.Helper()
	if name == "" {
		name = "permit"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	permit := w.results[name].permit
	if permit == nil {
		w.t.Fatalf("there is no permit %s", name)
	}
	return permit
}

func (w *world) answer(name string) *headgate.Answer {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	answer := w.results[name].answer
	if answer == nil {
		w.t.Fatalf("there is no answer %s", name)
	}
	return answer
}

// judged leaves upper bounds away where the time is real: how fast a machine is decides no test.
func (w *world) judged(want *bounds) *bounds {
	if want == nil || w.place == "fake" || want.absent {
		return want
	}
	lower := *want
	lower.atMost, lower.below = 1e300, 1e300
	return &lower
}

func (w *world) now() time.Time {
	if w.place == "fake" {
		return w.fake.Clock().Now()
	}
	return time.Now()
}

func (w *world) pass(span time.Duration) {
	if w.place == "fake" {
		w.fake.Clock().Advance(span)
		return
	}
	time.Sleep(span)
}

// news is what has arrived at the fake since it was last called.
func (w *world) news() *seen {
	checks, reports, waited := w.fake.Checks(), w.fake.Reports(), w.fake.Clock().Waited()
	got := &seen{checks: checks[len(w.shown.checks):], reports: reports[len(w.shown.reports):],
		outstanding: len(w.fake.Outstanding()), waited: waited - w.shown.waited}
	w.shown = seen{checks: checks, reports: reports, waited: waited}
	return got
}
