package headgate

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// The tests begin this program anew as a job that lowers itself, since that can't be taken back.
func init() {
	jobsOfTests["lower"] = lowerAndLook
	jobsOfTests["ask"] = func() { fmt.Println(ownSchedulingGroup().isAutogroup) }
}

// lowerAndLook prints what LowerPriority says, and then what the kernel says of this process's threads.
func lowerAndLook() {
	over := make(chan struct{})
	for i := 0; i < 4; i++ { // threads begin and end all the time
		go func() {
			for {
				select {
				case <-over:
					return
				default:
					done := make(chan struct{})
					go lockAndEnd(done)
					<-done
				}
			}
		}()
	}
	how, err := LowerPriority()
	if err != nil {
		how = err.Error()
	}
	policies := map[uintptr]bool{}
	for _, thread := range ownThreads() {
		policy, _, failed := syscall.RawSyscall(syscall.SYS_SCHED_GETSCHEDULER, uintptr(thread), 0, 0)
		if failed == 0 {
			policies[policy] = true
		}
	}
	close(over)
	io, _ := exec.Command("ionice").Output()
	autogroup, _ := os.ReadFile("/proc/self/autogroup")
	fmt.Printf("%s\n%v %s%s", how, policies, io, autogroup)
}

func runJobOfPriority(t *testing.T, command ...string) []string {
	t.Helper()
	return runInSession(t, "lower", command...)
}

func runInSession(t *testing.T, name string, command ...string) []string {
	t.Helper()
	job := exec.Command(command[0], command[1:]...)
	job.Env = append(os.Environ(), jobOfTest+"="+name)
	job.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := job.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return append(strings.Split(string(out), "\n"), "", "")
}

// lockAndEnd has a thread of its own, which ends with it.
func lockAndEnd(done chan<- struct{}) {
	runtime.LockOSThread()
	close(done)
}

// autogroupsDecide asks in a session of its own: the first one of a machine has no autogroup.
func autogroupsDecide(t *testing.T) bool {
	t.Helper()
	return runInSession(t, "ask", os.Args[0])[0] == "true"
}

func TestAllThreadsAndTheProcessesOwnSessionAreLowered(t *testing.T) {
	said := runJobOfPriority(t, os.Args[0])
	if !strings.HasPrefix(said[0], "SCHED_IDLE, idle I/O") || said[1] != "map[5:true] idle" {
		t.Errorf("%q", said)
	}
	if autogroupsDecide(t) &&
		(said[0] != "SCHED_IDLE, idle I/O, autogroup nice 19" || !strings.HasSuffix(said[2], " nice 19")) {
		t.Errorf("%q", said)
	}
}

func TestASessionThatIsSharedIsLeftAndThatIsAnError(t *testing.T) {
	if !autogroupsDecide(t) {
		t.Skip("autogroups decide nothing here")
	}
	said := runJobOfPriority(t, "sh", "-c", `"$0"; exit $?`, os.Args[0])
	if !strings.HasPrefix(said[0], "headgate: FailedPrecondition: SCHED_IDLE, idle I/O; it counts within this session alone") ||
		said[1] != "map[5:true] idle" || !strings.HasSuffix(said[2], " nice 0") {
		t.Errorf("%q", said)
	}
}

func TestRealTimeIsLeftAsItIs(t *testing.T) {
	if exec.Command("chrt", "-f", "1", "true").Run() != nil {
		t.Skip("SCHED_FIFO takes CAP_SYS_NICE, a share of real time, and chrt")
	}
	said := runJobOfPriority(t, "chrt", "-f", "1", os.Args[0])
	if said[0] != "headgate: FailedPrecondition: it has a real-time policy, which is left as it is" {
		t.Errorf("%q", said)
	}
}

func TestARankCountsWithinTheCgroupElseTheAutogroup(t *testing.T) {
	const version1 = "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" +
		"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"
	const version2 = `30 23 0:27 / /sys/fs/c\040g rw shared:4 - cgroup2 cgroup2 rw,nsdelegate`
	const part = "30 23 0:27 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup2 rw\n"
	autogroup := schedulingGroup{isAutogroup: true, autogroupNice: -5}
	for _, each := range []struct {
		cgroups, mounts, enabled string
		files                    []string
		want                     schedulingGroup
	}{
		{"", "", "", nil, schedulingGroup{}},
		{"1:cpu:/\n", version1, "1\n", nil, autogroup},
		{"1:cpu:/\n", version1, "0\n", nil, schedulingGroup{}},
		{"1:cpuacct,cpu:/a/b\n0::/\n", version1, "1\n", nil, schedulingGroup{cgroup: "/sys/fs/cgroup/cpu/a/b"}},
		{"0::/a/b\n", version2, "1\n", []string{"/sys/fs/c g/a/b", "/sys/fs/c g/a"}, schedulingGroup{cgroup: "/sys/fs/c g/a/b"}},
		{"0::/a/b\n", version2, "1\n", []string{"/sys/fs/c g/a"}, schedulingGroup{cgroup: "/sys/fs/c g/a"}},
		{"0::/a/b\n", version2, "1\n", nil, autogroup},
		{"0::/\n", version2, "1\n", []string{"/sys/fs/c g"}, schedulingGroup{cgroup: "/sys/fs/c g"}},
		{"0::/docker/1/job\n", part, "1\n", []string{"/sys/fs/cgroup/job"}, schedulingGroup{cgroup: "/sys/fs/cgroup/job"}},
		{"0::/docker/2\n", part, "1\n", []string{"/sys/fs/cgroup"}, autogroup},
		{"0::/../other\n", version2, "1\n", []string{"/sys/fs/c g"}, autogroup},
	} {
		found := findSchedulingGroup(groupTexts{each.cgroups, each.mounts, each.enabled, "/autogroup-11 nice -5\n"},
			func(path string) bool {
				for _, folder := range each.files {
					if path == folder+"/cpu.weight" {
						return true
					}
				}
				return false
			})
		if found != each.want {
			t.Errorf("%q, %q: %+v", each.cgroups, each.files, found)
		}
	}
}
