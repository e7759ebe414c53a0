package sdk_test

// The steps of scenarios that are about leases, and what they expect.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/headgate/headgate/client/go/headgate"
	headgatev1 "github.com/headgate/headgate/client/go/headgate/v1"
)

type leaseWords struct {
	Identity, Target, Pattern string
	Tags                      map[string]string
	Piece                     float64
	Time                      duration
	SafeTime                  duration `yaml:"safe_time"`
}

type pieceWords struct {
	Lease   string
	Cost    *float64
	MaxWait *duration `yaml:"max_wait"`
}

type settleWords struct {
	Lease      string
	Estimate   *float64
	ActualCost *float64  `yaml:"actual_cost"`
	BusyTime   *duration `yaml:"busy_time"`
}

type ofLease struct{ Lease string }

type toldWords struct{ Identity string }

type grantWords struct {
	Amount       float64
	Time         *duration
	LargestPiece float64  `yaml:"largest_piece"`
	RejectRatio  float64  `yaml:"reject_ratio"`
	OneAtATime   bool     `yaml:"one_at_a_time"`
	SafeRate     float64  `yaml:"safe_rate"`
	SafeTime     duration `yaml:"safe_time"`
}

type violationWords struct {
	Budget, Rule, Signal string
	LimitKind            string `yaml:"limit_kind"`
	Warn                 bool
	RetryAfter           duration `yaml:"retry_after"`
}

type countWords struct {
	Verdict, Reason, Budget, Rule, Signal string
	LimitKind                             string `yaml:"limit_kind"`
	Pieces, Cost                          *bounds
}

// leaseExpectation is of what leases are asked and tell.
type leaseExpectation struct {
	Admitted *bool
	ForGood  *bool `yaml:"for_good"`
	Closed   *bool

	AdmittedPieces *bounds `yaml:"admitted_pieces"`
	RefusedPieces  *bounds `yaml:"refused_pieces"`
	LocalPieces    *bounds `yaml:"local_pieces"`
	SafePieces     *bounds `yaml:"safe_pieces"`
	Held           *bounds

	Counted   *[]countWords
	CountedAs string `yaml:"counted_as"`
	Spent     *bounds
	SafeSpent *bounds `yaml:"safe_spent"`
	Pieces    *bounds
	Cost      *bounds `yaml:"actual_cost"`
	Busy      *bounds `yaml:"busy_time"`
	Numbered  *bool
	Asks      *bounds
	Least     *bounds
	Most      *bounds
}

// piece is what became of one, or of its wait.
type piece struct {
	admitted, forGood, closed bool
	answer                    *headgate.Answer // of one that did not wait
}

// told is what was said of the pieces of all leases.
type told struct {
	counts     map[headgate.PieceCause]headgate.PieceCount
	spent      float64
	safeSpent  float64
	pieces     int64
	cost, busy float64
	hasCost    bool
	hasBusy    bool
	uses       int
	numbers    map[uint64]bool
	asks       []headgate.Request
	stats      map[string]headgate.LeaseStats
}

func (w *world) lease(name string) *headgate.Lease {
	w.t.Helper()
	if name == "" {
		name = "lease"
	}
	lease := w.leases[name]
	if lease == nil {
		w.t.Fatalf("there is no lease %s", name)
	}
	return lease
}

func orOne(cost *float64) float64 {
	if cost == nil {
		return 1
	}
	return *cost
}

// doWithLease tells whether the step is about one.
func (w *world) doWithLease(ctx context.Context, s step, got *result) bool {
	switch {
	case s.Lease != nil:
		lease, err := w.clientNamed(s.Client).Lease(headgate.LeaseOptions{Identity: s.Lease.Identity, Target: s.Lease.Target,
			Pattern: s.Lease.Pattern, Tags: s.Lease.Tags, Piece: s.Lease.Piece, Time: time.Duration(s.Lease.Time),
			SafeTime: time.Duration(s.Lease.SafeTime)})
		if got.err = err; err == nil {
			name := s.As
			if name == "" {
				name = "lease"
			}
			w.leases[name] = lease
		}
	case s.Admit != nil:
		answer, err := w.lease(s.Admit.Lease).Admit(orOne(s.Admit.Cost))
		got.piece = &piece{admitted: answer.Allowed, answer: &answer, closed: errors.Is(err, headgate.ErrClosed)}
		got.piece.forGood = err == nil && !answer.Allowed && answer.RetryAfter == 0
		if !got.piece.closed {
			got.err = err
		}
	case s.Wait != nil:
		maxWait := headgate.Forever
		if s.Wait.MaxWait != nil {
			maxWait = time.Duration(*s.Wait.MaxWait)
		}
		got.piece, got.err = waited(w.lease(s.Wait.Lease).Wait(ctx, orOne(s.Wait.Cost), maxWait))
	case s.Settle != nil:
		got.err = w.lease(s.Settle.Lease).Settle(orOne(s.Settle.Estimate), work(s.Settle.ActualCost, s.Settle.BusyTime)...)
	case s.CloseLease != nil:
		inTime, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		got.err = w.lease(s.CloseLease.Lease).Close(inTime)
	case s.LeaseStats != nil:
		stats := w.lease(s.LeaseStats.Lease).Stats()
		got.leaseStats = &stats
	case s.Told != nil:
		got.told = w.toldBy(s.Told.Identity)
	default:
		return false
	}
	return true
}

func waited(err error) (*piece, error) {
	var late *headgate.TimeoutError
	switch {
	case err == nil:
		return &piece{admitted: true}, nil
	case errors.As(err, &late):
		return &piece{}, nil
	case errors.Is(err, headgate.ErrDenied):
		return &piece{forGood: true}, nil
	case errors.Is(err, headgate.ErrClosed):
		return &piece{closed: true}, nil
	}
	return &piece{}, err
}

// toldBy is what holders have told the fake, or the throttle log has of this identity.
func (w *world) toldBy(identity string) *told {
	w.t.Helper()
	all := &told{counts: map[headgate.PieceCause]headgate.PieceCount{}, numbers: map[uint64]bool{},
		stats: map[string]headgate.LeaseStats{}}
	for name, lease := range w.leases {
		all.stats[name] = lease.Stats()
	}
	if w.place == "server" {
		w.readLog(identity, all)
		return all
	}
	for _, check := range w.fake.Checks() {
		if check.Lease != nil {
			all.asks = append(all.asks, check)
		}
	}
	for _, report := range w.fake.Reports() {
		all.add(report)
	}
	return all
}

func (t *told) add(report headgate.PermitReport) {
	if report.ActualCost != nil {
		t.hasCost = true
		t.cost += *report.ActualCost
	}
	if report.BusyTime != nil {
		t.hasBusy = true
		t.busy += report.BusyTime.Seconds()
	}
	use := report.LeaseUse
	if use == nil {
		return
	}
	t.uses++
	t.numbers[use.ID] = true
	t.spent += use.Spent
	t.safeSpent += use.SafeSpent
	t.pieces += use.Pieces
	for _, count := range use.Counts {
		t.count(count.PieceCause, count.Pieces, count.Cost)
	}
}

func (t *told) count(cause headgate.PieceCause, pieces int64, cost float64) {
	sum := t.counts[cause]
	sum.Pieces += pieces
	sum.Cost += cost
	t.counts[cause] = sum
}

func (w *world) readLog(identity string, all *told) {
	w.t.Helper()
	if identity == "" {
		identity = "nightly:etl"
	}
	command := exec.Command(program(w.t, "headgate"), "--timeout", "60s", "log", identity, "--by", "outcome", "--by", "reason", "-o", "json")
	command.Env = append(os.Environ(), "HEADGATE_ADDRESS="+w.server.address)
	said, err := command.Output()
	if err != nil {
		w.t.Fatalf("headgate log: %v", err)
	}
	var log struct {
		Sums []struct {
			Reason          string
			Allowed, Denied json.Number
			WouldBeDenied   json.Number `json:"would_be_denied"`
			AllowedCost     float64     `json:"allowed_cost"`
			DeniedCost      float64     `json:"denied_cost"`
		}
	}
	if err := json.Unmarshal(said, &log); err != nil {
		w.t.Fatalf("headgate log says %s: %v", said, err)
	}
	number := func(text json.Number) int64 {
		value, err := text.Int64()
		if err != nil {
			w.t.Fatalf("headgate log says %s: %v", said, err)
		}
		return value
	}
	for _, sum := range log.Sums {
		denied := number(sum.Denied)
		pieces := number(sum.Allowed) + number(sum.WouldBeDenied) + denied
		if pieces > 0 { // else it is the time that Checks have waited
			reason := headgate.Reason(headgatev1.Reason_value[sum.Reason])
			all.count(headgate.PieceCause{Allowed: denied == 0, Reason: reason}, pieces, sum.AllowedCost+sum.DeniedCost)
		}
	}
}

func (c *countWords) cause(w *world) headgate.PieceCause {
	cause := headgate.PieceCause{Allowed: c.Verdict == "ALLOWED", Reason: reason(w.t, c.Reason)}
	if w.place == "server" {
		return cause
	}
	cause.Budget, cause.Rule, cause.Signal = c.Budget, c.Rule, c.Signal
	cause.LimitKind = limitKind(c.LimitKind)
	return cause
}

func limitKind(word string) headgate.LimitKind {
	return headgate.LimitKind(headgatev1.LimitKind_value["LIMIT_KIND_"+word])
}

// against holds what leases did against what was expected of them.
func (e *leaseExpectation) against(c *complaints, got *result, w *world) {
	if got.piece != nil {
		same(c, "for_good", e.ForGood, got.piece.forGood)
		same(c, "closed", e.Closed, got.piece.closed)
		same(c, "admitted", e.Admitted, got.piece.admitted)
	}
	if got.leaseStats != nil {
		c.within("admitted_pieces", e.AdmittedPieces, float64(got.leaseStats.Admitted), true)
		c.within("refused_pieces", e.RefusedPieces, float64(got.leaseStats.Refused), true)
		c.within("safe_pieces", e.SafePieces, float64(got.leaseStats.Safe), true)
		c.within("local_pieces", e.LocalPieces, float64(got.leaseStats.Local), true)
		c.within("held", e.Held, got.leaseStats.Held, true)
	}
	if got.told == nil {
		return
	}
	t := got.told
	e.againstCounts(c, t, w)
	if w.place == "server" {
		return
	}
	c.within("spent", e.Spent, t.spent, true)
	c.within("safe_spent", e.SafeSpent, t.safeSpent, true)
	c.within("pieces", e.Pieces, float64(t.pieces), true)
	c.within("actual_cost", e.Cost, t.cost, t.hasCost)
	c.within("busy_time", e.Busy, t.busy, t.hasBusy)
	same(c, "numbered", e.Numbered, len(t.numbers) == t.uses && !t.numbers[0])
	c.within("asks", e.Asks, float64(len(t.asks)), true)
	for _, ask := range t.asks {
		c.within("least", e.Least, ask.Lease.Least, true)
		c.within("most", e.Most, *ask.EstimatedCost, true)
	}
}

// againstCounts: each is there with these values, and no other is.
func (e *leaseExpectation) againstCounts(c *complaints, t *told, w *world) {
	if e.CountedAs != "" {
		var allowed, denied int64
		for cause, count := range t.counts {
			if cause.Allowed {
				allowed += count.Pieces
			} else {
				denied += count.Pieces
			}
		}
		if stats := t.stats[e.CountedAs]; allowed != int64(stats.Admitted) || denied != int64(stats.Refused) {
			c.say("%d and %d are counted, and the lease has %+v", allowed, denied, stats)
		}
	}
	if e.Counted == nil {
		return
	}
	left := map[headgate.PieceCause]headgate.PieceCount{}
	for cause, count := range t.counts {
		left[cause] = count
	}
	for _, want := range *e.Counted {
		cause := want.cause(w)
		count, found := left[cause]
		if !found {
			c.say("nothing is counted as %+v", cause)
		}
		c.within(fmt.Sprintf("pieces of %+v", cause), want.Pieces, float64(count.Pieces), true)
		c.within(fmt.Sprintf("cost of %+v", cause), want.Cost, count.Cost, true)
		delete(left, cause)
	}
	for cause, count := range left {
		c.say("%d are counted as %+v", count.Pieces, cause)
	}
}

func (g *grantWords) toSDK() *headgate.LeaseGrant {
	if g == nil {
		return nil
	}
	grant := &headgate.LeaseGrant{Amount: g.Amount, LargestPiece: g.LargestPiece, RejectRatio: g.RejectRatio, OneAtATime: g.OneAtATime,
		SafeRate: g.SafeRate, SafeTime: time.Duration(g.SafeTime)}
	if g.Time != nil {
		grant.Time = time.Duration(*g.Time)
	}
	return grant
}

func violationsToSDK(words []violationWords) []headgate.Violation {
	var all []headgate.Violation
	for _, each := range words {
		kind := each.LimitKind
		if kind == "" {
			kind = "BURST"
		}
		all = append(all, headgate.Violation{Budget: each.Budget, Rule: each.Rule, Signal: each.Signal, LimitKind: limitKind(kind),
			Warn: each.Warn, RetryAfter: time.Duration(each.RetryAfter)})
	}
	return all
}
