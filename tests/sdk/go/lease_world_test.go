package sdk_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/headgate/headgate/client/go/headgate"
	headgatev1 "github.com/headgate/headgate/client/go/headgate/v1"
)

// holder is a lease of a real server's.
type holder struct {
	*headgate.Lease
	t       *testing.T
	world   *world
	client  *headgate.Client
	channel *grpc.ClientConn
}

// newHolder has a server with this configuration, in the YAML of a scenario.
func newHolder(t *testing.T, server string, client clientOptions, options headgate.LeaseOptions) *holder {
	t.Helper()
	w, _ := newWorld(t, written(`{name: lease, claim: of a lease, state: true, steps: [{check: {}}], server: `+server+`}`), "server")
	made, err := w.client(client)
	if err != nil {
		t.Fatal(err)
	}
	channel, err := grpc.NewClient(w.address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = channel.Close() }) // fails only where it is closed already
	return &holder{Lease: newLease(t, made, options), t: t, world: w, client: made, channel: channel}
}

func newLease(t *testing.T, client *headgate.Client, options headgate.LeaseOptions) *headgate.Lease {
	t.Helper()
	lease, err := client.Lease(options)
	if err != nil {
		t.Fatal(err)
	}
	return lease
}

func (h *holder) closes() {
	h.t.Helper()
	inTime, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := h.Close(inTime); err != nil {
		h.t.Fatal(err)
	}
}

// outcomes is pieces by what became of them, as their holder counts, or the throttle log.
type outcomes struct {
	allowed, wouldBeDenied, denied int64
	allowedCost, deniedCost        float64
}

// logged is what the throttle log has of one reason.
func (h *holder) logged(reason headgate.Reason) outcomes {
	h.t.Helper()
	inTime, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answer, err := headgatev1.NewThrottleLogServiceClient(h.channel).QueryThrottleLog(inTime,
		&headgatev1.QueryThrottleLogRequest{Filter: &headgatev1.LogFilter{Reasons: []headgate.Reason{reason}}})
	if err != nil {
		h.t.Fatal(err)
	}
	if answer.WaitingChecks > 0 {
		h.t.Errorf("the log has not got %d of them", answer.WaitingChecks)
	}
	var got outcomes
	for _, sum := range answer.Sums {
		got.allowed += sum.Allowed
		got.wouldBeDenied += sum.WouldBeDenied
		got.denied += sum.Denied
		got.allowedCost += sum.AllowedCost
		got.deniedCost += sum.DeniedCost
	}
	return got
}

func (h *holder) wantLogged(reason headgate.Reason, want outcomes) {
	h.t.Helper()
	if got := h.logged(reason); got != want {
		h.t.Errorf("the throttle log has %+v of %v, want %+v", got, reason, want)
	}
}

// until looks again and again; generously, since a busy machine must not make a test fail.
func until(t *testing.T, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("it does not come about")
		}
	}
}
