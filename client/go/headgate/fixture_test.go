package headgate_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/headgate/headgate/client/go/headgate"
	"github.com/headgate/headgate/client/go/headgate/headgatetest"
)

var (
	ctx  = context.Background()
	self = headgate.Options{Identity: "backfill:etl"}
)

// answered is a client that has had an answer, and so expects the next one.
func answered(t *testing.T, fake *headgatetest.Fake, policy headgate.OnUnreachable) *headgate.Client {
	t.Helper()
	client := fake.NewClient(t, policy, self)
	if _, err := client.Check(ctx, headgate.Request{ValidateOnly: true}); err != nil {
		t.Fatal(err)
	}
	return client
}

func allowed(t *testing.T, client *headgate.Client, request headgate.Request) *headgate.Permit {
	t.Helper()
	permit, err := client.CheckOrWait(ctx, request, headgate.Forever)
	if err != nil {
		t.Fatal(err)
	}
	return permit
}

func flush(t *testing.T, client *headgate.Client) {
	t.Helper()
	inTime, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := client.Flush(inTime); err != nil {
		t.Fatal(err)
	}
}

func wantCode(t *testing.T, err error, want codes.Code) {
	t.Helper()
	if status.Code(err) != want {
		t.Errorf("the error is %v, want %v", err, want)
	}
}

func wantIs(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Errorf("the error is %v, want %v", err, target)
	}
}

func wantEqual[T any](t *testing.T, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("it is %v, want %v", got, want)
	}
}

func wantBetween(t *testing.T, got, least, most time.Duration) {
	t.Helper()
	if got < least || got > most {
		t.Errorf("it is %v, want %v to %v", got, least, most)
	}
}
