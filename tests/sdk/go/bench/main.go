// bench ADDRESS: what a permit of the SDK takes beyond bare calls, and what a Check alone does; prints both
// ratios.
//
// Alternately the same number of permits, with all their reports delivered, and of pairs of bare
// calls, Check and then Report, over one channel each. Then Checks that no rule charges, after which
// there is nothing to report, and bare ones. Nobody waits. The median of the rounds' ratios counts.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/headgate/headgate/client/go/headgate"
	headgatev1 "github.com/headgate/headgate/client/go/headgate/v1"
)

const (
	pairs  = 1000
	rounds = 9
)

var ctx = context.Background()

// bare sends what the SDK sends.
func bare(stub headgatev1.ThrottlerServiceClient, identity string) (time.Duration, error) {
	began := time.Now()
	for number := 0; number < pairs; number++ {
		inTime, cancel := context.WithTimeout(ctx, 5*time.Second)
		checked, err := stub.Check(inTime, &headgatev1.CheckRequest{Identity: identity, EstimatedCost: headgate.Cost(1),
			Pattern: "copy", RequestId: fmt.Sprintf("%x-%x", began.UnixNano(), number)})
		if err == nil && checked.GetDecision().PermitId != nil {
			_, err = stub.Report(inTime, &headgatev1.ReportRequest{Reports: []*headgatev1.PermitReport{
				{PermitId: checked.GetDecision().GetPermitId()}}})
		}
		cancel()
		if err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

func permits(client *headgate.Client, identity string) (time.Duration, error) {
	began := time.Now()
	request := headgate.Request{Identity: identity, EstimatedCost: headgate.Cost(1), Pattern: "copy"}
	for number := 0; number < pairs; number++ {
		permit, err := client.CheckOrWait(ctx, request, 0)
		if err != nil {
			return 0, err
		}
		if err := permit.Done(); err != nil {
			return 0, err
		}
	}
	inTime, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	err := client.Flush(inTime)
	return time.Since(began), err
}

func ratio(client *headgate.Client, stub headgatev1.ThrottlerServiceClient, identity string) (float64, error) {
	var ratios []float64
	for round := 0; round <= rounds; round++ {
		ours, err := permits(client, identity)
		if err != nil {
			return 0, err
		}
		theirs, err := bare(stub, identity)
		if err != nil {
			return 0, err
		}
		ratios = append(ratios, float64(ours)/float64(theirs))
	}
	ratios = ratios[1:] // the first round connects
	slices.Sort(ratios)
	return ratios[len(ratios)/2], nil
}

func run(address string) (permit, check float64, err error) {
	channel, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return 0, 0, err
	}
	defer channel.Close()
	stub := headgatev1.NewThrottlerServiceClient(channel)
	client, err := headgate.NewClient(address, headgate.Fail(), headgate.Options{CheckDeadline: 5 * time.Second})
	if err != nil {
		return 0, 0, err
	}
	if permit, err = ratio(client, stub, "job:etl"); err != nil {
		return 0, 0, err
	}
	if check, err = ratio(client, stub, "job:free"); err != nil {
		return 0, 0, err
	}
	if err := client.Close(); err != nil {
		return 0, 0, err
	}
	if stats := client.ReportStats(); stats.Delivered != pairs*(rounds+1) {
		return 0, 0, fmt.Errorf("not all reports were delivered: %+v", stats)
	}
	return permit, check, nil
}

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: bench ADDRESS")
	}
	permit, check, err := run(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f %.2f\n", permit, check)
}
