package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const own = "nvidia.com/gpu"

func card(n int) gpu { return gpu{uuid: []string{"GPU-a", "GPU-b"}[n], minor: n} }

func TestEachCardOfAPodIsToldOnceAndNothingOfOtherDevices(t *testing.T) {
	given := []entry{
		{"p2", own, []string{"GPU-b", "GPU-a"}},
		{"p1", own, []string{"GPU-a::3"}},
		{"p1", own, []string{"GPU-a::1"}},
		{"p3", "x.org/nic", []string{"GPU-a"}},
		{"p4", own, []string{"GPU-unknown"}},
	}
	text := exposition([]gpu{card(0), card(1)}, given, own)
	wanted := `avadm_gpu_pod{gpu="0",uuid="GPU-a",pod_uid="p1"} 1
avadm_gpu_pod{gpu="0",uuid="GPU-a",pod_uid="p2"} 1
avadm_gpu_pod{gpu="1",uuid="GPU-b",pod_uid="p2"} 1
`
	if !strings.HasSuffix(text, "gauge\n"+wanted) {
		t.Fatal(text)
	}
}

func TestCheckpointsOf19AndOfLaterOnesAreRead(t *testing.T) {
	one := `{"PodDeviceEntries":[{"PodUID":"u","ContainerName":"c","ResourceName":"nvidia.com/gpu","DeviceIDs":["GPU-a"],"AllocResp":"x"}],"RegisteredDevices":{}}`
	for _, text := range []string{one, `{"Data":` + one + `,"Checksum":1}`} {
		given, err := entries([]byte(text))
		if err != nil || len(given) != 1 || given[0].PodUID != "u" || given[0].DeviceIDs[0] != "GPU-a" {
			t.Fatal(given, err)
		}
	}
	if given, err := entries([]byte(`{"PodDeviceEntries":null}`)); err != nil || len(given) != 0 {
		t.Fatal(given, err)
	}
	if _, err := entries([]byte(`{"PodDev`)); err == nil {
		t.Fatal("half a file was read")
	}
}

func TestTheFileFollowsKubeletAndHalfACheckpointChangesNothing(t *testing.T) {
	g := machine(t)
	g.look(listing(both), true)
	known := g.known()
	folder := t.TempDir()
	target := filepath.Join(folder, "avadm-gpu.prom")
	o := options{folder: folder, resource: own, every: time.Millisecond, holders: target}
	go holders(o, g, func(string, ...any) {})
	until := func(part string) string {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
			text, _ := os.ReadFile(target)
			if strings.Contains(string(text), part) {
				return string(text)
			}
			if time.Now().After(end) {
				t.Fatalf("no %s in %s", part, text)
			}
		}
	}
	if text := until("gauge\n"); strings.Contains(text, "} 1") {
		t.Fatal(text) // no pod has had a card yet
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, checkpoint), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"PodDeviceEntries":[{"PodUID":"first","ResourceName":"` + own + `","DeviceIDs":["` + known[0].uuid + `"]}]}`)
	before := until(`pod_uid="first"`)
	write(`{"PodDev`)
	time.Sleep(20 * time.Millisecond)
	if text := until("gauge"); text != before {
		t.Fatal(text)
	}
	write(`{"PodDeviceEntries":[]}`)
	for end := time.Now().Add(10 * time.Second); strings.Contains(until("gauge"), "first"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("still there")
		}
	}
}

func TestALinkAtTheOtherNameIsNotFollowed(t *testing.T) {
	folder := t.TempDir()
	victim, target := filepath.Join(folder, "victim"), filepath.Join(folder, "x.prom")
	if err := os.WriteFile(victim, []byte("whole"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(folder, ".x.prom.new")); err != nil {
		t.Fatal(err)
	}
	if err := replace(target, "new"); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(victim)
	about, err := os.Lstat(target)
	if string(text) != "whole" || err != nil || about.Mode() != 0o644 {
		t.Fatal(string(text), about, err)
	}
}
