// ava-init is the first process of a user's container: it starts the command, passes signals on to the command's whole
// process group, and reaps what is orphaned to it.
//
// Once it got SIGTERM it stays until no process of that group is left: a shell ends at the signal, and the program
// that it started continues to save. Kubernetes kills what is left at the end of the grace period. A command that ends by
// itself ends the container at once, whatever it left running. A filter behind a program (`train.py | tee log`) is not
// asked to end before its writers have: it would take the output of what is being saved with it.
//
// With -G GID[,GID...] it runs the command with no groups but these: docker looks groups up by name too, so a line
// `4711:x:0:` in an image's /etc/group makes gid 0 of gid 4711.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Version is printed by --version.
const Version = "1.2"

// period is how often it is looked whether the group still has members that are no children of this process.
const period = 50 * time.Millisecond

// subreaper is PR_SET_CHILD_SUBREAPER of prctl(2).
const subreaper = 36

// endings are the signals that ask a container to end: SIGTERM, and what images name in their place.
var endings = map[os.Signal]bool{
	syscall.SIGTERM: true, syscall.SIGINT: true, syscall.SIGQUIT: true, syscall.SIGHUP: true,
}

// unpassed are the signals that are about this process itself.
var unpassed = map[os.Signal]bool{
	syscall.SIGCHLD: true, syscall.SIGURG: true, syscall.SIGTTIN: true, syscall.SIGTTOU: true, syscall.SIGPIPE: true,
}

func main() {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	argv, groups := command(os.Args[1:])
	if len(argv) == 1 && argv[0] == "--version" {
		fmt.Println("ava-init version " + Version)
		return
	}
	if len(argv) == 0 {
		fail(2, "no command")
	}
	// Where it is not the first process of a namespace of its own: orphans come to it all the same.
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, subreaper, 1, 0)
	// Before the child: no signal is lost.
	signals := make(chan os.Signal, 256)
	signal.Notify(signals)
	if why := foreign(groups); why != "" {
		fail(126, fmt.Sprintf("exec %s: %s", argv[0], why))
	}
	main, err := start(argv)
	if err != nil {
		fail(unstartable(err), fmt.Sprintf("exec %s: %v", argv[0], cause(err)))
	}
	os.Exit(watch(main, signals))
}

// command returns the command and what -G says, without tini's own arguments, which operators of before wrote.
func command(args []string) ([]string, string) {
	groups := ""
	for len(args) > 0 && (args[0] == "-s" || args[0] == "-g" || args[0] == "-G" && len(args) > 1) {
		if args[0] == "-G" {
			groups, args = args[1], args[1:]
		}
		args = args[1:]
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	return args, groups
}

// foreign returns why a process with these groups alone may not run here, "" where it may.
func foreign(groups string) string {
	if groups == "" {
		return ""
	}
	own := map[string]bool{}
	for _, gid := range strings.Split(groups, ",") {
		own[gid] = true
	}
	have, err := os.Getgroups()
	if err != nil {
		return "its groups are not known: " + err.Error()
	}
	for _, gid := range append(have, os.Getgid(), os.Getegid()) {
		if !own[strconv.Itoa(gid)] {
			return fmt.Sprintf("group %d is not one of the owner's (%s): /etc/group of the image has a number as a name", gid, groups)
		}
	}
	return ""
}

// start starts the command as the leader of a process group of its own.
func start(argv []string) (int, error) {
	path, err := exec.LookPath(argv[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return 0, err
	}
	attributes := &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	}
	process, err := os.StartProcess(path, argv, attributes)
	if err != nil {
		return 0, err
	}
	return process.Pid, nil
}

// watch returns the exit status of the command, once the container may end.
func watch(main int, signals <-chan os.Signal) int {
	asked, ended, status := false, false, 0
	var filters map[int]bool
	tick := time.NewTicker(period)
	tick.Stop()
	for {
		for {
			var state syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &state, syscall.WNOHANG, nil)
			if err == syscall.EINTR {
				continue
			}
			if pid <= 0 || err != nil {
				break
			}
			if pid == main {
				ended, status = true, code(state)
				tick.Reset(period)
			}
		}
		if ended && (!asked || syscall.Kill(-main, 0) == syscall.ESRCH) {
			return status
		}
		select {
		case <-tick.C:
			filters = endFilters(main, filters)
		case s := <-signals:
			if unpassed[s] {
				continue
			}
			number, ok := s.(syscall.Signal)
			if !ok {
				continue
			}
			if endings[s] {
				asked = true
				filters = end(main, number)
				tick.Reset(period)
				continue
			}
			_ = syscall.Kill(-main, number)
		}
	}
}

// code returns an exit status as a shell would.
func code(state syscall.WaitStatus) int {
	if state.Signaled() {
		return 128 + int(state.Signal())
	}
	return state.ExitStatus()
}

// unstartable returns the exit status for a command that cannot be started, as a shell would.
func unstartable(err error) int {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		return 127
	}
	return 126
}

// cause returns the innermost error: what the system reported.
func cause(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

func fail(status int, why string) {
	fmt.Fprintln(os.Stderr, "ava-init: "+why)
	os.Exit(status)
}
