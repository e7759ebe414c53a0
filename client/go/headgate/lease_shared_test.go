package headgate_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headgate/headgate/client/go/headgate"
	"github.com/headgate/headgate/client/go/headgate/headgatetest"
)

// generous is a fake that grants amounts of all sizes, denies now and then, and knows what it granted.
type generous struct {
	*headgatetest.Fake
	mu      sync.Mutex // guards what follows
	granted map[uint64]float64
	asked   int
}

func newGenerous() *generous {
	g := &generous{Fake: headgatetest.New(), granted: map[uint64]float64{}}
	g.Handle(func(request headgate.Request) (headgate.Answer, error) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.asked++
		if g.asked%7 == 0 {
			return headgate.Answer{Reason: headgate.ReasonHealth, RetryAfter: time.Millisecond}, nil
		}
		permit := uint64(1_000_000 + g.asked)
		g.granted[permit] = request.Lease.Least + float64(g.asked%13)*(*request.EstimatedCost-request.Lease.Least)/13
		return headgate.Answer{Allowed: true, PermitID: permit,
			Lease: &headgate.LeaseGrant{Amount: g.granted[permit], Time: time.Duration(1+g.asked%5) * time.Millisecond}}, nil
	})
	return g
}

// What no goroutine may see alone: that all together spend more than was granted, or that a piece is
// counted twice or not at all. In real time, with an outage now and then.
func TestManyGoroutinesSpendWhatIsGrantedAndEachPieceIsToldOnce(t *testing.T) {
	const goroutines, pieces = 8, 3000
	fake := newGenerous()
	options := headgate.Options{Identity: "sync-rows:etl", Clock: headgate.SystemClock{}, Seed: 1, OutagePause: time.Millisecond,
		CheckDeadline: 10 * time.Millisecond, FlushTimeout: time.Minute}
	client := fake.NewClient(t, headgate.Proceed(), options)
	lease, err := client.Lease(headgate.LeaseOptions{})
	wantIs(t, err, nil)
	var allowed, refused, local, waited atomic.Int64
	var all sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		i := i
		all.Add(1)
		go func() {
			defer all.Done()
			for piece := 0; piece < pieces; piece++ {
				cost := float64(1 + (i+piece)%4)
				switch {
				case i == 0 && piece%300 == 0:
					fake.SetDown(piece%600 == 0)
				case piece%10 == 0:
					wantIs(t, lease.Wait(ctx, cost, headgate.Forever), nil)
					waited.Add(1)
				default:
					answer, err := lease.Admit(cost)
					wantIs(t, err, nil)
					switch {
					case answer.Local:
						local.Add(1)
					case answer.Allowed:
						allowed.Add(1)
					default:
						refused.Add(1)
					}
				}
			}
		}()
	}
	all.Wait()
	fake.SetDown(false)
	wantIs(t, lease.Close(ctx), nil)
	stats := lease.Stats()
	wantEqual(t, stats.Admitted+stats.Local, uint64(allowed.Load()+local.Load()+waited.Load()))
	wantEqual(t, stats.Refused, uint64(refused.Load()))
	wantEqual(t, stats.Held, 0)
	var toldAllowed, toldRefused, usedPieces int64
	heard := map[uint64]bool{}
	for _, report := range fake.Reports() {
		use := report.LeaseUse
		if heard[use.ID] {
			continue // its answer was lost, and it came again
		}
		heard[use.ID] = true
		usedPieces += use.Pieces
		if granted := fake.granted[report.PermitID]; use.Spent > granted {
			t.Errorf("%v were spent of %v", use.Spent, granted)
		}
		for _, count := range use.Counts {
			if count.Allowed {
				toldAllowed += count.Pieces
			} else {
				toldRefused += count.Pieces
			}
		}
	}
	wantEqual(t, uint64(toldAllowed), stats.Admitted)
	wantEqual(t, uint64(usedPieces), stats.Admitted)
	wantEqual(t, uint64(toldRefused), stats.Refused)
	wantEqual(t, len(fake.Outstanding()), 0)
}

// simpleClock is real time by no more than a Clock has to have.
type simpleClock struct{ headgate.Clock }

func TestALeaseBearsAClockThatCannotRing(t *testing.T) {
	fake := headgatetest.New()
	client := fake.NewClient(t, headgate.Fail(), headgate.Options{Clock: simpleClock{headgate.SystemClock{}}, Identity: "etl"})
	lease, err := client.Lease(headgate.LeaseOptions{})
	wantIs(t, err, nil)
	fake.Handle(func(headgate.Request) (headgate.Answer, error) {
		return headgate.Answer{Allowed: true, Lease: &headgate.LeaseGrant{Amount: 10, Time: 20 * time.Millisecond}}, nil
	})
	wantIs(t, lease.Wait(ctx, 1, headgate.Forever), nil)
	until(t, func() bool { return len(fake.Outstanding()) == 0 }) // it goes back by itself, as do all that follow
	wantEqual(t, lease.Stats(), headgate.LeaseStats{Admitted: 1})
}

func TestWaitsInRealTimeAreOverInTime(t *testing.T) {
	fake := headgatetest.New()
	client := fake.NewClient(t, headgate.Fail(), headgate.Options{Clock: headgate.SystemClock{}, Identity: "etl"})
	lease, err := client.Lease(headgate.LeaseOptions{})
	wantIs(t, err, nil)
	fake.Handle(func(headgate.Request) (headgate.Answer, error) {
		return headgate.Answer{RetryAfter: time.Hour}, nil
	})
	began := time.Now()
	var late *headgate.TimeoutError
	if err := lease.Wait(ctx, 1, 20*time.Millisecond); !asError(err, &late) {
		t.Errorf("it ends with %v", err)
	}
	wantBetween(t, time.Since(began), 20*time.Millisecond, time.Minute)
}
