package headgate_test

import (
	"context"
	"math"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/headgate/headgate/client/go/headgate"
	"github.com/headgate/headgate/client/go/headgate/headgatetest"
	headgatev1 "github.com/headgate/headgate/client/go/headgate/v1"
)

func TestTheFirstPieceFindsItsLeaseOnTheWay(t *testing.T) {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{Pattern: "sync", Tags: map[string]string{"team": "data"}})
	h.wantChecks(0)
	h.refuses(3, headgate.ReasonCapacity, 5*time.Millisecond)
	h.wantChecks(1)
	asked := h.lastCheck()
	wantEqual(t, asked.Identity, self.Identity)
	wantEqual(t, asked.Pattern, "sync")
	wantEqual(t, asked.Tags, map[string]string{"team": "data"})
	wantEqual(t, *asked.EstimatedCost, 3)
	wantEqual(t, *asked.Lease, headgate.LeaseTerms{Least: 3, Time: time.Second, SafeRate: 3, SafeTime: 10 * time.Second})
	h.admits(1, 3)
	h.closes()
	wantEqual(t, h.told(), map[headgate.PieceCause]int64{wasAllowed: 1, hadNoRoom: 1})
}

func TestTheNextLeaseIsAskedForWhenHalfOfOneIsUsed(t *testing.T) {
	h := granted(t, headgate.LeaseGrant{Amount: 10})
	h.admits(3, 1)
	h.wantChecks(1)
	h.admits(1, 1)
	h.wantChecks(2)
	wantEqual(t, h.Stats(), headgate.LeaseStats{Admitted: 5, Held: 15})
	wantEqual(t, h.lastCheck().Lease.Returned, nil)
	h.admits(5, 1)
	wantEqual(t, len(h.returned()), 0)
	h.admits(1, 1) // of the next, so that the first goes back
	back := h.returned()
	wantEqual(t, len(back), 1)
	back[0].LeaseUse.ID = 0
	wantEqual(t, *back[0].LeaseUse, headgate.LeaseUse{Spent: 10, Pieces: 10, Identity: self.Identity,
		Counts: []headgate.PieceCount{{PieceCause: wasAllowed, Pieces: 10, Cost: 10}}})
	if back[0].ActualCost != nil || back[0].BusyTime != nil {
		t.Errorf("it says what nobody told: %+v", back[0])
	}
}

func TestTheNextLeaseIsAskedForWhenHalfOfTheTimeIsOver(t *testing.T) {
	h := granted(t, headgate.LeaseGrant{Amount: 100})
	h.passes(499 * time.Millisecond)
	h.wantChecks(1)
	h.passes(time.Millisecond)
	h.wantChecks(2)
}

func TestALeaseOfWhichNothingIsUsedGoesBackAndNoneIsAskedFor(t *testing.T) {
	h := granted(t, headgate.LeaseGrant{Amount: 100})
	h.passes(500 * time.Millisecond) // the next one comes
	h.passes(time.Hour)
	h.wantChecks(2)
	back := h.returned()
	wantEqual(t, len(back), 2)
	wantEqual(t, back[1].LeaseUse.Spent, 0)
	wantEqual(t, len(h.fake.Outstanding()), 0)
	wantEqual(t, h.Stats().Held, 0)
	h.refuses(1, headgate.ReasonCapacity, 5*time.Millisecond)
	h.wantChecks(3)
	h.admits(1, 1)
}

func TestNoPieceBeginsWhenTheTimeIsOverWhichCountsFromTheAsking(t *testing.T) {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{Time: 2 * time.Second})
	h.fake.Handle(func(request headgate.Request) (headgate.Answer, error) {
		wantEqual(t, request.Lease.Time, 2*time.Second)
		h.fake.Clock().Advance(200 * time.Millisecond)
		return headgate.Answer{Allowed: true, Lease: &headgate.LeaseGrant{Amount: 100, Time: time.Second}}, nil
	})
	h.waits(1)
	h.fake.Handle(func(headgate.Request) (headgate.Answer, error) {
		return headgate.Answer{RetryAfter: time.Minute, Reason: headgate.ReasonHealth}, nil
	})
	h.passes(800*time.Millisecond - 1)
	h.admits(1, 1)
	h.passes(1)
	h.refuses(1, headgate.ReasonHealth, h.asks(1).RetryAfter)
}

func TestALeaseUsedUpGoesBackWithTheCheckForTheNext(t *testing.T) {
	h := granted(t, headgate.LeaseGrant{Amount: 1})
	h.wantChecks(2)
	back := h.lastCheck().Lease.Returned
	if back == nil || back.LeaseUse.Spent != 1 {
		t.Fatalf("the Check returns %+v", back)
	}
	wantEqual(t, *h.lastCheck().EstimatedCost, 12) // 1.5 times what an eighth of a second took
	wantEqual(t, h.Stats().Held, 1)
	wantEqual(t, len(h.returned()), 1)
	wantEqual(t, h.client.ReportStats(), headgate.ReportStats{Delivered: 1})
}

func TestALeaseIsSizedByWhatIsUsedInItsTime(t *testing.T) {
	for name, lasts := range map[string]time.Duration{"as asked for": time.Second, "shorter": 200 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{})
			h.fake.Handle(func(request headgate.Request) (headgate.Answer, error) {
				return headgate.Answer{Allowed: true, Lease: &headgate.LeaseGrant{Amount: *request.EstimatedCost, Time: lasts}}, nil
			})
			for passed := time.Duration(0); passed < 10*time.Second; passed += 10 * time.Millisecond { // 1000 a second
				h.waits(10)
				h.passes(10 * time.Millisecond)
			}
			held, used := h.Stats().Held, 1000*lasts.Seconds()
			if held < 0.1*used || held > 2*used {
				t.Errorf("%v are held where %v are used in the time of a lease", held, used)
			}
			asked := len(h.checks())
			if often := int(10 * time.Second / lasts); asked < often || asked > 4*often {
				t.Errorf("it has asked %d times in the time of %d leases", asked, often)
			}
		})
	}
}

func TestAPieceThatDoesNotFitLeavesTheRestForSmallerOnes(t *testing.T) {
	h := granted(t, headgate.LeaseGrant{Amount: 10})
	h.refuses(20, headgate.ReasonCapacity, 5*time.Millisecond)
	wantEqual(t, h.lastCheck().Lease.Least, 20)
	wantEqual(t, h.lastCheck().Lease.Returned, nil)
	h.admits(1, 1)
}

func TestAPieceTakesTheNextLeaseWhereTheFirstHasTooLittleLeft(t *testing.T) {
	h := granted(t, headgate.LeaseGrant{Amount: 20})
	h.admits(2, 5) // 11 are spent, and the next one is there
	h.admits(1, 10)
	back := h.returned()
	wantEqual(t, len(back), 1)
	wantEqual(t, back[0].LeaseUse.Spent, 11)
}

func TestARejectRatioRefusesItsShareUntilTheLeaseIsOver(t *testing.T) {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{})
	h.grants(headgate.LeaseGrant{Amount: 1e9, RejectRatio: 0.25})
	h.waits(1)
	h.passes(100 * time.Millisecond)
	before := h.Stats()
	for i := 0; i < 10_000; i++ {
		answer, err := h.Admit(1)
		wantIs(t, err, nil)
		if !answer.Allowed && (answer.Reason != headgate.ReasonRejectRatio || answer.RetryAfter <= 0) {
			t.Fatalf("it is answered %+v", answer)
		}
	}
	if refused := h.Stats().Refused - before.Refused; refused < 2300 || refused > 2700 {
		t.Errorf("%d of 10,000 are refused", refused)
	}
	h.closes()
	told := h.told()
	wantEqual(t, told[headgate.PieceCause{Reason: headgate.ReasonRejectRatio, LimitKind: headgatev1.LimitKind_LIMIT_KIND_RULE}], int64(h.Stats().Refused))
	wantEqual(t, told[wasAllowed], int64(h.Stats().Admitted))
}

func TestWhoWaitsIsRolledForOnceInEachLease(t *testing.T) {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{})
	h.grants(headgate.LeaseGrant{Amount: 1e9, RejectRatio: 0.9})
	for i := 0; i < 20; i++ {
		h.waits(1)
	}
	waited := h.fake.Clock().Waited()
	if waited < 60*time.Second || waited > 600*time.Second {
		t.Errorf("20 pieces of which one in ten passes in a second took %v", waited)
	}
	h.closes()
	wantEqual(t, h.told(), map[headgate.PieceCause]int64{wasAllowed: 20})
}

func TestOnePieceAtATimeGivesItsPlaceBackBeforeItAsksForTheNext(t *testing.T) {
	h := granted(t, headgate.LeaseGrant{Amount: 10, OneAtATime: true})
	h.passes(600 * time.Millisecond)
	wantIs(t, h.Settle(1), nil)
	h.admits(1, 8)
	h.wantChecks(1)
	h.refuses(8, headgate.ReasonMaxConcurrency, 5*time.Millisecond) // while its place is taken
	h.wantChecks(1)
	wantIs(t, h.Settle(8), nil)
	h.refuses(8, headgate.ReasonCapacity, 5*time.Millisecond)
	h.wantChecks(2)
	if back := h.lastCheck().Lease.Returned; back == nil || back.LeaseUse.Spent != 9 {
		t.Errorf("the Check returns %+v", back)
	}
	h.admits(1, 8)
	h.passes(time.Second) // its lease is over, and the piece is not
	h.refuses(1, headgate.ReasonMaxConcurrency, 5*time.Millisecond)
}

func TestWhatIsSettledLateGoesWithTheNextLease(t *testing.T) {
	h := granted(t, headgate.LeaseGrant{Amount: 100})
	h.admits(1, 40)
	h.passes(2 * time.Second)
	wantIs(t, h.Settle(41, headgate.ActualCost(0)), nil)
	h.waits(30)
	h.passes(2 * time.Second)
	h.waits(30)
	h.passes(2 * time.Second)
	back := h.returned()
	var costs []float64
	for _, each := range back {
		if each.LeaseUse.Pieces > 0 && each.ActualCost != nil {
			costs = append(costs, *each.ActualCost)
		}
	}
	wantEqual(t, costs, []float64{0, 19}) // 41 less
}

func TestCloseReturnsWhatIsLeftAtOnceAndEndsAllCalls(t *testing.T) {
	h := granted(t, headgate.LeaseGrant{Amount: 10})
	h.admits(5, 1) // so that there are two
	h.fake.Handle(func(headgate.Request) (headgate.Answer, error) {
		return headgate.Answer{RetryAfter: time.Hour}, nil
	})
	h.closes()
	wantEqual(t, len(h.fake.Outstanding()), 0)
	back := h.fake.Reports()
	wantEqual(t, len(back), 2)
	wantEqual(t, back[0].LeaseUse.Spent+back[1].LeaseUse.Spent, 6)
	h.closes()
	wantEqual(t, len(h.fake.Reports()), 2)
	_, err := h.Admit(1)
	wantIs(t, err, headgate.ErrClosed)
	wantIs(t, h.Wait(ctx, 1, headgate.Forever), headgate.ErrClosed)
	wantIs(t, h.Settle(1), headgate.ErrClosed)
	wantEqual(t, h.Stats(), headgate.LeaseStats{Admitted: 6})
}

func TestCloseEndsWhoWaits(t *testing.T) {
	h := granted(t, headgate.LeaseGrant{Amount: 10, OneAtATime: true})
	ended := make(chan error)
	go func() { ended <- h.Wait(ctx, 1, headgate.Forever) }()
	awaitWaiters(t, h, 1)
	h.closes()
	wantIs(t, <-ended, headgate.ErrClosed)
}

func TestCloseOfTheClientReturnsItsLeases(t *testing.T) {
	h := granted(t, headgate.LeaseGrant{Amount: 10})
	wantIs(t, h.client.Close(), nil)
	wantEqual(t, len(h.fake.Outstanding()), 0)
	wantEqual(t, len(h.fake.Reports()), 1)
	_, err := h.Admit(1)
	wantIs(t, err, headgate.ErrClosed)
	_, err = h.client.Lease(headgate.LeaseOptions{})
	wantIs(t, err, headgate.ErrClosed)
	wantIs(t, h.Close(ctx), nil)
}

func TestCloseEndsWithItsContextAndLosesNothing(t *testing.T) {
	h := granted(t, headgate.LeaseGrant{Amount: 10})
	h.fake.SetDown(true)
	done, cancel := context.WithCancel(ctx)
	cancel()
	wantIs(t, h.Close(done), context.Canceled)
	h.fake.SetDown(false)
	wantEqual(t, len(h.returned()), 1)
}

func TestLeasesThatCannotBeAreRefused(t *testing.T) {
	client := headgatetest.New().NewClient(t, headgate.Fail(), self)
	for _, wrong := range []headgate.LeaseOptions{{Piece: -1}, {Piece: math.Inf(1)}, {Time: 99 * time.Millisecond},
		{Time: 11 * time.Second}, {Time: -1}, {Identity: "\xff"}, {Tags: map[string]string{"\xff": ""}}} {
		_, err := client.Lease(wrong)
		wantCode(t, err, codes.InvalidArgument)
	}
	lease, err := client.Lease(headgate.LeaseOptions{})
	wantIs(t, err, nil)
	for _, wrong := range []float64{-1, math.NaN(), math.Inf(1), 2 * headgate.MaxCost} {
		_, err := lease.Admit(wrong)
		wantCode(t, err, codes.InvalidArgument)
		wantCode(t, lease.Wait(ctx, wrong, headgate.Forever), codes.InvalidArgument)
	}
}

func TestAPieceOfNothingIsAPiece(t *testing.T) {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{Piece: 7})
	h.waits(0)
	wantEqual(t, h.lastCheck().Lease.Least, 7)
	h.closes()
	wantEqual(t, h.told(), map[headgate.PieceCause]int64{wasAllowed: 1})
}
