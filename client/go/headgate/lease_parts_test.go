package headgate

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
)

func wantNear(t *testing.T, got, want float64) {
	t.Helper()
	if got < want*(1-1e-9) || got > want*(1+1e-9) {
		t.Errorf("it is %v, want %v", got, want)
	}
}

func TestPaceIsWhatIsSpentInTheTimeOfALease(t *testing.T) {
	var p pace
	spent := 0.0
	for at := time.Duration(0); at <= 5*time.Second; at += 250 * time.Millisecond {
		used := p.used(10*time.Second+at, spent, time.Second)
		if at >= time.Second {
			wantNear(t, used, 400)
		}
		spent += 100
	}
}

func TestPaceTakesABurstForAnEighthOfTheTimeAndIdlenessForNothing(t *testing.T) {
	var p pace
	wantNear(t, p.used(time.Minute, 0, time.Second), 0)
	wantNear(t, p.used(time.Minute+time.Millisecond, 10, time.Second), 80)
	wantNear(t, p.used(time.Hour, 10, time.Second), 0)
}

func TestCountsAreAtMostAHundredAndLoseNoPiece(t *testing.T) {
	var counts pieceCounts
	for i := 0; i < 1000; i++ {
		counts.add(PieceCause{Reason: Reason(i % 300), LimitKind: LimitKind(i % 11), Budget: fmt.Sprint("b", i), Rule: "r"}, 2, 3)
		counts.add(PieceCause{Allowed: true, Reason: Reason(i % 300), Rule: fmt.Sprint(i)}, 1, 1)
	}
	pieces, cost := int64(0), 0.0
	all := counts.take()
	for _, each := range all {
		pieces += each.Pieces
		cost += each.Cost
	}
	if len(all) > 100 || pieces != 3000 || cost != 4000 {
		t.Errorf("there are %d causes of %d pieces of %v", len(all), pieces, cost)
	}
	if !counts.isEmpty() {
		t.Error("they are told twice")
	}
}

func TestACauseIsTheObjectionThatLastsLongest(t *testing.T) {
	answer := Answer{Reason: ReasonCapacity, Violations: []Violation{{Budget: "a", RetryAfter: time.Second},
		{Budget: "b", RetryAfter: time.Minute}, {Budget: "c", Warn: true}, {Budget: "d"}, {Budget: "e", RetryAfter: time.Hour}}}
	if cause := causeOf(&answer); cause.Budget != "d" { // which never ends
		t.Errorf("it is %+v", cause)
	}
	answer.Allowed = true
	if cause := causeOf(&answer); cause.Budget != "c" {
		t.Errorf("it is %+v", cause)
	}
}

func TestWhatPiecesTookIsNeverReportedAsLessThanNothing(t *testing.T) {
	sum := told{cost: -50, hasCost: true, busy: -5, hasBusy: true}
	g := &grant{amount: 100, spent: 20, costOfUnit: 1, busyOfUnit: 0.1}
	var first, second PermitReport
	sum.addTo(&first, g)
	sum.addTo(&second, &grant{amount: 100, spent: 40, costOfUnit: 1, busyOfUnit: 0.1})
	wantNear(t, *first.ActualCost+1, 1)
	wantNear(t, *second.ActualCost, 10)
	if *first.BusyTime != 0 || *second.BusyTime != time.Second {
		t.Errorf("busy are %v and %v", *first.BusyTime, *second.BusyTime)
	}
	var third PermitReport
	sum.addTo(&third, g)
	if third.ActualCost != nil || third.BusyTime != nil {
		t.Errorf("then nothing is left to say, and it says %+v", third)
	}
}

func TestWhatBecameOfPiecesIsToldAnewWhereTheirLeaseIsNotKnown(t *testing.T) {
	use := &LeaseUse{Spent: 4, Pieces: 1, Counts: []PieceCount{{Pieces: 1, Cost: 4}}, Identity: "etl", Target: "orders", ID: 77}
	g := newGate()
	close(g.open)
	r := newTestReporter(t, g)
	r.returned(PermitReport{PermitID: 7, LeaseUse: use}, Reported{Err: &Error{Code: codes.NotFound, Message: "was not issued"}})
	mustFlush(t, r)
	reports, _ := g.reports()
	if len(reports) != 1 || reports[0].PermitID != 0 {
		t.Fatalf("sent are %+v", reports)
	}
	want := LeaseUse{Counts: use.Counts, Identity: "etl", Target: "orders", ID: 77}
	if got := *reports[0].LeaseUse; !reflect.DeepEqual(got, want) {
		t.Errorf("it is %+v, want %+v", got, want)
	}
}

func TestALeasesBusyTimeThatTheServerDoesNotTakeIsLeftOutOfItsReport(t *testing.T) {
	g := newGate()
	close(g.open)
	r := newTestReporter(t, g)
	busy := time.Hour
	r.returned(PermitReport{PermitID: 7, BusyTime: &busy, Measured: true, LeaseUse: &LeaseUse{Spent: 4, Pieces: 1}},
		Reported{Err: &Error{Code: codes.InvalidArgument, Message: "busy_time: is too long"}})
	mustFlush(t, r)
	reports, _ := g.reports()
	if len(reports) != 1 || reports[0].PermitID != 7 || reports[0].BusyTime != nil || reports[0].LeaseUse == nil {
		t.Errorf("sent are %+v", reports)
	}
}
