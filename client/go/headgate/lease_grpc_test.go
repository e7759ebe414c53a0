package headgate_test

import (
	"context"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/headgate/headgate/client/go/headgate"
	headgatev1 "github.com/headgate/headgate/client/go/headgate/v1"
)

func wantProto(t *testing.T, got, want proto.Message) {
	t.Helper()
	if !proto.Equal(got, want) {
		t.Errorf("it is %v, want %v", got, want)
	}
}

func TestAllOfALeaseIsSentAndRead(t *testing.T) {
	var reports []*headgatev1.PermitReport
	s := newServer(t, func(_ context.Context, request *headgatev1.CheckRequest) (*headgatev1.CheckResponse, error) {
		lease := &headgatev1.Lease{Amount: 2, Time: durationpb.New(3 * time.Second), LargestPiece: proto.Float64(2)}
		if returned := request.GetLease().GetReturned(); returned != nil {
			reports = append(reports, returned)
			lease.Returned = &headgatev1.ReportResult{Outcome: headgate.OutcomeSettled,
				Overruns: []*headgatev1.Overrun{{Budget: "rows", Reported: 9, Charged: 5}}}
		}
		return &headgatev1.CheckResponse{Decision: &headgatev1.Decision{Verdict: headgatev1.Verdict_VERDICT_ALLOWED,
			PermitId: proto.Uint64(uint64(1 + len(reports))), PredictedCost: 4, Lease: lease}}, nil
	})
	client := s.client(t, headgate.Options{Target: "orders"})
	lease, err := client.Lease(headgate.LeaseOptions{Pattern: "sync", Tags: map[string]string{"team": "data"},
		Time: 3 * time.Second})
	wantIs(t, err, nil)
	answer, err := lease.Admit(1)
	wantIs(t, err, nil)
	wantEqual(t, answer.Reason, headgate.ReasonCapacity)
	lease.AwaitAsked()
	wantIs(t, lease.Wait(ctx, 1, headgate.Forever), nil)
	wantIs(t, lease.Settle(1, headgate.ActualCost(3), headgate.BusyTime(time.Second)), nil)
	lease.AwaitAsked()
	answer, err = lease.Admit(3)
	wantIs(t, err, nil)
	wantEqual(t, answer.Reason, headgate.ReasonMaxCost)
	wantIs(t, lease.Wait(ctx, 2, headgate.Forever), nil) // so that the first goes back
	lease.AwaitAsked()
	wantIs(t, lease.Close(ctx), nil)
	asked := s.asked()[0]
	wantEqual(t, asked.RequestId != "", true)
	asked.RequestId = ""
	wantProto(t, asked, &headgatev1.CheckRequest{Identity: "backfill:etl", Target: "orders", EstimatedCost: proto.Float64(1),
		Pattern: "sync", Tags: map[string]string{"team": "data"},
		Lease: &headgatev1.LeaseTerms{Least: 1, Time: durationpb.New(3 * time.Second), SafeRate: 1. / 3,
			SafeTime: durationpb.New(10 * time.Second)}})
	if len(reports) == 0 {
		t.Fatal("no lease came back with a Check")
	}
	if stats := client.ReportStats(); stats.Overrun == 0 {
		t.Errorf("what came of the return is not counted: %+v", stats)
	}
}

func TestAllOfALeasesReturnIsSent(t *testing.T) {
	returned := make(chan *headgatev1.PermitReport, 1)
	s := newServer(t, func(_ context.Context, request *headgatev1.CheckRequest) (*headgatev1.CheckResponse, error) {
		if back := request.GetLease().GetReturned(); back != nil {
			returned <- back
			return &headgatev1.CheckResponse{Decision: &headgatev1.Decision{Verdict: headgatev1.Verdict_VERDICT_DENIED,
				Reason: headgate.ReasonMaxCost, Lease: &headgatev1.Lease{Returned: &headgatev1.ReportResult{
					Error: &headgatev1.Error{Code: int32(codes.InvalidArgument), Message: "as the test wants it"}}}}}, nil
		}
		return &headgatev1.CheckResponse{Decision: &headgatev1.Decision{Verdict: headgatev1.Verdict_VERDICT_ALLOWED,
			PermitId: proto.Uint64(5), PredictedCost: 2, Lease: &headgatev1.Lease{Amount: 1, OneAtATime: true,
				Time: durationpb.New(10 * time.Second)}}}, nil
	})
	client := s.client(t, headgate.Options{Target: "orders"})
	lease, err := client.Lease(headgate.LeaseOptions{})
	wantIs(t, err, nil)
	wantIs(t, lease.Wait(ctx, 1, headgate.Forever), nil)
	wantIs(t, lease.Settle(1, headgate.ActualCost(3), headgate.BusyTime(time.Second)), nil)
	wantIs(t, lease.Wait(ctx, 1, headgate.Forever), headgate.ErrDenied)
	back := <-returned
	if back.LeaseUse.Id == 0 {
		t.Error("it has no number to be counted once by")
	}
	back.LeaseUse.Id = 0
	wantProto(t, back, &headgatev1.PermitReport{PermitId: 5, ActualCost: proto.Float64(3),
		BusyTime: durationpb.New(time.Second), LeaseUse: &headgatev1.LeaseUse{Spent: 1, Pieces: 1,
			Identity: "backfill:etl", Target: "orders", Counts: []*headgatev1.PieceCount{
				{Verdict: headgatev1.Verdict_VERDICT_ALLOWED, Pieces: 1, Cost: 2}}}})
	lease.AwaitAsked()
	wantIs(t, lease.Close(ctx), nil)
}
