package headgate

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"

	headgatev1 "github.com/headgate/headgate/client/go/headgate/v1"
)

const (
	// A server takes 128 calls of a connection at a time, and lets others wait.
	waitingOnOneConnection = 100
	longestTimeout         = 365 * 24 * time.Hour
)

func dialOptions() []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithNoProxy(), // Headgate is near
		grpc.WithDisableServiceConfig(),
		// gRPC's own pauses between attempts to connect grow to two minutes, far too long for a
		// service that is back after a restart of seconds.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2,
				MaxDelay: 2 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
		// Finds connections whose other end has vanished: what was sent has to be acknowledged in time.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 5 * time.Second}),
	}
}

// grpcTransport is the transport that a Client uses by itself. Checks that wait in the server have
// connections of their own: a few of them would otherwise hold up all reports. There are as many as
// it takes, and they stay.
type grpcTransport struct {
	connect func() (*connection, error)
	main    *connection

	mu      sync.Mutex // guards what follows
	waiting []*waitingConnection
	closed  bool
}

type waitingConnection struct {
	*connection
	calls int
}

func newGRPCTransport(address string, options Options) (Transport, error) {
	if address == "" {
		return nil, invalid("address: is empty")
	}
	if err := options.TLS.validate(options.TokenFile); err != nil {
		return nil, err
	}
	common := dialOptions()
	if options.TokenFile != "" {
		token, err := loadToken(options.TokenFile, time.Now)
		if err != nil {
			return nil, err
		}
		common = append(common, grpc.WithPerRPCCredentials(token))
	}
	connect := func() (*connection, error) {
		files, err := watch(options.TLS.paths(), time.Now)
		if err != nil {
			return nil, err
		}
		made := &connection{tls: options.TLS, files: files, open: map[*channel]bool{},
			dial: func(credentials credentials.TransportCredentials) (*grpc.ClientConn, error) {
				all := append(common[:len(common):len(common)], grpc.WithTransportCredentials(credentials))
				return grpc.NewClient(address, append(all, options.DialOptions...)...)
			}}
		return made, made.connect(files.told)
	}
	main, err := connect()
	if err != nil {
		return nil, err
	}
	return &grpcTransport{connect: connect, main: main}, nil
}

// Check is one call.
func (t *grpcTransport) Check(ctx context.Context, request Request, timeout time.Duration) (answer Answer, err error) {
	connection := t.main
	if request.MaxWait > 0 {
		waiting, err := t.takeWaiting()
		if err != nil {
			return Answer{}, err
		}
		defer t.letGo(waiting)
		connection = waiting.connection
	}
	err = call(ctx, connection, timeout, func(ctx context.Context, stub headgatev1.ThrottlerServiceClient) error {
		response, err := stub.Check(ctx, requestToProto(request))
		if err == nil {
			answer, err = answerFromProto(response)
		}
		return err
	})
	return answer, err
}

// Report is one call.
func (t *grpcTransport) Report(ctx context.Context, reports []PermitReport, timeout time.Duration) (results []Reported, err error) {
	err = call(ctx, t.main, timeout, func(ctx context.Context, stub headgatev1.ThrottlerServiceClient) error {
		response, err := stub.Report(ctx, reportsToProto(reports))
		for _, result := range response.GetResults() {
			results = append(results, reportedFromProto(result))
		}
		return err
	})
	return results, err
}

// call tells a call that its caller gives up from one that the server, or the way to it, fails.
func call(ctx context.Context, connection *connection, timeout time.Duration,
	do func(context.Context, headgatev1.ThrottlerServiceClient) error) error {
	channel, err := connection.acquire()
	if err != nil {
		return err
	}
	defer connection.release(channel)
	timeout = min(timeout, longestTimeout)
	callersOwn, bounded := ctx.Deadline()
	bounded = bounded && time.Until(callersOwn) <= timeout
	inTime, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err = do(inTime, headgatev1.NewThrottlerServiceClient(channel))
	if err == nil {
		return nil
	}
	told := errorOf(err)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case bounded && told.Code == codes.DeadlineExceeded:
		return context.DeadlineExceeded
	case told.Code == codes.Canceled && connection.isClosed():
		return ErrClosed
	case told.Code == codes.Canceled:
		return &Error{Code: codes.Unavailable, Message: "the server cut the call: " + told.Message}
	}
	return told
}

// takeWaiting is a connection with room for a call that waits, until it is let go of.
func (t *grpcTransport) takeWaiting() (*waitingConnection, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, ErrClosed
	}
	for _, each := range t.waiting {
		if each.calls < waitingOnOneConnection {
			each.calls++
			return each, nil
		}
	}
	made, err := t.connect()
	if err != nil {
		return nil, err
	}
	another := &waitingConnection{connection: made, calls: 1}
	t.waiting = append(t.waiting, another)
	return another, nil
}

func (t *grpcTransport) letGo(waiting *waitingConnection) {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting.calls--
}

// Close ends all connections and the calls on them.
func (t *grpcTransport) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.main.close()
	for _, each := range t.waiting {
		each.close()
	}
	return nil
}
