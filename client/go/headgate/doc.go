// Package headgate is a job's side of Headgate: ask before each chunk of work, say afterwards what
// it cost.
//
//	client, err := headgate.NewClient("headgate:8081", headgate.Wait(),
//		headgate.Options{Identity: "copy-orders:backfill"})
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	for moreToDo() {
//		permit, err := client.CheckOrWait(ctx, headgate.Request{}, time.Hour)
//		if err != nil {
//			return err
//		}
//		err = copyOneChunk(ctx)
//		permit.Done() // reports for how long the chunk kept the database busy
//		if err != nil {
//			return err
//		}
//	}
//
// What it guarantees:
//
//   - CheckOrWait waits in the server's line for its fair turn, in slices of at most 30 s. With a
//     server that lets nobody wait it asks again when the server said it may, never before (but see
//     Options.LongestWait), and up to a quarter later, so that jobs that were refused together do
//     not come back together.
//   - A server that stops sends away those who wait. CheckOrWait comes back to the next one for up
//     to Options.LongestWait, whatever the OnUnreachable says.
//   - No call blocks for longer than it was told to. Check and CheckOrWait take at most
//     Options.CheckDeadline more than they may wait, Report no time at all, and all of them end
//     with their context.
//   - Only UNAVAILABLE is retried, which a call is that the server cuts when it stops; and under
//     one request id: a Check that is retried is charged once.
//   - What happens while Headgate is unreachable is what the OnUnreachable says, nothing else.
//   - A Lease admits thousands of pieces a second without a call for each, and spends no more than was
//     granted.
//   - Reports are sent in batches within 50 ms, tried again while the server cannot be reached or
//     is overloaded, and flushed by Close. Those that are lost are counted.
//
// A Client is safe for use by several goroutines, and one for each process is enough. Package
// headgatetest is Headgate inside a test, in virtual time.
package headgate
