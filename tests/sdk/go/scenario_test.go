// The scenarios of tests/sdk/scenarios, played by the Go SDK; their README is the format. What is in
// the YAML and not in these types is refused.
package sdk_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

type scenario struct {
	Name, Claim  string
	On           []string
	Languages    []string
	Server       map[string]any
	Servers      bool
	State        bool
	Certificates bool
	Files        map[string]string
	Copies       map[string]string
	Client       clientOptions
	Clients      map[string]clientOptions
	Steps        []step
}

type step struct {
	On         string
	Client     string
	As         string
	Repeat     int
	Background string
	Workers    int
	Cancelled  bool
	Eventually *duration
	Expect     *expectation

	// Exactly one of these verbs.
	Check       *request
	CheckOrWait *request `yaml:"check_or_wait"`
	Report      *permitWork
	End         *permitWork
	Dismiss     *permitWork
	ReportID    *numberWork `yaml:"report_id"`
	ReportNow   *numberWork `yaml:"report_now"`
	Chunks      *chunks
	Flush       *duration
	Stats       *struct{}
	Close       *struct{}
	NewClient   *clientOptions `yaml:"new_client"`
	Join        *string
	Cancel      *string
	Pass        *duration
	Fork        map[string]any
	Server      *string
	Servers     *string
	File        *file
	Config      map[string]any
	Headgate    []string
	Fake        *fakeWords
	Seen        *struct{}
	Lease       *leaseWords
	Admit       *pieceWords
	Wait        *pieceWords
	Settle      *settleWords
	CloseLease  *ofLease `yaml:"close_lease"`
	LeaseStats  *ofLease `yaml:"lease_stats"`
	Told        *toldWords
}

type request struct {
	Identity, Target, Pattern string
	EstimatedCost             *float64 `yaml:"estimated_cost"`
	Tags                      map[string]string
	RequestID                 string    `yaml:"request_id"`
	ValidateOnly              bool      `yaml:"validate_only"`
	MaxWait                   *duration `yaml:"max_wait"`
}

type permitWork struct {
	Permit     string
	Error      bool
	ActualCost *float64  `yaml:"actual_cost"`
	BusyTime   *duration `yaml:"busy_time"`
}

type numberWork struct {
	Of         string
	ID         uint64
	ActualCost *float64  `yaml:"actual_cost"`
	BusyTime   *duration `yaml:"busy_time"`
}

type chunks struct {
	Total, Start, Smallest, Largest int
	Estimate                        *bool
	MaxWait                         *duration `yaml:"max_wait"`
}

type clientOptions struct {
	Identity         *string
	Target           string
	OnUnreachable    unreachable `yaml:"on_unreachable"`
	CheckDeadline    *duration   `yaml:"check_deadline"`
	LongestWait      duration    `yaml:"longest_wait"`
	OutagePause      duration    `yaml:"outage_pause"`
	FlushTimeout     duration    `yaml:"flush_timeout"`
	MaxQueuedReports int         `yaml:"max_queued_reports"`
	TLS              *struct {
		CAFile          string `yaml:"ca_file"`
		CertificateFile string `yaml:"certificate_file"`
		KeyFile         string `yaml:"key_file"`
		ServerName      string `yaml:"server_name"`
	}
	TokenFile string `yaml:"token_file"`
}

// unreachable is `wait` or `{floor_rate: 10}`.
type unreachable struct {
	name string
	rate float64
}

type file struct{ Name, Text, Copy string }

type fakeWords struct {
	fakeAnswer `yaml:",inline"`
	Times      int
	Always     *fakeAnswer
	Waiting    string
	Overruns   []overrun
	Unsettled  []string

	KnowsLeases *bool `yaml:"knows_leases"`
}

type fakeAnswer struct {
	Allow *struct {
		Reason            string
		PredictedCost     float64  `yaml:"predicted_cost"`
		PredictedBusyTime duration `yaml:"predicted_busy_time"`
		Probe             bool
		Message           string
		Priority          int
		ChunkScale        float64 `yaml:"chunk_scale"`
		Lease             *grantWords
		Violations        []violationWords
	}
	Deny        *duration
	Violations  []violationWords
	Reason      string
	DenyForGood string `yaml:"deny_for_good"`
	Fail        string
	RetryDelay  duration `yaml:"retry_delay"`
	Message     string
}

type overrun struct {
	Budget            string
	Reported, Charged float64
}

const forever = time.Duration(1<<63 - 1)

// duration is `250ms` or `forever`.
type duration time.Duration

func (d *duration) UnmarshalYAML(node *yaml.Node) error {
	if node.Value == "forever" {
		*d = duration(forever)
		return nil
	}
	parsed, err := time.ParseDuration(node.Value)
	*d = duration(parsed)
	return err
}

func (u *unreachable) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		u.name = node.Value
		return nil
	}
	floor := map[string]float64{}
	if err := node.Decode(&floor); err != nil {
		return err
	}
	rate, ok := floor["floor_rate"]
	if !ok || len(floor) != 1 {
		return fmt.Errorf("line %d: on_unreachable is a word or a floor_rate", node.Line)
	}
	u.name, u.rate = "floor_rate", rate
	return nil
}

// decode is strict: what it does not know is an error.
func decode(text []byte, into any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	return decoder.Decode(into)
}

// written is a scenario as it stands in its file.
type written []byte

// in is the scenario whose $DIR is this folder.
func (w written) in(folder string) (scenario, error) {
	s := scenario{On: []string{"fake", "server"}, Languages: []string{"python", "go", "cpp"}}
	err := decode(bytes.ReplaceAll(w, []byte("$DIR"), []byte(folder)), &s)
	if err == nil && (s.Name == "" || s.Claim == "" || len(s.Steps) == 0) {
		err = fmt.Errorf("%s: has no name, claim or steps", s.Name)
	}
	return s, err
}

func allScenarios(t *testing.T) []written {
	t.Helper()
	paths, err := filepath.Glob("../scenarios/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no scenarios: %v", err)
	}
	var all []written
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var nodes []yaml.Node
		if err := yaml.Unmarshal(text, &nodes); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for i := range nodes {
			one, err := yaml.Marshal(&nodes[i])
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			all = append(all, one)
		}
	}
	return all
}

func TestScenarios(t *testing.T) {
	names := map[string]bool{}
	played := 0
	for _, text := range allScenarios(t) {
		text := text
		s, err := text.in("/nowhere")
		if err != nil {
			t.Fatal(err)
		}
		if names[s.Name] {
			t.Fatalf("two scenarios are called %s", s.Name)
		}
		names[s.Name] = true
		if !slices.Contains(s.Languages, "go") {
			continue
		}
		for _, place := range s.On {
			place := place
			played++
			t.Run(s.Name+"/"+place, func(t *testing.T) {
				t.Parallel()
				play(t, text, place)
			})
		}
	}
	if played < 40 {
		t.Errorf("only %d were played", played)
	}
}

func TestRunnerRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, wrong := range []string{
		"{name: a, claim: b, steps: [{check: {}}], wings: 1}",
		"{name: a, claim: b, steps: [{fly: {}}]}",
		"{name: a, claim: b, steps: [{check: {wings: 1}}]}",
		"{name: a, claim: b, steps: [{check: {}, expect: {wings: 1}}]}",
		"{name: a, claim: b, steps: [{check: {}, expect: {took: {least: 1s}}}]}",
		"{name: a, claim: b, steps: [{check: {max_wait: soon}}]}",
		"{name: a, claim: b, client: {on_unreachable: {wings: 1}}, steps: [{check: {}}]}",
		"{name: a, claim: b}",
	} {
		if _, err := written(wrong).in("/nowhere"); err == nil {
			t.Errorf("it takes %s", wrong)
		}
	}
	for _, wrong := range []string{"{}", "{check: {}, stats: {}}"} {
		var s step
		if err := decode([]byte(wrong), &s); err != nil {
			t.Fatal(err)
		}
		if _, err := s.verb(); err == nil {
			t.Errorf("it takes the step %s", strings.TrimSpace(wrong))
		}
	}
}
