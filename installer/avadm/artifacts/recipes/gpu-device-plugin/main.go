// gpu-device-plugin tells kubelet of a node's GPUs and gives each container exactly its own: device nodes and, read-only, the
// driver's libraries. Nothing that a pod's image or environment says has any part in it. docs/kubernetes.md, GPUs
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const version = "1.2.0"

type options struct {
	folder, resource, smi, log, holders string
	place                               place
	xids                                []int
	env                                 []variable
	slots                               int
	every, ask                          time.Duration
}

func parse(args []string) (options, error) {
	var o options
	var xids string
	flags := flag.NewFlagSet("gpu-device-plugin", flag.ContinueOnError)
	flags.StringVar(&o.folder, "folder", "/var/lib/kubelet/device-plugins", "kubelet's folder of plug-ins")
	flags.StringVar(&o.resource, "resource", "nvidia.com/gpu", "name of the resource")
	flags.StringVar(&o.place.proc, "proc", "/proc/driver/nvidia/gpus", "the driver's folder of GPUs")
	flags.StringVar(&o.place.dev, "dev", "/dev", "folder of devices")
	flags.StringVar(&o.place.driver, "driver-root", "/var/lib/avadm/nvidia-driver", "the driver's programs and libraries")
	flags.StringVar(&o.smi, "nvidia-smi", "/usr/bin/nvidia-smi", "program that lists the GPUs")
	flags.StringVar(&o.log, "kernel-log", "/dev/kmsg", "where the driver tells of Xids")
	flags.StringVar(&xids, "xids", "48,63,64,74,79,95", "Xids after which a GPU is not handed out")
	flags.StringVar(&o.holders, "holders", "", "file of node_exporter's that tells which pod has which GPU; empty: none")
	flags.IntVar(&o.slots, "slots", 1, "how many containers may share each GPU; 1: they are whole")
	flags.DurationVar(&o.every, "every", time.Second, "how often devices are looked at")
	flags.DurationVar(&o.ask, "ask", 30*time.Second, "how often nvidia-smi is asked, and until no answer counts as one")
	flags.Func("env", "NAME=VALUE that containers with GPUs get; may be repeated", func(text string) error {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return errors.New("wanted NAME=VALUE")
		}
		o.env = append(o.env, variable{name, value})
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.slots < 1 || o.slots > 64 {
		return o, fmt.Errorf("--slots: %d is not in 1 to 64", o.slots)
	}
	for _, text := range strings.FieldsFunc(xids, func(r rune) bool { return r == ',' || r == ' ' }) {
		number, err := strconv.Atoi(text)
		if err != nil {
			return o, fmt.Errorf("--xids: %q is no number", text)
		}
		o.xids = append(o.xids, number)
	}
	return o, nil
}

func say(format string, values ...any) { fmt.Printf(format+"\n", values...) }

func main() {
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println("gpu-device-plugin", version)
		return
	}
	o, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	g := newGPUs(o.place, say)
	go follow(o.log, o.every, func(record []byte) {
		if bus, number, ok := xid(record); ok && slices.Contains(o.xids, number) {
			g.failed(bus, fmt.Sprintf("Xid %d", number))
		}
	}, say)
	asked, first := &smi{program: o.smi, every: o.ask}, make(chan struct{})
	go func() {
		for once := first; ; time.Sleep(o.every) {
			answer, news := asked.news(time.Now())
			g.look(listing(answer), news)
			if news && once != nil {
				close(once)
				once = nil
			}
		}
	}()
	<-first // before anything is reported to kubelet
	if o.holders != "" {
		go holders(o, g, say)
	}
	p := &plug{g, o.env, o.slots, o.every}
	for quiet := ""; ; time.Sleep(o.every) {
		err := offer(o, p)
		if err.Error() != quiet {
			say("%v", err)
		}
		quiet = err.Error()
	}
}

// offer registers with kubelet and serves it until it is started again: then it has wiped its folder and forgotten us.
func offer(o options, p *plug) error {
	socket, kubelet := filepath.Join(o.folder, "nvidia.sock"), filepath.Join(o.folder, "kubelet.sock")
	before, err := os.Stat(kubelet)
	if err != nil {
		return fmt.Errorf("kubelet is not there: %w", err)
	}
	if err := os.Remove(socket); err != nil && !os.IsNotExist(err) {
		return err
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	server, ended := newServer(p.calls()), make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	defer server.Close()
	used, err := register(kubelet, filepath.Base(socket), o.resource)
	if err != nil {
		return fmt.Errorf("kubelet refuses: %w", err)
	}
	say("registered %s with kubelet (%s): %d GPUs, containers to each: %d", o.resource, used, len(p.gpus.known()), p.slots)
	for {
		select {
		case err := <-ended:
			return err
		case <-time.After(o.every):
		}
		now, err := os.Stat(kubelet)
		if _, gone := os.Lstat(socket); err != nil || gone != nil || !os.SameFile(before, now) {
			return errors.New("kubelet was started again: registering again")
		}
	}
}

// register returns the version of the API that kubelet took, the newest that it knows.
func register(kubelet, socket, resource string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	var err error
	for _, a := range apis {
		request := message(nil).text(1, a.version).text(2, socket).text(3, resource)
		if _, err = invoke(ctx, kubelet, a.register, request); err == nil {
			return a.version, nil
		}
		var s *status
		if !errors.As(err, &s) || s.code != statusUnimplemented {
			return "", err
		}
	}
	return "", err
}
