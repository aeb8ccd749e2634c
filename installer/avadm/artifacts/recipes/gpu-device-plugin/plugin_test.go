package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// kubelet listens like one that knows these versions of the API; registered gets what the plug-in tells it.
func kubelet(t *testing.T, folder string, knows ...api) (registered chan []string, stop func()) {
	t.Helper()
	registered = make(chan []string, 9)
	calls := map[string]call{}
	for _, a := range knows {
		calls[a.register] = func(_ context.Context, request message, send func(message) error) error {
			var messages []string
			for field := 1; field <= 3; field++ {
				values, err := request.texts(field)
				if err != nil {
					return err
				}
				messages = append(messages, values...)
			}
			registered <- messages
			return send(nil)
		}
	}
	listener, err := net.Listen("unix", filepath.Join(folder, "kubelet.sock"))
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(calls)
	go server.Serve(listener)
	return registered, func() { server.Shutdown(context.Background()) } // after what it is answering
}

func plugged(t *testing.T) (*plug, options) {
	g := machine(t)
	g.look(listing(both), true)
	p := &plug{g, []variable{{"LD_LIBRARY_PATH", "/l"}}, 1, time.Millisecond}
	// A socket's path may have 108 bytes.
	folder, err := os.MkdirTemp("", "gdp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return p, options{folder: folder, resource: "nvidia.com/gpu", every: time.Millisecond}
}

func TestItRegistersInTheVersionThatKubeletKnowsAndAgainWhenItWasStartedAnew(t *testing.T) {
	for _, a := range apis {
		p, o := plugged(t)
		for range 2 {
			registered, stop := kubelet(t, o.folder, a)
			over := make(chan error, 1)
			go func() { over <- offer(o, p) }()
			if messages := fmt.Sprint(<-registered); messages != fmt.Sprint([]string{a.version, "nvidia.sock", "nvidia.com/gpu"}) {
				t.Fatal(messages)
			}
			stop() // its socket goes with it
			if err := <-over; err == nil || !strings.Contains(err.Error(), "started again") {
				t.Fatal(err)
			}
		}
	}
}

func TestItRegistersAgainWhenKubeletWipesTheFolder(t *testing.T) {
	p, o := plugged(t)
	registered, stop := kubelet(t, o.folder, apis[1])
	defer stop()
	over := make(chan error, 1)
	go func() { over <- offer(o, p) }()
	<-registered
	if err := os.Remove(filepath.Join(o.folder, "nvidia.sock")); err != nil {
		t.Fatal(err)
	}
	if err := <-over; err == nil {
		t.Fatal("it did not notice")
	}
}

func TestAKubeletThatKnowsNeitherVersionIsTold(t *testing.T) {
	p, o := plugged(t)
	_, stop := kubelet(t, o.folder)
	defer stop()
	if err := offer(o, p); err == nil || !strings.Contains(err.Error(), "kubelet refuses") {
		t.Fatal(err)
	}
}

func TestEachVersionAllocatesInItsOwnShape(t *testing.T) {
	p, o := plugged(t)
	listener, err := net.Listen("unix", filepath.Join(o.folder, "nvidia.sock"))
	if err != nil {
		t.Fatal(err)
	}
	server := newServer(p.calls())
	go server.Serve(listener)
	defer server.Close()
	ask := func(a api, request message) (message, error) {
		return invoke(t.Context(), listener.Addr().String(), a.service+"Allocate", request)
	}
	container := message(nil).text(1, "GPU-1")
	one, err := ask(apis[1], container)
	if err != nil {
		t.Fatal(err)
	}
	devices, _ := one.all(3)
	if len(devices) != 4 {
		t.Fatal(one)
	}
	for i, wanted := range []string{"nvidia1", "nvidiactl", "nvidia-uvm", "nvidia-uvm-tools"} {
		path, _ := devices[i].texts(1)
		rights, _ := devices[i].texts(3)
		if path[0] != "/dev/"+wanted || rights[0] != "rw" {
			t.Fatal(path, rights)
		}
	}
	mounts, _ := one.all(2)
	for _, mount := range mounts {
		if !strings.HasSuffix(hex.EncodeToString(mount), "1801") { // read_only
			t.Fatalf("%q can be written", mount)
		}
	}
	if env, _ := one.all(1); len(env) != 1 || string(env[0]) != "\n\x0fLD_LIBRARY_PATH\x12\x02/l" {
		t.Fatal(env)
	}
	each, err := ask(apis[0], message(nil).bytes(1, container).bytes(1, container))
	if err != nil {
		t.Fatal(err)
	}
	if answers, _ := each.all(1); len(answers) != 2 || string(answers[0]) != string(one) {
		t.Fatal(each)
	}
	for _, a := range apis {
		if _, err := ask(a, message{0xff}); err == nil || !strings.Contains(err.Error(), "gRPC status 3") {
			t.Fatal(err)
		}
	}
	if _, err := ask(apis[1], message(nil).text(1, "all")); err == nil || !strings.Contains(err.Error(), "there%20is%20no%20GPU%20all") {
		t.Fatal(err)
	}
}

func TestKubeletIsToldWheneverACardFails(t *testing.T) {
	p, _ := plugged(t)
	messages := make(chan string)
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		over <- p.listAndWatch(ctx, nil, func(m message) error { messages <- string(m); return nil })
	}()
	if first := <-messages; strings.Count(first, "\aHealthy") != 2 {
		t.Fatalf("%q", first)
	}
	p.gpus.failed("0000:06:00", "Xid 48")
	p.gpus.look(nil, false)
	if then := <-messages; strings.Count(then, "\tUnhealthy") != 1 || strings.Count(then, "\aHealthy") != 1 {
		t.Fatalf("%q", then)
	}
	stop()
	if err := <-over; err != nil {
		t.Fatal(err)
	}
}

func TestTheCommandLine(t *testing.T) {
	o, err := parse([]string{"--xids", "48,79", "--env", "A=b=c", "--env", "D="})
	if err != nil || fmt.Sprint(o.xids, o.env) != "[48 79] [{A b=c} {D }]" {
		t.Fatal(o, err)
	}
	for _, args := range [][]string{{"--xids", "x"}, {"--env", "=b"}, {"--env", "A"}, {"--nothing"}, {"--slots=0"}, {"--slots=65"}} {
		if _, err := parse(args); err == nil {
			t.Fatal(args)
		}
	}
}
