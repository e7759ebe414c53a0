package headgate

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
)

func newTestConnection(t *testing.T) *connection {
	t.Helper()
	files, err := watch(nil, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	c := &connection{files: files, open: map[*channel]bool{},
		dial: func(credentials credentials.TransportCredentials) (*grpc.ClientConn, error) {
			return grpc.NewClient("127.0.0.1:1", grpc.WithTransportCredentials(credentials))
		}}
	t.Cleanup(c.close)
	reconnect(t, c)
	return c
}

// As new certificates make it do.
func reconnect(t *testing.T, c *connection) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.connect(nil); err != nil {
		t.Fatal(err)
	}
}

func acquire(t *testing.T, c *connection) *channel {
	t.Helper()
	channel, err := c.acquire()
	if err != nil {
		t.Fatal(err)
	}
	return channel
}

func wantOpen(t *testing.T, c *channel, open bool) {
	t.Helper()
	if state := c.GetState(); (state != connectivity.Shutdown) != open {
		t.Errorf("the channel is %v", state)
	}
}

func TestCallsThatRunKeepTheirChannelWhichEndsWithTheLastOfThem(t *testing.T) {
	c := newTestConnection(t)
	first, second := acquire(t, c), acquire(t, c)
	reconnect(t, c)
	if third := acquire(t, c); third == first {
		t.Error("a new call is made on the old channel")
	}
	c.release(first)
	wantOpen(t, second, true)
	c.release(second)
	wantOpen(t, second, false)
}

func TestAChannelWithoutCallsStaysOpenUntilItIsReplaced(t *testing.T) {
	c := newTestConnection(t)
	channel := acquire(t, c)
	c.release(channel)
	wantOpen(t, channel, true)
	reconnect(t, c)
	wantOpen(t, channel, false)
}

func TestCloseEndsChannelsThatAreStillInUse(t *testing.T) {
	c := newTestConnection(t)
	old := acquire(t, c)
	reconnect(t, c)
	current := acquire(t, c)
	c.close()
	wantOpen(t, old, false)
	wantOpen(t, current, false)
	c.release(old)
	c.release(current)
	if _, err := c.acquire(); err != ErrClosed {
		t.Errorf("a call of a closed connection ends with %v", err)
	}
}

// One call, without a client that tries again until its deadline: the last try may end with that.
func TestWhereNobodyListensItIsUnavailable(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	transport, err := newGRPCTransport(address, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer transport.(*grpcTransport).Close()
	if _, err := transport.Check(context.Background(), Request{Identity: "etl"}, time.Minute); status.Code(err) != codes.Unavailable {
		t.Errorf("the error is %v", err)
	}
}
