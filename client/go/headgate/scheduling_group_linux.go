package headgate

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// schedulingGroup is among whom a rank counts. The kernel shares the processor among groups first, and
// looks at classes and nice values only within one. A process is in the group of its cgroup, where
// that one has the cpu controller; else, where autogroups are on, in that of its session; else there
// is one group for all.
type schedulingGroup struct {
	cgroup        string // its folder
	isAutogroup   bool
	autogroupNice int
}

// groupTexts is what files of /proc say; an empty one says nothing.
type groupTexts struct {
	cgroups           string // /proc/self/cgroup
	mounts            string // /proc/self/mountinfo
	autogroupsEnabled string // /proc/sys/kernel/sched_autogroup_enabled
	autogroup         string // /proc/self/autogroup
}

func ownSchedulingGroup() schedulingGroup {
	read := func(path string) string {
		text, _ := os.ReadFile(path) // what can't be read says nothing
		return string(text)
	}
	return findSchedulingGroup(groupTexts{
		cgroups:           read("/proc/self/cgroup"),
		mounts:            read("/proc/self/mountinfo"),
		autogroupsEnabled: read("/proc/sys/kernel/sched_autogroup_enabled"),
		autogroup:         read("/proc/self/autogroup"),
	}, func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	})
}

var (
	niceOfAutogroup = regexp.MustCompile(` nice (-?\d+)`)
	octal           = regexp.MustCompile(`\\[0-7]{3}`)
)

func findSchedulingGroup(texts groupTexts, isThere func(path string) bool) schedulingGroup {
	for _, unified := range []bool{false, true} {
		folder, mount, ok := cgroupPlace(texts, unified)
		if !ok {
			continue
		}
		if cgroup := cgroupWithController(folder, mount, unified, isThere); cgroup != "" {
			return schedulingGroup{cgroup: cgroup}
		}
		break
	}
	nice := niceOfAutogroup.FindStringSubmatch(texts.autogroup)
	if !strings.HasPrefix(texts.autogroupsEnabled, "1") || nice == nil {
		return schedulingGroup{}
	}
	value, _ := strconv.Atoi(nice[1]) // it is digits
	return schedulingGroup{isAutogroup: true, autogroupNice: value}
}

// cgroupWithController is empty for the root of all. In version 2 each cgroup that has the controller
// has a weight, but for that one.
func cgroupWithController(folder, mount string, unified bool, isThere func(path string) bool) string {
	if !unified {
		if folder == mount {
			return ""
		}
		return folder
	}
	for !isThere(folder + "/cpu.weight") {
		if len(folder) <= len(mount) {
			return ""
		}
		folder = filepath.Dir(folder)
	}
	return folder
}

// cgroupPlace is the folder of the cgroup, and of its hierarchy's root, as far as it is seen from here.
func cgroupPlace(texts groupTexts, unified bool) (folder, mount string, ok bool) {
	path, ok := cgroupPath(texts.cgroups, unified)
	if !ok {
		return "", "", false
	}
	root, mount, ok := cgroupMount(texts.mounts, unified)
	if !ok {
		return "", "", false
	}
	if root != "/" { // a container sees a part of the hierarchy
		if path != root && !strings.HasPrefix(path, root+"/") {
			return "", "", false
		}
		path = strings.TrimPrefix(path, root)
	}
	if strings.HasPrefix(path, "/..") { // outside of what is seen from here
		return "", "", false
	}
	return strings.TrimSuffix(mount+path, "/"), mount, true
}

func cgroupPath(cgroups string, unified bool) (string, bool) {
	for _, line := range strings.Split(cgroups, "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		if unified && parts[0] == "0" && parts[1] == "" || !unified && isListed(parts[1], "cpu") {
			return parts[2], true
		}
	}
	return "", false
}

func cgroupMount(mounts string, unified bool) (root, folder string, ok bool) {
	for _, line := range strings.Split(mounts, "\n") {
		before, after, _ := strings.Cut(line, " - ")
		place, kind := strings.Split(before, " "), strings.Split(after, " ")
		if len(place) < 5 || len(kind) < 3 {
			continue
		}
		if unified && kind[0] == "cgroup2" || !unified && kind[0] == "cgroup" && isListed(kind[2], "cpu") {
			return unescaped(place[3]), unescaped(place[4]), true
		}
	}
	return "", "", false
}

func isListed(list, word string) bool {
	for _, each := range strings.Split(list, ",") {
		if each == word {
			return true
		}
	}
	return false
}

// mountinfo writes a blank as \040, and so on.
func unescaped(text string) string {
	return octal.ReplaceAllStringFunc(text, func(code string) string {
		value, _ := strconv.ParseUint(code[1:], 8, 8) // it is octal digits
		return string([]byte{byte(value)})
	})
}
