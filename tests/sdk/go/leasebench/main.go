// leasebench ADDRESS: how long it takes to admit one piece out of a lease, on one goroutine; in nanoseconds.
//
// As many pieces as it can, while leases are renewed by a server that grants all of them. The median of
// rounds counts. A piece that finds no room is asked for again, and that time counts.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"slices"
	"time"

	"github.com/headgate/headgate/client/go/headgate"
)

const (
	pieces = 1_000_000
	rounds = 15
)

func round(lease *headgate.Lease) (float64, error) {
	began := time.Now()
	for admitted := 0; admitted < pieces; {
		answer, err := lease.Admit(1)
		if err != nil {
			return 0, err
		}
		if answer.Allowed {
			admitted++
		}
	}
	return float64(time.Since(began).Nanoseconds()) / pieces, nil
}

func run(address string) (float64, error) {
	client, err := headgate.NewClient(address, headgate.Fail(), headgate.Options{CheckDeadline: 5 * time.Second})
	if err != nil {
		return 0, err
	}
	defer client.Close()
	lease, err := client.Lease(headgate.LeaseOptions{Identity: "job:etl", Piece: pieces})
	if err != nil {
		return 0, err
	}
	if err := lease.Wait(context.Background(), 1, 5*time.Second); err != nil {
		return 0, err
	}
	var took []float64
	for len(took) < rounds {
		each, err := round(lease)
		if err != nil {
			return 0, err
		}
		took = append(took, each)
	}
	slices.Sort(took)
	return took[rounds/2], nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: leasebench ADDRESS")
	}
	ns, err := run(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.1f\n", ns)
}
