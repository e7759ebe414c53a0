package headgate

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"

	headgatev1 "github.com/headgate/headgate/client/go/headgate/v1"
)

const (
	longestTimeout = 365 * 24 * time.Hour

	longestReconnectPause = 2 * time.Second
	// Who is not to be reached from here is tried less and less often.
	longestOwnerReconnectPause = 30 * time.Second

	// The owner of a target, as a server says that forwards: "ADDRESS TARGET".
	ownerKey = "headgate-owner"
)

func dialOptions(longestPause time.Duration) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithNoProxy(), // Headgate is near
		grpc.WithDisableServiceConfig(),
		// gRPC's own pauses between attempts to connect grow to two minutes, far too long for a
		// service that is back after a restart of seconds.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2,
				MaxDelay: longestPause},
			MinConnectTimeout: 5 * time.Second,
		}),
		// Finds connections whose other end has vanished: what was sent has to be acknowledged in time.
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: 30 * time.Second, Timeout: 5 * time.Second}),
	}
}

// grpcTransport is the transport that a Client uses by itself. It asks the owner of a target directly
// where it knows one and can reach it, and else the address that it was given, which answers for all.
type grpcTransport struct {
	configured *server
	owners     *owners
}

func newGRPCTransport(address string, options Options) (Transport, error) {
	if address == "" {
		return nil, invalid("address: is empty")
	}
	if strings.HasPrefix(address, "http://") || strings.HasPrefix(address, "https://") {
		return nil, invalid("address: %s is a URL; it has to be the host and the port of gRPC, as host:8081",
			address)
	}
	if err := options.TLS.validate(options.TokenFile); err != nil {
		return nil, err
	}
	var credential []grpc.DialOption
	if options.TokenFile != "" {
		token, err := loadToken(options.TokenFile, time.Now)
		if err != nil {
			return nil, err
		}
		credential = append(credential, grpc.WithPerRPCCredentials(token))
	}
	serverAt := func(address string, longestPause time.Duration) (*server, error) {
		common := append(dialOptions(longestPause), credential...)
		return newServer(address, func() (*connection, error) {
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
		})
	}
	configured, err := serverAt(address, longestReconnectPause)
	if err != nil {
		return nil, err
	}
	return &grpcTransport{configured: configured, owners: newOwners(address, func(address string) (*server, error) {
		return serverAt(address, longestOwnerReconnectPause)
	})}, nil
}

// Check is one call; two where the owner that is asked directly does not answer.
func (t *grpcTransport) Check(ctx context.Context, request Request, timeout time.Duration) (Answer, error) {
	owner := t.owners.readyFor(request.Target)
	if owner == nil {
		return t.checkAt(ctx, t.configured, request, timeout)
	}
	// Of the time, this is left for the other way.
	rest := max(timeout-request.MaxWait, 0) / 2
	began := time.Now()
	answer, err := t.checkAt(ctx, owner, request, timeout-rest)
	if isDecided(ctx, err) {
		return answer, err
	}
	t.owners.forget(owner)
	left := timeout - time.Since(began)
	if left <= 0 {
		return answer, err
	}
	// The same request, by its id: whatever the owner did counts once.
	request.MaxWait = min(request.MaxWait, max(left-rest, 0))
	return t.checkAt(ctx, t.configured, request, left)
}

func (t *grpcTransport) checkAt(ctx context.Context, server *server, request Request, timeout time.Duration) (answer Answer, err error) {
	connection, release, err := server.take(request.MaxWait > 0)
	if err != nil {
		return Answer{}, err
	}
	defer release()
	var trailer metadata.MD
	err = call(ctx, connection, timeout, func(ctx context.Context, stub headgatev1.ThrottlerServiceClient) error {
		response, err := stub.Check(ctx, requestToProto(request), grpc.Trailer(&trailer))
		if err == nil {
			answer, err = answerFromProto(response)
		}
		return err
	})
	if err != nil {
		return answer, err
	}
	if owner := ownerIn(trailer, request.Target); owner != "" || server == t.configured {
		t.owners.learn(request.Target, owner)
	}
	return answer, nil
}

// Report is one call; two where the server that answered last answers no more. Any server settles them
// all; that one has most likely issued the permits.
func (t *grpcTransport) Report(ctx context.Context, reports []PermitReport, timeout time.Duration) ([]Reported, error) {
	owner := t.owners.readyLast()
	if owner == nil {
		return t.reportAt(ctx, t.configured, reports, timeout)
	}
	began := time.Now()
	results, err := t.reportAt(ctx, owner, reports, timeout/2)
	if isDecided(ctx, err) {
		return results, err
	}
	t.owners.forget(owner)
	return t.reportAt(ctx, t.configured, reports, timeout-time.Since(began))
}

func (t *grpcTransport) reportAt(ctx context.Context, server *server, reports []PermitReport, timeout time.Duration) (results []Reported, err error) {
	connection, release, err := server.take(false)
	if err != nil {
		return nil, err
	}
	defer release()
	err = call(ctx, connection, timeout, func(ctx context.Context, stub headgatev1.ThrottlerServiceClient) error {
		response, err := stub.Report(ctx, reportsToProto(reports))
		for _, result := range response.GetResults() {
			results = append(results, reportedFromProto(result))
		}
		return err
	})
	return results, err
}

// Close ends all connections and the calls on them.
func (t *grpcTransport) Close() error {
	t.owners.close()
	t.configured.close()
	return nil
}

// ownerIn is the address of the owner that an answer names; empty: whoever answered has decided
// itself, or what it says is about another target.
func ownerIn(trailer metadata.MD, target string) string {
	for _, hint := range trailer.Get(ownerKey) {
		if address, about, _ := strings.Cut(hint, " "); about == target {
			return address
		}
	}
	return ""
}

// isDecided tells whether a server that was asked directly has decided, if only to refuse, or the
// caller has given up. What else may have become of the call is not told to the caller, as long as
// there is another way to ask.
func isDecided(ctx context.Context, err error) bool {
	if err == nil || ctx.Err() != nil || isGivenUp(err) && !errors.Is(err, ErrClosed) {
		return true
	}
	switch errorOf(err).Code {
	case codes.InvalidArgument, codes.NotFound, codes.FailedPrecondition, codes.ResourceExhausted:
		return true
	}
	return false
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
