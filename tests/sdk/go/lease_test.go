package sdk_test

// Leases of a real server's: what is spent, what is counted, and what operators and outages do.

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/headgate/headgate/client/go/headgate"
	headgatev1 "github.com/headgate/headgate/client/go/headgate/v1"
)

// work does pieces of 1, in so many goroutines at once, and counts by reason what became of them.
func (h *holder) work(goroutines, pieces int) map[headgate.Reason]outcomes {
	var all sync.WaitGroup
	var mu sync.Mutex
	sums := map[headgate.Reason]outcomes{}
	for i := 0; i < goroutines; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			own := map[headgate.Reason]outcomes{}
			for piece := 0; piece < pieces; piece++ {
				answer, err := h.Admit(1)
				if err != nil {
					h.t.Error(err)
					return
				}
				sum := own[answer.Reason]
				if answer.Allowed {
					sum.allowed++
					sum.allowedCost++
				} else {
					sum.denied++
					sum.deniedCost++
				}
				own[answer.Reason] = sum
			}
			mu.Lock()
			defer mu.Unlock()
			for reason, each := range own {
				sum := sums[reason]
				sum.allowed += each.allowed
				sum.denied += each.denied
				sum.allowedCost += each.allowedCost
				sum.deniedCost += each.deniedCost
				sums[reason] = sum
			}
		}()
	}
	all.Wait()
	return sums
}

const rowsPerSecond = `{budgets: [{name: rows, rate: 1000, burst: 500}], rules: [{name: all, charge: [rows]}]}`

func TestLeasesSpendNoMoreThanTheBudgetHasAndTheLogHasEachPiece(t *testing.T) {
	t.Parallel()
	h := newHolder(t, rowsPerSecond, clientOptions{}, headgate.LeaseOptions{})
	began := time.Now()
	for time.Since(began) < 2*time.Second { // some leases, one after the other
		if err := h.Wait(context.Background(), 1, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	waited := int64(h.Stats().Admitted)
	counted := h.work(8, 20_000)
	h.closes()
	if most := 500 + 1000*time.Since(began).Seconds(); float64(h.Stats().Admitted) > most {
		t.Errorf("%d rows were admitted, and the budget had %v", h.Stats().Admitted, most)
	}
	own := counted[headgate.ReasonNone]
	own.allowed += waited
	own.allowedCost += float64(waited)
	h.wantLogged(headgate.ReasonNone, own)
	h.wantLogged(headgate.ReasonCapacity, counted[headgate.ReasonCapacity])
	stats := h.Stats()
	if int64(stats.Admitted) != own.allowed || int64(stats.Refused) != counted[headgate.ReasonCapacity].denied {
		t.Errorf("it counts %+v, and its callers %+v", stats, counted)
	}
}

func (h *holder) pauses() *headgatev1.Override {
	h.t.Helper()
	made, err := headgatev1.NewOverrideServiceClient(h.channel).CreateOverride(context.Background(),
		&headgatev1.CreateOverrideRequest{Kind: headgatev1.OverrideKind_OVERRIDE_KIND_PAUSE, Actor: "test", Reason: "test",
			Selector: &headgatev1.Selector{Kind: &headgatev1.Selector_Identity{Identity: "etl"}},
			Expiry:   &headgatev1.CreateOverrideRequest_ExpiresIn{ExpiresIn: durationpb.New(time.Hour)}})
	if err != nil {
		h.t.Fatal(err)
	}
	return made.Override
}

func TestAPauseReachesWhoHoldsALeaseWithinItsTimeAndItsEndToo(t *testing.T) {
	t.Parallel()
	h := newHolder(t, rowsPerSecond, clientOptions{LongestWait: duration(500 * time.Millisecond)},
		headgate.LeaseOptions{Time: 400 * time.Millisecond})
	var newest atomic.Int64 // when the newest piece that was admitted began, in ns
	began := time.Now()
	stop := make(chan struct{})
	var all sync.WaitGroup
	for i := 0; i < 4; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for {
				select {
				case <-stop:
					return
				default:
				}
				begins := int64(time.Since(began))
				if answer, err := h.Admit(0.1); err != nil {
					t.Error(err)
					return
				} else if answer.Allowed {
					for last := newest.Load(); begins > last && !newest.CompareAndSwap(last, begins); last = newest.Load() {
					}
				}
				time.Sleep(100 * time.Microsecond)
			}
		}()
	}
	until(t, func() bool { return h.Stats().Admitted > 100 })
	paused := h.pauses()
	pausedAt := time.Since(began)
	until(t, func() bool {
		answer, err := h.Admit(0.1)
		return err == nil && answer.Reason == headgate.ReasonDenyRule
	})
	until(t, func() bool { return time.Since(began) > pausedAt+time.Second })
	if last := time.Duration(newest.Load()); last >= pausedAt+400*time.Millisecond {
		t.Errorf("a piece began %v after the pause", last-pausedAt)
	}
	_, err := headgatev1.NewOverrideServiceClient(h.channel).DeleteOverride(context.Background(),
		&headgatev1.DeleteOverrideRequest{Id: paused.Id, Actor: "test", Reason: "test"})
	if err != nil {
		t.Fatal(err)
	}
	admitted := h.Stats().Admitted
	until(t, func() bool { return h.Stats().Admitted > admitted })
	close(stop)
	all.Wait()
	h.closes()
	if denied := h.logged(headgate.ReasonDenyRule).denied; denied == 0 {
		t.Error("the log knows nothing of the pause")
	}
	stats := h.Stats()
	if got := h.logged(headgate.ReasonNone).allowed; got != int64(stats.Admitted) {
		t.Errorf("the log has %d pieces, and the lease %+v", got, stats)
	}
}

func TestOnePieceAtATimeInABudgetWithMaxConcurrency(t *testing.T) {
	t.Parallel()
	h := newHolder(t, `{budgets: [{name: slots, max_concurrency: 1}], rules: [{name: all, charge: [slots]}]}`,
		clientOptions{}, headgate.LeaseOptions{Time: 200 * time.Millisecond})
	var underWay atomic.Int64
	var all sync.WaitGroup
	for _, lease := range []*headgate.Lease{h.Lease, newLease(t, h.client, headgate.LeaseOptions{Time: 200 * time.Millisecond})} {
		lease := lease
		for i := 0; i < 3; i++ {
			all.Add(1)
			go func() {
				defer all.Done()
				for piece := 0; piece < 20; piece++ {
					if err := lease.Wait(context.Background(), 1, time.Minute); err != nil {
						t.Error(err)
						return
					}
					if underWay.Add(1) > 1 {
						t.Error("two pieces are under way")
					}
					underWay.Add(-1)
					if err := lease.Settle(1); err != nil {
						t.Error(err)
					}
				}
			}()
		}
	}
	all.Wait()
	h.closes()
}

func TestLeasesWhileTheServerIsGoneAndAfterwards(t *testing.T) {
	t.Parallel()
	for name, policy := range map[string]unreachable{
		"fail": {name: "fail"}, "wait": {name: "wait"}, "proceed": {name: "proceed"}, "floor rate": {name: "floor_rate", rate: 5}} {
		policy := policy
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			deadline := duration(time.Second)
			h := newHolder(t, rowsPerSecond, clientOptions{OnUnreachable: policy, CheckDeadline: &deadline},
				headgate.LeaseOptions{Time: 300 * time.Millisecond, SafeTime: -1})
			if err := h.Wait(context.Background(), 1, time.Minute); err != nil {
				t.Fatal(err)
			}
			h.world.server.end(syscall.SIGKILL)
			local := policy.name == "proceed" || policy.name == "floor_rate"
			until(t, func() bool {
				answer, err := h.Admit(1)
				if local {
					return err == nil && answer.Local
				}
				return errors.Is(err, headgate.ErrUnreachable)
			})
			if policy.name == "fail" {
				if err := h.Wait(context.Background(), 1, time.Minute); !errors.Is(err, headgate.ErrUnreachable) {
					t.Errorf("a wait ends with %v", err)
				}
			}
			ended := make(chan error)
			if policy.name != "fail" {
				go func() { ended <- h.Wait(context.Background(), 1, headgate.Forever) }()
			}
			h.world.server.start()
			if policy.name != "fail" {
				if err := <-ended; err != nil {
					t.Errorf("a wait ends with %v", err)
				}
			}
			until(t, func() bool {
				answer, err := h.Admit(1)
				return err == nil && answer.Allowed && !answer.Local
			})
			if stats := h.Stats(); (stats.Local > 0) != local {
				t.Errorf("it counts %+v", stats)
			}
			h.closes()
		})
	}
}
