package headgate

import (
	"testing"
	"time"
)

var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return epoch.Add(d) }

func floor(rate float64) *fallback { return &fallback{policy: FloorRate(rate), pause: time.Second} }

func TestOutageHasOneCallAskOnBehalfOfAll(t *testing.T) {
	f := &fallback{policy: Proceed(), pause: time.Second}
	f.failed(epoch)
	for _, c := range []struct {
		at   time.Duration
		asks bool
	}{{999 * time.Millisecond, false}, {time.Second, true}, {time.Second, false}} {
		if asks := f.mayAsk(after(c.at)); asks != c.asks {
			t.Errorf("at %v: %v", c.at, asks)
		}
	}
}

func TestFloorRateAllowsExactlyItsRateAndOneChunk(t *testing.T) {
	f, allowed := floor(10), 0
	for ms := 0; ms <= 10_000; ms++ {
		if f.decide(Request{EstimatedCost: Cost(5)}, after(time.Duration(ms)*time.Millisecond)).Allowed {
			allowed++
		}
	}
	if allowed != 21 { // at 0.0 s, 0.5 s, ... 10.0 s
		t.Errorf("it allowed %d", allowed)
	}
}

func TestFloorRateNeverExceedsItsRateByRounding(t *testing.T) {
	f, now := floor(3), epoch
	for i := 0; i < 3000; i++ {
		if !f.decide(Request{}, now).Allowed {
			t.Fatal("it is not allowed when it was told to come back")
		}
		now = now.Add(f.decide(Request{}, now).RetryAfter)
	}
	if took := now.Sub(epoch); took < 1000*time.Second || took > 1000*time.Second+time.Millisecond {
		t.Errorf("3000 units at 3 a second took %v", took)
	}
}

func TestFloorRateSavesNothingUpWhileIdle(t *testing.T) {
	f := floor(1)
	if !f.decide(Request{}, epoch).Allowed || !f.decide(Request{}, after(time.Hour)).Allowed {
		t.Error("what has drained is not allowed")
	}
	if f.decide(Request{}, after(time.Hour)).Allowed {
		t.Error("an idle hour was saved up")
	}
}

func TestFloorRateCountsAMissingEstimateAsOneAndZeroAsNothing(t *testing.T) {
	f := floor(1)
	for i := 0; i < 3; i++ {
		if !f.decide(Request{EstimatedCost: Cost(0)}, epoch).Allowed {
			t.Error("nothing was charged")
		}
	}
	f.decide(Request{}, epoch)
	if wait := f.decide(Request{}, epoch).RetryAfter; wait != time.Second {
		t.Errorf("a missing estimate takes %v", wait)
	}
}

func TestFloorRateIsNotChargedForValidation(t *testing.T) {
	f := floor(1)
	for i := 0; i < 3; i++ {
		if !f.decide(Request{ValidateOnly: true}, epoch).Allowed {
			t.Error("it was charged")
		}
	}
}
