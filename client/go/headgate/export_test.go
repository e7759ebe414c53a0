package headgate

// AwaitAsked returns when the lease asks for nothing any more.
func (l *Lease) AwaitAsked() {
	for {
		l.mu.Lock()
		isRunning, ended := l.isRunning, l.ended
		l.mu.Unlock()
		if !isRunning {
			return
		}
		<-ended
	}
}

// Waiting is how many calls of Wait there are that wait.
func (l *Lease) Waiting() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.waiters)
}
