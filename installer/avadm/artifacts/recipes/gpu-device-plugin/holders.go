package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// checkpoint is the file in which kubelet keeps which pod has which devices, in its folder of plug-ins. No one else knows it
// before the API podresources of Kubernetes 1.13.
const checkpoint = "kubelet_internal_checkpoint"

// fresh is how often what is written is written again though nothing has changed: its time of change says that we are alive.
const fresh = 30 * time.Second

// An entry is what kubelet keeps of one container.
type entry struct {
	PodUID       string
	ResourceName string
	DeviceIDs    []string
}

// entries returns what a checkpoint says: as of 1.9, or with the sum of later ones around it.
func entries(text []byte) ([]entry, error) {
	type data struct{ PodDeviceEntries []entry }
	var whole struct {
		data
		Data *data
	}
	if err := json.Unmarshal(text, &whole); err != nil {
		return nil, err
	}
	if whole.Data != nil {
		return whole.Data.PodDeviceEntries, nil
	}
	return whole.PodDeviceEntries, nil
}

// exposition returns in Prometheus' text format which pod has which GPU; kubelet forgets pods that have ended only when it
// gives out the next GPU, so anyone who reads this must know which pods there are.
func exposition(known []gpu, given []entry, resource string) string {
	minors := map[string]int{}
	for _, card := range known {
		minors[card.uuid] = card.minor
	}
	var lines []string
	for _, one := range given {
		if one.ResourceName != resource {
			continue
		}
		for _, id := range one.DeviceIDs {
			uuid, _, _ := strings.Cut(id, between)
			if minor, ok := minors[uuid]; ok {
				lines = append(lines, fmt.Sprintf("avadm_gpu_pod{gpu=\"%d\",uuid=%q,pod_uid=%q} 1\n", minor, uuid, one.PodUID))
			}
		}
	}
	slices.Sort(lines)
	lines = slices.Compact(lines) // two containers of a pod may have slots of one card
	return "# HELP avadm_gpu_pod 1 for each GPU that kubelet gave to a pod.\n# TYPE avadm_gpu_pod gauge\n" + strings.Join(lines, "")
}

// holders writes which pod has which GPU to a file of node_exporter's whenever that changes, for ever.
func holders(o options, g *gpus, say func(string, ...any)) {
	var written string
	var at time.Time
	for quiet := ""; ; time.Sleep(o.every) {
		text, err := assigned(o, g)
		if err == nil && (text != written || time.Since(at) >= fresh) {
			if err = replace(o.holders, text); err == nil {
				written, at = text, time.Now()
			}
		}
		if now := fmt.Sprint(err); err != nil && now != quiet {
			say("which pod has which GPU is unknown: %v", err)
			quiet = now
		} else if err == nil {
			quiet = ""
		}
	}
}

func assigned(o options, g *gpus) (string, error) {
	text, err := os.ReadFile(filepath.Join(o.folder, checkpoint))
	if os.IsNotExist(err) { // no pod has had a device yet
		return exposition(g.known(), nil, o.resource), nil
	}
	if err != nil {
		return "", err
	}
	given, err := entries(text)
	if err != nil {
		return "", fmt.Errorf("%s: %w", checkpoint, err)
	}
	return exposition(g.known(), given, o.resource), nil
}

// replace writes a file that everybody may read, whole or not at all; what lies at its other name is not followed.
func replace(path, text string) error {
	other := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".new")
	if err := os.Remove(other); err != nil && !os.IsNotExist(err) {
		return err
	}
	file, err := os.OpenFile(other, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if _, err = file.WriteString(text); err != nil {
		file.Close()
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(other, path)
}
