package headgate_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/headgate/headgate/client/go/headgate"
	headgatev1 "github.com/headgate/headgate/client/go/headgate/v1"
)

var tenSeconds = headgate.LeaseOptions{Time: 10 * time.Second}

// refusesFor tells whether a piece is refused for this reason by now.
func (h *holder) refusesFor(reason headgate.Reason) bool {
	answer, err := h.Admit(1)
	if err != nil {
		h.t.Fatal(err)
	}
	return !answer.Allowed && answer.Reason == reason
}

func (h *holder) deniesAll(reason headgate.Reason) {
	h.fake.Handle(func(headgate.Request) (headgate.Answer, error) {
		return headgate.Answer{Reason: reason, RetryAfter: time.Hour}, nil
	})
}

func TestAnOrderTakesBackWhatIsHeld(t *testing.T) {
	h := newHolder(t, headgate.Fail(), tenSeconds)
	h.waits(1)
	if h.Stats().Held == 0 {
		h.admits(1, 1)
	}
	h.deniesAll(headgate.ReasonDenyRule)
	h.fake.TakeBackLeases()
	until(t, func() bool { return h.refusesFor(headgate.ReasonDenyRule) })
	until(t, func() bool { return len(h.fake.Outstanding()) == 0 })
	wantEqual(t, h.Stats().Held, 0)
	h.closes()
}

func TestAfterAnOrderMoreIsAskedForAtOnce(t *testing.T) {
	h := granted(t, headgate.LeaseGrant{Amount: 100, Time: 10 * time.Second})
	first := h.fake.Outstanding()[0]
	h.fake.TakeBackLeases()
	// While the clock stands still.
	until(t, func() bool {
		left := h.fake.Outstanding()
		return len(left) == 1 && left[0] != first
	})
	h.admits(1, 1)
	h.closes()
}

func TestAnOrderEndsADenial(t *testing.T) {
	h := newHolder(t, headgate.Fail(), tenSeconds)
	h.deniesAll(headgate.ReasonDenyRule)
	h.asks(1)
	until(t, func() bool { return h.OrdersKnown() == 1 || !h.IsWatching() })
	waited := make(chan error)
	go func() { waited <- h.Wait(ctx, 1, headgate.Forever) }()
	h.grants(headgate.LeaseGrant{Amount: 100, Time: 10 * time.Second})
	h.fake.TakeBackLeases()
	wantIs(t, <-waited, nil)
	h.closes()
}

// The answer was decided before the order, which overtook it: nobody would take it back later.
func TestAnOrderTakesBackWhatAnAnswerUnderWayBrings(t *testing.T) {
	h := newHolder(t, headgate.Fail(), tenSeconds)
	deciding, decided := make(chan struct{}), make(chan struct{})
	var calls atomic.Int32
	h.fake.Handle(func(headgate.Request) (headgate.Answer, error) {
		if calls.Add(1) == 1 {
			close(deciding)
			<-decided
		}
		return headgate.Answer{Allowed: true, Lease: &headgate.LeaseGrant{Amount: 100, Time: 10 * time.Second}}, nil
	})
	waited := make(chan error)
	go func() { waited <- h.Wait(ctx, 1, headgate.Forever) }()
	<-deciding
	until(t, func() bool { return h.OrdersKnown() == 1 })
	h.fake.TakeBackLeases()
	until(t, func() bool { return h.OrdersKnown() == 2 })
	close(decided)
	wantIs(t, <-waited, nil)
	until(t, func() bool {
		left := h.fake.Outstanding()
		return len(left) == 1 && left[0] == 2
	})
	h.closes()
}

func TestAServerWithoutLeasesTakesNothingBack(t *testing.T) {
	h := newHolder(t, headgate.Fail(), tenSeconds)
	h.fake.SetWithoutLeases(true)
	h.waits(1)
	h.fake.TakeBackLeases()
	wantEqual(t, h.OrdersKnown(), 0)
	h.closes()
}

func TestNobodyWaitsForOrdersWhereNothingIsHeld(t *testing.T) {
	h := granted(t, headgate.LeaseGrant{Amount: 100, Time: 10 * time.Second})
	wantEqual(t, h.IsWatching(), true)
	h.passes(20 * time.Second)
	wantEqual(t, h.IsWatching(), false)
	h.waits(1)
	wantEqual(t, h.IsWatching(), true)
	h.closes()
	wantEqual(t, h.IsWatching(), false)
}

func TestAWatchIsSentSoThatNoServerTakesItForACheck(t *testing.T) {
	watches := make(chan *headgatev1.CheckRequest, 100)
	s := newServer(t, func(context.Context, *headgatev1.CheckRequest) (*headgatev1.CheckResponse, error) {
		return &headgatev1.CheckResponse{Decision: &headgatev1.Decision{Verdict: headgatev1.Verdict_VERDICT_ALLOWED,
			PermitId: proto.Uint64(1), Lease: &headgatev1.Lease{Amount: 2, State: 5, Time: durationpb.New(10 * time.Second)}}}, nil
	})
	s.watch = func(ctx context.Context, request *headgatev1.CheckRequest) (*headgatev1.CheckResponse, error) {
		watches <- request
		if request.GetLease().GetWatch().GetState() == 5 {
			<-ctx.Done()
			return nil, status.FromContextError(ctx.Err()).Err()
		}
		return &headgatev1.CheckResponse{Decision: &headgatev1.Decision{Lease: &headgatev1.Lease{State: 5}}}, nil
	}
	client := s.client(t, headgate.Options{Target: "orders"})
	lease, err := client.Lease(headgate.LeaseOptions{Pattern: "sync", Tags: map[string]string{"team": "data"}})
	wantIs(t, err, nil)
	wantIs(t, lease.Wait(ctx, 1, headgate.Forever), nil)
	wantProto(t, <-watches, watchOf(0))
	wantProto(t, <-watches, watchOf(5)) // at once: nothing that comes next is missed
	wantIs(t, lease.Wait(ctx, 1, headgate.Forever), nil)
	wantIs(t, lease.Close(ctx), nil)
}

func watchOf(state uint64) *headgatev1.CheckRequest {
	return &headgatev1.CheckRequest{Identity: "backfill:etl", Target: "orders", Pattern: "sync",
		Tags: map[string]string{"team": "data"}, ValidateOnly: true, MaxWait: durationpb.New(30 * time.Second),
		Lease: &headgatev1.LeaseTerms{Watch: &headgatev1.LeaseWatch{State: state}}}
}

func TestPausesBetweenWatchesGrowWithFailures(t *testing.T) {
	for _, test := range []struct {
		err         error
		failures    int
		least, most time.Duration
	}{
		{nil, 0, 25 * time.Millisecond, 50 * time.Millisecond},
		{&headgate.Error{Code: codes.Unavailable}, 0, 25 * time.Millisecond, 50 * time.Millisecond},
		{&headgate.Error{Code: codes.Unavailable}, 20, time.Second, 2 * time.Second},
		{&headgate.Error{Code: codes.ResourceExhausted, RetryDelay: 5 * time.Second}, 0, 5 * time.Second, 5 * time.Second},
		{&headgate.Error{Code: codes.InvalidArgument}, 0, 30 * time.Second, 40 * time.Second},
		{&headgate.Error{Code: codes.Unimplemented}, 9, 30 * time.Second, 40 * time.Second},
	} {
		h := newHolder(t, headgate.Fail(), tenSeconds)
		wantBetween(t, h.WatchPause(test.err, test.failures), test.least, test.most)
		h.closes()
	}
}
