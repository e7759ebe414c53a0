package headgate

import (
	"testing"
	"time"
)

func TestJitterFollowsFromItsSeed(t *testing.T) {
	same, again, other := newJitter(7), newJitter(7), newJitter(8)
	differ := 0
	for i := 0; i < 100; i++ {
		a, b, c := same.unit(), again.unit(), other.unit()
		if a != b {
			t.Fatalf("%v and %v of the same seed", a, b)
		}
		if a < 0 || a >= 1 {
			t.Fatalf("%v is not from 0 to 1", a)
		}
		if a != c {
			differ++
		}
	}
	if differ < 99 {
		t.Errorf("another seed gave other numbers only %d times", differ)
	}
}

func TestAtLeastIsNeverEarlierAndAtMostAQuarterLater(t *testing.T) {
	j := newJitter(1)
	for i := 0; i < 1000; i++ {
		if wait := j.atLeast(4 * time.Second); wait < 4*time.Second || wait > 5*time.Second {
			t.Fatalf("it waits for %v", wait)
		}
	}
}

func TestBackoffDoublesUpToTheLongest(t *testing.T) {
	j := newJitter(1)
	for failures, most := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		pause := j.backoff(failures, 100*time.Millisecond, time.Second)
		if most *= time.Millisecond; pause < most/2 || pause > most {
			t.Errorf("after %d failures it waits for %v", failures, pause)
		}
	}
	if pause := j.backoff(1_000_000, 100*time.Millisecond, time.Second); pause > time.Second {
		t.Errorf("after a million failures it waits for %v", pause)
	}
}

func TestRequestIDsDifferWithinAClientAndBetweenSeeds(t *testing.T) {
	seen := map[string]bool{}
	for seed := uint64(1); seed <= 10; seed++ {
		j := newJitter(seed)
		for i := 0; i < 100; i++ {
			seen[j.requestID()] = true
		}
	}
	if len(seen) != 1000 {
		t.Errorf("1000 requests had %d ids", len(seen))
	}
}
