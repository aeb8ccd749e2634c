package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

// A file here with a GPU's number as its name makes that GPU fail (XID 48): for tests.
const faults = "/run/gpu-stand-in/failed"

type gpu struct {
	minor  int
	failed bool
}

func (g gpu) uuid() string { return fmt.Sprintf("GPU-fake-%d", g.minor) }

// bus is the PCI address as nvidia-smi writes it; the lab's /proc/driver/nvidia has the same (lab/docker/files/kubernetes.sh).
func (g gpu) bus() string { return fmt.Sprintf("00000000:%02X:00.0", g.minor+6) }

// visible returns the GPUs that this process may open. Without a driver an open that is allowed ends in ENXIO, one that the
// device cgroup forbids in EPERM.
func visible() []gpu {
	paths, _ := filepath.Glob("/dev/nvidia[0-9]*")
	var found []gpu
	for _, path := range paths {
		minor, err := strconv.Atoi(strings.TrimPrefix(path, "/dev/nvidia"))
		if err != nil {
			continue
		}
		file, err := os.Open(path)
		if err == nil {
			file.Close()
		} else if !errors.Is(err, syscall.ENXIO) {
			continue
		}
		_, err = os.Stat(filepath.Join(faults, strconv.Itoa(minor)))
		found = append(found, gpu{minor, err == nil})
	}
	sort.Slice(found, func(i, j int) bool { return found[i].minor < found[j].minor })
	return found
}

// Known values, so that a test can tell which GPU a number came from.
func (g gpu) utilization() int { return 10*g.minor + 5 }
func (g gpu) usedMiB() int     { return 100 * (g.minor + 1) }

const totalMiB = 16160
