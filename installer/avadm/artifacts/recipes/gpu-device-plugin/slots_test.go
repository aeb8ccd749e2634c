package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestASharedCardIsToldOncePerSlotAndFailsWithAllOfThem(t *testing.T) {
	g := machine(t)
	g.look(listing(both), true)
	g.failed("0000:06:00", "Xid 48")
	g.look(nil, false)
	p := &plug{g, nil, 3, time.Millisecond}
	var devices string
	enough := errors.New("enough")
	err := p.listAndWatch(t.Context(), nil, func(m message) error { devices = string(m); return enough })
	if !errors.Is(err, enough) || strings.Count(devices, "\tUnhealthy") != 3 || strings.Count(devices, "\aHealthy") != 3 {
		t.Fatalf("%v %q", err, devices)
	}
	for _, id := range []string{"GPU-0::0", "GPU-0::2", "GPU-1::1"} {
		if !strings.Contains(devices, id) {
			t.Fatalf("%s is missing: %q", id, devices)
		}
	}
	if strings.Contains(devices, "::3") {
		t.Fatalf("one too many: %q", devices)
	}
}

func TestTwoContainersGetTheSameCardAndAreToldTheirShare(t *testing.T) {
	g := machine(t)
	g.look(listing(both), true)
	p := &plug{g, []variable{{"A", "b"}}, 2, time.Millisecond}
	var answers []string
	for _, id := range []string{"GPU-1::0", "GPU-1::1"} {
		m, err := p.given([]string{id})
		if err != nil {
			t.Fatal(err)
		}
		devices, _ := m.all(3)
		if path, _ := devices[0].texts(1); path[0] != "/dev/nvidia1" || len(devices) != 4 {
			t.Fatal(path)
		}
		env, _ := m.all(1)
		if len(env) != 2 || string(env[1]) != "\n\tGPU_SHARE\x12\x031/2" {
			t.Fatalf("%q", env)
		}
		answers = append(answers, string(m))
	}
	if answers[0] != answers[1] || len(p.env) != 1 {
		t.Fatal("they differ, or what all get was changed")
	}
}

func TestWhatIsNoSlotIsRefused(t *testing.T) {
	g := machine(t)
	g.look(listing(both), true)
	shared, plain := &plug{g, nil, 2, time.Millisecond}, &plug{g, nil, 1, time.Millisecond}
	for _, ids := range [][]string{
		{"GPU-0::0", "GPU-1::0"}, {"GPU-0::2"}, {"GPU-0::-1"}, {"GPU-0"}, {"GPU-0::"}, {"GPU-7::0"}, {"all"}, nil,
	} {
		if _, err := shared.given(ids); err == nil {
			t.Fatal(ids)
		}
	}
	if _, err := plain.given([]string{"GPU-0::0"}); err == nil {
		t.Fatal("a slot of a whole card")
	}
	if _, err := plain.given([]string{"GPU-0", "GPU-1"}); err != nil {
		t.Fatal(err)
	}
}

func TestSlotsOutliveThePlugIn(t *testing.T) {
	// kubelet keeps who has which slot by its name: another process of the plug-in must tell the same ones.
	first, second := machine(t), machine(t)
	first.look(listing(both), true)
	second.look(listing(both), true)
	tell := func(g *gpus) string { return string(listed(g.known(), 4)) }
	if tell(first) != tell(second) || !slices.Equal(shares("GPU-0", 1), []string{"GPU-0"}) {
		t.Fatal("other names")
	}
}
