package headgate

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var (
	// ErrUnreachable is what errors.Is finds in an error that means: nobody answered within the
	// deadline, or there was no connection.
	ErrUnreachable = errors.New("headgate: unreachable")
	// ErrDenied is what errors.Is finds in a DeniedError.
	ErrDenied = errors.New("headgate: denied")
	// ErrClosed is what errors.Is finds in the error that calls of a client, or of a lease, end with
	// once that is closed.
	ErrClosed = errors.New("headgate: the client is closed")
)

// Error is what the server answered instead of a decision, or that it could not be reached. It also
// is what this client finds wrong with a request, with the code InvalidArgument. status.Code and
// status.FromError know it.
type Error struct {
	Code    codes.Code
	Message string
	// When to try again. Zero: the server did not say.
	RetryDelay time.Duration
}

func (e *Error) Error() string { return fmt.Sprintf("headgate: %v: %s", e.Code, e.Message) }

// GRPCStatus is how package status knows the error.
func (e *Error) GRPCStatus() *status.Status { return status.New(e.Code, e.Message) }

// Is tells errors.Is which of them mean ErrUnreachable.
func (e *Error) Is(target error) bool { return target == ErrUnreachable && e.isUnreachable() }

func (e *Error) isUnreachable() bool {
	return e.Code == codes.Unavailable || e.Code == codes.DeadlineExceeded
}

// By a server that stops, and says when to come back: to the same address, where another is by
// then.
func (e *Error) isSentAway() bool { return e.Code == codes.Unavailable && e.RetryDelay > 0 }

// DeniedError ends CheckOrWait at once: the work is denied, and waiting will not change that.
type DeniedError struct{ Answer Answer }

func (e *DeniedError) Error() string {
	return "headgate: denied, and waiting will not change that: " + e.Answer.Message
}

// GRPCStatus is FAILED_PRECONDITION.
func (e *DeniedError) GRPCStatus() *status.Status {
	return status.New(codes.FailedPrecondition, e.Error())
}

// Is makes it an ErrDenied.
func (e *DeniedError) Is(target error) bool { return target == ErrDenied }

// TimeoutError ends CheckOrWait when its time is up. For errors.Is it is
// context.DeadlineExceeded, and what was answered last if that was an error.
type TimeoutError struct {
	Identity string
	MaxWait  time.Duration
	Asked    int    // how often
	Answer   Answer // the last one, where Err is nil
	Err      error  // where the last one was an error
}

func (e *TimeoutError) Error() string {
	times, last := "times", e.Answer.Message
	if e.Asked == 1 {
		times = "time"
	}
	if e.Err != nil {
		last = e.Err.Error()
	}
	return fmt.Sprintf("headgate: %s got no permit within %v, having asked %d %s; at last: %s",
		e.Identity, e.MaxWait, e.Asked, times, last)
}

// GRPCStatus is DEADLINE_EXCEEDED.
func (e *TimeoutError) GRPCStatus() *status.Status {
	return status.New(codes.DeadlineExceeded, e.Error())
}

// Is makes it a context.DeadlineExceeded.
func (e *TimeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// Timeout is true.
func (e *TimeoutError) Timeout() bool { return true }

func (e *TimeoutError) Unwrap() error { return e.Err }

// errorOf knows the errors of gRPC by their code, and when they say to try again.
func errorOf(err error) *Error {
	var own *Error
	if err == nil || errors.As(err, &own) {
		return own
	}
	told := status.Convert(err)
	result := &Error{Code: told.Code(), Message: told.Message()}
	for _, detail := range told.Details() {
		if info, ok := detail.(*errdetails.RetryInfo); ok {
			result.RetryDelay = info.GetRetryDelay().AsDuration()
		}
	}
	return result
}

// The caller's context is done, or the client is closed: nobody waits for an answer any more.
func isGivenUp(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, ErrClosed)
}

func givenUp(ctx context.Context) error {
	return fmt.Errorf("headgate: given up before a decision was made: %w", ctx.Err())
}

// leaseClosedError ends calls of a Lease that has been closed, while its client may go on.
type leaseClosedError struct{}

func (leaseClosedError) Error() string        { return "headgate: the lease is closed" }
func (leaseClosedError) Is(target error) bool { return target == ErrClosed }

func internal(format string, args ...any) error {
	return &Error{Code: codes.Internal, Message: fmt.Sprintf(format, args...)}
}
