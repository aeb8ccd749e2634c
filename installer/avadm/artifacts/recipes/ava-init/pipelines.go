package main

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// member is what is asked of a process of the command's group.
type member struct {
	// reads is the pipe that its standard input is, "" where it is none; writes are pipes of its output and errors.
	reads  string
	writes [2]string
	// catches are the signals that it handles by itself, a bit each.
	catches uint64
}

// end passes a signal on to the group, but for filters, which it returns.
func end(group int, number syscall.Signal) map[int]bool {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		// No /proc, or one of other processes: all are asked at once.
		_ = syscall.Kill(-group, number)
		return nil
	}
	filters, signalled := map[int]bool{}, map[int]bool{}
	// What is started while processes are looked at is found by the next look.
	for look := 0; look < 5; look++ {
		found, more := members(group), false
		for pid, one := range found {
			if signalled[pid] || filters[pid] {
				continue
			}
			more = true
			if pid != group && one.catches&(1<<(uint(number)-1)) == 0 && written(found, pid) {
				filters[pid] = true
				continue
			}
			signalled[pid] = true
			_ = syscall.Kill(pid, number)
		}
		if !more {
			break
		}
	}
	return filters
}

// endFilters asks those filters to end whose writers have all ended, and returns the others.
func endFilters(group int, filters map[int]bool) map[int]bool {
	if len(filters) == 0 {
		return nil
	}
	found, left := members(group), map[int]bool{}
	for pid := range filters {
		if _, lives := found[pid]; !lives {
			continue
		}
		if written(found, pid) {
			left[pid] = true
			continue
		}
		// It has read its input to the end, and ends by itself, or is none that does.
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
	return left
}

// written returns whether another process of the group writes into a process's standard input.
func written(found map[int]member, reader int) bool {
	pipe := found[reader].reads
	if pipe == "" {
		return false
	}
	for pid, one := range found {
		if pid != reader && (one.writes[0] == pipe || one.writes[1] == pipe) {
			return true
		}
	}
	return false
}

// members returns the living processes of a group. A process that cannot be looked at is a member without pipes.
func members(group int) map[int]member {
	found := map[int]member{}
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(folder + "/stat")
		if err != nil {
			continue
		}
		// After the name, which may have blanks and brackets: state, parent, group.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 3 || fields[0] == "Z" || fields[0] == "X" || fields[2] != strconv.Itoa(group) {
			continue
		}
		found[pid] = member{
			reads:   pipe(folder + "/fd/0"),
			writes:  [2]string{pipe(folder + "/fd/1"), pipe(folder + "/fd/2")},
			catches: caught(folder + "/status"),
		}
	}
	return found
}

// pipe returns the pipe that a descriptor is, "" where it is none.
func pipe(descriptor string) string {
	if target, err := os.Readlink(descriptor); err == nil && strings.HasPrefix(target, "pipe:") {
		return target
	}
	return ""
}

// caught returns the signals that a process handles by itself.
func caught(status string) uint64 {
	text, err := os.ReadFile(status)
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		if value, is := strings.CutPrefix(line, "SigCgt:"); is {
			mask, _ := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			return mask
		}
	}
	return 0
}
