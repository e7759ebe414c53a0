package headgate

import "time"

// pace is how fast a holder of leases spends, by what it had spent at some moments of the past. Not
// safe for use by several goroutines.
type pace struct {
	older, newer mark
}

type mark struct {
	at    time.Duration
	spent float64
}

// used is what is spent within so long, as it was lately: since half to one such time ago, or longer
// where nobody asked meanwhile. Told how much was ever spent by now. What came all at once counts as
// an eighth of the time at least, since what is spent in a moment is not spent all the time.
func (p *pace) used(now time.Duration, spent float64, within time.Duration) float64 {
	if now-p.newer.at > 4*within {
		p.older, p.newer = mark{now, spent}, mark{now, spent} // it was idle
	}
	since := max(now-p.older.at, within/8)
	used := (spent - p.older.spent) * (float64(within) / float64(since))
	if now-p.newer.at >= within/2 {
		p.older, p.newer = p.newer, mark{now, spent}
	}
	return used
}
