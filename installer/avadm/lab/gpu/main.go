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

const version = "396.44"

func main() {
	programs := map[string]func([]string) error{
		"nvidia-smi":               smi,
		"nvidia-modprobe":          modprobe,
		"nvidia-persistenced":      persistenced,
		"nvidia-container-runtime": runtime,
		"nvidia-device-plugin":     plugin,
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
	err := syscall.Mknod("/dev/nvidia-uvm", syscall.S_IFCHR|0o666, 511<<8)
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

// runtime hands on to the node's runc: devices come from the device plug-in alone, whatever a container's environment says.
func runtime(args []string) error {
	for _, path := range []string{"/usr/local/sbin/runc-lab", "/usr/sbin/runc", "/usr/bin/runc"} {
		if _, err := os.Stat(path); err == nil {
			return syscall.Exec(path, append([]string{path}, args...), os.Environ())
		}
	}
	return fmt.Errorf("no runc")
}
