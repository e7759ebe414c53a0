package headgate_test

// Jobs in Go as a reader would write them. What docs/clients.md shows of them stands there as it does here.

import (
	"context"
	"fmt"
	"log"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/headgate/headgate/client/go/headgate"
	"github.com/headgate/headgate/client/go/headgate/headgatetest"
)

func backfill(ctx context.Context, client *headgate.Client, copyRows func(first, rows int) error) error {
	job := headgate.Chunks{Total: 1_000_000, Start: 500,
		Request: headgate.Request{Pattern: "copy-orders"}, MaxWait: time.Hour}
	return client.DoChunks(ctx, job, func(_ context.Context, chunk headgate.Chunk) error {
		return copyRows(chunk.First, chunk.Rows)
	})
}

func copyChunk(ctx context.Context, client *headgate.Client, copyRows func() (int, error)) error {
	permit, err := client.CheckOrWait(ctx, headgate.Request{EstimatedCost: headgate.Cost(500)}, 10*time.Minute)
	if err != nil {
		return err
	}
	defer permit.Done() // reports its busy time, unless something was reported before
	rows, err := copyRows()
	if err != nil {
		return err
	}
	return permit.Done(headgate.ActualCost(float64(rows))) // the estimate was in rows
}

func syncRow(ctx context.Context, lease *headgate.Lease, copyRow func() error) error {
	if err := lease.Wait(ctx, 1, time.Minute); err != nil {
		return err
	}
	return copyRow()
}

// A job that does thousands of small pieces a second shares one lease among its goroutines.
func ExampleClient_Lease() {
	ctx := context.Background()
	server := headgatetest.New() // a job has NewClient("headgate:8081", ...) instead
	client, err := headgate.NewClientOver(server.Transport(server.Clock()), headgate.Wait(),
		headgate.Options{Identity: "sync-rows:etl", Clock: server.Clock()})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	lease, err := client.Lease(headgate.LeaseOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for row := 0; row < 1000; row++ {
		if err := lease.Wait(ctx, 1, time.Minute); err != nil {
			log.Fatal(err)
		}
		// Here copy it.
	}
	if err := lease.Close(ctx); err != nil { // returns what is left
		log.Fatal(err)
	}
	fmt.Println(lease.Stats().Admitted, "rows, asked for all at once:", len(server.Checks()) < 20)
	// Output: 1000 rows, asked for all at once: true
}

func secure() (*headgate.Client, error) {
	return headgate.NewClient("headgate:8081", headgate.Wait(), headgate.Options{
		Identity: "copy-orders:backfill",
		TLS: &headgate.TLS{CAFile: "/etc/headgate/ca.crt", CertificateFile: "/etc/headgate/tls.crt",
			KeyFile: "/etc/headgate/tls.key"},
		TokenFile: "/etc/headgate/token",
	})
}

func TestBackfillWaitsWhileTheReplicaLags(t *testing.T) {
	fake := headgatetest.New()
	client := fake.NewClient(t, headgate.Fail(), headgate.Options{})
	fake.Deny(30*time.Second, headgate.ReasonHealth) // the first Check; the others are allowed
	copied := 0
	err := backfill(context.Background(), client, func(_, rows int) error { copied += rows; return nil })
	if err != nil || copied != 1_000_000 {
		t.Errorf("%d rows, and %v", copied, err)
	}
	if waited := fake.Clock().Waited(); waited < 30*time.Second {
		t.Errorf("it waited for %v", waited)
	}
	if err := client.Close(); err != nil || len(fake.Outstanding()) > 0 {
		t.Errorf("permits %v were not reported: %v", fake.Outstanding(), err)
	}
}

func TestCopyChunkReportsItsRows(t *testing.T) {
	fake := headgatetest.New()
	client := fake.NewClient(t, headgate.Fail(), self)
	wantIs(t, copyChunk(ctx, client, func() (int, error) { return 480, nil }), nil)
	wantEqual(t, *reported(t, client, fake).ActualCost, 480)
}

func TestSyncRowCopiesOnceItIsAdmitted(t *testing.T) {
	h := newHolder(t, headgate.Fail(), headgate.LeaseOptions{})
	h.fake.Deny(time.Second, headgate.ReasonHealth)
	wantIs(t, syncRow(ctx, h.Lease, func() error {
		wantEqual(t, h.fake.Clock().Waited(), time.Second)
		return nil
	}), nil)
}

func TestSecureNamesTheFileThatIsMissing(t *testing.T) {
	_, err := secure()
	wantCode(t, err, codes.InvalidArgument)
}
