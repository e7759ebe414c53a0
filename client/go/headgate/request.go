package headgate

import (
	"fmt"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
)

// MaxCost is the largest estimate or actual cost, here as in the server.
const MaxCost = 1e15

// Forever is a wait that only the context ends.
const Forever time.Duration = 1<<63 - 1

// Request is one chunk of work. All of it may be left out where the client's Options have the names.
type Request struct {
	// Who wants to work. Empty: Options.Identity.
	Identity string
	// Which database cluster. Empty: Options.Target.
	Target string
	// In the job's own unit: rows, bytes, the planner's cost units; see Cost. Nil and 0 differ.
	EstimatedCost *float64
	// What kind of work it is, such as a query's identifier.
	Pattern string
	// Further properties for rules to match.
	Tags map[string]string
	// The same id is charged once while its permit lives. Empty: the client makes one for each
	// call, so that it may retry.
	RequestID string
	// Answer without charging anything and without a permit.
	ValidateOnly bool
	// For how long Check may wait in the server for its fair turn, at most an hour; zero: it is
	// answered at once. CheckOrWait sets it by itself.
	MaxWait time.Duration
	// Asks for a lease. Client.Lease does that by itself, and spends what it is granted: this is how a
	// Transport sees it. Nil: it is a Check for one chunk.
	Lease *LeaseTerms
}

// Cost is an estimate as a Request takes it.
func Cost(units float64) *float64 { return &units }

// complete has the client's own names, and an id, where the request has none. It refuses a cost
// that no policy could count.
func (c *Client) complete(request Request) (Request, error) {
	if request.EstimatedCost != nil {
		if err := validCost(*request.EstimatedCost, "estimated_cost"); err != nil {
			return Request{}, err
		}
	}
	if field := notText(&request); field != "" {
		return Request{}, invalid("%s: is not text in UTF-8", field)
	}
	if request.MaxWait < 0 || request.MaxWait == Forever {
		return Request{}, invalid("max_wait: %v is not a time that the server could wait for",
			request.MaxWait)
	}
	if request.Identity == "" {
		request.Identity = c.options.Identity
	}
	if request.Target == "" {
		request.Target = c.options.Target
	}
	if request.RequestID == "" && !request.ValidateOnly {
		request.RequestID = c.jitter.requestID()
	}
	return request, nil
}

// notText names the field that is not UTF-8, which no message can hold; empty: all are.
func notText(request *Request) string {
	for _, each := range []struct{ field, text string }{{"identity", request.Identity}, {"target", request.Target},
		{"pattern", request.Pattern}, {"request_id", request.RequestID}} {
		if !utf8.ValidString(each.text) {
			return each.field
		}
	}
	for key, value := range request.Tags {
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return "tags"
		}
	}
	return ""
}

func validCost(cost float64, field string) error {
	if cost >= 0 && cost <= MaxCost {
		return nil
	}
	return invalid("%s: %v is not a cost; it has to be from 0 to %v", field, cost, MaxCost)
}

func invalid(format string, args ...any) error {
	return &Error{Code: codes.InvalidArgument, Message: fmt.Sprintf(format, args...)}
}
