package headgate

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"google.golang.org/grpc/codes"
)

const (
	schedOther       = 0
	schedBatch       = 3
	schedIdle        = 5
	schedResetOnFork = 0x40000000

	lowestNice  = 19
	ofProcess   = 1       // of ioprio_set
	idleIO      = 3 << 13 // its class idle
	ofOneThread = syscall.PRIO_PROCESS

	// Threads that begin meanwhile may begin others: a pass finds what the one before it has missed.
	lowerPasses = 16
	// The kernel takes ten changes of autogroups a second of those without CAP_SYS_ADMIN.
	untilNextChange = 110 * time.Millisecond
	changeTries     = 20
)

func lowerPriority() (string, error) {
	done, err := lowerThreads()
	if err != nil {
		return "", err
	}
	switch group := ownSchedulingGroup(); {
	case group.cgroup != "":
		return fmt.Sprintf("%s; it counts within the cgroup %s, whose weight is what counts against others",
			done, group.cgroup), nil
	case !group.isAutogroup:
		return done, nil
	case group.autogroupNice < lowestNice:
		if err := lowerOwnAutogroup(done); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%s, autogroup nice %d", done, lowestNice), nil
}

// lowerThreads lowers all of this process, those included that begin meanwhile.
func lowerThreads() (string, error) {
	lowered := map[int]bool{}
	class, io := "SCHED_IDLE", "idle I/O"
	for pass := 0; pass < lowerPasses; pass++ {
		before := len(lowered)
		for _, thread := range ownThreads() {
			if lowered[thread] {
				continue
			}
			lowered[thread] = true
			isIdle, isIdleIO, err := lowerThread(thread)
			if errors.Is(err, syscall.ESRCH) {
				continue // it has just ended
			}
			if err != nil {
				return "", err
			}
			if !isIdle {
				class = fmt.Sprintf("nice %d (SCHED_IDLE is refused)", lowestNice)
			}
			if !isIdleIO {
				io = "I/O as before (idle I/O is refused)"
			}
		}
		if len(lowered) == before {
			break
		}
	}
	if len(lowered) == 0 {
		return "", notLowered(codes.FailedPrecondition, "/proc does not show the threads of this process")
	}
	return class + ", " + io, nil
}

func ownThreads() []int {
	entries, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return nil
	}
	threads := make([]int, 0, len(entries))
	for _, entry := range entries {
		if thread, err := strconv.Atoi(entry.Name()); err == nil {
			threads = append(threads, thread)
		}
	}
	return threads
}

// lowerThread says whether the thread has SCHED_IDLE, or else nice 19, and whether it has idle I/O.
func lowerThread(thread int) (isIdle, isIdleIO bool, err error) {
	policy, _, failed := syscall.RawSyscall(syscall.SYS_SCHED_GETSCHEDULER, uintptr(thread), 0, 0)
	if failed == syscall.ESRCH {
		return false, false, failed
	}
	if plain := policy &^ schedResetOnFork; failed == 0 && plain != schedOther && plain != schedBatch && plain != schedIdle {
		return false, false, notLowered(codes.FailedPrecondition, "it has a real-time policy, which is left as it is")
	}
	var none struct{ priority int32 }
	_, _, refusal := syscall.RawSyscall(syscall.SYS_SCHED_SETSCHEDULER, uintptr(thread),
		schedIdle|policy&schedResetOnFork, uintptr(unsafe.Pointer(&none)))
	if refusal == syscall.ESRCH {
		return false, false, refusal
	}
	if refusal != 0 {
		if err := syscall.Setpriority(ofOneThread, thread, lowestNice); errors.Is(err, syscall.ESRCH) {
			return false, false, err
		} else if err != nil {
			return false, false, notLowered(codes.PermissionDenied,
				fmt.Sprintf("SCHED_IDLE: %v; nice %d: %v", refusal, lowestNice, err))
		}
	}
	_, _, failed = syscall.RawSyscall(syscall.SYS_IOPRIO_SET, ofProcess, uintptr(thread), idleIO)
	if failed == syscall.ESRCH {
		return false, false, failed
	}
	return refusal == 0, failed == 0, nil
}

// lowerOwnAutogroup leaves a session alone that is not this process's own.
func lowerOwnAutogroup(done string) error {
	inVain := done + "; it counts within this session alone, since autogroups are on, and "
	session, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	if int(session) != os.Getpid() {
		return notLowered(codes.FailedPrecondition, inVain+"the session has other processes too, which are "+
			"left as they are; setsid gives it one of its own")
	}
	for try := 1; ; try++ {
		err := writeKernelFile("/proc/self/autogroup", strconv.Itoa(lowestNice))
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EAGAIN) || try == changeTries {
			return notLowered(codes.FailedPrecondition, inVain+err.Error())
		}
		time.Sleep(untilNextChange)
	}
}

// writeKernelFile writes in one piece, and does not wait as os.File would where the kernel takes none.
func writeKernelFile(path, text string) error {
	file, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer func() { _ = syscall.Close(file) }()
	if _, err := syscall.Write(file, []byte(text)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func notLowered(code codes.Code, message string) error { return &Error{Code: code, Message: message} }
