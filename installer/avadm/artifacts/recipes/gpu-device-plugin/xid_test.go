package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestAnXidIsTheDriversAlone(t *testing.T) {
	for record, wanted := range map[string]int{
		"3,1024,99,-;NVRM: Xid (PCI:0000:0A:00): 79, GPU has fallen off the bus.": 79,
		"3,1024,99,-;NVRM: Xid (0000:0a:00): 48, An uncorrectable error":          48,
		"6,1,1,-,caller=T1;NVRM: Xid (PCI:0000:0a:00): 31, pid=7":                 31,
		"11,1024,99,-;NVRM: Xid (PCI:0000:0a:00): 79, written by a program":       0, // facility 1
		"6,1,1,-;x[NVRM: Xid (PCI:0000:0a:00): 79,] segfault":                     0,
		"3,1,1,-;NVRM: Xid (PCI:nowhere): 79":                                     0,
		" SUBSYSTEM=pci":                                                          0,
	} {
		bus, number, ok := xid([]byte(record))
		if ok != (wanted != 0) || number*len(bus) != wanted*len("0000:0a:00") {
			t.Errorf("%s: %s %d %v", record, bus, number, ok)
		}
	}
}

func TestTheLogIsFollowed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, "3,1,1,-;old\n3,2,1,-;ha")
	seen := make(chan string, 9)
	go follow(path, time.Millisecond, func(record []byte) { seen <- string(record) }, t.Logf)
	if reply := <-seen; reply != "3,1,1,-;old" {
		t.Fatal(reply)
	}
	log, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := log.WriteString("lf\n"); err != nil {
		t.Fatal(err)
	}
	if reply := <-seen; reply != "3,2,1,-;half" {
		t.Fatal(reply)
	}
}

func TestAnXidStaysUntilTheLogIsCleared(t *testing.T) {
	g := machine(t)
	g.look(listing(both), true)
	g.failed("0000:0a:00", "Xid 79")
	if g.look(listing(both), true); ills(g) != "|Xid 79" {
		t.Fatal(ills(g))
	}
	if _, err := g.devices([]string{"GPU-1"}); err == nil {
		t.Fatal("it was handed out")
	}
}
