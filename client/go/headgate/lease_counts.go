package headgate

const (
	// The most that one message may have, and how many of those may have names. What comes beyond is
	// counted without names, and what is then still too much without a reason, of which there are two.
	mostCounts  = 100
	mostNamed   = 60
	mostReasons = mostCounts - 2
)

// pieceCounts is what became of pieces and was not yet told. Not safe for use by several goroutines.
type pieceCounts struct {
	byCause map[PieceCause]pieceSum
}

type pieceSum struct {
	pieces int64
	cost   float64
}

// noRoom is of pieces that were refused while no more was known than that.
var noRoom = PieceCause{Reason: ReasonCapacity}

func (s *pieceSum) add(pieces int64, cost float64) {
	s.pieces += pieces
	s.cost = min(s.cost+cost, MaxCost) // no server takes more
}

func (c *pieceCounts) add(cause PieceCause, pieces int64, cost float64) {
	if c.byCause == nil {
		c.byCause = map[PieceCause]pieceSum{}
	}
	if _, known := c.byCause[cause]; !known && len(c.byCause) >= mostNamed {
		cause = PieceCause{Allowed: cause.Allowed, Reason: cause.Reason, LimitKind: cause.LimitKind}
		if _, known := c.byCause[cause]; !known && len(c.byCause) >= mostReasons {
			cause = PieceCause{Allowed: cause.Allowed}
		}
	}
	sum := c.byCause[cause]
	sum.add(pieces, cost)
	c.byCause[cause] = sum
}

// take is all of it, in no order; there is nothing afterwards.
func (c *pieceCounts) take() []PieceCount {
	var all []PieceCount
	for cause, sum := range c.byCause {
		all = append(all, PieceCount{PieceCause: cause, Pieces: sum.pieces, Cost: sum.cost})
	}
	c.byCause = nil
	return all
}

func (c *pieceCounts) isEmpty() bool { return len(c.byCause) == 0 }

// causeOf is how the throttle log has a piece that was admitted or refused by what this answer says.
func causeOf(answer *Answer) PieceCause {
	cause := PieceCause{Allowed: answer.Allowed, Reason: answer.Reason}
	var binding *Violation
	for i := range answer.Violations {
		each := &answer.Violations[i]
		if each.Warn == answer.Allowed && (binding == nil || lastsLonger(each, binding)) {
			binding = each
		}
	}
	if binding != nil {
		cause.LimitKind, cause.Budget = binding.LimitKind, binding.Budget
		cause.Rule, cause.Signal = binding.Rule, binding.Signal
	}
	return cause
}

// No retry_after is never.
func lastsLonger(a, b *Violation) bool {
	return b.RetryAfter != 0 && (a.RetryAfter == 0 || a.RetryAfter > b.RetryAfter)
}
