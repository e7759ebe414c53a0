package headgate

import (
	"context"
	"io"
	"time"
)

// Client asks Headgate, waits for it, and reports to it. Safe for use by several goroutines.
type Client struct {
	options   Options
	policy    OnUnreachable
	clock     Clock
	transport Transport
	jitter    *jitter
	fallback  *fallback
	reporter  *reporter
	leases    openLeases
}

// NewClient makes a client of the server at this address, "host:port" or any other name that gRPC
// takes. It makes no connection yet. An error names an option that is out of range, or a file of
// Options.TLS or Options.TokenFile that is not what it should be.
func NewClient(address string, onUnreachable OnUnreachable, options Options) (*Client, error) {
	return newClient(onUnreachable, options, func(options Options) (Transport, error) {
		return newGRPCTransport(address, options)
	})
}

// NewClientOver is NewClient over another transport; Options.TLS, TokenFile and DialOptions are not
// used. Close closes the transport, if that is an io.Closer.
func NewClientOver(transport Transport, onUnreachable OnUnreachable, options Options) (*Client, error) {
	return newClient(onUnreachable, options, func(Options) (Transport, error) { return transport, nil })
}

// The transport comes last, since it has goroutines.
func newClient(onUnreachable OnUnreachable, options Options, connect func(Options) (Transport, error)) (*Client, error) {
	if err := onUnreachable.validate(); err != nil {
		return nil, err
	}
	if err := options.complete(); err != nil {
		return nil, err
	}
	transport, err := connect(options)
	if err != nil {
		return nil, err
	}
	return &Client{
		options:   options,
		policy:    onUnreachable,
		clock:     options.Clock,
		transport: transport,
		jitter:    newJitter(options.Seed),
		fallback:  &fallback{policy: onUnreachable, pause: options.OutagePause},
		reporter:  newReporter(transport, options.MaxQueuedReports, newJitter(options.Seed)),
	}, nil
}

// Close returns the leases that are open, and sends the reports that are queued, for at most
// Options.FlushTimeout, and ends the connections. Calls in progress end with ErrClosed. It tells how
// many reports were lost because time was up. Closing again does nothing.
func (c *Client) Close() error {
	began := time.Now()
	c.leases.close(c.options.FlushTimeout)
	err := c.reporter.stop(c.options.FlushTimeout - time.Since(began))
	if closer, ok := c.transport.(io.Closer); ok {
		if closed := closer.Close(); err == nil {
			err = closed
		}
	}
	return err
}

// Check asks once. A denial is an answer, not an error. An answer with a PermitID wants a Report.
//
// Errors are an *Error of the server's (InvalidArgument, NotFound, ResourceExhausted, with a
// RetryDelay), one that is ErrUnreachable where OnUnreachable does not say what to do instead, or
// the context's.
func (c *Client) Check(ctx context.Context, request Request) (Answer, error) {
	complete, err := c.complete(request)
	if err != nil {
		return Answer{}, err
	}
	return c.ask(ctx, &complete, complete.MaxWait+c.options.CheckDeadline)
}

// CheckOrWait asks until the work is allowed. It ends with a *TimeoutError after maxWait, which may
// be Forever; with a *DeniedError at once if the denial is one that waiting will not change; with the
// context's error when that is done; else as Check. An overloaded server is waited for.
func (c *Client) CheckOrWait(ctx context.Context, request Request, maxWait time.Duration) (*Permit, error) {
	complete, err := c.complete(request)
	if err != nil {
		return nil, err
	}
	answer, err := c.askUntilAllowed(ctx, &complete, maxWait)
	if err != nil {
		return nil, err
	}
	return newPermit(c, answer), nil
}

// Do does one chunk of work under a permit of CheckOrWait's, and reports when it returns, after a
// panic as well. The work may report by itself before. Its error is returned as it is.
func (c *Client) Do(ctx context.Context, request Request, maxWait time.Duration,
	work func(context.Context, *Permit) error) error {
	permit, err := c.CheckOrWait(ctx, request, maxWait)
	if err != nil {
		return err
	}
	defer permit.settle()
	return work(ctx, permit)
}

// Report queues a report and returns. A permit's number alone is a good report for every budget. An
// error says that the cost is not from 0 to MaxCost, or the busy time below zero: nothing is queued
// then.
func (c *Client) Report(permitID uint64, work ...Work) error {
	report, err := newReport(permitID, work)
	if err == nil {
		c.reporter.add(report)
	}
	return err
}

// ReportNow sends one report now, and tells what came of it.
func (c *Client) ReportNow(ctx context.Context, permitID uint64, work ...Work) (ReportResult, error) {
	report, err := newReport(permitID, work)
	if err != nil {
		return ReportResult{}, err
	}
	var results []Reported
	err = c.retry(ctx, c.options.CheckDeadline, func(timeout time.Duration) (err error) {
		results, err = c.transport.Report(ctx, []PermitReport{report}, timeout)
		return err
	})
	switch {
	case err != nil:
		return ReportResult{}, err
	case len(results) != 1:
		return ReportResult{}, internal("one report got %d results", len(results))
	}
	return results[0].Result, results[0].Err
}

// Flush waits until all that was queued before is sent or lost, or the context is done.
func (c *Client) Flush(ctx context.Context) error { return c.reporter.flush(ctx) }

// ReportStats counts the reports of this client.
func (c *Client) ReportStats() ReportStats { return c.reporter.statistics() }
