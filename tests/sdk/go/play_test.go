package sdk_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"

	"go.uber.org/goleak"

	"github.com/headgate/headgate/client/go/headgate"
	headgatev1 "github.com/headgate/headgate/client/go/headgate/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const betweenLooks = 50 * time.Millisecond

func play(t *testing.T, text written, place string) {
	w, s := newWorld(t, text, place)
	for i, step := range s.Steps {
		verb, err := step.verb()
		if err != nil {
			t.Fatalf("step %d: %v", i+1, err)
		}
		if w.skips(step, verb) {
			continue
		}
		if wrong := w.play(step); len(wrong) > 0 {
			t.Fatalf("%s\nstep %d, %s:\n  %s", s.Claim, i+1, verb, strings.Join(wrong, "\n  "))
		}
	}
	for name := range w.running {
		t.Errorf("nobody joins %s", name)
	}
}

// verb is the name of the one that the step has.
func (s *step) verb() (string, error) {
	value, found := reflect.ValueOf(*s), []string{}
	for i := 0; i < value.NumField(); i++ {
		field := value.Type().Field(i)
		switch field.Name {
		case "Eventually", "Expect":
			continue
		}
		switch kind := field.Type.Kind(); {
		case kind == reflect.Pointer && !value.Field(i).IsNil(), (kind == reflect.Slice || kind == reflect.Map) && value.Field(i).Len() > 0:
			found = append(found, strings.ToLower(field.Name))
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("it has the verbs %q, and not exactly one", found)
	}
	return found[0], nil
}

func (w *world) skips(s step, verb string) bool {
	switch {
	case s.On != "" && s.On != w.place:
		return true
	case verb == "fake":
		return w.place != "fake"
	case verb == "headgate" || verb == "config":
		return w.place != "server"
	}
	return false
}

func (w *world) play(s step) complaints {
	switch {
	case s.Background != "":
		w.begin(s)
		return nil
	case s.Join != nil:
		return w.join(s)
	case s.Eventually != nil:
		return w.repeatUntil(s, time.Duration(*s.Eventually))
	}
	for i := 1; i <= max(s.Repeat, 1); i++ {
		got := w.do(context.Background(), s)
		if name := s.nameOfResult(i); name != "" {
			w.keep(name, got)
		}
		if wrong := s.Expect.against(got, w); len(wrong) > 0 {
			return wrong
		}
	}
	return nil
}

func (s *step) nameOfResult(number int) string {
	switch {
	case s.As != "" && s.Repeat > 1:
		return fmt.Sprintf("%s-%d", s.As, number)
	case s.As == "" && s.CheckOrWait != nil:
		return "permit"
	}
	return s.As
}

func (w *world) repeatUntil(s step, limit time.Duration) complaints {
	for began := time.Now(); ; time.Sleep(betweenLooks) {
		got := w.do(context.Background(), s)
		wrong := s.Expect.against(got, w)
		if len(wrong) == 0 || time.Since(began) > limit {
			if name := s.nameOfResult(1); name != "" {
				w.keep(name, got)
			}
			return wrong
		}
		if w.place == "fake" {
			w.fake.Clock().Advance(betweenLooks)
		}
	}
}

func (w *world) begin(s step) {
	ctx, cancel := context.WithCancel(context.Background())
	running := &background{cancel: cancel, count: max(s.Workers, 1)}
	running.ended = make(chan result, running.count)
	w.running[s.Background] = running
	for i := 0; i < running.count; i++ {
		go func() { running.ended <- w.do(ctx, s) }()
	}
	w.t.Cleanup(cancel)
}

func (w *world) join(s step) complaints {
	running := w.running[*s.Join]
	if running == nil {
		return complaints{"nothing of that name was begun"}
	}
	delete(w.running, *s.Join)
	expected := s.Expect
	if expected == nil {
		expected = &expectation{}
	}
	allowed := 0
	var wrong complaints
	for i := 0; i < running.count; i++ {
		got := <-running.ended
		isAllowed := got.answer != nil && got.answer.Allowed
		if isAllowed {
			allowed++
		}
		if expected.AllowedCount == nil || isAllowed {
			wrong = append(wrong, expected.against(got, w)...)
		}
	}
	same(&wrong, "allowed_count", expected.AllowedCount, allowed)
	return wrong
}

// do is one go at a step.
func (w *world) do(ctx context.Context, s step) result {
	if s.Cancelled {
		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		ctx = cancelled
	}
	wantsToKnow := s.Expect != nil && s.Expect.Asked != ""
	asked := ""
	if wantsToKnow {
		asked = w.servers.do(w.t, "asked")
	}
	began := w.now()
	got := w.doAsJob(ctx, s)
	got.took = w.now().Sub(began)
	if wantsToKnow {
		got.asked = "first"
		if w.servers.do(w.t, "asked") == asked {
			got.asked = "second"
		}
	}
	return got
}

// What a job does.
func (w *world) doAsJob(ctx context.Context, s step) (got result) {
	if w.doWithLease(ctx, s, &got) {
		return got
	}
	switch {
	case s.Check != nil:
		answer, err := w.clientNamed(s.Client).Check(ctx, s.Check.toSDK())
		if got.err = err; err == nil {
			got.answer = &answer
		}
	case s.CheckOrWait != nil:
		maxWait := forever
		if s.CheckOrWait.MaxWait != nil {
			maxWait = time.Duration(*s.CheckOrWait.MaxWait)
		}
		request := s.CheckOrWait.toSDK()
		request.MaxWait = 0
		got.permit, got.err = w.clientNamed(s.Client).CheckOrWait(ctx, request, maxWait)
		if got.err == nil {
			got.answer = got.permit.Answer()
		}
	case s.Report != nil:
		got.err = w.permit(s.Report.Permit).Done(work(s.Report.ActualCost, s.Report.BusyTime)...)
	case s.End != nil:
		got.err = w.permit(s.End.Permit).Done()
	case s.Dismiss != nil:
		w.permit(s.Dismiss.Permit).Dismiss()
	case s.ReportID != nil:
		got.err = w.clientNamed(s.Client).Report(w.number(s.ReportID), work(s.ReportID.ActualCost, s.ReportID.BusyTime)...)
	case s.ReportNow != nil:
		result, err := w.clientNamed(s.Client).ReportNow(ctx, w.number(s.ReportNow),
			work(s.ReportNow.ActualCost, s.ReportNow.BusyTime)...)
		got.report, got.err = &result, err
	case s.Chunks != nil:
		got.sizes, got.err = s.Chunks.run(ctx, w.clientNamed(s.Client))
	case s.Flush != nil:
		inTime, cancel := context.WithTimeout(ctx, time.Duration(*s.Flush))
		defer cancel()
		done := w.clientNamed(s.Client).Flush(inTime) == nil
		got.done = &done
	case s.Stats != nil:
		stats := w.clientNamed(s.Client).ReportStats()
		got.stats = &stats
	case s.Close != nil:
		_ = w.clientNamed(s.Client).Close() // `stats` tells what was lost
	case s.NewClient != nil:
		client, err := w.client(*s.NewClient)
		if got.err = err; err == nil {
			w.clients[s.As] = client
		}
	case s.Seen != nil:
		got.seen = w.news()
	default:
		w.happen(s)
	}
	return got
}

// What happens to a job.
func (w *world) happen(s step) {
	w.t.Helper()
	switch {
	case s.Cancel != nil:
		w.running[*s.Cancel].cancel()
	case s.Pass != nil:
		w.pass(time.Duration(*s.Pass))
	case s.Server != nil && w.place == "fake":
		w.fake.SetDown(*s.Server != "start")
	case s.Server != nil:
		switch *s.Server {
		case "kill":
			w.server.end(syscall.SIGKILL)
		case "stop":
			w.server.end(syscall.SIGTERM)
		case "start":
			w.server.start()
		default:
			w.t.Fatalf("a server cannot %s", *s.Server)
		}
	case s.Servers != nil:
		if said := w.servers.do(w.t, *s.Servers); said != "done" {
			w.t.Fatal(said)
		}
	case s.File != nil && s.File.Copy != "":
		w.write(s.File.Name, w.read(s.File.Copy))
	case s.File != nil:
		w.write(s.File.Name, []byte(s.File.Text))
	case s.Config != nil:
		w.writeConfig(s.Config)
	case s.Headgate != nil:
		// With time for an answer that a busy machine does not use up.
		command := exec.Command(program(w.t, "headgate"), append([]string{"--timeout", "60s"}, s.Headgate...)...)
		command.Env = append(os.Environ(), "HEADGATE_ADDRESS="+w.server.address)
		if said, err := command.CombinedOutput(); err != nil {
			w.t.Fatalf("headgate %q: %v: %s", s.Headgate, err, said)
		}
	case s.Fake != nil:
		w.instruct(s.Fake)
	default:
		w.t.Fatal("this runner does not know the verb")
	}
}

func (r *request) toSDK() headgate.Request {
	request := headgate.Request{Identity: r.Identity, Target: r.Target, EstimatedCost: r.EstimatedCost,
		Pattern: r.Pattern, Tags: r.Tags, RequestID: r.RequestID, ValidateOnly: r.ValidateOnly}
	if r.MaxWait != nil {
		request.MaxWait = time.Duration(*r.MaxWait)
	}
	return request
}

func work(cost *float64, busy *duration) []headgate.Work {
	var all []headgate.Work
	if cost != nil {
		all = append(all, headgate.ActualCost(*cost))
	}
	if busy != nil {
		all = append(all, headgate.BusyTime(time.Duration(*busy)))
	}
	return all
}

func (w *world) number(n *numberWork) uint64 {
	if n.Of != "" {
		return w.answer(n.Of).PermitID
	}
	return n.ID
}

func (c *chunks) run(ctx context.Context, client *headgate.Client) ([]int, error) {
	job := headgate.Chunks{Total: c.Total, Start: c.Start, Smallest: c.Smallest, Largest: c.Largest, NoEstimate: c.Estimate != nil && !*c.Estimate}
	if c.MaxWait != nil {
		job.MaxWait = time.Duration(*c.MaxWait)
	}
	sizes := []int{}
	err := client.DoChunks(ctx, job, func(_ context.Context, chunk headgate.Chunk) error {
		sizes = append(sizes, chunk.Rows)
		return nil
	})
	return sizes, err
}

func (w *world) instruct(words *fakeWords) {
	w.t.Helper()
	switch words.Waiting {
	case "":
	case "in_client", "in_server":
		w.fake.SetAnswerAtOnce(words.Waiting == "in_client")
	default:
		w.t.Fatalf("nobody waits %s", words.Waiting)
	}
	if words.Overruns != nil {
		var overruns []headgate.Overrun
		for _, each := range words.Overruns {
			overruns = append(overruns, headgate.Overrun(each))
		}
		w.fake.SetOverruns(overruns...)
	}
	if words.Unsettled != nil {
		w.fake.SetUnsettled(words.Unsettled...)
	}
	if words.Always != nil {
		answer, err := words.Always.toSDK(w.t)
		w.fake.Handle(func(headgate.Request) (headgate.Answer, error) { return answer, err })
	}
	if words.KnowsLeases != nil {
		w.fake.SetWithoutLeases(!*words.KnowsLeases)
	}
	if words.Allow == nil && words.Deny == nil && words.DenyForGood == "" && words.Fail == "" {
		return
	}
	for i := 0; i < max(words.Times, 1); i++ {
		switch answer, err := words.toSDK(w.t); {
		case err != nil:
			w.fake.Fail(err)
		case answer.Allowed:
			w.fake.Allow(answer)
		case answer.RetryAfter > 0:
			w.fake.Deny(answer.RetryAfter, answer.Reason)
		default:
			w.fake.DenyForGood(answer.Reason)
		}
	}
}

func reason(t *testing.T, name string) headgate.Reason {
	t.Helper()
	if name == "" || name == "NONE" {
		return headgate.ReasonNone
	}
	value, known := headgatev1.Reason_value["REASON_"+name]
	if !known {
		t.Fatalf("there is no reason %s", name)
	}
	return headgate.Reason(value)
}

func (f *fakeAnswer) toSDK(t *testing.T) (headgate.Answer, error) {
	t.Helper()
	switch {
	case f.Allow != nil:
		return headgate.Answer{Allowed: true, Reason: reason(t, f.Allow.Reason), PredictedCost: f.Allow.PredictedCost,
			PredictedBusyTime: time.Duration(f.Allow.PredictedBusyTime), Probe: f.Allow.Probe, Message: f.Allow.Message,
			Priority: f.Allow.Priority, ChunkScale: f.Allow.ChunkScale,
			Lease: f.Allow.Lease.toSDK(), Violations: violationsToSDK(f.Allow.Violations)}, nil
	case f.Deny != nil:
		denial := headgate.Answer{RetryAfter: time.Duration(*f.Deny), Reason: headgate.ReasonCapacity,
			Message: "denied by the scenario", Violations: violationsToSDK(f.Violations)}
		if f.Reason != "" {
			denial.Reason = reason(t, f.Reason)
		}
		return denial, nil
	case f.DenyForGood != "":
		return headgate.Answer{Reason: reason(t, f.DenyForGood), Message: "denied for good by the scenario"}, nil
	case f.Fail != "":
		value, known := code.Code_value[f.Fail]
		if !known {
			t.Fatalf("there is no error %s", f.Fail)
		}
		return headgate.Answer{}, &headgate.Error{Code: codes.Code(value), Message: f.Message,
			RetryDelay: time.Duration(f.RetryDelay)}
	}
	t.Fatalf("the fake is told nothing by %+v", f)
	return headgate.Answer{}, nil
}
