package headgate_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/headgate/headgate/client/go/headgate"
	headgatev1 "github.com/headgate/headgate/client/go/headgate/v1"
)

// server is one over a real socket that answers as the test says.
type server struct {
	headgatev1.UnimplementedThrottlerServiceServer
	address string
	answer  func(context.Context, *headgatev1.CheckRequest) (*headgatev1.CheckResponse, error)
	// Those who wait for orders about leases, which are not among the Checks.
	watch func(context.Context, *headgatev1.CheckRequest) (*headgatev1.CheckResponse, error)

	mu     sync.Mutex // guards what follows
	checks []*headgatev1.CheckRequest
}

func newServer(t *testing.T, answer func(context.Context, *headgatev1.CheckRequest) (*headgatev1.CheckResponse, error)) *server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{address: listener.Addr().String(), answer: answer, watch: knowsNoWatch}
	serving := grpc.NewServer(grpc.MaxConcurrentStreams(128)) // as the real one
	headgatev1.RegisterThrottlerServiceServer(serving, s)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = serving.Serve(listener) // until it is stopped
	}()
	t.Cleanup(func() { serving.Stop(); <-ended })
	return s
}

// As a server does that is older than they are.
func knowsNoWatch(context.Context, *headgatev1.CheckRequest) (*headgatev1.CheckResponse, error) {
	return nil, status.Error(codes.InvalidArgument, "max_wait: a Check with validate_only cannot wait")
}

func (s *server) Check(ctx context.Context, request *headgatev1.CheckRequest) (*headgatev1.CheckResponse, error) {
	if request.GetLease().GetWatch() != nil {
		return s.watch(ctx, request)
	}
	s.mu.Lock()
	s.checks = append(s.checks, request)
	s.mu.Unlock()
	return s.answer(ctx, request)
}

func (s *server) Report(_ context.Context, request *headgatev1.ReportRequest) (*headgatev1.ReportResponse, error) {
	response := &headgatev1.ReportResponse{}
	for _, report := range request.Reports {
		result := &headgatev1.ReportResult{Outcome: headgate.OutcomeSettled,
			Overruns:  []*headgatev1.Overrun{{Budget: "rows", Reported: report.GetActualCost(), Charged: 5}},
			Unsettled: []string{"pages"}}
		if report.PermitId == 7 {
			result = &headgatev1.ReportResult{Error: &headgatev1.Error{Code: int32(codes.NotFound), Message: "no such permit"}}
		}
		response.Results = append(response.Results, result)
	}
	return response, nil
}

func (s *server) asked() []*headgatev1.CheckRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*headgatev1.CheckRequest(nil), s.checks...)
}

func (s *server) client(t *testing.T, options headgate.Options) *headgate.Client {
	t.Helper()
	return newClient(t, s.address, options)
}

// Where nothing is expected to fail, a busy machine must not make it.
func newClient(t *testing.T, address string, options headgate.Options) *headgate.Client {
	t.Helper()
	options.Identity = "backfill:etl"
	if options.CheckDeadline == 0 {
		options.CheckDeadline = 30 * time.Second
	}
	client, err := headgate.NewClient(address, headgate.Fail(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { wantIs(t, client.Close(), nil) })
	return client
}

func answers(decision *headgatev1.Decision) func(context.Context, *headgatev1.CheckRequest) (*headgatev1.CheckResponse, error) {
	return func(context.Context, *headgatev1.CheckRequest) (*headgatev1.CheckResponse, error) {
		return &headgatev1.CheckResponse{Decision: decision}, nil
	}
}

func fails(err error) func(context.Context, *headgatev1.CheckRequest) (*headgatev1.CheckResponse, error) {
	return func(context.Context, *headgatev1.CheckRequest) (*headgatev1.CheckResponse, error) { return nil, err }
}

func hangs(ctx context.Context, _ *headgatev1.CheckRequest) (*headgatev1.CheckResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

var yes = &headgatev1.Decision{Verdict: headgatev1.Verdict_VERDICT_ALLOWED, PermitId: proto.Uint64(1)}

func TestAllOfARequestIsSent(t *testing.T) {
	s := newServer(t, answers(yes))
	client := s.client(t, headgate.Options{})
	_, err := client.Check(ctx, headgate.Request{Identity: "job-7:etl", Target: "orders", EstimatedCost: headgate.Cost(0),
		Pattern: "insert-orders", Tags: map[string]string{"team": "data"}, RequestID: "r1", ValidateOnly: true,
		MaxWait: 1500 * time.Millisecond})
	wantIs(t, err, nil)
	_, err = client.Check(ctx, headgate.Request{})
	wantIs(t, err, nil)
	want := &headgatev1.CheckRequest{Identity: "job-7:etl", Target: "orders", EstimatedCost: proto.Float64(0),
		Pattern: "insert-orders", Tags: map[string]string{"team": "data"}, RequestId: "r1", ValidateOnly: true,
		MaxWait: durationpb.New(1500 * time.Millisecond)}
	if sent := s.asked()[0]; !proto.Equal(sent, want) {
		t.Errorf("sent was %v", sent)
	}
	if sent := s.asked()[1]; sent.EstimatedCost != nil || sent.MaxWait != nil || sent.RequestId == "" {
		t.Errorf("sent was %v", sent)
	}
}

func TestAllOfAnAnswerIsRead(t *testing.T) {
	s := newServer(t, answers(&headgatev1.Decision{
		Verdict: headgatev1.Verdict_VERDICT_DENIED, Reason: headgate.ReasonHealth, PredictedCost: 12,
		RetryAfter: durationpb.New(1500 * time.Millisecond), Message: "held back by replication lag", Priority: 3,
		ChunkScale: proto.Float64(0.25), Waited: durationpb.New(3 * time.Second),
		Violations: []*headgatev1.Violation{{Budget: "etl-rows", Rule: "slow-etl", Level: "etl", Observed: 1.25, Limit: 1,
			LimitKind: headgatev1.LimitKind_LIMIT_KIND_PROBE, Signal: "lag", Warn: true,
			Unit:         headgatev1.BudgetUnit_BUDGET_UNIT_COST,
			ReportedDebt: &headgatev1.ReportedDebt{Reported: 7, OwedFor: durationpb.New(time.Minute)}}},
		Health: &headgatev1.Health{Profile: "strict", State: headgatev1.HealthState_HEALTH_STATE_STALE, Speed: 0.5,
			Pressure: 1.25, Signal: "lag", SampleAge: durationpb.New(7 * time.Second)},
	}))
	answer, err := s.client(t, headgate.Options{}).Check(ctx, headgate.Request{})
	wantIs(t, err, nil)
	age := 7 * time.Second
	wantEqual(t, answer, headgate.Answer{Reason: headgate.ReasonHealth, PredictedCost: 12,
		RetryAfter: 1500 * time.Millisecond, Message: "held back by replication lag", Priority: 3, ChunkScale: 0.25,
		Waited: 3 * time.Second,
		Violations: []headgate.Violation{{Budget: "etl-rows", Rule: "slow-etl", Level: "etl", Observed: 1.25, Limit: 1,
			LimitKind: headgatev1.LimitKind_LIMIT_KIND_PROBE, Signal: "lag", Warn: true,
			Unit:         headgatev1.BudgetUnit_BUDGET_UNIT_COST,
			ReportedDebt: &headgate.ReportedDebt{Reported: 7, OwedFor: time.Minute, ReportedAt: time.Unix(0, 0).UTC()}}},
		Health: &headgate.Health{Profile: "strict", State: headgatev1.HealthState_HEALTH_STATE_STALE, Speed: 0.5,
			Pressure: 1.25, Signal: "lag", SampleAge: &age}})
}

func TestAnAnswerWithoutAVerdictIsAnError(t *testing.T) {
	for _, decision := range []*headgatev1.Decision{nil, {}, {Verdict: 99}} {
		_, err := newServer(t, answers(decision)).client(t, headgate.Options{}).Check(ctx, headgate.Request{})
		wantCode(t, err, codes.Internal)
	}
}

func TestErrorsAreHandedOverWithTheirRetryDelay(t *testing.T) {
	full, err := status.New(codes.ResourceExhausted, "table is full").WithDetails(&errdetails.ErrorInfo{},
		&errdetails.RetryInfo{RetryDelay: durationpb.New(2 * time.Second)})
	wantIs(t, err, nil)
	s := newServer(t, fails(full.Err()))
	_, err = s.client(t, headgate.Options{}).Check(ctx, headgate.Request{})
	var told *headgate.Error
	if !asError(err, &told) {
		t.Fatalf("the error is %v", err)
	}
	wantEqual(t, *told, headgate.Error{Code: codes.ResourceExhausted, Message: "table is full", RetryDelay: 2 * time.Second})
}

func TestReportsTellWhatCameOfThem(t *testing.T) {
	client := newServer(t, answers(yes)).client(t, headgate.Options{})
	settled, err := client.ReportNow(ctx, 1, headgate.ActualCost(1000))
	wantIs(t, err, nil)
	wantEqual(t, settled, headgate.ReportResult{Outcome: headgate.OutcomeSettled,
		Overruns:  []headgate.Overrun{{Budget: "rows", Reported: 1000, Charged: 5}},
		Unsettled: []string{"pages"}})
	_, err = client.ReportNow(ctx, 7)
	wantCode(t, err, codes.NotFound)
}

func TestAHungServerIsGivenUpAtTheDeadline(t *testing.T) {
	client := newServer(t, hangs).client(t, headgate.Options{CheckDeadline: 100 * time.Millisecond})
	_, err := client.Check(ctx, headgate.Request{})
	wantIs(t, err, headgate.ErrUnreachable)
	wantCode(t, err, codes.DeadlineExceeded)
}

func TestAMachineThatNeverAnswersIsGivenUpAtTheDeadline(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // and never accepts
	wantIs(t, err, nil)
	defer listener.Close()
	client := newClient(t, listener.Addr().String(), headgate.Options{CheckDeadline: 100 * time.Millisecond})
	_, err = client.Check(ctx, headgate.Request{})
	wantIs(t, err, headgate.ErrUnreachable)
}

func TestAnAddressIsNoURL(t *testing.T) {
	for _, url := range []string{"http://headgate:8080", "https://headgate"} {
		_, err := headgate.NewClient(url, headgate.Wait(), headgate.Options{})
		wantCode(t, err, codes.InvalidArgument)
	}
}

// The caller's own end of patience says nothing of the server.
func TestADeadlineOfTheContextIsNoOutage(t *testing.T) {
	client := newServer(t, hangs).client(t, headgate.Options{})
	soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	for _, wait := range []time.Duration{0, time.Minute} {
		_, err := client.Check(soon, headgate.Request{MaxWait: wait})
		wantIs(t, err, context.DeadlineExceeded)
	}
}

func TestACallThatTheServerCutsIsMadeAgainUnderTheSameID(t *testing.T) {
	calls := 0
	s := newServer(t, func(context.Context, *headgatev1.CheckRequest) (*headgatev1.CheckResponse, error) {
		if calls++; calls == 1 {
			return nil, status.Error(codes.Canceled, "CANCELLED")
		}
		return &headgatev1.CheckResponse{Decision: yes}, nil
	})
	_, err := s.client(t, headgate.Options{}).Check(ctx, headgate.Request{})
	wantIs(t, err, nil)
	asked := s.asked()
	wantEqual(t, len(asked), 2)
	wantEqual(t, asked[0].RequestId, asked[1].RequestId)
}

func TestCloseEndsCallsInProgress(t *testing.T) {
	asked := make(chan struct{}, 1)
	s := newServer(t, func(ctx context.Context, request *headgatev1.CheckRequest) (*headgatev1.CheckResponse, error) {
		asked <- struct{}{}
		return hangs(ctx, request)
	})
	client := s.client(t, headgate.Options{})
	ended := make(chan error)
	go func() {
		_, err := client.CheckOrWait(ctx, headgate.Request{}, headgate.Forever)
		ended <- err
	}()
	<-asked
	wantIs(t, client.Close(), nil)
	wantIs(t, <-ended, headgate.ErrClosed)
	_, err := client.Check(ctx, headgate.Request{})
	wantIs(t, err, headgate.ErrClosed)
	_, err = client.Check(ctx, headgate.Request{MaxWait: time.Second})
	wantIs(t, err, headgate.ErrClosed)
}

// A server takes 128 calls of a connection at a time.
func TestThoseWhoWaitHoldUpNobodyElse(t *testing.T) {
	const waiters = 350
	release := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Add(waiters)
	s := newServer(t, func(_ context.Context, request *headgatev1.CheckRequest) (*headgatev1.CheckResponse, error) {
		if request.MaxWait != nil {
			waiting.Done()
			<-release
		}
		return &headgatev1.CheckResponse{Decision: yes}, nil
	})
	client := s.client(t, headgate.Options{})
	var all sync.WaitGroup
	for i := 0; i < waiters; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			_, err := client.Check(ctx, headgate.Request{MaxWait: time.Minute})
			wantIs(t, err, nil)
		}()
	}
	waiting.Wait() // all of them have arrived
	_, err := client.ReportNow(ctx, 1)
	wantIs(t, err, nil)
	_, err = client.Check(ctx, headgate.Request{})
	wantIs(t, err, nil)
	close(release)
	all.Wait()
}

func TestOptionsOfGRPCArePassedOn(t *testing.T) {
	s := newServer(t, answers(yes))
	var methods []string
	client := s.client(t, headgate.Options{DialOptions: []grpc.DialOption{grpc.WithUnaryInterceptor(
		func(ctx context.Context, method string, request, reply any, channel *grpc.ClientConn,
			invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
			methods = append(methods, method)
			return invoke(ctx, method, request, reply, channel, options...)
		})}})
	_, err := client.Check(ctx, headgate.Request{})
	wantIs(t, err, nil)
	wantEqual(t, methods, []string{headgatev1.ThrottlerService_Check_FullMethodName})
}
