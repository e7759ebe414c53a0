package headgate_test

import (
	"testing"

	"github.com/headgate/headgate/client/go/headgate"
	"github.com/headgate/headgate/client/go/headgate/headgatetest"
)

// What admitting a piece takes where there is room, by the real clock, with the Checks for the leases
// that come meanwhile:
//
//	go test -run='^$' -bench=LeaseAdmit -cpu=1,2 ./headgate
func BenchmarkLeaseAdmit(b *testing.B) {
	newLease := func(b *testing.B) *headgate.Lease {
		fake := headgatetest.New()
		fake.Handle(func(headgate.Request) (headgate.Answer, error) {
			return headgate.Answer{Allowed: true, Lease: &headgate.LeaseGrant{Amount: headgate.MaxCost}}, nil
		})
		client := fake.NewClient(b, headgate.Fail(), headgate.Options{Clock: headgate.SystemClock{}})
		lease, err := client.Lease(headgate.LeaseOptions{Identity: "sync-rows:etl"})
		if err != nil {
			b.Fatal(err)
		}
		if err := lease.Wait(ctx, 1, headgate.Forever); err != nil {
			b.Fatal(err)
		}
		b.ResetTimer()
		return lease
	}
	// A process that gets no processor for half a second finds its lease over, and waits for the next.
	admit := func(b *testing.B, lease *headgate.Lease) {
		if answer, err := lease.Admit(1); err == nil && answer.Allowed {
			return
		}
		if err := lease.Wait(ctx, 1, headgate.Forever); err != nil {
			b.Error(err)
		}
	}
	b.Run("one goroutine", func(b *testing.B) {
		lease := newLease(b)
		b.ReportAllocs()
		for i := 0; i < b.N; i++ {
			admit(b, lease)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		lease := newLease(b)
		b.RunParallel(func(each *testing.PB) {
			for each.Next() {
				admit(b, lease)
			}
		})
	})
}
