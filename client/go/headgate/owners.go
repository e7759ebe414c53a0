package headgate

import "sync"

// What servers name is bounded by their configuration; this is for those that err.
const maxKnownTargets = 1000

// owners is which server decides for a target, where several servers share them.
//
// A server that forwarded a Check names the owner of its target in the answer. The next Check about
// it goes there as soon as there is a connection; until then, and where none comes about, everything
// goes on by way of the address that the client was given. So a server that cannot be reached from
// here delays nothing. Calls on the way to one that is no owner any more are cut, and go the other way.
// Safe for use by several goroutines.
type owners struct {
	configured string // the address that answers for all
	connect    func(address string) (*server, error)

	mu       sync.Mutex         // guards what follows
	byTarget map[string]*server // none is nil
	last     *server            // that was asked; nil: the configured one
	closed   bool
}

func newOwners(configured string, connect func(string) (*server, error)) *owners {
	return &owners{configured: configured, connect: connect, byTarget: map[string]*server{}}
}

// readyFor is the target's owner, where there is a connection to it; nil: ask the configured address.
func (o *owners) readyFor(target string) *server {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = o.byTarget[target]
	if o.last != nil && !o.last.isReady() {
		o.last = nil
	}
	return o.last
}

// readyLast is the one that was asked last, for what any server answers.
func (o *owners) readyLast() *server {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.last == nil || !o.last.isReady() {
		return nil
	}
	return o.last
}

// learn is what an answer says. No address: whoever was asked decides itself.
func (o *owners) learn(target, address string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.byTarget[target]
	if o.closed || known != nil && known.address == address {
		return
	}
	if known != nil {
		delete(o.byTarget, target)
		o.closeUnused(known)
	}
	if address == "" || address == o.configured {
		return
	}
	if len(o.byTarget) >= maxKnownTargets {
		o.forgetAll()
	}
	owner := o.at(address)
	if owner == nil {
		return // the files cannot be read at the moment: the next answer names it again
	}
	owner.isReady() // it connects from now on
	o.byTarget[target] = owner
}

// forget: it does not answer as it should, and is asked no more until an answer names it anew.
func (o *owners) forget(owner *server) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for target, each := range o.byTarget {
		if each == owner {
			delete(o.byTarget, target)
		}
	}
	o.closeUnused(owner)
}

func (o *owners) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.forgetAll()
}

// With the lock.
func (o *owners) forgetAll() {
	for target, each := range o.byTarget {
		delete(o.byTarget, target)
		each.close()
	}
	o.last = nil
}

// With the lock.
func (o *owners) closeUnused(owner *server) {
	for _, each := range o.byTarget {
		if each == owner {
			return
		}
	}
	if o.last == owner {
		o.last = nil
	}
	owner.close()
}

// With the lock.
func (o *owners) at(address string) *server {
	for _, each := range o.byTarget {
		if each.address == address {
			return each
		}
	}
	made, err := o.connect(address)
	if err != nil {
		return nil
	}
	return made
}
