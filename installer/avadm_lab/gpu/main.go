// gpu-stand-in plays NVIDIA's programs on a lab node and in its pods; the name it is called by selects which.
// Nothing of it computes: a GPU is a character device (major 195) without a driver. docs/fidelity.md
package main

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

const (
	version = "396.44"
	major   = 195 // of NVIDIA's devices: Linux, Documentation/admin-guide/devices.txt
	uvm     = 511 // of unified memory's, as the driver is mostly given it
)

func main() {
	programs := map[string]func([]string) error{
		"nvidia-smi":               smi,
		"nvidia-modprobe":          modprobe,
		"nvidia-persistenced":      persistenced,
		"nvidia-container-runtime": runtime,
		"dcgm-exporter":            exporter,
	}
	name, args := filepath.Base(os.Args[0]), os.Args[1:]
	if name == "gpu-stand-in" && len(args) > 0 {
		name, args = args[0], args[1:]
	}
	if name == "--version" {
		fmt.Println("gpu-stand-in", version)
		return
	}
	program, known := programs[name]
	if !known {
		fmt.Fprintln(os.Stderr, "gpu-stand-in: called by a name that it does not know:", name)
		os.Exit(2)
	}
	if err := program(args); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}

// modprobe makes the device node of unified memory, as `nvidia-modprobe -u -c 0` does (K8).
func modprobe([]string) error {
	err := syscall.Mknod("/dev/nvidia-uvm", syscall.S_IFCHR|0o666, uvm<<8)
	if os.IsExist(err) {
		return nil
	}
	return err
}

func persistenced([]string) error {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM, syscall.SIGINT)
	<-ended
	return nil
}
