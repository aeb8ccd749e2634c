package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// machine makes a node with two cards; plain files stand for its devices.
func machine(t *testing.T) *gpus {
	t.Helper()
	root := t.TempDir()
	p := place{filepath.Join(root, "proc"), filepath.Join(root, "dev"), filepath.Join(root, "driver")}
	device = file
	for i, bus := range []string{"0000:06:00.0", "0000:0A:00.0"} {
		information(t, p, bus, fmt.Sprintf("GPU-%d", i), i)
	}
	for _, name := range []string{"nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"} {
		write(t, filepath.Join(p.dev, name), "")
	}
	write(t, filepath.Join(p.driver, "bin", program), "")
	return newGPUs(p, t.Logf)
}

func information(t *testing.T, p place, bus, uuid string, minor int) {
	t.Helper()
	text := fmt.Sprintf("Model: \t\t Tesla V100-SXM2-16GB\nIRQ:   \t\t 134\nGPU UUID: \t %s\nVideo BIOS: \t 88.00\n"+
		"Bus Location: \t %s\nDevice Minor: \t %d\n", uuid, bus, minor)
	write(t, filepath.Join(p.proc, strings.ToLower(bus), "information"), text)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const both = "00000000:06:00.0, GPU-0\n00000000:0A:00.0, GPU-1\n"

// ills returns why each card is not handed out.
func ills(g *gpus) string {
	var found []string
	for _, card := range g.known() {
		found = append(found, card.ill)
	}
	return strings.Join(found, "|")
}

func TestCardsAreThoseOfTheDriverWithTheirNumbersAndNames(t *testing.T) {
	g := machine(t)
	g.look(listing(both), true)
	known := g.known()
	if len(known) != 2 || known[1].minor != 1 || known[1].uuid != "GPU-1" || known[1].bus != "0000:0a:00" || ills(g) != "|" {
		t.Fatal(known)
	}
}

func TestACardThatNobodyHasUsedHasItsNameFromNvidiaSmi(t *testing.T) {
	g := machine(t)
	information(t, g.place, "0000:06:00.0", "GPU-????????-????-????-????-????????????", 0)
	g.look(nil, true)
	if known := g.known(); len(known) != 1 || known[0].uuid != "GPU-1" {
		t.Fatal("a card without a name was reported", known)
	}
	g.look(listing(both), true)
	if known := g.known(); len(known) != 2 || known[0].uuid != "GPU-0" {
		t.Fatal(known)
	}
}

func TestWhatANodeLacksIsToldAndComesBack(t *testing.T) {
	for name, c := range map[string]struct {
		remove func(place) string
		wanted string
	}{
		"unified memory (K8)": {func(p place) string { return p.dev + "/nvidia-uvm" }, "nvidia-uvm is missing|nvidia-uvm is missing"},
		"the control device":  {func(p place) string { return p.dev + "/nvidiactl" }, "nvidiactl is missing|nvidiactl is missing"},
		"the driver's folder": {func(p place) string { return p.driver + "/bin/nvidia-smi" }, "nvidia-smi is missing: `avadm apply gpu`|"},
		"one card's device":   {func(p place) string { return p.dev + "/nvidia1" }, "|nvidia1 is missing"},
		"a card in /proc":     {func(p place) string { return p.proc + "/0000:0a:00.0/information" }, "|the driver has it no more"},
	} {
		t.Run(name, func(t *testing.T) {
			g := machine(t)
			g.look(listing(both), true)
			path := c.remove(g.place)
			if err := os.Rename(path, path+".gone"); err != nil {
				t.Fatal(err)
			}
			g.look(nil, false)
			reply := strings.NewReplacer(g.place.dev+"/", "", g.place.driver+"/bin/", "").Replace(ills(g))
			if !strings.HasPrefix(reply, c.wanted) {
				t.Fatalf("%q, wanted %q", reply, c.wanted)
			}
			if _, err := g.devices([]string{"GPU-1"}); err == nil {
				t.Fatal("it was handed out")
			}
			if err := os.Rename(path+".gone", path); err != nil {
				t.Fatal(err)
			}
			if g.look(nil, false); ills(g) != "|" {
				t.Fatal(ills(g))
			}
		})
	}
}

func TestNvidiaSmiThatFailsOnceIsForgiven(t *testing.T) {
	g := machine(t)
	g.look(listing(both), true)
	for i := 1; i <= patience; i++ {
		if g.look(nil, true); (ills(g) == "|") != (i < patience) {
			t.Fatal(i, ills(g))
		}
	}
	if g.look(listing(both), true); ills(g) != "|" {
		t.Fatal(ills(g))
	}
}

func TestACardThatNvidiaSmiLeavesOutIsIllUntilItIsListed(t *testing.T) {
	g := machine(t)
	g.look(listing("00000000:06:00.0, GPU-0\nUnable to determine the device handle for GPU 0000:0A:00.0: GPU is lost.\n"), true)
	g.look(nil, false)
	if ills(g) != "|nvidia-smi does not list it" {
		t.Fatal(ills(g))
	}
	if g.look(listing(both), true); ills(g) != "|" {
		t.Fatal(ills(g))
	}
}

func TestExactlyTheCardsThatWereAskedForAreHandedOut(t *testing.T) {
	g := machine(t)
	g.look(listing(both), true)
	found, err := g.devices([]string{"GPU-1"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range found {
		names = append(names, one.inside)
	}
	if reply := strings.Join(names, " "); reply != "/dev/nvidia1 /dev/nvidiactl /dev/nvidia-uvm /dev/nvidia-uvm-tools" {
		t.Fatal(reply)
	}
	for _, ids := range [][]string{nil, {"GPU-2"}, {"all"}, {"GPU-0", "GPU-2"}} {
		if _, err := g.devices(ids); err == nil {
			t.Fatal(ids)
		}
	}
}
