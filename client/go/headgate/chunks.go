package headgate

import (
	"context"
	"math"
	"time"
)

// Chunks is a job of many rows that is done in chunks.
type Chunks struct {
	// How many rows there are.
	Total int
	// How many the first chunk has.
	Start int
	// Between these the advice moves the size of a chunk. Zero: 1, and no bound. The last chunk is
	// what is left.
	Smallest int
	Largest  int
	// What is asked before each chunk. The rows of the chunk are its EstimatedCost, which the advice
	// rests on, unless it has one of its own. Then all chunks have Start rows.
	Request Request
	// Leaves the EstimatedCost absent, for budgets that count something else than rows. All chunks
	// have Start rows then.
	NoEstimate bool
	// How long each chunk may wait for its permit. Zero: Forever.
	MaxWait time.Duration
}

// Chunk is some of the rows, numbered from 0, and leave to work on them.
type Chunk struct {
	First  int
	Rows   int
	Permit *Permit
}

// DoChunks does a job chunk by chunk, each under a permit, and each as large as Headgate advises; see
// ChunkSize. A chunk is reported when work
// returns, after a panic as well; work may report it before, and better. It ends with the first
// error, of CheckOrWait or of work.
//
//	err := client.DoChunks(ctx, headgate.Chunks{Total: last, Start: 500},
//		func(ctx context.Context, chunk headgate.Chunk) error {
//			return copyRows(ctx, chunk.First, chunk.Rows)
//		})
func (c *Client) DoChunks(ctx context.Context, job Chunks, work func(context.Context, Chunk) error) error {
	if err := job.complete(); err != nil {
		return err
	}
	size := ChunkSize{Rows: job.Start, Smallest: job.Smallest, Largest: job.Largest}
	for first := 0; first < job.Total; {
		chunk := Chunk{First: first, Rows: min(size.Rows, job.Total-first)}
		request := job.Request
		statesRows := !job.NoEstimate && request.EstimatedCost == nil
		if statesRows {
			request.EstimatedCost = Cost(float64(chunk.Rows))
		}
		err := c.Do(ctx, request, job.MaxWait, func(ctx context.Context, permit *Permit) error {
			chunk.Permit = permit
			return work(ctx, chunk)
		})
		if err != nil {
			return err
		}
		first += chunk.Rows
		if statesRows {
			size.Follow(chunk.Permit.Answer())
		}
	}
	return nil
}

func (j *Chunks) complete() error {
	if j.Smallest == 0 {
		j.Smallest = 1
	}
	if j.Largest == 0 {
		j.Largest = math.MaxInt
	}
	if j.MaxWait == 0 {
		j.MaxWait = Forever
	}
	if j.Total < 0 || j.Smallest < 1 || j.Largest < j.Smallest || j.Start < j.Smallest || j.Start > j.Largest {
		return invalid("chunks: of %d rows, from %d to %d, %d at first", j.Total, j.Smallest, j.Largest, j.Start)
	}
	return nil
}
