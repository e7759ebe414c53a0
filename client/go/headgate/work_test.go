package headgate_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/headgate/headgate/client/go/headgate"
	"github.com/headgate/headgate/client/go/headgate/headgatetest"
)

func asError[T error](err error, target *T) bool { return errors.As(err, target) }

func reported(t *testing.T, client *headgate.Client, fake *headgatetest.Fake) headgate.PermitReport {
	t.Helper()
	flush(t, client)
	reports := fake.Reports()
	if len(reports) != 1 {
		t.Fatalf("there are %d reports, want 1", len(reports))
	}
	return reports[0]
}

func TestOnlyTheFirstReportOfAPermitCounts(t *testing.T) {
	fake := headgatetest.New()
	client := fake.NewClient(t, headgate.Fail(), self)
	permit := allowed(t, client, headgate.Request{})
	wantIs(t, permit.Done(headgate.ActualCost(310), headgate.BusyTime(7*time.Millisecond)), nil)
	wantIs(t, permit.Done(headgate.ActualCost(99)), nil)
	report := reported(t, client, fake)
	wantEqual(t, *report.ActualCost, 310)
	wantEqual(t, *report.BusyTime, 7*time.Millisecond)
	wantEqual(t, report.Measured, false)
}

func TestAPermitWithNothingToReportRefusesTheSame(t *testing.T) {
	fake := headgatetest.New()
	fake.SetDown(true)
	client := fake.NewClient(t, headgate.Proceed(), self)
	permit := allowed(t, client, headgate.Request{})
	wantCode(t, permit.Done(headgate.ActualCost(-1)), codes.InvalidArgument)
}

func TestWhatIsNoTextIsRefusedBeforeItIsSent(t *testing.T) {
	fake := headgatetest.New()
	client := fake.NewClient(t, headgate.Wait(), self)
	for _, request := range []headgate.Request{{Identity: "\xff"}, {Target: "\xff"}, {Pattern: "\xff"},
		{RequestID: "\xff"}, {Tags: map[string]string{"\xff": ""}}, {Tags: map[string]string{"": "\xff"}}} {
		_, err := client.CheckOrWait(context.Background(), request, 0)
		wantCode(t, err, codes.InvalidArgument)
	}
	wantEqual(t, len(fake.Checks()), 0)
}

func TestPermitRefusesWhatIsNoCostAndNoBusyTimeAndStaysAsItWas(t *testing.T) {
	fake := headgatetest.New()
	client := fake.NewClient(t, headgate.Fail(), self)
	permit := allowed(t, client, headgate.Request{})
	for _, wrong := range []headgate.Work{headgate.ActualCost(-1), headgate.ActualCost(math.NaN()),
		headgate.ActualCost(math.Inf(1)), headgate.BusyTime(-time.Second)} {
		wantCode(t, permit.Done(wrong), codes.InvalidArgument)
	}
	wantIs(t, permit.Done(), nil)
	reported(t, client, fake)
}

func TestPermitReportsNothingAfterDismissOrWithoutANumber(t *testing.T) {
	fake := headgatetest.New()
	client := fake.NewClient(t, headgate.Fail(), self)
	permit := allowed(t, client, headgate.Request{})
	permit.Dismiss()
	wantIs(t, permit.Done(), nil)
	wantIs(t, allowed(t, client, headgate.Request{ValidateOnly: true}).Done(), nil)
	flush(t, client)
	wantEqual(t, len(fake.Reports()), 0)
}

func TestPermitOutlivesItsClientAndIsCounted(t *testing.T) {
	fake := headgatetest.New()
	client := fake.NewClient(t, headgate.Fail(), self)
	permit := allowed(t, client, headgate.Request{})
	wantIs(t, client.Close(), nil)
	wantIs(t, client.Close(), nil)
	wantIs(t, permit.Done(), nil)
	wantEqual(t, client.ReportStats(), headgate.ReportStats{Dropped: 1})
}

func TestDoReportsAfterAnErrorAndAfterAPanic(t *testing.T) {
	failure := errors.New("the chunk failed")
	for name, work := range map[string]func(context.Context, *headgate.Permit) error{
		"error": func(context.Context, *headgate.Permit) error { return failure },
		"panic": func(context.Context, *headgate.Permit) error { panic(failure) },
	} {
		t.Run(name, func(t *testing.T) {
			fake := headgatetest.New()
			client := fake.NewClient(t, headgate.Fail(), self)
			func() {
				defer func() { _ = recover() }() // that it is reported is the point
				wantIs(t, client.Do(ctx, headgate.Request{}, time.Minute, work), failure)
			}()
			reported(t, client, fake)
			wantEqual(t, len(fake.Outstanding()), 0)
		})
	}
}

func TestChunksCoverEachRowOnce(t *testing.T) {
	fake := headgatetest.New()
	fake.Handle(func(headgate.Request) (headgate.Answer, error) {
		return headgate.Answer{Allowed: true, ChunkScale: 1.7}, nil
	})
	client := fake.NewClient(t, headgate.Fail(), self)
	next := 0
	err := client.DoChunks(ctx, headgate.Chunks{Total: 10_001, Start: 7, Largest: 900},
		func(_ context.Context, chunk headgate.Chunk) error {
			wantEqual(t, chunk.First, next)
			if chunk.Rows < 1 || chunk.Rows > 900 {
				t.Errorf("a chunk has %d rows", chunk.Rows)
			}
			next += chunk.Rows
			return nil
		})
	wantIs(t, err, nil)
	wantEqual(t, next, 10_001)
	flush(t, client)
	wantEqual(t, len(fake.Outstanding()), 0)
}

func TestChunksBearAnyAdvice(t *testing.T) {
	for _, scale := range []float64{1e300, 1e-300, math.Inf(1)} {
		fake := headgatetest.New()
		fake.Allow(headgate.Answer{ChunkScale: scale})
		client := fake.NewClient(t, headgate.Fail(), self)
		rows := 0
		err := client.DoChunks(ctx, headgate.Chunks{Total: 50, Start: 10},
			func(_ context.Context, chunk headgate.Chunk) error { rows += chunk.Rows; return nil })
		wantIs(t, err, nil)
		wantEqual(t, rows, 50)
	}
}

// Advice to grow is never below 1.5; rounded down, a chunk of one row would stay as it is.
func TestAChunkOfOneRowGrows(t *testing.T) {
	fake := headgatetest.New()
	fake.Allow(headgate.Answer{ChunkScale: 1.5})
	client := fake.NewClient(t, headgate.Fail(), self)
	var sizes []int
	err := client.DoChunks(ctx, headgate.Chunks{Total: 3, Start: 1},
		func(_ context.Context, chunk headgate.Chunk) error { sizes = append(sizes, chunk.Rows); return nil })
	wantIs(t, err, nil)
	wantEqual(t, fmt.Sprint(sizes), "[1 2]")
}

func TestChunksThatMakeNoSenseAreRefused(t *testing.T) {
	client := headgatetest.New().NewClient(t, headgate.Fail(), self)
	for _, wrong := range []headgate.Chunks{{Total: 5}, {Total: -1, Start: 1}, {Total: 5, Start: 1, Smallest: 2},
		{Total: 5, Start: 9, Largest: 8}, {Total: 5, Start: 9, Smallest: 9, Largest: 8}} {
		wantCode(t, client.DoChunks(ctx, wrong, nil), codes.InvalidArgument)
	}
}

func TestClientsAreNotMadeWithoutAPolicyOrAnAddress(t *testing.T) {
	_, err := headgate.NewClient("headgate:8081", headgate.OnUnreachable{}, self)
	wantCode(t, err, codes.InvalidArgument)
	_, err = headgate.NewClient("", headgate.Wait(), self)
	wantCode(t, err, codes.InvalidArgument)
	_, err = headgate.NewClient("headgate:8081", headgate.Wait(), headgate.Options{LongestWait: -1})
	wantCode(t, err, codes.InvalidArgument)
	_, err = headgate.NewClientOver(headgatetest.New().Transport(headgate.SystemClock{}), headgate.OnUnreachable{}, self)
	wantCode(t, err, codes.InvalidArgument)
}
