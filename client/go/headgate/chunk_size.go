package headgate

import "math"

// Each step up is measured before the next one.
const mostGrowth = 2

// ChunkSize is how many rows the next chunk should have, by the server's advice: for loops by hand.
// DoChunks has one.
//
// An auto budget advises for how long a chunk should keep the database busy: 5 to 10 ms beside a
// foreground, ten times that where there is none or where the job's sessions yield to it. Advice is a
// factor on the rows that a Check stated as its EstimatedCost. It is followed down at once, since a
// chunk that is too long is what harms; and up by doubling.
//
//	size := headgate.ChunkSize{Rows: 500}
//	for first := 0; first < last; {
//		rows := min(size.Rows, last-first)
//		permit, err := client.CheckOrWait(ctx, headgate.Request{EstimatedCost: headgate.Cost(float64(rows))}, time.Hour)
//		...
//		size.Follow(permit.Answer())
//	}
type ChunkSize struct {
	// Of the next chunk; set it for the first one.
	Rows int
	// Between these the advice moves it. Zero: 1, and no bound.
	Smallest int
	Largest  int
}

// Follow takes what was advised when a chunk of Rows was asked for. Most answers advise nothing.
func (s *ChunkSize) Follow(answer *Answer) {
	scale := answer.ChunkScale
	if !(scale > 0) { // it may be no number
		return
	}
	largest := s.Largest
	if largest == 0 {
		largest = math.MaxInt
	}
	advised := math.Round(float64(s.Rows) * math.Min(scale, mostGrowth))
	if advised >= float64(largest) {
		s.Rows = largest
		return
	}
	s.Rows = max(int(advised), s.Smallest, 1)
}
