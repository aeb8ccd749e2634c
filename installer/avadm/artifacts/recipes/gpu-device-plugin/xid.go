package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"regexp"
	"strconv"
	"syscall"
	"time"
)

// The driver writes "NVRM: Xid (PCI:0000:06:00): 79, …" into the kernel's log. A record of /dev/kmsg is
// "PRIORITY,NUMBER,TIME,FLAGS;TEXT"; what programs write there themselves has another facility than the kernel's 0, so that
// no one can call a card broken, and the text must begin so: names of processes come later in it.
var xidRecord = regexp.MustCompile(`^(\d+),[^;]*;NVRM: Xid \((?:PCI:)?([0-9A-Fa-f:.]+)\): (\d+)`)

// xid returns bus and number of a record, ok where the driver wrote it.
func xid(record []byte) (bus string, number int, ok bool) {
	parts := xidRecord.FindSubmatch(record)
	if parts == nil {
		return "", 0, false
	}
	priority, err := strconv.Atoi(string(parts[1]))
	if err != nil || priority>>3 != 0 {
		return "", 0, false
	}
	number, err = strconv.Atoi(string(parts[3]))
	bus = normal(string(parts[2]))
	return bus, number, err == nil && bus != ""
}

// seekData goes to the first record since the log was last cleared (`dmesg --clear`); of a file it is the beginning.
const seekData = 3

// follow hands each record of the kernel's log to take, from the last clearing on, for ever.
func follow(path string, pause time.Duration, take func([]byte), say func(string, ...any)) {
	for quiet := false; ; time.Sleep(pause) {
		err := records(path, pause, take)
		if !quiet {
			say("%s cannot be read, so that no Xid is seen: %v", path, err)
		}
		quiet = true
	}
}

func records(path string, pause time.Duration, take func([]byte)) error {
	// By hand: the poller of package os would wait for a plain file for ever.
	log, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(log)
	if _, err := syscall.Seek(log, 0, seekData); err != nil {
		if _, err = syscall.Seek(log, 0, io.SeekStart); err != nil {
			return err
		}
	}
	block, rest := make([]byte, 16<<10), []byte(nil)
	for {
		n, err := syscall.Read(log, block)
		switch {
		case errors.Is(err, syscall.EINTR), errors.Is(err, syscall.EPIPE): // EPIPE: records were lost, the next one follows
		case errors.Is(err, syscall.EAGAIN), err == nil && n == 0:
			time.Sleep(pause)
		case err != nil:
			return err
		default:
			lines := bytes.Split(append(rest, block[:n]...), []byte("\n"))
			for _, line := range lines[:len(lines)-1] {
				take(line)
			}
			rest = bytes.Clone(lines[len(lines)-1])
		}
	}
}
