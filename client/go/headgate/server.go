package headgate

import "sync"

// A server takes 128 calls of a connection at a time, and lets others wait.
const waitingOnOneConnection = 100

// server is the connections to one server. Checks that wait in it have connections of their own: a
// few hundred would otherwise hold up all reports. There are as many as it takes, and they stay. Safe
// for use by several goroutines.
type server struct {
	address string
	connect func() (*connection, error)
	main    *connection

	mu      sync.Mutex // guards what follows
	waiting []*waitingConnection
	closed  bool
}

type waitingConnection struct {
	*connection
	calls int
}

// newServer connects when it is first asked.
func newServer(address string, connect func() (*connection, error)) (*server, error) {
	main, err := connect()
	if err != nil {
		return nil, err
	}
	return &server{address: address, connect: connect, main: main}, nil
}

// isReady tells whether a call would be sent at once. If not, it is being connected from now on.
func (s *server) isReady() bool { return s.main.isReady() }

// take is a connection for one call, which lets go of it.
func (s *server) take(waits bool) (*connection, func(), error) {
	if !waits {
		return s.main, func() {}, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, nil, ErrClosed
	}
	found, err := s.withRoom()
	if err != nil {
		return nil, nil, err
	}
	found.calls++
	return found.connection, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		found.calls--
	}, nil
}

// With the lock.
func (s *server) withRoom() (*waitingConnection, error) {
	for _, each := range s.waiting {
		if each.calls < waitingOnOneConnection {
			return each, nil
		}
	}
	made, err := s.connect()
	if err != nil {
		return nil, err
	}
	another := &waitingConnection{connection: made}
	s.waiting = append(s.waiting, another)
	return another, nil
}

// close ends the calls that run, too.
func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.main.close()
	for _, waiting := range s.waiting {
		waiting.close()
	}
}
