package headgate

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc/codes"
)

// How Check and CheckOrWait ask.
//
// CheckOrWait waits in the server, in slices: one Check stands in line for at most 30 s, and the
// next one takes its place. The first Check, and the one after a failure, stands there for half of
// CheckDeadline only, so that a server which does not answer is noticed within CheckDeadline. A
// server that does not let a Check wait answers at once; then CheckOrWait waits here for
// RetryAfter, with jitter.

const (
	// Between attempts within one deadline.
	firstRetry   = 10 * time.Millisecond
	longestRetry = 100 * time.Millisecond
	// Between Checks while the server cannot be reached or is overloaded.
	firstPause   = 100 * time.Millisecond
	longestPause = 2 * time.Second
	// However soon the server lets one come back.
	shortestWait = time.Millisecond
	// The longest that one Check stands in the server's line: so soon a connection that died
	// silently is noticed.
	longestSlice = 30 * time.Second
)

// retry calls until the result is something else than Unavailable, or the deadline too near. After
// the first failure no more time is left than CheckDeadline.
func (c *Client) retry(ctx context.Context, timeout time.Duration, call func(time.Duration) error) error {
	if ctx.Err() != nil {
		return givenUp(ctx)
	}
	giveUpAt := c.clock.Now().Add(timeout)
	for failures := 0; ; failures++ {
		err := call(timeout)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return givenUp(ctx)
		}
		if isGivenUp(err) {
			return err
		}
		told := errorOf(err)
		if told.Code != codes.Unavailable {
			return told
		}
		now := c.clock.Now()
		if sooner := now.Add(c.options.CheckDeadline); failures == 0 && sooner.Before(giveUpAt) {
			giveUpAt = sooner
		}
		pause := max(c.jitter.backoff(failures, firstRetry, longestRetry), told.RetryDelay)
		if !now.Add(pause).Before(giveUpAt) {
			return told
		}
		if c.clock.Sleep(ctx, pause) != nil {
			return givenUp(ctx)
		}
		if timeout = giveUpAt.Sub(c.clock.Now()); timeout <= 0 {
			return told
		}
	}
}

// ask asks within timeout, or decides as OnUnreachable says. request.MaxWait becomes what was sent
// last: a retry may wait for less.
func (c *Client) ask(ctx context.Context, request *Request, timeout time.Duration) (Answer, error) {
	if !c.fallback.mayAsk(c.clock.Now()) {
		return c.fallback.decide(*request, c.clock.Now()), nil
	}
	waits := request.MaxWait > 0
	answer, err := c.askServer(ctx, request, timeout, func() {})
	if err != nil && c.fallback.decides() && isOutage(err, waits) {
		return c.fallback.decide(*request, c.clock.Now()), nil
	}
	return answer, err
}

// isOutage tells whether nobody answered, and not only a server that stops sent away who waited there.
func isOutage(err error, waits bool) bool {
	told := (*Error)(nil)
	return errors.As(err, &told) && told.isUnreachable() && !(waits && told.isSentAway())
}

// askServer is ask without what OnUnreachable decides. Each attempt is announced before it is sent.
func (c *Client) askServer(ctx context.Context, request *Request, timeout time.Duration, sends func()) (Answer, error) {
	waits := request.MaxWait > 0
	var answer Answer
	err := c.retry(ctx, timeout, func(left time.Duration) (err error) {
		// The rest is for the way there and back.
		request.MaxWait = min(request.MaxWait, max(left-c.options.CheckDeadline, left/2))
		sends()
		answer, err = c.transport.Check(ctx, *request, left)
		return err
	})
	if err == nil {
		c.fallback.succeeded()
		return answer, nil
	}
	told := (*Error)(nil)
	if !errors.As(err, &told) {
		return Answer{}, err
	}
	switch {
	case !told.isUnreachable():
		c.fallback.succeeded() // it answered, if with an error
	case waits && told.isSentAway():
		c.fallback.sentAway()
	default:
		c.fallback.failed(c.clock.Now())
	}
	return Answer{}, err
}

// slice has the request stand in line for one slice of a wait that may last for left. It returns
// within which time that is answered.
func (c *Client) slice(request *Request, left time.Duration) time.Duration {
	deadline := c.options.CheckDeadline
	request.MaxWait = 0
	switch {
	case request.ValidateOnly || left < shortestWait:
		return deadline
	case c.fallback.isAnswered():
		request.MaxWait = min(left, longestSlice)
		return request.MaxWait + deadline
	}
	request.MaxWait = min(left, longestSlice, deadline/2)
	return deadline
}

// outcome is what one question led to: an answer or an error.
type outcome struct {
	answer Answer
	err    error
}

// stoodInLine tells whether the server let it stand in line, so that it need not wait here. One that
// does not, since it knows no line or this one is full, answers at once. By both clocks, so that
// nothing that a server says makes the client spin.
func (o *outcome) stoodInLine(sent, took time.Duration) bool {
	return o.err == nil && sent > 0 && o.answer.Waited >= sent/2 && took >= sent/2
}

// waiter is what one CheckOrWait remembers from question to question.
type waiter struct {
	failures int // errors in a row
	// A server that stopped has sent it away: until then nobody answering is no failure.
	returnsUntil time.Time
}

// pauseAfter is how long to wait after an answer that is no permit, or the error to end with if that
// won't help.
func (c *Client) pauseAfter(last outcome, waiter *waiter) (time.Duration, error) {
	if last.err == nil {
		waiter.failures = 0
		if last.answer.RetryAfter > 0 {
			return last.answer.RetryAfter, nil
		}
		return 0, &DeniedError{Answer: last.answer}
	}
	told := (*Error)(nil)
	if !errors.As(last.err, &told) {
		return 0, last.err
	}
	now := c.clock.Now()
	if told.isSentAway() {
		waiter.returnsUntil = now.Add(c.options.LongestWait)
	}
	waits := c.policy.kind == unreachableWait || now.Before(waiter.returnsUntil)
	if told.Code != codes.ResourceExhausted && !(waits && told.isUnreachable()) {
		return 0, last.err
	}
	pause := c.jitter.backoff(waiter.failures, firstPause, longestPause)
	waiter.failures++
	return max(pause, told.RetryDelay), nil
}

func (c *Client) askUntilAllowed(ctx context.Context, request *Request, maxWait time.Duration) (Answer, error) {
	var waiter waiter
	deadline := c.clock.Now().Add(maxWait)
	for asked := 1; ; asked++ {
		askedAt := c.clock.Now()
		var last outcome
		last.answer, last.err = c.ask(ctx, request, c.slice(request, deadline.Sub(askedAt)))
		if last.err == nil && last.answer.Allowed {
			return last.answer, nil
		}
		pause, err := c.pauseAfter(last, &waiter)
		if err != nil {
			return Answer{}, err
		}
		tooLate := &TimeoutError{Identity: request.Identity, MaxWait: maxWait, Asked: asked,
			Answer: last.answer, Err: last.err}
		now := c.clock.Now()
		left := deadline.Sub(now)
		stood := last.stoodInLine(request.MaxWait, now.Sub(askedAt))
		if left <= 0 || (stood && left < shortestWait) {
			return Answer{}, tooLate
		}
		if stood {
			continue
		}
		wait := max(min(pause, c.options.LongestWait), shortestWait)
		// To the end even if it will be too early: who calls in a loop then doesn't call all the time.
		if c.clock.Sleep(ctx, min(c.jitter.atLeast(wait), left)) != nil {
			return Answer{}, givenUp(ctx)
		}
		if wait >= left {
			return Answer{}, tooLate
		}
	}
}
