package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/status"

	"github.com/headgate/headgate/client/go/headgate"
)

type expectation struct {
	// Of answers, permits and errors.
	Error             string
	Allowed           *bool
	Local             *bool
	Probe             *bool
	Permit            *bool
	SamePermitAs      string `yaml:"same_permit_as"`
	OtherPermitThan   string `yaml:"other_permit_than"`
	Reason            string
	Message           string
	RetryAfter        *bounds `yaml:"retry_after"`
	Waited            *bounds
	ChunkScale        *bounds `yaml:"chunk_scale"`
	PredictedBusyTime *bounds `yaml:"predicted_busy_time"`
	PredictedCost     *bounds `yaml:"predicted_cost"`
	Priority          *bounds
	RetryDelay        *bounds `yaml:"retry_delay"`
	Violations        *[]violation
	Health            *health
	Took              *bounds
	Asked             string
	// Of the other verbs.
	Done                                                  *bool
	Pending, Delivered, Refused, Failed, Dropped, Overrun *bounds
	Unsettled                                             *bounds
	Outcome                                               string
	Overruns                                              *[]overrun
	UnsettledBudgets                                      *[]string `yaml:"unsettled_budgets"`
	Sizes                                                 *[]int
	AllowedCount                                          *int `yaml:"allowed_count"`
	// Of seen.
	Checks      *bounds
	MaxWaits    *[]duration `yaml:"max_waits"`
	RequestIDs  string      `yaml:"request_ids"`
	Reports     *bounds
	Reported    *[]reported
	Outstanding *bounds
	Identities  *[]string
	Targets     *[]string

	leaseExpectation `yaml:",inline"`
}

type violation struct {
	Budget, Rule, Level, Signal, Unit *string
	LimitKind                         *string `yaml:"limit_kind"`
	Observed, Limit                   *bounds
	Warn                              *bool
	RetryAfter                        *bounds `yaml:"retry_after"`
}

type health struct {
	absent         bool
	Profile, State *string
	Speed          *bounds
	Signal         *string
}

func (h *health) UnmarshalYAML(node *yaml.Node) error {
	if node.Value == "absent" {
		h.absent = true
		return nil
	}
	type plain health
	return node.Decode((*plain)(h))
}

type reported struct {
	ActualCost *bounds `yaml:"actual_cost"`
	BusyTime   *bounds `yaml:"busy_time"`
}

// bounds is `3s`, `5`, `absent` or `{at_least: 3s, below: 4s}`; durations are in seconds.
type bounds struct {
	absent                        bool
	atLeast, atMost, above, below float64
	text                          string
}

func number(text string) (float64, error) {
	if text == "0" {
		return 0, nil
	}
	if parsed, err := time.ParseDuration(text); err == nil {
		return parsed.Seconds(), nil
	}
	return strconv.ParseFloat(text, 64)
}

func (b *bounds) UnmarshalYAML(node *yaml.Node) error {
	*b = bounds{atLeast: math.Inf(-1), atMost: math.Inf(1), above: math.Inf(-1), below: math.Inf(1)}
	if node.Kind == yaml.ScalarNode {
		b.text = node.Value
		if b.absent = node.Value == "absent"; b.absent {
			return nil
		}
		exact, err := number(node.Value)
		near := math.Abs(exact) * 1e-6
		b.atLeast, b.atMost = exact-near, exact+near
		return err
	}
	bound := map[string]string{}
	if err := node.Decode(&bound); err != nil {
		return err
	}
	for name, text := range bound {
		place, known := map[string]*float64{"at_least": &b.atLeast, "at_most": &b.atMost, "above": &b.above,
			"below": &b.below}[name]
		if !known {
			return fmt.Errorf("line %d: there is no bound %s", node.Line, name)
		}
		value, err := number(text)
		if err != nil {
			return err
		}
		*place = value
	}
	b.text = fmt.Sprint(bound)
	return nil
}

// complaints collects what is not as expected.
type complaints []string

func (c *complaints) say(format string, args ...any) { *c = append(*c, fmt.Sprintf(format, args...)) }

// within holds a value that may be absent against what is expected, if anything is.
func (c *complaints) within(what string, want *bounds, got float64, present bool) {
	switch {
	case want == nil:
	case want.absent != !present:
		c.say("%s is %v (there: %v), want %s", what, got, present, want.text)
	case present && !(got >= want.atLeast && got <= want.atMost && got > want.above && got < want.below):
		c.say("%s is %v, want %s", what, got, want.text)
	}
}

func (c *complaints) span(what string, want *bounds, got time.Duration, present bool) {
	c.within(what, want, got.Seconds(), present)
}

func same[T any](c *complaints, what string, want *T, got T) {
	if want != nil && !reflect.DeepEqual(*want, got) {
		c.say("%s is %v, want %v", what, got, *want)
	}
}

// word is a name of the API without its prefix.
func word(name fmt.Stringer, prefix string) string {
	short := strings.TrimPrefix(name.String(), prefix)
	if short == "UNSPECIFIED" {
		return "NONE"
	}
	return short
}

func (c *complaints) word(what string, want string, got fmt.Stringer, prefix string) {
	if want != "" && word(got, prefix) != want {
		c.say("%s is %s, want %s", what, word(got, prefix), want)
	}
}

// errorName is as google.rpc.Code has it; empty: there is no error.
func errorName(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, context.Canceled):
		return code.Code_CANCELLED.String()
	}
	return code.Code(status.Code(err)).String()
}

// result is what came out of a step.
type result struct {
	err    error
	answer *headgate.Answer // of a Check, or of the permit
	permit *headgate.Permit
	took   time.Duration
	asked  string // first or second; empty: nobody wants to know
	done   *bool
	stats  *headgate.ReportStats
	report *headgate.ReportResult
	sizes  []int
	seen   *seen

	piece      *piece
	leaseStats *headgate.LeaseStats
	told       *told
}

// against tells what of a result is not as expected. Without an expectation it has to succeed.
func (e *expectation) against(got result, w *world) complaints {
	var c complaints
	if e == nil {
		e = &expectation{}
		if got.done != nil && !*got.done {
			c.say("it was not flushed in time")
		}
	}
	if name := errorName(got.err); name != e.Error {
		c.say("the error is %q (%v), want %q", name, got.err, e.Error)
	}
	e.ofErrors(&c, got)
	if e.Took != nil {
		c.span("it took", w.judged(e.Took), got.took, true)
	}
	if e.Asked != "" && got.asked != e.Asked {
		c.say("the %s server was asked, want the %s", got.asked, e.Asked)
	}
	if got.piece != nil && got.piece.answer != nil {
		got.answer = got.piece.answer
	}
	if got.answer != nil {
		e.ofAnswers(&c, got.answer, w)
	} else if e.Allowed != nil || e.Local != nil || e.Reason != "" {
		c.say("there is no answer, but %v", got.err)
	}
	e.ofReports(&c, got)
	e.leaseExpectation.against(&c, &got, w)
	if got.seen != nil {
		e.ofSeen(&c, got.seen)
	}
	return c
}

func (e *expectation) ofErrors(c *complaints, got result) {
	message := ""
	if got.err != nil {
		message = got.err.Error()
	} else if got.answer != nil {
		message = got.answer.Message
	}
	if !strings.Contains(message, e.Message) {
		c.say("the message is %q, want %q in it", message, e.Message)
	}
	var told *headgate.Error
	if e.RetryDelay != nil && !errors.As(got.err, &told) {
		c.say("the error %v has no retry_delay", got.err)
	} else if e.RetryDelay != nil {
		c.span("retry_delay", e.RetryDelay, told.RetryDelay, told.RetryDelay != 0)
	}
}

func (e *expectation) ofAnswers(c *complaints, answer *headgate.Answer, w *world) {
	same(c, "allowed", e.Allowed, answer.Allowed)
	same(c, "local", e.Local, answer.Local)
	same(c, "probe", e.Probe, answer.Probe)
	same(c, "permit", e.Permit, answer.PermitID != 0)
	if e.SamePermitAs != "" && w.answer(e.SamePermitAs).PermitID != answer.PermitID {
		c.say("its permit is not %s's", e.SamePermitAs)
	}
	if e.OtherPermitThan != "" && w.answer(e.OtherPermitThan).PermitID == answer.PermitID {
		c.say("its permit is %s's", e.OtherPermitThan)
	}
	c.word("reason", e.Reason, answer.Reason, "REASON_")
	c.span("retry_after", e.RetryAfter, answer.RetryAfter, answer.RetryAfter != 0)
	c.span("waited", w.judged(e.Waited), answer.Waited, answer.Waited != 0)
	c.within("chunk_scale", e.ChunkScale, answer.ChunkScale, answer.ChunkScale != 0)
	c.span("predicted_busy_time", e.PredictedBusyTime, answer.PredictedBusyTime, answer.PredictedBusyTime != 0)
	c.within("predicted_cost", e.PredictedCost, answer.PredictedCost, true)
	c.within("priority", e.Priority, float64(answer.Priority), true)
	if e.Violations != nil && len(*e.Violations) != len(answer.Violations) {
		c.say("the violations are %+v", answer.Violations)
	} else if e.Violations != nil {
		for i, want := range *e.Violations {
			want.against(c, answer.Violations[i])
		}
	}
	e.Health.against(c, answer.Health)
}

func (v *violation) against(c *complaints, got headgate.Violation) {
	same(c, "budget", v.Budget, got.Budget)
	same(c, "rule", v.Rule, got.Rule)
	same(c, "level", v.Level, got.Level)
	same(c, "signal", v.Signal, got.Signal)
	same(c, "warn", v.Warn, got.Warn)
	same(c, "unit", v.Unit, word(got.Unit, "BUDGET_UNIT_"))
	same(c, "limit_kind", v.LimitKind, word(got.LimitKind, "LIMIT_KIND_"))
	c.within("observed", v.Observed, got.Observed, true)
	c.within("limit", v.Limit, got.Limit, true)
	c.span("retry_after of a violation", v.RetryAfter, got.RetryAfter, got.RetryAfter != 0)
}

func (h *health) against(c *complaints, got *headgate.Health) {
	switch {
	case h == nil:
	case h.absent != (got == nil):
		c.say("its health is %+v", got)
	case got != nil:
		same(c, "profile", h.Profile, got.Profile)
		same(c, "state", h.State, word(got.State, "HEALTH_STATE_"))
		same(c, "signal", h.Signal, got.Signal)
		c.within("speed", h.Speed, got.Speed, true)
	}
}

func (e *expectation) ofReports(c *complaints, got result) {
	if got.done != nil {
		same(c, "done", e.Done, *got.done)
	}
	if got.stats != nil {
		count := func(what string, want *bounds, value uint64) { c.within(what, want, float64(value), true) }
		count("pending", e.Pending, got.stats.Pending)
		count("delivered", e.Delivered, got.stats.Delivered)
		count("refused", e.Refused, got.stats.Refused)
		count("failed", e.Failed, got.stats.Failed)
		count("dropped", e.Dropped, got.stats.Dropped)
		count("overrun", e.Overrun, got.stats.Overrun)
		count("unsettled", e.Unsettled, got.stats.Unsettled)
	}
	if got.report != nil {
		c.word("outcome", e.Outcome, got.report.Outcome, "REPORT_OUTCOME_")
		overruns := []overrun{}
		for _, each := range got.report.Overruns {
			overruns = append(overruns, overrun(each))
		}
		same(c, "overruns", e.Overruns, overruns)
		same(c, "unsettled_budgets", e.UnsettledBudgets, append([]string{}, got.report.Unsettled...))
	}
	if got.sizes != nil {
		same(c, "sizes", e.Sizes, got.sizes)
	}
}

// seen is what has arrived at the fake.
type seen struct {
	checks      []headgate.Request
	reports     []headgate.PermitReport
	outstanding int
	waited      time.Duration
}

func (e *expectation) ofSeen(c *complaints, got *seen) {
	var waits []duration
	var ids, identities, targets []string
	for _, check := range got.checks {
		waits = append(waits, duration(check.MaxWait))
		ids = append(ids, check.RequestID)
		identities = append(identities, check.Identity)
		targets = append(targets, check.Target)
	}
	c.within("checks", e.Checks, float64(len(got.checks)), true)
	same(c, "max_waits", e.MaxWaits, waits)
	same(c, "identities", e.Identities, identities)
	same(c, "targets", e.Targets, targets)
	slices.Sort(ids)
	different := len(slices.Compact(ids))
	switch e.RequestIDs {
	case "":
	case "same":
		if different != 1 || ids[0] == "" {
			c.say("the request ids are %q", ids)
		}
	case "different":
		if different != len(got.checks) {
			c.say("of the ids of %d requests %d differ", len(got.checks), different)
		}
	default:
		c.say("request_ids may not be %q", e.RequestIDs)
	}
	c.within("reports", e.Reports, float64(len(got.reports)), true)
	c.within("outstanding", e.Outstanding, float64(got.outstanding), true)
	c.span("waited", e.Waited, got.waited, true)
	if e.Reported == nil {
		return
	}
	if len(*e.Reported) != len(got.reports) {
		c.say("there are %d reports, want %d", len(got.reports), len(*e.Reported))
		return
	}
	for i, want := range *e.Reported {
		report := got.reports[i]
		var cost float64
		var busy time.Duration
		if report.ActualCost != nil {
			cost = *report.ActualCost
		}
		if report.BusyTime != nil {
			busy = *report.BusyTime
		}
		c.within("actual_cost", want.ActualCost, cost, report.ActualCost != nil)
		c.span("busy_time", want.BusyTime, busy, report.BusyTime != nil)
	}
}
