package headgatetest_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/headgate/headgate/client/go/headgate"
	"github.com/headgate/headgate/client/go/headgate/headgatetest"
)

var ctx = context.Background()

func check(t *testing.T, client *headgate.Client, request headgate.Request) headgate.Answer {
	t.Helper()
	answer, err := client.Check(ctx, request)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestFakeFollowsItsScriptInOrderThenItsHandler(t *testing.T) {
	fake := headgatetest.New()
	fake.Deny(2*time.Second, headgate.ReasonHealth)
	fake.Allow(headgate.Answer{PermitID: 99})
	fake.Fail(status.Error(codes.NotFound, "no target"))
	fake.DenyForGood(headgate.ReasonDenyRule)
	fake.Handle(func(request headgate.Request) (headgate.Answer, error) {
		fake.Clock().Advance(time.Second) // it may use the fake
		return headgate.Answer{Message: request.Pattern}, nil
	})
	client := fake.NewClient(t, headgate.Fail(), headgate.Options{})
	if answer := check(t, client, headgate.Request{}); answer.Reason != headgate.ReasonHealth || answer.Allowed {
		t.Errorf("first: %+v", answer)
	}
	if answer := check(t, client, headgate.Request{}); answer.PermitID != 99 {
		t.Errorf("second: %+v", answer)
	}
	if _, err := client.Check(ctx, headgate.Request{}); status.Code(err) != codes.NotFound {
		t.Errorf("third: %v", err)
	}
	if answer := check(t, client, headgate.Request{}); answer.RetryAfter != 0 || answer.Allowed {
		t.Errorf("fourth: %+v", answer)
	}
	if answer := check(t, client, headgate.Request{Pattern: "p"}); answer.Message != "p" {
		t.Errorf("fifth: %+v", answer)
	}
}

func TestFakeKeepsWhatIsLeftOfADenialForTheNextCheck(t *testing.T) {
	fake := headgatetest.New()
	client := fake.NewClient(t, headgate.Fail(), headgate.Options{})
	fake.Deny(10*time.Second, headgate.ReasonHealth)
	first := check(t, client, headgate.Request{MaxWait: 4 * time.Second})
	if first.RetryAfter != 6*time.Second || first.Waited != 4*time.Second {
		t.Errorf("first: %+v", first)
	}
	rest := check(t, client, headgate.Request{})
	if rest.RetryAfter != 6*time.Second || rest.Waited != 0 || rest.Reason != headgate.ReasonHealth {
		t.Errorf("then: %+v", rest)
	}
	if !check(t, client, headgate.Request{}).Allowed {
		t.Error("it is still denied")
	}
}

func TestFakeSettlesReportsAndKnowsWhatIsOutstanding(t *testing.T) {
	fake := headgatetest.New()
	client := fake.NewClient(t, headgate.Fail(), headgate.Options{})
	permit := check(t, client, headgate.Request{}).PermitID
	if check(t, client, headgate.Request{ValidateOnly: true}).PermitID != 0 {
		t.Error("there is a permit for validation")
	}
	fake.SetOverruns(headgate.Overrun{Budget: "rows", Reported: 1e12, Charged: 500})
	if left := fake.Outstanding(); len(left) != 1 || left[0] != permit {
		t.Errorf("outstanding are %v", left)
	}
	settled, err := client.ReportNow(ctx, permit, headgate.ActualCost(1e12))
	if err != nil || settled.Outcome != headgate.OutcomeSettled || len(settled.Overruns) != 1 {
		t.Errorf("first: %+v, %v", settled, err)
	}
	settled, err = client.ReportNow(ctx, permit)
	if err != nil || settled.Outcome != headgate.OutcomeAlreadySettled {
		t.Errorf("then: %+v, %v", settled, err)
	}
	if left := fake.Outstanding(); len(left) != 0 {
		t.Errorf("outstanding are %v", left)
	}
}

func TestFakeSendsAwayWhoWaitsWhenItsNetworkBreaks(t *testing.T) {
	fake := headgatetest.New()
	client := fake.NewClient(t, headgate.Fail(), headgate.Options{})
	fake.Handle(func(headgate.Request) (headgate.Answer, error) {
		fake.SetDown(true)
		return headgate.Answer{RetryAfter: 2 * time.Second}, nil
	})
	if _, err := client.Check(ctx, headgate.Request{MaxWait: time.Minute}); status.Code(err) != codes.Unavailable {
		t.Errorf("it ended with %v", err)
	}
}

func TestFakeDoesNotSpinInItsLine(t *testing.T) {
	fake := headgatetest.New()
	client := fake.NewClient(t, headgate.Fail(), headgate.Options{})
	fake.Handle(func(headgate.Request) (headgate.Answer, error) {
		return headgate.Answer{RetryAfter: time.Nanosecond}, nil
	})
	if answer := check(t, client, headgate.Request{MaxWait: time.Second}); answer.Waited != time.Second {
		t.Errorf("it waited for %v", answer.Waited)
	}
	if asked := len(fake.Clock().Waits()); asked != 1000 {
		t.Errorf("it waited %d times", asked)
	}
}

func TestClockCallsWhatIsDueAtItsOwnTime(t *testing.T) {
	clock := headgatetest.New().Clock()
	began := clock.Now()
	var called []time.Duration
	calls := func() { called = append(called, clock.Now().Sub(began)) }
	clock.AfterFunc(2*time.Second, calls)
	clock.AfterFunc(time.Second, func() {
		calls()
		clock.AfterFunc(500*time.Millisecond, calls)
	})
	stop := clock.AfterFunc(1700*time.Millisecond, calls)
	later := clock.AfterFunc(5*time.Second, calls)
	if !stop() || stop() {
		t.Error("it is stopped twice, or never")
	}
	if err := clock.Sleep(ctx, 3*time.Second); err != nil {
		t.Fatal(err)
	}
	want := []time.Duration{time.Second, 1500 * time.Millisecond, 2 * time.Second}
	if !reflect.DeepEqual(called, want) {
		t.Errorf("called at %v, want %v", called, want)
	}
	if !later() || clock.Now().Sub(began) != 3*time.Second {
		t.Errorf("it is %v", clock.Now().Sub(began))
	}
}

func TestFakeGrantsLeasesAndTakesThemBack(t *testing.T) {
	fake := headgatetest.New()
	client := fake.NewClient(t, headgate.Fail(), headgate.Options{})
	cost, first := 30.0, headgate.LeaseTerms{Least: 1, Time: 2 * time.Second}
	granted := check(t, client, headgate.Request{EstimatedCost: &cost, Lease: &first})
	if *granted.Lease != (headgate.LeaseGrant{Amount: 30, Time: 2 * time.Second, State: 1}) {
		t.Errorf("first: %+v", granted.Lease)
	}
	fake.Deny(time.Second, headgate.ReasonCapacity)
	next := headgate.LeaseTerms{Least: 1, Returned: &headgate.PermitReport{PermitID: granted.PermitID,
		LeaseUse: &headgate.LeaseUse{Spent: 3, Pieces: 1}}}
	denied := check(t, client, headgate.Request{EstimatedCost: &cost, Lease: &next})
	if denied.Allowed || denied.Lease.Amount != 0 || denied.Lease.Returned.Result.Outcome != headgate.OutcomeSettled {
		t.Errorf("then: %+v", denied)
	}
	if reports := fake.Reports(); len(reports) != 1 || reports[0].LeaseUse.Spent != 3 || len(fake.Outstanding()) > 0 {
		t.Errorf("reported are %+v", reports)
	}
	fake.SetWithoutLeases(true)
	if plain := check(t, client, headgate.Request{EstimatedCost: &cost, Lease: &next}); plain.Lease != nil || !plain.Allowed {
		t.Errorf("without leases: %+v", plain)
	}
}
