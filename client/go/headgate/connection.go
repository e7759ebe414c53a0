package headgate

import (
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
)

// connection is one to the server; another one takes its place when the client's certificates have
// changed. Calls that run keep the one that they were made on, which ends with the last of them. Safe
// for use by several goroutines.
type connection struct {
	tls  *TLS
	dial func(credentials.TransportCredentials) (*grpc.ClientConn, error)

	mu      sync.Mutex // guards what follows, and the users of each channel
	files   *watchedFiles
	current *channel // nil: closed
	open    map[*channel]bool
}

type channel struct {
	*grpc.ClientConn
	users int // calls, and the connection while this is its current one
}

// connect has the calls that follow use these certificates.
func (c *connection) connect(texts [][]byte) error {
	credentials, err := c.tls.credentials(texts)
	if err != nil {
		return err
	}
	dialed, err := c.dial(credentials)
	if err != nil {
		return invalid("address: %v", err)
	}
	if c.current != nil {
		c.drop(c.current)
	}
	c.current = &channel{ClientConn: dialed, users: 1}
	c.open[c.current] = true
	return nil
}

// acquire is the channel at present, for one call, which releases it.
func (c *connection) acquire() (*channel, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return nil, ErrClosed
	}
	if news := c.files.news(); news != nil {
		_ = c.connect(news) // files that do not belong together yet: what is in force stays
	}
	c.current.users++
	return c.current, nil
}

func (c *connection) release(used *channel) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(used)
}

// With the lock.
func (c *connection) drop(used *channel) {
	if used.users--; used.users == 0 && c.open[used] {
		c.end(used)
	}
}

// With the lock.
func (c *connection) end(used *channel) {
	delete(c.open, used)
	_ = used.Close() // fails only where it is closed already
}

// isReady tells whether a call would be sent at once. If not, it is being connected from now on.
func (c *connection) isReady() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return false
	}
	c.current.Connect()
	return c.current.GetState() == connectivity.Ready
}

// close ends the calls that run, too.
func (c *connection) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.current = nil
	for each := range c.open {
		c.end(each)
	}
}

func (c *connection) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current == nil
}
